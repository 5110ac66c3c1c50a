package modeldb

import (
	"strings"
	"time"

	"juju/state/entity"
	"juju/state/lifecycle"
)

// A Storage is a storage instance, and the filesystem that the cloud creates for it.
type Storage struct {
	Living `bson:",inline"`
	Birth  `bson:",inline"`
	ID     string             `bson:"_id"`
	Pool   entity.StoragePool `bson:"pool"` // as it was when the instance was added
	Size   uint64             `bson:"size"` // MiB, as requested
	// Machine is the machine that the storage is on and is removed with; "" if it outlives machines.
	Machine string `bson:"machine,omitempty"`
	// Filesystem is the cloud's id of the created filesystem, and Made its size in MiB.
	Filesystem string `bson:"filesystem,omitempty"`
	Made       uint64 `bson:"made,omitempty"`
	// Release means that the filesystem is not destroyed with this document.
	Release bool `bson:"release,omitempty"`
}

// Targets returns the names of the entities that a reference of the instance names.
func (d Storage) Targets(ref lifecycle.Ref) []string {
	if ref.To == lifecycle.Machine && d.Machine != "" {
		return []string{d.Machine}
	}
	return nil
}

// IsPersistent reports whether the storage outlives machines.
func (d Storage) IsPersistent() bool { return d.Machine == "" }

// IsReleased reports whether the filesystem is kept for the user, as requested for the instance or its model.
func (d Storage) IsReleased(model Model) bool {
	return d.Release || d.IsPersistent() && model.Life != entity.Alive && !model.WithStorage
}

// ActualSize returns the actual or requested size of the filesystem in MiB.
func (d Storage) ActualSize() uint64 {
	if d.Made > 0 {
		return d.Made
	}
	return d.Size
}

// An Attachment attaches a storage instance to a unit. The instance's count of attachments ensures that it has at most
// one.
type Attachment struct {
	Living      `bson:",inline"`
	Birth       `bson:",inline"`
	ID          string `bson:"_id"` // see AttachmentID
	Unit        string `bson:"unit"`
	Subordinate bool   `bson:"subordinate,omitempty"` // the unit is a subordinate
	Storage     string `bson:"storage"`
	Machine     string `bson:"machine"`            // the unit's, or its principal's
	Mount       string `bson:"mount"`              // where the charm wants the filesystem
	Location    string `bson:"location,omitempty"` // its actual mount point; "" until it is attached
}

// Targets returns the names of the entities that a reference of the attachment names.
func (d Attachment) Targets(ref lifecycle.Ref) []string {
	switch {
	case ref.To == lifecycle.Storage:
		return []string{d.Storage}
	case d.Subordinate == (ref.To == lifecycle.Subordinate):
		return []string{d.Unit}
	}
	return nil
}

// Meets returns the storage that conflicts with an attachment's mount point. inUse is already mounted there,
// or would be hidden below it; after must be attached or detached first, because one is mounted inside the
// other. others are the attachments on its machine.
func (d Attachment) Meets(others []Attachment) (inUse, after string) {
	for _, other := range others {
		there := other.Location != ""
		inner := strings.HasPrefix(other.Mount, d.Mount+"/")
		outer := strings.HasPrefix(d.Mount, other.Mount+"/")
		switch {
		case other.ID == d.ID:
		case d.Life != entity.Alive:
			if inner && there {
				after = other.Storage
			}
		case there && (inner || other.Mount == d.Mount):
			inUse = other.Storage
		case outer && there != (other.Life == entity.Alive):
			after = other.Storage
		}
	}
	return inUse, after
}

// A Pool is a storage pool created by users.
type Pool struct {
	Name       string            `bson:"_id"`
	Provider   string            `bson:"provider"`
	Attributes map[string]string `bson:"attributes,omitempty"`
	// Grants grows with each transaction that uses the pool, so that a removal can assert that none ran since
	// it read the pool.
	Grants int `bson:"grants"`
}

func (d Pool) Pool() entity.StoragePool {
	return entity.StoragePool{Name: d.Name, Provider: d.Provider, Attributes: d.Attributes}
}

// An Import is a pending import of a filesystem: the cloud may have tagged the filesystem as the model's, but no
// storage instance has it yet.
type Import struct {
	ID      string    `bson:"_id"` // the filesystem's
	Storage string    `bson:"storage"`
	Pool    string    `bson:"pool"`
	Began   time.Time `bson:"began"`
}
