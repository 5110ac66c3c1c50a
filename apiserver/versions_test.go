package apiserver

import (
	"slices"
	"testing"

	"juju/apiserver/facades"
	"juju/apiserver/params"
	"juju/state/entity"
	"juju/state/statetest"
)

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
