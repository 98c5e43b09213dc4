package api

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// description is as much of the OpenAPI file as the test walks.
type description struct {
	Info  struct{ Description string }
	Paths map[string]struct {
		Get, Post *operation
	}
}

type operation struct {
	Tags      []string
	Responses map[string]any
}

func readDescription(t *testing.T) description {
	t.Helper()
	var d description
	if err := yaml.Unmarshal(openAPI, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// pathsOf lists "METHOD path" of one plane.
func (d *description) pathsOf(tag string) map[string]*operation {
	all := map[string]*operation{}
	for path, item := range d.Paths {
		for method, o := range map[string]*operation{"GET": item.Get, "POST": item.Post} {
			if o != nil && slices.Contains(o.Tags, tag) {
				all[method+" "+path] = o
			}
		}
	}
	return all
}

func TestDescriptionNamesEveryRouteOfTheClientPlane(t *testing.T) {
	d := readDescription(t)
	described := d.pathsOf("client")
	routes := map[route]bool{}
	s := start(t, nil)
	for call, o := range described {
		method, path, _ := strings.Cut(call, " ")
		path = strings.NewReplacer("{topic}", "orders", "{partition}", "0").Replace(path)
		got, refused := parseTarget([]byte(path))
		if refused != nil || routeMethods[got.route] != method {
			t.Errorf("%s is described and not served", call)
			continue
		}
		routes[got.route] = true
		for _, ask := range []string{method, "DELETE", http.MethodPatch} {
			a := s.do(t, ask, path, nil)
			if _, ok := o.Responses[strconv.Itoa(a.status)]; !ok {
				t.Errorf("%s %s: %d is not described", ask, path, a.status)
			}
		}
		if !strings.Contains(d.Info.Description, path[strings.LastIndex(path, "/"):]) {
			t.Errorf("%s has no curl example", call)
		}
	}
	for r := range routeMethods {
		if route(r) != routeNone && !routes[route(r)] {
			t.Errorf("route %d (%s) is served and not described", r, routeMethods[r])
		}
	}
}

func TestDescriptionNamesEveryRouteOfTheAdminPlane(t *testing.T) {
	d := readDescription(t)
	described := d.pathsOf("admin")
	a := startAdmin(t, nil)
	for path := range a.adminRoutes() {
		if described["GET "+path] == nil {
			t.Errorf("%s is served and not described", path)
		}
	}
	for call, o := range described {
		path := strings.Replace(strings.TrimPrefix(call, "GET "), "{profile}", "heap", 1)
		for _, method := range []string{"GET", "POST"} {
			status := a.do(t, method, path).status
			if _, ok := o.Responses[strconv.Itoa(status)]; !ok {
				t.Errorf("%s %s: %d is not described", method, path, status)
			}
		}
		if !strings.Contains(d.Info.Description, "$ADMIN"+strings.TrimSuffix(path, "heap")) {
			t.Errorf("%s has no curl example", call)
		}
	}
	text := string(openAPI)
	for name := range adminProfiles() {
		if !strings.Contains(text, name) {
			t.Errorf("profile %s is not described", name)
		}
	}
}

// Every code that this package can answer stands in the description.
func TestDescriptionNamesEveryErrorCode(t *testing.T) {
	for _, code := range []string{"malformed", "unauthorized", "not_found", "method_not_allowed", "too_large", "unsupported_media_type", "busy",
		"too_many_waiting", "timeout", "not_primary", "disk_full", "request_differs", "request_superseded", "session_evicted", "unknown", "fenced",
		"below_earliest", "unreadable", "forbidden", "capture_running", "no_capture", "no_flight"} {
		if !strings.Contains(string(openAPI), "`"+code+"`") {
			t.Errorf("%s is not described", code)
		}
	}
}
