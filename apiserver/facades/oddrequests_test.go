package facades_test

import (
	"strings"
	"testing"

	"juju/apiserver/facades/facadestest"
	"juju/apiserver/params"
	"juju/provider/dummytest"
)

// Requests that TestRandomRequestsOfUsers has found to be answered wrongly.
func TestOddRequestsOfUsers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, onCloud(dummytest.New(nil))).populate()
	w.backend.Plans = facadestest.Plans{Controller: w.controller, Model: w.st}
	for name, test := range map[string]struct {
		facade  string
		version int
		method  string
		args    any
		want    string // part of the answer
	}{
		"a plan of a task": {"Plans", 1, "DryRun", params.PlannedCall{Facade: "Action", Version: 7, Method: "Run",
			Params: []byte(`{"commands":"true","machines":["0"]}`)}, `"token":"`},
		"a placement that is null": {"Application", 19, "AddUnits", map[string]any{"application": "mysql", "num-units": 1,
			"placement": []any{nil}}, `{"units":["mysql/2"]}`},
		"a list as an option": {"ModelConfig", 3, "ModelSet", map[string]any{"config": map[string]any{"development": []any{}}},
			`cannot change model config: development: the value can't be a list`},
		"an object as a fixed option": {"ModelConfig", 3, "ModelSet", map[string]any{"config": map[string]any{"name": map[string]any{}}},
			`cannot change name from "default" to an object`},
		"a number as a time": {"Client", 7, "StatusHistory", map[string]any{"requests": []any{map[string]any{"filter": map[string]any{"date": 7}}}},
			`cannot read the request: a time must be a text such as`},
		"a word as a time": {"Client", 7, "StatusHistory", map[string]any{"requests": []any{map[string]any{"filter": map[string]any{"date": "now"}}}},
			`cannot read the request: a time must be a text such as`},
		"an SSH key that is empty":     {"KeyManager", 1, "AddKeys", map[string]any{"ssh-keys": []any{nil}}, `invalid ssh key: it is empty`},
		"no SSH key to delete":         {"KeyManager", 1, "DeleteKeys", map[string]any{"ssh-keys": []any{nil}}, `cannot delete a key: say its`},
		"more units than anyone means": {"Application", 19, "SetMinUnits", map[string]any{"application": "mysql", "min-units": 1 << 40}, `at most 1000`},
	} {
		admin := w.admin()
		reply := admin.call(test.facade, test.version, test.method, test.args)
		if got := reply.Error + string(reply.Response); !strings.Contains(got, test.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}
