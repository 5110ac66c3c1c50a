package main

import (
	"testing"

	"juju/state/constraints"
	"juju/state/entity"
)

func TestSetConstraints(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	for _, test := range []struct {
		args  []string
		asked string
	}{
		{[]string{"set-constraints", "web", "mem=4G", "cpu-cores=2"}, `SetServiceConstraints web "cores=2 mem=4096M"`},
		{[]string{"set-constraints", "--service", "web", "mem=4G"}, `SetServiceConstraints web "mem=4096M"`},
		{[]string{"set-constraints", "web", "mem=4G arch=amd64"}, `SetServiceConstraints web "arch=amd64 mem=4096M"`},
		{[]string{"set-constraints", "web", "mem="}, `SetServiceConstraints web "mem="`},
		{[]string{"set-constraints", "web", ""}, `SetServiceConstraints web ""`},
		{[]string{"set-model-constraints", "mem=2G"}, `SetModelConstraints "mem=2048M"`},
		{[]string{"set-model-constraints", ""}, `SetModelConstraints ""`},
	} {
		u.types(test.args...)
		u.asked(test.asked)
		u.sees(0, "", "")
	}
	for _, test := range []struct {
		args []string
		said string
	}{
		{[]string{"set-constraints"},
			"no service specified\nTo set the model's constraints: juju set-model-constraints KEY=VALUE..."},
		{[]string{"set-constraints", "mem=2G"},
			"no service specified\nTo set the model's constraints: juju set-model-constraints KEY=VALUE..."},
		{[]string{"set-constraints", "Web", "mem=2G"}, "invalid service name \"Web\"\n" + entity.ServiceNames},
		{[]string{"set-constraints", "web"}, "no constraints specified\nTo clear them: juju set-constraints web \"\""},
		{[]string{"set-constraints", "web", "mem=x"}, "bad \"mem\" constraint: must be a non-negative float with optional " +
			"M/G/T/P suffix\nFor usage: juju help set-constraints"},
		{[]string{"set-model-constraints"}, "no constraints specified\nTo clear them: juju set-model-constraints \"\""},
		{[]string{"set-model-constraints", "web", "mem=2G"},
			"malformed constraint \"web\"\nFor usage: juju help set-model-constraints"},
		{[]string{"constraints"}, "no service specified\nTo show the model's constraints: juju model-constraints"},
		{[]string{"constraints", "web", "--format", "tabular"},
			"unknown format \"tabular\"\nValid formats: constraints, yaml, json"},
		{[]string{"model-constraints", "web"}, "unrecognized args: [\"web\"]\nFor usage: juju help model-constraints"},
	} {
		u.types(test.args...)
		u.asked()
		u.sees(2, "", "ERROR "+test.said+"\n")
	}
}

func TestShowConstraints(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	var err error
	if u.fake.constraints, err = constraints.Parse("mem=2G tags=a,^b cores="); err != nil {
		t.Fatal(err)
	}
	u.types("constraints", "web")
	u.asked("ServiceConstraints web")
	u.sees(0, "cores= mem=2048M tags=a,^b\n", "")
	u.types("get-constraints", "web", "--format", "yaml")
	u.sees(0, "cores: 0\nmem: 2048\ntags:\n    - a\n    - ^b\n", "")
	u.types("model-constraints", "--format", "json")
	u.asked("ModelConstraints")
	u.sees(0, `{"cores":0,"mem":2048,"tags":["a","^b"]}`+"\n", "")
	u.fake.constraints = constraints.Value{}
	u.types("get-model-constraints")
	u.sees(0, "", "")
	u.fake.err = entity.Errorf(entity.Invalid, "constraints do not apply to subordinate services")
	u.types("constraints", "logging")
	u.sees(1, "", "ERROR constraints do not apply to subordinate services\n")
}
