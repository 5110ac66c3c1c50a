package state_test

import (
	"reflect"
	"strings"
	"testing"

	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// status returns the status of what the patterns match.
func (w *world) status(patterns ...string) *entity.ModelStatus {
	w.Helper()
	s, err := w.st.Status(w.ctx)
	w.ok(err)
	w.ok(state.MatchStatus(s, patterns))
	return s
}

func TestDumpShowsEverythingButSecrets(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	password := state.NewAgentPassword()
	w.ok(w.st.Agents().SetPassword(w.ctx, entity.UnitTag("mysql/0"), password))
	dump, err := w.st.Dump(w.ctx)
	w.ok(err)
	again, err := w.st.Dump(w.ctx)
	w.ok(err)
	if !reflect.DeepEqual(dump, again) {
		t.Error("two dumps of the same contents differ")
	}
	counts, err := w.st.Counts(t.Context())
	w.ok(err)
	for collection, docs := range dump {
		if len(docs) != counts[collection] {
			t.Errorf("the dump has %d of %d documents of %s", len(docs), counts[collection], collection)
		}
		for _, doc := range docs {
			if collection == "credentials" && strings.Contains(string(doc), "mysql") &&
				!strings.Contains(string(doc), "(not shown)") {
				t.Errorf("the dump shows a secret: %s", doc)
			}
			if strings.Contains(string(doc), "txn-") {
				t.Errorf("the dump shows bookkeeping: %s", doc)
			}
		}
	}
	if len(dump["units"]) != 1 || dump["txns"] != nil {
		t.Errorf("units %s, txns %s", dump["units"], dump["txns"])
	}
}
