package lifecycle

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"juju/state/entity"
)

func TestTablesAreConsistent(t *testing.T) {
	for _, err := range checkTables(Moves, Refs) {
		t.Error(err)
	}
}

func TestCheckTablesFindsFaults(t *testing.T) {
	for name, c := range map[string]struct {
		moves []Move
		refs  []Ref
	}{
		"backward":     {append([]Move{{Machine, dead, alive, User, Unguarded}}, Moves...), Refs},
		"twice":        {append([]Move{Moves[0]}, Moves...), Refs},
		"no way on":    {[]Move{{Service, alive, dying, User, Unguarded}}, nil},
		"no actor":     {Moves, []Ref{{Name: "x", From: Scope, To: Relation, In: "scopes", Bars: gone, Then: Leave}}},
		"bars alive":   {Moves, []Ref{{Name: "x", From: Scope, To: Relation, In: "scopes", Bars: alive, Then: Leave, By: []Actor{User}}}},
		"stored where": {Moves, []Ref{{Name: "x", From: Scope, To: Relation, Bars: gone, Then: Leave, By: []Actor{User}}}},
	} {
		if len(checkTables(c.moves, c.refs)) == 0 {
			t.Errorf("%s: not found", name)
		}
	}
}

// Each row is a rule that doc/behaviours.txt states.
func TestPlan(t *testing.T) {
	type holders = map[string]int
	for _, c := range []struct {
		says  string
		kind  Kind
		goal  Goal
		by    Actor
		facts Facts
		to    entity.Life // Alive if nothing is to be done
		bar   string      // the reference that bars the move; "" if none does
	}{
		{"destroying what is Dying is a no-op", Service, ToDestroy, User, Facts{Life: dying}, alive, ""},
		{"a machine with Alive units can't be destroyed", Machine, ToDestroy, User,
			Facts{Guards: []Guard{NotLast}, Holders: holders{"alive-units": 1, "units": 1}}, alive, "alive-units"},
		{"a machine whose units are all Dying can be destroyed", Machine, ToDestroy, User,
			Facts{Guards: []Guard{NotLast}, Holders: holders{"units": 1}}, dying, ""},
		{"an unprovisioned machine goes at once", Machine, ToDestroy, User,
			Facts{Guards: []Guard{NotLast, Unprovisioned}}, gone, ""},
		{"an unprovisioned machine waits for its Dying units", Machine, ToDestroy, User,
			Facts{Guards: []Guard{NotLast, Unprovisioned}, Holders: holders{"units": 1}}, dying, ""},
		{"a machine is not Dead before its units are gone", Machine, ToDead, MachineAgent,
			Facts{Life: dying, Holders: holders{"units": 2}}, alive, "units"},
		{"a unit in scopes and with subordinates becomes Dying", Principal, ToDestroy, User,
			Facts{Holders: holders{"scopes": 3, "subordinates": 1}}, dying, ""},
		{"a unit whose agent never came up goes at once", Principal, ToDestroy, User,
			Facts{Guards: []Guard{Unstarted}}, gone, ""},
		{"a unit is not Dead while in a scope", Principal, ToDead, UnitAgent,
			Facts{Life: dying, Holders: holders{"scopes": 1}}, alive, "scopes"},
		{"a unit is not Dead while it has subordinates", Principal, ToDead, UnitAgent,
			Facts{Life: dying, Holders: holders{"subordinates": 1}}, alive, "subordinates"},
		{"a service without references goes at once", Service, ToDestroy, User, Facts{}, gone, ""},
		{"a service with units becomes Dying", Service, ToDestroy, User,
			Facts{Holders: holders{"units": 1}}, dying, ""},
		{"a Dying service goes with its last reference", Service, ToRemove, LastRef, Facts{Life: dying}, gone, ""},
		{"a relation with units in scope becomes Dying", Relation, ToDestroy, User,
			Facts{Holders: holders{"scopes": 1}}, dying, ""},
		{"a relation without units in scope goes at once", Relation, ToDestroy, User, Facts{}, gone, ""},
	} {
		step, err := Plan(c.kind, c.goal, c.by, c.facts)
		var barred *Barred
		switch {
		case c.bar != "":
			if !errors.As(err, &barred) || barred.Ref.Name != c.bar || !errors.Is(err, entity.InUse) {
				t.Errorf("%s: got %v, want barred by %s", c.says, err, c.bar)
			}
		case err != nil:
			t.Errorf("%s: %v", c.says, err)
		case step.Move.To != c.to:
			t.Errorf("%s: to %s, want %s", c.says, step.Move.To, c.to)
		}
	}
}

// A service with relations becomes Dying and is removed with the last of them. The transaction
// asserts that there still is one: otherwise nothing would remove the service.
func TestBecomingDyingAssertsWhatBarredRemoval(t *testing.T) {
	step, err := Plan(Service, ToDestroy, User, Facts{Holders: map[string]int{"relations": 2}})
	if err != nil {
		t.Fatal(err)
	}
	if len(step.Some) != 1 || step.Some[0].Name != "relations" {
		t.Errorf("asserts some of %v, want relations", step.Some)
	}
}

func TestUsersCannotDestroySubordinates(t *testing.T) {
	_, err := Plan(Subordinate, ToDestroy, User, Facts{})
	if !errors.Is(err, entity.Invalid) {
		t.Errorf("a user destroyed a subordinate: %v", err)
	}
}

// sentences renders doc/behaviours.txt, without its heading, as Markdown.
func sentences(t *testing.T) string {
	text, err := os.ReadFile("../../doc/behaviours.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ = bytes.Cut(text, []byte("\n\n"))
	b := &strings.Builder{}
	fmt.Fprintln(b, "\n## Behaviours and their tests")
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "# "); ok {
			fmt.Fprintf(b, "\n### %s\n\n| | behaviour | shown by |\n|---|---|---|\n", title)
		} else if line != "" {
			number, says, _ := strings.Cut(line, ":")
			i := strings.LastIndex(says, ": ")
			if i < 0 {
				t.Fatalf("doc/behaviours.txt: %q names no tests", line)
			}
			fmt.Fprintf(b, "| %s | %s | %s |\n", number, strings.TrimSpace(says[:i]), says[i+2:])
		}
	}
	return b.String()
}

var update = flag.Bool("update", false, "rewrite doc/lifecycles.md")

// doc/lifecycles.md shows the tables of this package and the sentences of doc/behaviours.txt.
func TestDocumentIsUpToDate(t *testing.T) {
	const file, mark = "../../doc/lifecycles.md", "<!-- made from state/lifecycle by its test: go test ./state/lifecycle -update -->\n"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, _, found := strings.Cut(string(text), mark)
	if !found {
		t.Fatalf("%s lacks the line below which the tables begin", file)
	}
	want := head + mark + "\n" + renderTables() + sentences(t)
	if want == string(text) {
		return
	}
	if !*update {
		t.Fatalf("%s is stale: run go test ./state/lifecycle -update", file)
	}
	if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}
