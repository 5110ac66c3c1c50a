package facades_test

import (
	"testing"

	"juju/apiserver/facades"
	"juju/apiserver/params"
	"juju/state/entity"
)

// A request that can't be read is told what is wrong with it, without words of Go. One that names no method is told which part
// of its name is wrong.
func TestRequestsThatNameNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.admin().says(
		step{"Application 19 Expose", `[]`, "cannot read the request: it can't be an array"},
		step{"Application 19 Expose", `{"application":{}}`, "cannot read the request: application can't be an object"},
		step{"Application 19 Expose", `{"application":7}`, "cannot read the request: application can't be a number"},
		step{"Nothing 1 Expose", `{}`, `unknown facade type "Nothing"`},
		step{"Application 1 Expose", `{}`, `unknown version 1 for facade type "Application"`},
		step{"Application 19 Nothing", `{}`, "no such request - method Application.Nothing is not implemented"},
		step{"Cloud 7 Clouds", `{}`, `facade "Cloud" not supported for model API connection`},
	)
	w.root().says(step{"Application 19 Expose", `{}`, `facade "Application" not supported for controller API connection`})
	w.as(w.st.UUID(), facades.Identity{Tag: entity.UserTag("bob"), Roles: facades.Unauthenticated}).says(
		step{"Application 19 Expose", `{}`, "permission denied"}) // bob is no user
	for _, r := range []params.Request{{Type: "Application", Version: 19, Request: "Expose"}, {Type: "Nothing"}} {
		if _, err := w.backend.Table.Find(&r, facades.AtModel, facades.Unauthenticated); entity.KindOf(err) != entity.Unauthorized || err.Error() != "not logged in" {
			t.Errorf("%s.%s before a login: %v", r.Type, r.Request, err)
		}
	}
}

// A caller sees the facades that have a method for it, each once with its versions in order.
func TestFacadesOfACaller(t *testing.T) {
	t.Parallel()
	table := facades.NewTable(facades.Routes())
	for _, who := range []struct {
		at  facades.Path
		as  facades.Roles
		has map[string]bool
	}{
		{facades.AtModel, facades.Reader, map[string]bool{"Application": true, "Cloud": false, "Uniter": false}},
		{facades.AtController, facades.Reader, map[string]bool{"Application": false, "Cloud": true, "AuditLog": false}},
		{facades.AtController, facades.Admin, map[string]bool{"AuditLog": true}},
		{facades.AtModel, facades.UnitAgent, map[string]bool{"Uniter": true, "Provisioner": false}},
	} {
		seen, last := map[string]bool{}, ""
		for _, f := range table.Facades(who.at, who.as) {
			if entity.CompareNatural(last, f.Name) >= 0 || len(f.Versions) == 0 {
				t.Errorf("%s %v comes after %s", f.Name, f.Versions, last)
			}
			seen[f.Name], last = true, f.Name
		}
		for name, want := range who.has {
			if seen[name] != want {
				t.Errorf("at %d as %d there is %s: %v, want %v", who.at, who.as, name, seen[name], want)
			}
		}
	}
}
