package state_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"juju/state"
	"juju/state/controller"
	"juju/state/mongo"
	"juju/state/mongo/mongotest"
	"juju/state/statetest"
)

// A ledger notes the commands that a simulated replica set gets.
type ledger struct {
	mu       sync.Mutex
	commands []string // each with its collection
	writes   int      // those that waited for the majority
}

func (l *ledger) note(c mongotest.Command) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.commands = append(l.commands, strings.TrimSpace(c.Name+" "+c.Collection))
	if c.IsMajorityWrite() {
		l.writes++
	}
}

// since returns the commands that f has caused, except for those of watchers.
func (l *ledger) since(f func()) (commands []string, writes int) {
	l.mu.Lock()
	from, before := len(l.commands), l.writes
	l.mu.Unlock()
	f()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.commands[from:] {
		if !strings.HasPrefix(c, "getMore") {
			commands = append(commands, c)
		}
	}
	return commands, l.writes - before
}

// onSet returns a model whose store is a simulated replica set.
func onSet(t testing.TB, set *mongotest.Set) *state.State {
	t.Helper()
	u, err := mongo.ParseURL(set.URL())
	if err != nil {
		t.Fatal(err)
	}
	store, err := mongo.OpenURL(t.Context(), u, mongo.Options{Dial: set.Dial})
	if err != nil {
		t.Fatal(err)
	}
	_, st := statetest.ControllerOn(t, store, controller.Options{})
	return st
}

const keeper = `
name: keeper
summary: s
description: d
storage:
  data: {type: filesystem, multiple: {range: 2+}}
`

// A transaction that adds many units is a few commands, and so a few round trips to a MongoDB.
func TestManyUnitsAreFewCommands(t *testing.T) {
	var l ledger
	set := mongotest.NewSet(t, 3)
	set.Heard = l.note
	st := onSet(t, set)
	url := statetest.Charm(t, st, statetest.MySQL)
	stores := statetest.Charm(t, st, keeper)
	var s *state.Service
	for _, test := range []struct {
		what   string
		most   int // commands
		writes int // by the majority: of each sequence, and the commit
		do     func() error
	}{
		{"deploy -n 20, which creates collections", 20, 3, func() (err error) {
			s, err = st.AddService(t.Context(), state.AddServiceParams{Name: "mysql", CharmURL: url, Units: 20})
			return err
		}},
		{"deploy -n 20", 14, 3, func() (err error) {
			s, err = st.AddService(t.Context(), state.AddServiceParams{Name: "other", CharmURL: url, Units: 20})
			return err
		}},
		{"add-unit", 9, 3, func() error { _, err := s.AddUnits(t.Context(), 1, nil); return err }},
		{"add-unit -n 100", 9, 3, func() error { _, err := s.AddUnits(t.Context(), 100, nil); return err }},
		{"deploy -n 20 with storage", 20, 4, func() (err error) {
			s, err = st.AddService(t.Context(), state.AddServiceParams{Name: "stored", CharmURL: stores, Units: 20})
			return err
		}},
		{"add-unit -n 20 with storage", 12, 4, func() error { _, err := s.AddUnits(t.Context(), 20, nil); return err }},
	} {
		commands, writes := l.since(func() {
			if err := test.do(); err != nil {
				t.Fatal(err)
			}
		})
		t.Logf("%s: %d writes by the majority, %q", test.what, writes, commands)
		changes := slices.DeleteFunc(commands, func(c string) bool {
			name, _, _ := strings.Cut(c, " ")
			return !slices.Contains([]string{"insert", "update", "delete", "commitTransaction"}, name)
		})
		if len(changes) > test.most || writes != test.writes {
			t.Errorf("%s: %d commands and %d writes by the majority, want at most %d and %d: %q", test.what, len(changes), writes,
				test.most, test.writes, changes)
		}
	}
}
