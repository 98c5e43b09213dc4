// Package openapi reads the description of the HTTP interface as others do. It is a module of its own, so that what it needs is no
// dependency of the product.
package openapi

import (
	"net/http"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers/gorillamux"
)

func TestTheDescriptionIsOpenAPI(t *testing.T) {
	loader := openapi3.NewLoader()
	doc, err := loader.LoadFromFile("../../server/api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(loader.Context); err != nil {
		t.Fatal(err)
	}
	if n := doc.Paths.Len(); n < 8 {
		t.Errorf("only %d paths are described", n)
	}
	doc.Servers = nil // any host
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range []struct{ method, path string }{
		{"POST", "/v1/topics/orders/partitions/0/batches"}, {"GET", "/v1/topics/orders/partitions/0/frames?offset=0"},
		{"POST", "/v1/topics/orders/partitions/0/sessions"}, {"GET", "/v1/topics"}, {"GET", "/v1/cluster"}, {"GET", "/health"}, {"GET", "/metrics"},
	} {
		request, err := http.NewRequest(call.method, "http://127.0.0.1:17001"+call.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		route, _, err := router.FindRoute(request)
		if err != nil || route.Operation.Responses.Len() == 0 {
			t.Errorf("%s %s: %v", call.method, call.path, err)
		}
	}
}
