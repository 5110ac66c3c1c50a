package apiserver

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"juju/apiserver/facades/facadestest"
	"juju/state/entity"
	"juju/state/mongo/mongotest"
	"juju/state/statetest"
)

// What is asked for by its name is read by it, however many others there are, and what a request names twice is read once.
func TestReadsOfRequests(t *testing.T) {
	t.Parallel()
	set := mongotest.NewSet(t, 1)
	var reads atomic.Int64
	background := map[string]bool{"controllerbeats": true, "leases": true, "presence": true}
	set.Heard = func(c mongotest.Command) {
		if c.Reads() && !background[c.Collection] {
			reads.Add(1)
		}
	}
	c, st := controllerOnSet(t, set)
	w := newWorldOf(t, c, st).populate()
	facadestest.OfferMySQL(w, w.st)
	offers, err := w.st.CrossModel().Offers(t.Context())
	w.ok(err)
	conn := w.raw(w.modelPath()).login(entity.UserTag(statetest.Admin), statetest.Password, "")
	during := func(facade string, version int, method string, args any) int64 {
		t.Helper()
		var all []int64 // the first reads what is read once, and what follows a change may read at the same time
		for range 4 {
			before := reads.Load()
			w.ok(conn.call(facade, version, method, args).Err())
			all = append(all, reads.Load()-before)
		}
		return slices.Min(all)
	}
	named := map[string]any{"offer-urls": []string{statetest.Admin + "/default." + offers[0].Name}, "bakery-version": 3}
	one := during("ApplicationOffers", 5, "ApplicationOffers", named)
	for i := range 5 {
		w.ok(w.st.CrossModel().AddOffer(t.Context(), entity.NewOffer{Name: fmt.Sprint("spare", i), Service: "mysql", Endpoints: []string{"server"}}))
	}
	if many := during("ApplicationOffers", 5, "ApplicationOffers", named); many != one || one == 0 {
		t.Errorf("an offer costs %d reads alone, and %d beside others", one, many)
	}
	filters := func(n int) any { return map[string]any{"filters": make([]struct{}, n)} }
	one = during("Storage", 6, "ListStorageDetails", filters(1))
	if many := during("Storage", 6, "ListStorageDetails", filters(20)); many != one || one == 0 {
		t.Errorf("the model's storage costs %d reads, and %d if it is asked for twenty times", one, many)
	}
	units := func(n int) any {
		return map[string]any{"units": slices.Repeat([]any{map[string]any{"unit-tag": "unit-mysql-0", "dry-run": true}}, n)}
	}
	one = during("Application", 19, "DestroyUnit", units(1))
	if many := during("Application", 19, "DestroyUnit", units(20)); many != one+19 || one == 0 {
		t.Errorf("to destroy a unit costs %d reads, and %d for twenty: one each, and the model's storage once", one, many)
	}
}
