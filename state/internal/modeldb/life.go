package modeldb

import (
	"fmt"
	"time"

	"juju/state/entity"
	"juju/state/lifecycle"
)

// A Living is the part that the documents of living entities share.
type Living struct {
	Life  entity.Life `bson:"life"`
	Since time.Time   `bson:"since,omitempty"` // when Life last changed
	// Strength is the strongest destruction asked for so far. Deadline is when the
	// cleaner takes over from the agents; forced destructions only.
	Strength entity.Strength `bson:"strength,omitempty"`
	Deadline time.Time       `bson:"deadline,omitempty"`
	// Machines says that the machines of the unit or service go with it.
	Machines bool `bson:"machines,omitempty"`
	// WithStorage says that the storage of the unit, service or model is destroyed with it.
	WithStorage bool `bson:"withstorage,omitempty"`
}

func (l Living) Forced() bool { return l.Strength == entity.Force }

// A Birth is what determines the initial status of a unit or machine.
type Birth struct {
	Born time.Time `bson:"born,omitempty"`
}

// A Cleanup is work that a transaction leaves for later, because it has no bound or
// because it is the duty of an agent that may be away. It can be repeated at any time;
// its document is removed when it is done.
type Cleanup struct {
	ID   string `bson:"_id"`
	Kind string `bson:"kind"`
	Arg  string `bson:"arg"`
	// Of a destruction that is passed on.
	Strength entity.Strength `bson:"strength,omitempty"`
	Deadline time.Time       `bson:"deadline,omitempty"`
}

// The kinds of cleanups.
const (
	CleanupDestroy  = "destroy"  // destroy what refers to a Dying entity, by its key
	CleanupOrphans  = "orphans"  // destroy the subordinates that an ended container relation leaves
	CleanupForce    = "force"    // remove an entity that was destroyed with force, by its key
	CleanupEmptied  = "emptied"  // destroy a machine with its last unit, if nothing is on it
	CleanupStorage  = "storage"  // destroy a storage instance that goes with its last unit
	CleanupLease    = "lease"    // delete a removed service's lease, outside transactions
	CleanupTasks    = "tasks"    // cancel the tasks of a removed unit
	CleanupArchive  = "archive"  // give up a file of a resource if nothing uses it any more
	CleanupSettings = "settings" // delete a removed relation's settings, outside transactions
)

// Last returns 1 for a cleanup that comes after those for which it returns 0.
func (d Cleanup) Last() int {
	if d.Kind == CleanupEmptied {
		return 1
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

// IsReleased reports whether the filesystem is left to the user, who has said so of the storage or
// of its model.
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
