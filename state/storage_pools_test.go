package state_test

import (
	"strings"
	"testing"
	"time"

	"juju/state/entity"
)

// Check names an import that was cut off, and how it is repeated, until it is repeated or given up.
func TestCheckNamesImportsThatWereCutOff(t *testing.T) {
	c := newControllers(t, 1)
	w := c.worlds[0]
	pools := w.st.Pools()
	begins := func() string {
		id, _, err := pools.BeginImport(w.ctx, "dummy", "fs-old", "data")
		w.ok(err)
		return id
	}
	finds := func(n int) {
		t.Helper()
		if found := w.check(false); len(found) != n || n > 0 && !strings.HasSuffix(found[0].What,
			"repeat the import: juju import-filesystem dummy fs-old data") {
			t.Errorf("found %+v, want %d", found, n)
		}
	}
	begins()
	finds(0) // it may still go on
	c.pass(time.Hour)
	finds(1)
	again := begins()
	w.ok(pools.EndImport(w.ctx, "fs-old", again)) // refused, which says nothing of the first
	finds(1)
	w.ok(pools.EndImport(w.ctx, "fs-old", ""))
	finds(0)
	begins()
	c.pass(time.Hour)
	w.ok(pools.Import(w.ctx, begins(), "dummy", entity.Filesystem{ID: "fs-old", Size: 7}))
	finds(0)
}
