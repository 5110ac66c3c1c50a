package lifecycle

import (
	"slices"

	"juju/state/entity"
)

// A Verb is what happens to the source of a reference when its target is
// destroyed.
type Verb string

// The verbs. What a destruction does to a source depends on its strength too:
// see Ref.Reaches.
const (
	Refuse  Verb = "refuse"  // the target can't be destroyed: the user must act first
	Await   Verb = "await"   // nothing: the target waits until the source has gone
	Destroy Verb = "destroy" // it is destroyed too
	Leave   Verb = "leave"   // it leaves the scope
)

// A Ref says that a From refers to a To. While a source exists its target can't
// reach the life Bars, or a later one. When the target is destroyed, By does
// Then to the source: User in the same transaction as far as that is bounded,
// Cleaner by a cleanup, an agent when it sees the target go. Where force ends
// what agents don't, the cleaner does, if it is named.
//
// The sources are the documents of In whose Field names the target, all of In
// when Field is "". State counts them on the target under Name, unless Field
// is "": nothing is added to a Dying model, so one look is enough there.
type Ref struct {
	Name  string
	From  Kind
	To    Kind
	In    string
	Field string
	Alive bool // only sources that are Alive count
	Bars  entity.Life
	Then  Verb
	By    []Actor
	Why   string // what refusals and explanations say; %s is the target, then a source
}

// Refs is every reference. A forced removal follows their order.
var Refs = []Ref{
	{"machines", Machine, Model, "machines", "", false, dead, Destroy, []Actor{Cleaner}, `%d machine(s)`},
	{"services", Service, Model, "services", "", false, dead, Destroy, []Actor{Cleaner}, `%d service(s)`},

	{"alive-units", Principal, Machine, "units", "machine", true, dying, Refuse, []Actor{Cleaner}, `machine %s has unit %q assigned`},
	{"containers", Container, Machine, "machines", "host", false, dying, Refuse, []Actor{Cleaner}, `machine %s is hosting containers %q`},
	{"units", Principal, Machine, "units", "machine", false, dead, Await, []Actor{Deployer, Cleaner}, `machine %s has unit %q assigned`},

	{"subordinates", Subordinate, Principal, "units", "principal", false, dead, Destroy, []Actor{UnitAgent, Cleaner}, `unit %q has subordinate %q`},
	{"scopes", Scope, Principal, "scopes", "unit", false, dead, Leave, []Actor{UnitAgent, Cleaner}, `unit %q is in relation %q`},
	{"scopes", Scope, Subordinate, "scopes", "unit", false, dead, Leave, []Actor{UnitAgent, Cleaner}, `unit %q is in relation %q`},

	{"units", Principal, Service, "units", "service", false, gone, Destroy, []Actor{UnitAgent, Cleaner}, `service %q has unit %q`},
	{"units", Subordinate, Service, "units", "service", false, gone, Destroy, []Actor{UnitAgent, Cleaner}, `service %q has unit %q`},
	{"relations", Relation, Service, "endpoints", "service", false, gone, Destroy, []Actor{User, Cleaner}, `service %q is in relation %q`},

	{"scopes", Scope, Relation, "scopes", "relation", false, gone, Leave, []Actor{UnitAgent, Cleaner}, `relation %q has unit %q in scope`},
}

// Does reports whether an actor does what the reference asks for.
func (r Ref) Does(a Actor) bool { return slices.Contains(r.By, a) }

// Reaches reports whether the destruction of the target, of this strength, is
// one of the sources too. Force begins the end of a target in spite of what
// refuses a plain one, and what is on its way out already takes on the strength.
func (r Ref) Reaches(s entity.Strength) bool {
	switch r.Then {
	case Destroy:
		return true
	case Await:
		return s > entity.Plain
	case Refuse:
		return s == entity.Force
	}
	return false
}

// IsCounted reports whether state counts the sources on the target.
func (r Ref) IsCounted() bool { return r.Field != "" }

// RefsTo returns the references whose target is of this kind, once for each name.
func RefsTo(kind Kind) []Ref { return bars(kind, entity.Gone) }

// RefsFrom returns the references whose source is of this kind. A machine's
// include those that it has as a container.
func RefsFrom(kind Kind) []Ref {
	var found []Ref
	for _, r := range Refs {
		if r.From == kind || r.From == Container && kind == Machine {
			found = append(found, r)
		}
	}
	return found
}

// Bars returns the references that keep a kind from reaching a life, once for
// each name.
func Bars(kind Kind, to entity.Life) []Ref { return bars(kind, to) }

func bars(kind Kind, to entity.Life) []Ref {
	var found []Ref
	for _, r := range Refs {
		if r.To == kind && r.Bars <= to && !slices.ContainsFunc(found, func(f Ref) bool { return f.Name == r.Name }) {
			found = append(found, r)
		}
	}
	return found
}
