package lifecycle

import "juju/state/entity"

// A Kind is one of the things that refer to each other. Principal and
// subordinate units differ in who destroys and removes them, so they are two.
type Kind string

// The kinds. A Scope is a unit's presence in a relation: it has no life of its
// own, it is there or not.
const (
	Model       Kind = "model"
	Machine     Kind = "machine"
	Container   Kind = "container" // a machine on a machine, as what refers to its host
	Principal   Kind = "principal"
	Subordinate Kind = "subordinate"
	Service     Kind = "service"
	Relation    Kind = "relation"
	Scope       Kind = "scope"
)

// An Actor is whoever may make a move.
type Actor string

// The actors. A deployer is the machine agent for principals, and the
// principal's unit agent for subordinates. LastRef is whichever agent removes
// the last thing that referred to the entity, in the same transaction.
const (
	User         Actor = "user"
	MachineAgent Actor = "machine agent"
	UnitAgent    Actor = "unit agent"
	Deployer     Actor = "deployer"
	Provisioner  Actor = "provisioner"
	Cleaner      Actor = "cleaner"
	LastRef      Actor = "last reference"
	Controller   Actor = "controller"
)

// A Guard is a fact about the entity itself that a move needs.
type Guard string

// The guards.
const (
	Always        Guard = ""
	Unstarted     Guard = "its agent never came up"
	Unprovisioned Guard = "it has no instance"
	NotLast       Guard = "it is not the last manager"
	Forced        Guard = "it was destroyed with force"
	Emptied       Guard = "it was made for units, and the last took it along"
)

// The lives by their short names, so that the tables read as tables.
const (
	alive = entity.Alive
	dying = entity.Dying
	dead  = entity.Dead
	gone  = entity.Gone
)

// A Move is a legal step of a life, the one who may take it, and when.
type Move struct {
	Kind Kind
	From entity.Life
	To   entity.Life
	By   Actor
	When Guard
}

// Moves is every legal step. What is not here can't happen.
var Moves = []Move{
	{Model, alive, dying, User, Always}, // from here on nothing is added
	{Model, dying, dead, Controller, Always},
	{Model, dead, gone, Controller, Always}, // with its database

	{Machine, alive, dying, User, NotLast},
	{Machine, alive, gone, User, Unprovisioned},
	{Machine, dying, dead, MachineAgent, Always},
	{Machine, dying, dead, Provisioner, Unprovisioned},
	{Machine, dead, gone, Provisioner, Always},
	{Machine, alive, dying, Cleaner, Forced}, // a container whose host was destroyed with force
	{Machine, alive, dying, Cleaner, Emptied},
	{Machine, alive, gone, Cleaner, Unprovisioned},
	{Machine, dying, dead, Cleaner, Forced},
	{Machine, dead, gone, Cleaner, Forced}, // leaves the instance behind as a leftover, if there is one

	{Principal, alive, dying, User, Always},
	{Principal, alive, gone, User, Unstarted},
	{Principal, alive, dying, UnitAgent, Always}, // it sees its service Dying
	{Principal, alive, dying, Cleaner, Always},   // the same for agents that are away
	{Principal, alive, gone, Cleaner, Unstarted},
	{Principal, dying, dead, UnitAgent, Always},
	{Principal, dying, gone, Deployer, Unstarted},
	{Principal, dead, gone, Deployer, Always},
	{Principal, dying, dead, Cleaner, Forced},
	{Principal, dead, gone, Cleaner, Forced},

	{Subordinate, alive, dying, UnitAgent, Always}, // its own, or its principal's
	{Subordinate, alive, dying, Cleaner, Always},
	{Subordinate, dying, dead, UnitAgent, Always},
	{Subordinate, dying, gone, Deployer, Unstarted},
	{Subordinate, dead, gone, Deployer, Always},
	{Subordinate, dying, dead, Cleaner, Forced},
	{Subordinate, dead, gone, Cleaner, Forced},

	{Service, alive, dying, User, Always},
	{Service, alive, gone, User, Always},
	{Service, dying, gone, LastRef, Always},

	{Relation, alive, dying, User, Always},
	{Relation, alive, gone, User, Always},
	{Relation, dying, gone, LastRef, Always},
}

// A Verb is what happens to the source of a reference when its target is
// destroyed.
type Verb string

// The verbs. Force turns Refuse into Destroy, by the cleaner's hand; and where an
// agent does not do its part, the cleaner does it in the end.
const (
	Refuse  Verb = "refuse"  // the target can't be destroyed: the user must act first
	Await   Verb = "await"   // nothing: the source goes on its own way and is waited for
	Destroy Verb = "destroy" // it is destroyed too
	Leave   Verb = "leave"   // it leaves the scope
)

// A Ref says that a From refers to a To: while one exists its To can't reach
// Bars or anything later, and when its To is destroyed, By does Then to it.
// Name is also the name of the count that state keeps on the target.
type Ref struct {
	Name string
	From Kind
	To   Kind
	Bars entity.Life
	Then Verb
	By   []Actor
	Why  string // what a refusal or explanation says of it; %s is the target, then a source
}

// Refs is every reference.
var Refs = []Ref{
	// These are not counted: nothing is added to a Dying model, so one look is enough.
	{"machines", Machine, Model, dead, Destroy, []Actor{Cleaner}, `%d machine(s)`},
	{"services", Service, Model, dead, Destroy, []Actor{Cleaner}, `%d service(s)`},

	{"alive-units", Principal, Machine, dying, Refuse, nil, `machine %s has unit %q assigned`},
	{"containers", Container, Machine, dying, Refuse, nil, `machine %s is hosting containers %q`},
	{"units", Principal, Machine, dead, Await, []Actor{Deployer, Cleaner}, `machine %s has unit %q assigned`},

	{"subordinates", Subordinate, Principal, dead, Destroy, []Actor{UnitAgent, Cleaner}, `unit %q has subordinate %q`},
	{"scopes", Scope, Principal, dead, Leave, []Actor{UnitAgent, Cleaner}, `unit %q is in relation %q`},
	{"scopes", Scope, Subordinate, dead, Leave, []Actor{UnitAgent, Cleaner}, `unit %q is in relation %q`},

	{"units", Principal, Service, gone, Destroy, []Actor{UnitAgent, Cleaner}, `service %q has unit %q`},
	{"units", Subordinate, Service, gone, Destroy, []Actor{UnitAgent, Cleaner}, `service %q has unit %q`},
	{"relations", Relation, Service, gone, Destroy, []Actor{User, Cleaner}, `service %q is in relation %q`},

	{"scopes", Scope, Relation, gone, Leave, []Actor{UnitAgent, Cleaner}, `relation %q has unit %q in scope`},
}
