package main

import (
	"errors"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// refuseFractions refuses a fraction where a whole number belongs: the library would cut 3.5 nodes to 3.
func refuseFractions(body ast.Node) error {
	whole := map[string]bool{}
	wholeFields(reflect.TypeFor[Scenario](), whole)
	var refused error
	ast.Walk(visit(func(n ast.Node) {
		number, ok := n.(*ast.FloatNode)
		if !ok || refused != nil || number.Value == float64(int64(number.Value)) {
			return
		}
		path := strings.TrimPrefix(number.GetPath(), "$.")
		if whole[path[strings.LastIndexByte(path, '.')+1:]] {
			refused = &fieldError{field: path, at: number.GetToken(), err: errors.New(number.GetToken().Value + " is no whole number; pass one")}
		}
	}), body)
	return refused
}

// wholeFields collects the names of the fields that are whole numbers, at any depth.
func wholeFields(t reflect.Type, names map[string]bool) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		wholeFields(t.Elem(), names)
	case reflect.Struct:
		for _, field := range reflect.VisibleFields(t) {
			inner := field.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			if name, _, _ := strings.Cut(field.Tag.Get("yaml"), ","); inner.Kind() == reflect.Int || inner.Kind() == reflect.Int64 {
				names[name] = true
			}
			wholeFields(field.Type, names)
		}
	}
}
