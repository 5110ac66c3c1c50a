package main

import (
	"bytes"
	"os"
	"testing"

	_ "juju/apiserver/facades" // so that no result is cached from before it, or state, was changed
	"juju/doc/tools/verify"
)

func TestFacadesAreFresh(t *testing.T) {
	verify.Smoke(t)
	want, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../" + output)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s does not fit apiserver/facades/agentroutes.go; go generate ./apiserver/client writes it anew", output)
	}
}
