package modeldb

import (
	"fmt"
	"strings"
	"time"

	"juju/state/entity"
	"juju/state/lifecycle"
)

// A Living contains the fields common to the documents of entities with a life.
type Living struct {
	Life  entity.Life `bson:"life"`
	Since time.Time   `bson:"since,omitempty"` // when Life last changed
	// Strength is the strongest destruction requested so far. Deadline is when the
	// cleaner takes over from the agents; forced destructions only.
	Strength entity.Strength `bson:"strength,omitempty"`
	Deadline time.Time       `bson:"deadline,omitempty"`
	// Machines means that the machines of the unit or service are destroyed with it.
	Machines bool `bson:"machines,omitempty"`
	// WithStorage means that the storage of the unit, service or model is destroyed with it.
	WithStorage bool `bson:"withstorage,omitempty"`
}

func (l Living) Forced() bool { return l.Strength == entity.Force }

// A Birth contains the fields that determine the initial status of a unit or machine.
type Birth struct {
	Born time.Time `bson:"born,omitempty"`
}

// A Cleanup is work that a transaction leaves for later, because it is unbounded, or because it is the task
// of an agent that may be disconnected. It is idempotent; its document is removed when it is done.
type Cleanup struct {
	ID   string `bson:"_id"`
	Kind string `bson:"kind"`
	Arg  string `bson:"arg"`
	// The destruction that the cleanup passes on.
	Strength entity.Strength `bson:"strength,omitempty"`
	Deadline time.Time       `bson:"deadline,omitempty"`
}

// The kinds of cleanups.
const (
	CleanupDestroy = "destroy" // destroy what refers to a Dying entity, by its key
	CleanupOrphans = "orphans" // destroy the subordinates of a removed container relation
	CleanupForce   = "force"   // remove an entity that was destroyed with force, by its key
	CleanupEmptied = "emptied" // destroy a machine after its last unit, if nothing else is on it
	CleanupStorage = "storage" // destroy a storage instance after its last unit
	CleanupLease   = "lease"   // delete a removed service's lease, outside transactions
	CleanupTasks   = "tasks"   // cancel the tasks of a removed unit
	CleanupArchive = "archive" // release a resource's file if nothing uses it any more
	// CleanupAddresses has the units of a service publish the addresses to which it is bound now.
	CleanupAddresses = "addresses"
	// CleanupEgress has all units publish where the model says that their connections come from, in place of what it said.
	CleanupEgress   = "egress"
	CleanupUpgrade  = "upgrade"  // let a machine's upgrade no longer wait for a destroyed unit
	CleanupPeers    = "peers"    // add the peer relations that a service lacks after the removal of one
	CleanupSettings = "settings" // delete a removed relation's settings, outside transactions
	CleanupParty    = "party"    // delete the secrets of a removed service or unit, and what it has read, by its party's token
	CleanupGrants   = "grants"   // delete what was granted while a removed relation lasted
	CleanupSecret   = "secret"   // delete what is left of a removed secret
	CleanupTell     = "tell"     // tell the units that read a secret of its new revision
)

// maxDepth exceeds the number of slashes in any machine's id.
const maxDepth = 1000

// Turn orders the cleanups of one pass: those with a smaller number run first. Emptied machines come last, after the
// removals of units, and containers before their hosts, which they may leave empty.
func (d Cleanup) Turn() int {
	if d.Kind == CleanupEmptied {
		return maxDepth - strings.Count(d.Arg, "/")
	}
	return 0
}

// ForceID is the id of the cleanup that removes an entity by force. The document exists
// while the entity's strength is force.
func ForceID(key string) string { return CleanupForce + "-" + key }

type Leftover struct {
	ID         string    `bson:"_id"`
	Of         string    `bson:"of"`
	Instance   string    `bson:"instance"`
	Filesystem string    `bson:"filesystem,omitempty"`
	Release    bool      `bson:"release,omitempty"` // the filesystem is to be released, not destroyed
	Why        string    `bson:"why"`
	How        string    `bson:"how"`
	At         time.Time `bson:"at"`
}

// IsReleased reports whether the filesystem is kept for the user, as requested for the storage or its model.
func (d Leftover) IsReleased(model Model) bool { return d.Release || model.Released }

// Leftover returns the leftover as users see it.
func (d Leftover) Leftover(model Model) entity.Leftover {
	kind, name := lifecycle.ParseKey(d.Of)
	what := fmt.Sprintf("instance %s of machine %s", d.Instance, name)
	if kind == lifecycle.Storage {
		what = fmt.Sprintf("filesystem %s of storage %s", d.Filesystem, name)
	}
	return entity.Leftover{ID: d.ID, Of: d.Of, Instance: d.Instance, What: what, Where: "cloud " + model.Cloud,
		Why: d.Why, How: d.How, At: d.At}
}
