package api

import _ "embed"

// openAPI describes every call of both planes, with a curl example for each. A test walks it.
//
//go:embed openapi.yaml
var openAPI []byte
