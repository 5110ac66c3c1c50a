// Package openapi has the description of the controller's HTTP view, in OpenAPI 3.1, for the server to serve.
package openapi

import _ "embed"

// Path is where the server serves JSON.
const Path = "/v1/openapi.json"

// JSON is the description.
//
//go:embed openapi.json
var JSON []byte
