package lifecycle

import "juju/state/entity"

// An Actor makes moves.
type Actor string

// The actors. The Deployer of a principal is its machine's agent; that of a subordinate is its principal's agent. LastRef
// is the transaction that removes the last reference to an entity, and with it the entity.
const (
	User         Actor = "user"
	MachineAgent Actor = "machine agent"
	UnitAgent    Actor = "unit agent"
	Deployer     Actor = "deployer"
	Provisioner  Actor = "provisioner" // of machines, or of storage
	Cleaner      Actor = "cleaner"
	LastRef      Actor = "last reference"
	Controller   Actor = "controller"
)

// A Guard is a fact about the entity that a move requires.
type Guard string

// The guards.
const (
	Unguarded     Guard = ""
	Unstarted     Guard = "its agent never came up"
	Unprovisioned Guard = "it has no instance"
	NotLast       Guard = "it is not the last manager"
	Forced        Guard = "it was destroyed with force"
	Emptied       Guard = "it was created for units, and the last of them was removed"
	ModelDying    Guard = "its model is dying"
)

// Short names for the lives, to keep the tables readable.
const (
	alive = entity.Alive
	dying = entity.Dying
	dead  = entity.Dead
	gone  = entity.Gone
)

// A Move is a step from one life to another, who may make it, and when.
type Move struct {
	Kind Kind
	From entity.Life
	To   entity.Life
	By   Actor
	When Guard
}

// Moves lists every legal move. State rejects all others.
var Moves = []Move{
	{Model, alive, dying, User, Unguarded}, // nothing can be added any more
	{Model, dying, dead, Controller, Unguarded},
	{Model, dead, gone, Controller, Unguarded}, // with its database

	{Machine, alive, dying, User, NotLast},
	{Machine, alive, gone, User, Unprovisioned},
	{Machine, dying, dead, MachineAgent, Unguarded},
	{Machine, dying, dead, Provisioner, Unprovisioned},
	{Machine, dead, gone, Provisioner, Unguarded},
	{Machine, alive, dying, Cleaner, Forced}, // a container whose host was destroyed with force
	{Machine, alive, dying, Cleaner, Emptied},
	{Machine, alive, dying, Cleaner, ModelDying},
	{Machine, alive, gone, Cleaner, Unprovisioned},
	{Machine, dying, dead, Cleaner, Forced},
	{Machine, dead, gone, Cleaner, Forced}, // if the cloud did not stop the instance, with a leftover

	{Principal, alive, dying, User, Unguarded},
	{Principal, alive, gone, User, Unstarted},
	{Principal, alive, dying, UnitAgent, Unguarded}, // it sees its service Dying
	{Principal, alive, dying, Cleaner, Unguarded},   // for an agent that is disconnected
	{Principal, alive, gone, Cleaner, Unstarted},
	{Principal, dying, dead, UnitAgent, Unguarded},
	{Principal, dying, gone, Deployer, Unstarted},
	{Principal, dead, gone, Deployer, Unguarded},
	{Principal, dying, dead, Cleaner, Forced},
	{Principal, dead, gone, Cleaner, Forced},

	{Subordinate, alive, dying, UnitAgent, Unguarded}, // its own agent or its principal's
	{Subordinate, alive, dying, Cleaner, Unguarded},
	{Subordinate, dying, dead, UnitAgent, Unguarded},
	{Subordinate, dying, gone, Deployer, Unstarted},
	{Subordinate, dead, gone, Deployer, Unguarded},
	{Subordinate, dying, dead, Cleaner, Forced},
	{Subordinate, dead, gone, Cleaner, Forced},

	{Service, alive, dying, User, Unguarded},
	{Service, alive, gone, User, Unguarded},
	{Service, alive, dying, Cleaner, Unguarded}, // with its model
	{Service, alive, gone, Cleaner, Unguarded},
	{Service, dying, gone, LastRef, Unguarded},

	{Relation, alive, dying, User, Unguarded},
	{Relation, alive, gone, User, Unguarded},
	{Relation, alive, dying, Cleaner, Unguarded}, // with a service that has many
	{Relation, alive, gone, Cleaner, Unguarded},
	{Relation, alive, dying, Controller, Unguarded}, // its counterpart in another model ends
	{Relation, alive, gone, Controller, Unguarded},
	{Relation, dying, gone, LastRef, Unguarded},

	{Offer, alive, dying, User, Unguarded}, // by force, if relations use it
	{Offer, alive, gone, User, Unguarded},
	{Offer, alive, dying, Cleaner, Unguarded}, // with its service or model
	{Offer, alive, gone, Cleaner, Unguarded},
	{Offer, dying, gone, LastRef, Unguarded},

	{Remote, alive, dying, User, Unguarded},
	{Remote, alive, gone, User, Unguarded},
	{Remote, alive, dying, Cleaner, Unguarded}, // with its model
	{Remote, alive, gone, Cleaner, Unguarded},
	{Remote, dying, gone, LastRef, Unguarded},

	{Storage, alive, dying, User, Unguarded},
	{Storage, alive, dying, Cleaner, Unguarded}, // with its unit, machine or model
	{Storage, dying, dead, Provisioner, Unguarded},
	{Storage, dead, gone, Provisioner, Unguarded},
	{Storage, dying, dead, Cleaner, Forced},
	{Storage, dead, gone, Cleaner, Forced}, // if the filesystem was not destroyed, with a leftover

	{Attachment, alive, dying, User, Unguarded},
	{Attachment, alive, dying, UnitAgent, Unguarded}, // its unit is dying
	{Attachment, alive, dying, Cleaner, Unguarded},
	{Attachment, dying, dead, UnitAgent, Unguarded}, // its hooks have run
	{Attachment, dead, gone, Provisioner, Unguarded},
	{Attachment, dying, dead, Cleaner, Forced},
	{Attachment, dead, gone, Cleaner, Forced},
}
