package facades_test

import (
	"encoding/json"
	"maps"
	"testing"

	"juju/apiserver/params"
	"juju/state/entity"
	"juju/state/statetest"
)

// keysOf returns the keys of a JSON object.
func keysOf(t *testing.T, text json.RawMessage) map[string]json.RawMessage {
	t.Helper()
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return object
}

// ModelManager 9 has the default series and base in a model's description, and 10 has not; all else is the same.
func TestOlderModelInfo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.root()
	of := params.Entities{Entities: []params.Entity{{Tag: params.TagOf(entity.ModelTag(w.st.UUID()))}}}
	info := func(version int) map[string]json.RawMessage {
		reply := c.call("ModelManager", version, "ModelInfo", of)
		if err := reply.Err(); err != nil {
			t.Fatal(err)
		}
		var results struct {
			Results []struct{ Result json.RawMessage }
		}
		if err := json.Unmarshal(reply.Response, &results); err != nil {
			t.Fatal(err)
		}
		return keysOf(t, results.Results[0].Result)
	}
	older, newer := info(9), info(10)
	if series, base := string(older["default-series"]), string(older["default-base"]); series != `"jammy"` || base != `"ubuntu@22.04/stable"` {
		t.Errorf("default series %s, base %s", series, base)
	}
	delete(older, "default-series")
	delete(older, "default-base")
	if !maps.EqualFunc(older, newer, func(a, b json.RawMessage) bool { return string(a) == string(b) }) {
		t.Errorf("version 9 has %s, 10 has %s", older, newer)
	}
	made := keysOf(t, c.call("ModelManager", 9, "CreateModel", params.ModelCreateArgs{Name: "more"}).Response)
	if string(made["default-series"]) != `"jammy"` {
		t.Errorf("a new model has the default series %s", made["default-series"])
	}
}

// A list of models says when the user last connected to each.
func TestModelSummariesSayWhenTheUserConnected(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ok(w.controller.NoteLogin(t.Context(), statetest.Admin, w.st.UUID()))
	c := w.root()
	var list params.ModelSummaryResults
	w.ok(c.do("ModelManager", 9, "ListModelSummaries", params.ModelSummariesRequest{UserTag: params.TagOf(entity.UserTag(statetest.Admin))}, &list))
	for _, r := range list.Results {
		if connected := r.Result.LastConnection != nil; connected != (r.Result.UUID == w.st.UUID()) {
			t.Errorf("the last connection to %s is %v", r.Result.Name, r.Result.LastConnection)
		}
	}
}
