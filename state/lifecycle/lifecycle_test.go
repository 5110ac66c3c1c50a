package lifecycle

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"juju/doc/tools/verify"
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
		"backward":      {append([]Move{{Machine, dead, alive, User, Unguarded}}, Moves...), Refs},
		"twice":         {append([]Move{Moves[0]}, Moves...), Refs},
		"dead end":      {[]Move{{Service, alive, dying, User, Unguarded}}, nil},
		"no actor":      {Moves, []Ref{{Name: "x", From: Scope, To: Relation, In: "scopes", Bars: gone, Then: Leave}}},
		"bars alive":    {Moves, []Ref{{Name: "x", From: Scope, To: Relation, In: "scopes", Bars: alive, Then: Leave, By: []Actor{User}}}},
		"no collection": {Moves, []Ref{{Name: "x", From: Scope, To: Relation, Bars: gone, Then: Leave, By: []Actor{User}}}},
	} {
		if len(checkTables(c.moves, c.refs)) == 0 {
			t.Errorf("%s: not found", name)
		}
	}
}

// Each case is a rule in doc/behaviours.txt.
func TestPlan(t *testing.T) {
	type holders = map[string]int
	for _, c := range []struct {
		says  string
		kind  Kind
		goal  Goal
		by    Actor
		facts Facts
		to    entity.Life // Alive if nothing is to be done
		bars  string      // the error, if no move is possible
	}{
		{"destroying a Dying entity is a no-op", Service, ToDestroy, User, Facts{Life: dying}, alive, ""},
		{"so is ensuring that a Dead entity is Dead", Machine, ToDead, MachineAgent, Facts{Life: dead}, alive, ""},
		{"and removing a removed one", Machine, ToRemove, Provisioner, Facts{Life: gone}, alive, ""},
		{"a machine with Alive units can't be destroyed", Machine, ToDestroy, User,
			Facts{Guards: []Guard{NotLast}, Holders: holders{"alive-units": 1, "units": 1}}, alive, "barred by alive-units"},
		{"a machine whose units are all Dying can be destroyed", Machine, ToDestroy, User,
			Facts{Guards: []Guard{NotLast}, Holders: holders{"units": 1}}, dying, ""},
		{"references that refuse a plain destruction do not bar a forced one", Machine, ToDestroy, Cleaner,
			Facts{Guards: []Guard{Forced}, Holders: holders{"alive-units": 1, "units": 1}}, dying, ""},
		{"the last manager can't be destroyed", Machine, ToDestroy, User, Facts{}, alive,
			"barred unless it is not the last manager"},
		{"an Alive machine with an instance is not removed, even by force", Machine, ToRemove, Cleaner,
			Facts{Guards: []Guard{Forced}}, alive, "barred unless it has no instance"},
		{"a unit whose agent has come up is not removed before it is Dead", Principal, ToRemove, Deployer, Facts{Life: dying}, alive,
			"barred unless its agent never came up"},
		{"the actor that removes a unit cannot ensure that it is Dead", Principal, ToDead, Deployer,
			Facts{Life: dying, Guards: []Guard{Unstarted}}, alive, "deployer can't move a principal that is dying"},
		{"a user does not remove a Dying service", Service, ToRemove, User, Facts{Life: dying}, alive,
			"user can't move a service that is dying"},
		{"a user does not destroy a subordinate", Subordinate, ToDestroy, User, Facts{}, alive,
			"user can't move a subordinate that is alive"},
		{"an unprovisioned machine is removed immediately", Machine, ToDestroy, User,
			Facts{Guards: []Guard{NotLast, Unprovisioned}}, gone, ""},
		{"an unprovisioned machine waits for its Dying units", Machine, ToDestroy, User,
			Facts{Guards: []Guard{NotLast, Unprovisioned}, Holders: holders{"units": 1}}, dying, ""},
		{"a machine is not Dead before its units are removed", Machine, ToDead, MachineAgent,
			Facts{Life: dying, Holders: holders{"units": 2}}, alive, "barred by units"},
		{"a unit in scopes and with subordinates becomes Dying", Principal, ToDestroy, User,
			Facts{Holders: holders{"scopes": 3, "subordinates": 1}}, dying, ""},
		{"a unit whose agent never came up is removed immediately", Principal, ToDestroy, User,
			Facts{Guards: []Guard{Unstarted}}, gone, ""},
		{"a unit is not Dead while in a scope", Principal, ToDead, UnitAgent,
			Facts{Life: dying, Holders: holders{"scopes": 1}}, alive, "barred by scopes"},
		{"a unit is not Dead while it has subordinates", Principal, ToDead, UnitAgent,
			Facts{Life: dying, Holders: holders{"subordinates": 1}}, alive, "barred by subordinates"},
		{"a service without references is removed immediately", Service, ToDestroy, User, Facts{}, gone, ""},
		{"a service with units becomes Dying", Service, ToDestroy, User,
			Facts{Holders: holders{"units": 1}}, dying, ""},
		{"a Dying service is removed with its last reference", Service, ToRemove, LastRef, Facts{Life: dying}, gone, ""},
		{"a relation with units in scope becomes Dying", Relation, ToDestroy, User,
			Facts{Holders: holders{"scopes": 1}}, dying, ""},
		{"a relation without units in scope is removed immediately", Relation, ToDestroy, User, Facts{}, gone, ""},
	} {
		step, err := Plan(c.kind, c.goal, c.by, c.facts)
		reason := entity.Invalid
		if strings.HasPrefix(c.bars, "barred by") {
			reason = entity.InUse
		}
		switch {
		case c.bars != "":
			if err == nil || err.Error() != c.bars || !errors.Is(err, reason) {
				t.Errorf("%s: got %v, want %s (%s)", c.says, err, c.bars, reason)
			}
		case err != nil:
			t.Errorf("%s: %v", c.says, err)
		case step.Move.To != c.to || step.Nothing() != (c.to == alive):
			t.Errorf("%s: to %s, want %s", c.says, step.Move.To, c.to)
		}
	}
}

// names returns the names of references.
func names(refs []Ref) string {
	var all []string
	for _, r := range refs {
		all = append(all, r.Name)
	}
	return strings.Join(all, " ")
}

// A service with relations becomes Dying and is removed with the last of them. The transaction that
// makes it Dying asserts that it still has a relation, because otherwise nothing would remove the
// service. The transaction that removes a service asserts that nothing refers to it.
func TestPlanAsserts(t *testing.T) {
	for holders, want := range map[string]struct{ some, none string }{
		"relations": {"relations", "offers"},
		"":          {"", "units relations offers"},
	} {
		step, err := Plan(Service, ToDestroy, User, Facts{Holders: map[string]int{holders: 2}})
		if err != nil {
			t.Fatal(err)
		}
		if some, none := names(step.Some), names(step.None); some != want.some || none != want.none {
			t.Errorf("with %q: asserts some of %q and none of %q, want %q and %q", holders, some, none, want.some, want.none)
		}
	}
}

// May ignores guards.
func TestMay(t *testing.T) {
	if !May(Machine, ToDestroy, User, alive) || May(Subordinate, ToDestroy, User, alive) {
		t.Error("users may destroy machines, but not subordinates")
	}
}

// A stronger destruction reaches more references.
func TestReached(t *testing.T) {
	for _, c := range []struct {
		kind Kind
		by   Actor
		how  entity.Strength
		want string
	}{
		{Machine, Cleaner, entity.Plain, "storage"},
		{Machine, Cleaner, entity.Lenient, "units storage"},
		{Machine, Cleaner, entity.Force, "alive-units containers units storage"},
		{Machine, User, entity.Force, ""},
		{Principal, UnitAgent, entity.Force, "subordinates attachments"}, // it leaves scopes, which are not destroyed
		{Service, User, entity.Plain, "relations"},
	} {
		if got := names(Reached(c.kind, c.how, c.by)); got != c.want {
			t.Errorf("%v destruction of a %s by %s reaches %q, want %q", c.how, c.kind, c.by, got, c.want)
		}
	}
}

// State counts references to an entity, but not those to a model.
func TestReferencesFrom(t *testing.T) {
	for kind, want := range map[Kind]string{
		Machine: "machines→model:false containers→machine:true",
		Scope:   "scopes→principal:true scopes→subordinate:true scopes→relation:true",
	} {
		var got []string
		for _, r := range RefsFrom(kind) {
			got = append(got, fmt.Sprintf("%s→%s:%v", r.Name, r.To, r.IsCounted()))
		}
		if got := strings.Join(got, " "); got != want {
			t.Errorf("the references from a %s: %s, want %s", kind, got, want)
		}
	}
}

// The kind of an entity is derived from its key, or from an id that begins with it.
func TestKeys(t *testing.T) {
	for key, want := range map[string]struct {
		kind Kind
		name string
	}{
		Key(Model, ""):                       {Model, ""},
		Key(Machine, "0"):                    {Machine, "0"},
		Key(Container, "0/lxd/1"):            {Machine, "0/lxd/1"},
		Key(Machine, "0") + "#instance":      {Machine, "0"},
		Key(Subordinate, "log/2") + "#state": {Principal, "log/2"},
		Key(Relation, "web:db mysql:server"): {Relation, "web:db mysql:server"},
		"m#":                                 {},
		"else":                               {},
		"x#1":                                {},
		"#1":                                 {},
	} {
		if kind, name := ParseKey(key); kind != want.kind || name != want.name {
			t.Errorf("%q is the key of %s %q, want %s %q", key, kind, name, want.kind, want.name)
		}
	}
	if row := RowOf("owner"); row.Kind != "" {
		t.Errorf("unknown kind has row %+v", row)
	}
}

// renderBehaviours renders doc/behaviours.txt, without its heading, as Markdown.
func renderBehaviours(t *testing.T) string {
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

// doc/lifecycles.md shows the tables of this package and doc/behaviours.txt.
func TestDocumentIsUpToDate(t *testing.T) {
	verify.Smoke(t)
	const file, mark = "../../doc/lifecycles.md", "<!-- made from state/lifecycle by its test: go test ./state/lifecycle -update -->\n"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, _, found := strings.Cut(string(text), mark)
	if !found {
		t.Fatalf("%s has no line %q", file, mark)
	}
	want := head + mark + "\n" + renderTables() + renderBehaviours(t)
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
