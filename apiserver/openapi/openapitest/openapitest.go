// Package openapitest checks what the server sends against its description in package openapi.
package openapitest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"juju/apiserver/openapi"
)

// A Description is the description, in which objects have no other properties than those that it names: what is sent and not
// described is found. Clients are not told so, as there may be more later.
type Description struct{ *openapi3.T }

// Load reads and validates the description.
func Load(t testing.TB) Description {
	t.Helper()
	openapi3filter.RegisterBodyDecoder("text/event-stream", openapi3filter.PlainBodyDecoder)
	loader := openapi3.NewLoader()
	doc, err := loader.LoadFromData(openapi.JSON)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(context.Background()); err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(openapi.JSON, &tree); err != nil {
		t.Fatal(err)
	}
	closeObjects(tree)
	text, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	if doc, err = loader.LoadFromData(text); err != nil {
		t.Fatal(err)
	}
	return Description{doc}
}

// closeObjects forbids other properties in all schemas of objects that name some.
func closeObjects(tree any) {
	switch node := tree.(type) {
	case map[string]any:
		if _, named := node["properties"].(map[string]any); named && node["type"] == "object" {
			node["additionalProperties"] = false
		}
		for _, child := range node {
			closeObjects(child)
		}
	case []any:
		for _, child := range node {
			closeObjects(child)
		}
	}
}

// Check reports an error unless JSON has a schema of the description.
func (d Description) Check(t testing.TB, schema string, text []byte) {
	t.Helper()
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Errorf("%v: %s", err, text)
		return
	}
	of := d.Components.Schemas[schema]
	if of == nil {
		t.Fatalf("there is no schema %s", schema)
	}
	if err := of.Value.VisitJSON(v, openapi3.EnableJSONSchema2020(), openapi3.MultiErrors()); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}

// CheckReply reports an error unless the description has a reply to a request. body is the reply's.
func (d Description) CheckReply(t testing.TB, reply *http.Response, body []byte) {
	t.Helper()
	request := reply.Request
	item := d.Paths.Value(request.URL.Path)
	if item == nil || item.GetOperation(request.Method) == nil {
		t.Errorf("%s %s is not described", request.Method, request.URL.Path)
		return
	}
	route := &routers.Route{Spec: d.T, Path: request.URL.Path, PathItem: item, Method: request.Method, Operation: item.GetOperation(request.Method)}
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: request, Route: route},
		Status:                 reply.StatusCode, Header: reply.Header, Body: io.NopCloser(bytes.NewReader(body)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true},
	}
	if err := openapi3filter.ValidateResponse(context.Background(), input); err != nil {
		t.Errorf("%s %s: %d %s: %v", request.Method, request.URL, reply.StatusCode, body, err)
	}
}
