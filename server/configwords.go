package server

import (
	"fmt"
	"reflect"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// YAMLWords says what belongs where a file has something else. The library speaks of types and fields of a program there, which
// whoever wrote the file does not know.
func YAMLWords(err yaml.Error) string {
	var belongs reflect.Type
	size := ""
	switch e := err.(type) {
	case *yaml.TypeError:
		belongs = e.DstType
	case *yaml.OverflowError:
		belongs, size = e.DstType, " of 64 bits"
	case *yaml.UnexpectedNodeTypeError:
		return shapeWords(e)
	}
	token := err.GetToken()
	if belongs == nil || token == nil {
		return err.GetMessage()
	}
	for belongs.Kind() == reflect.Pointer {
		belongs = belongs.Elem()
	}
	return fmt.Sprintf("%s%s belongs here, and %q is none", kindWords(belongs), size, token.Value)
}

// shapeWords says what to write where a list or a mapping belongs.
func shapeWords(e *yaml.UnexpectedNodeTypeError) string {
	switch e.Expected {
	case ast.SequenceType:
		return "a list belongs here; write [] for none, or a line that begins with a dash for each element"
	case ast.MappingType:
		return "a mapping of fields belongs here; write a line such as name: value for each field"
	}
	return e.GetMessage()
}

func kindWords(t reflect.Type) string {
	if t == reflect.TypeFor[time.Duration]() {
		return "a time such as 500ms"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.String:
		return "a text"
	case reflect.Slice, reflect.Array:
		return "a list"
	}
	return "a mapping of fields"
}
