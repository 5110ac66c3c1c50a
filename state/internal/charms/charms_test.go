package charms_test

import (
	"strings"
	"testing"

	"juju/charm"
	"juju/doc/tools/verify"
	"juju/state/entity"
	"juju/state/statetest"
)

const web = "name: web\nsummary: s\ndescription: d\n"

// A charm of a store has the revision of the store, for ever: it can be added again, but not with another archive or name.
func TestCharmsOfAStore(t *testing.T) {
	verify.Smoke(t)
	_, st := statetest.Controller(t)
	ctx, url := t.Context(), charm.URL{Schema: "ch", Architecture: "amd64", Name: "web", Revision: 7}
	for range 2 {
		statetest.OK(t, statetest.StoredCharm(t, st, url, web))
	}
	ch, err := st.Charms().Get(ctx, "ch:amd64/web-7")
	if err != nil || ch.Meta.Name != "web" {
		t.Fatalf("%+v, %v", ch, err)
	}
	got, sum, err := st.Charms().Archive(ctx, "ch:amd64/web-7")
	statetest.OK(t, err)
	defer got.Close()
	if is, err := entity.SHA256(got); is != sum || err != nil {
		t.Errorf("the archive has the hash %s, want %s (%v)", is, sum, err)
	}
	for says, refused := range map[string]error{
		"another archive for revision 7":  statetest.StoredCharm(t, st, url, web+"tags: [x]\n"),
		`the charm store has it as "web"`: statetest.StoredCharm(t, st, url, strings.Replace(web, "web", "site", 1)),
	} {
		if entity.KindOf(refused) != entity.Invalid || !strings.Contains(refused.Error(), says) {
			t.Errorf("%v, want %s", refused, says)
		}
	}
	if again, err := st.Charms().Sum(ctx, "ch:amd64/web-7"); again != sum || err != nil {
		t.Errorf("it has become %s, %v", again, err)
	}
}
