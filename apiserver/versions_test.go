package apiserver

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"juju/apiserver/facades"
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

// Clients of several releases of Juju find their version of each facade in the reply to the login, and every method is
// served at each of them. A version that is not in the table is refused in Juju's words.
func TestFacadesAtSeveralVersions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.raw("/api")
	var login params.LoginResult
	if err := c.do("Admin", 3, "Login", params.LoginRequest{AuthTag: params.TagOf(entity.UserTag(statetest.Admin)),
		Credentials: statetest.Password}, &login); err != nil {
		t.Fatal(err)
	}
	listed := map[string][]int{}
	for _, f := range login.Facades {
		listed[f.Name] = f.Versions
	}
	if got := listed["ModelManager"]; !slices.Equal(got, []int{9, 10}) {
		t.Errorf("the login lists ModelManager %v", got)
	}
	if got := listed["Controller"]; !slices.Equal(got, []int{9, 11, 12}) {
		t.Errorf("the login lists Controller %v", got)
	}
	m := w.admin()
	for _, version := range []int{6, 7, 8} {
		if err := m.call("Client", version, "FullStatus", params.StatusParams{}).Err(); err != nil {
			t.Errorf("Client %d: %v", version, err)
		}
	}
	for _, version := range []int{5, 9} {
		err := m.call("Client", version, "FullStatus", params.StatusParams{}).Err()
		if want := `unknown version ` + string(rune('0'+version)) + ` for facade type "Client"`; err == nil || err.Error() != want ||
			entity.KindOf(err) != entity.NotImplemented {
			t.Errorf("Client %d: %v, want %s", version, err, want)
		}
	}
	versions := map[string][]int{}
	for _, v := range facades.FacadeVersions() {
		if v.Since == "" || slices.Contains(versions[v.Facade], v.Version) {
			t.Errorf("bad row %v", v)
		}
		versions[v.Facade] = append(versions[v.Facade], v.Version)
	}
	for _, r := range routes() {
		if all := versions[r.Facade]; all != nil && !slices.Contains(all, r.Version) {
			t.Errorf("%s %d is not in FacadeVersions", r.Facade, r.Version)
		}
		for _, version := range versions[r.Facade] {
			if w.server.table.Route(r.Facade, version, r.Method) == nil {
				t.Errorf("%s %d has no %s", r.Facade, version, r.Method)
			}
		}
	}
}

// ModelManager 9 has the default series and base in a model's description, and 10 has not; all else is the same.
func TestOlderModelInfo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.raw("/api").login(entity.UserTag(statetest.Admin), statetest.Password, "")
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
	w.admin() // connects to the model
	c := w.raw("/api").login(entity.UserTag(statetest.Admin), statetest.Password, "")
	var list params.ModelSummaryResults
	w.ok(c.do("ModelManager", 9, "ListModelSummaries", params.ModelSummariesRequest{UserTag: params.TagOf(entity.UserTag(statetest.Admin))}, &list))
	for _, r := range list.Results {
		if connected := r.Result.LastConnection != nil; connected != (r.Result.UUID == w.st.UUID()) {
			t.Errorf("the last connection to %s is %v", r.Result.Name, r.Result.LastConnection)
		}
	}
}
