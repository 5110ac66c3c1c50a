package lifecycle

import (
	"slices"

	"juju/state/entity"
)

// A Verb is what happens to the source of a reference when its target is destroyed.
type Verb string

// The verbs. Ref.Reaches says how they depend on the strength of the destruction.
const (
	Refuse  Verb = "refuse"  // the target can't be destroyed: the user must act first
	Await   Verb = "await"   // nothing: the target waits until the source is removed
	Destroy Verb = "destroy" // the source is destroyed too
	Leave   Verb = "leave"   // the unit leaves the scope
)

// A Ref says that entities of kind From refer to entities of kind To. While a target has a source, it can't reach the
// life Bars or a later one. When the target is destroyed, each of By does Then to the source: User in the same
// transaction if there are few sources, Cleaner in a cleanup, and an agent when it sees the target Dying. In a forced
// removal Cleaner, if listed, does what the agents have not done.
//
// The sources are the documents of collection In whose Field names the target, or all of them if Field is "". State
// counts them on the target under Name, unless Field is "": nothing is added to a Dying model, so it is enough to count
// the documents then.
type Ref struct {
	Name  string
	From  Kind
	To    Kind
	In    string
	Field string
	Alive bool // applies to Alive sources only
	Bars  entity.Life
	Then  Verb
	By    []Actor
	Why   string // the text of refusals and explanations, formatted with the target and a source
}

// Refs lists every reference. Forced removal follows this order.
var Refs = []Ref{
	{"storage", Storage, Model, "storage", "", false, dead, Destroy, []Actor{Cleaner}, `%d storage instance(s)`},
	{"machines", Machine, Model, "machines", "", false, dead, Destroy, []Actor{Cleaner}, `%d machine(s)`},
	{"services", Service, Model, "services", "", false, dead, Destroy, []Actor{Cleaner}, `%d service(s)`},
	{"remotes", Remote, Model, "remotes", "", false, dead, Destroy, []Actor{Cleaner}, `%d remote service(s)`},
	{"offers", Offer, Model, "offers", "", false, dead, Destroy, []Actor{Cleaner}, `%d offer(s)`},

	{"alive-units", Principal, Machine, "units", "machine", true, dying, Refuse, []Actor{Cleaner},
		`machine %s has unit %q assigned`},
	{"containers", Container, Machine, "machines", "host", false, dying, Refuse, []Actor{Cleaner},
		`machine %s is hosting containers %q`},
	{"units", Principal, Machine, "units", "machine", false, dead, Await, []Actor{Deployer, Cleaner},
		`machine %s has unit %q assigned`},
	{"storage", Storage, Machine, "storage", "machine", false, dead, Destroy, []Actor{Cleaner},
		`machine %s has storage %q`},

	{"subordinates", Subordinate, Principal, "units", "principal", false, dead, Destroy, []Actor{UnitAgent, Cleaner},
		`unit %q has subordinate %q`},
	{"scopes", Scope, Principal, "scopes", "unit", false, dead, Leave, []Actor{UnitAgent, Cleaner},
		`unit %q is in relation %q`},
	{"scopes", Scope, Subordinate, "scopes", "unit", false, dead, Leave, []Actor{UnitAgent, Cleaner},
		`unit %q is in relation %q`},
	{"attachments", Attachment, Principal, "attachments", "unit", false, dead, Destroy, []Actor{UnitAgent, Cleaner},
		`unit %q has storage %q attached`},
	{"attachments", Attachment, Subordinate, "attachments", "unit", false, dead, Destroy, []Actor{UnitAgent, Cleaner},
		`unit %q has storage %q attached`},

	{"attachments", Attachment, Storage, "attachments", "storage", false, dying, Refuse, []Actor{Cleaner},
		`storage %q is attached to unit %q`},

	{"units", Principal, Service, "units", "service", false, gone, Destroy, []Actor{UnitAgent, Cleaner},
		`service %q has unit %q`},
	{"units", Subordinate, Service, "units", "service", false, gone, Destroy, []Actor{UnitAgent, Cleaner},
		`service %q has unit %q`},
	{"relations", Relation, Service, "endpoints", "service", false, gone, Destroy, []Actor{User, Cleaner},
		`service %q is in relation %q`},
	{"offers", Offer, Service, "offers", "service", true, dying, Refuse, []Actor{Cleaner}, `service %q is offered as %q`},

	{"relations", Relation, Remote, "endpoints", "service", false, gone, Destroy, []Actor{User, Cleaner},
		`remote service %q is in relation %q`},
	{"connections", Relation, Offer, "relations", "offer", false, dying, Refuse, []Actor{Cleaner},
		`offer %q is used by relation %q`},

	{"scopes", Scope, Relation, "scopes", "relation", false, gone, Leave, []Actor{UnitAgent, Cleaner, Controller},
		`relation %q has unit %q in scope`},
}

// Does reports whether By includes the actor.
func (r Ref) Does(a Actor) bool { return slices.Contains(r.By, a) }

// Reaches reports whether destroying the target with this strength destroys the sources too. Force also destroys
// sources that refuse a plain destruction; anything stronger than Plain raises the strength of awaited sources, which
// are already Dying.
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

// Reached returns the references whose sources the actor destroys when an entity of this kind is destroyed with this
// strength, one for each name.
func Reached(kind Kind, s entity.Strength, by Actor) []Ref {
	return slices.DeleteFunc(RefsTo(kind), func(r Ref) bool { return !r.Reaches(s) || !r.Does(by) })
}

// IsCounted reports whether state counts the sources on the target.
func (r Ref) IsCounted() bool { return r.Field != "" }

// RefsTo returns the references to a kind, one for each name.
func RefsTo(kind Kind) []Ref { return Bars(kind, entity.Gone) }

// RefsFrom returns the references from a kind to others. Those of Machine include those of Container.
func RefsFrom(kind Kind) []Ref {
	var found []Ref
	for _, r := range Refs {
		if r.From == kind || r.From == Container && kind == Machine {
			found = append(found, r)
		}
	}
	return found
}

// Bars returns the references that keep a kind from reaching a life, one for each name.
func Bars(kind Kind, to entity.Life) []Ref {
	var found []Ref
	for _, r := range Refs {
		if r.To == kind && r.Bars <= to && !slices.ContainsFunc(found, func(f Ref) bool { return f.Name == r.Name }) {
			found = append(found, r)
		}
	}
	return found
}
