package services_test

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
		u.Types(test.args...)
		u.Asked(test.asked)
		u.Sees(0, "", "")
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
		u.Types(test.args...)
		u.Asked()
		u.Sees(2, "", "ERROR "+test.said+"\n")
	}
}

func TestShowConstraints(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	var err error
	if u.Model.Returns.Constraints, err = constraints.Parse("mem=2G tags=a,^b cores="); err != nil {
		t.Fatal(err)
	}
	u.Types("constraints", "web")
	u.Asked("ServiceConstraints web")
	u.Sees(0, "cores= mem=2048M tags=a,^b\n", "")
	u.Types("get-constraints", "web", "--format", "yaml")
	u.Sees(0, "cores: 0\nmem: 2048\ntags:\n    - a\n    - ^b\n", "")
	u.Types("model-constraints", "--format", "json")
	u.Asked("ModelConstraints")
	u.Sees(0, `{"cores":0,"mem":2048,"tags":["a","^b"]}`+"\n", "")
	u.Model.Returns.Constraints = constraints.Value{}
	u.Types("get-model-constraints")
	u.Sees(0, "", "")
	u.Model.Returns.Err = entity.Errorf(entity.Invalid, "constraints do not apply to subordinate services")
	u.Types("constraints", "logging")
	u.Sees(1, "", "ERROR constraints do not apply to subordinate services\n")
}
