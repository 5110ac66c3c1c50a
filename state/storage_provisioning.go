package state

import (
	"context"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/internal/storage"
	"juju/state/lifecycle"
	"juju/state/watcher"
)

// Provisioning is what the provisioners of machines and storage use, besides the methods of Machine and Storage.
type Provisioning struct{ st *State }

// Provisioning returns what the model's provisioners use.
func (st *State) Provisioning() Provisioning { return Provisioning{st} }

// WatchStorage fires when the result of StorageWork may have changed.
func (p Provisioning) WatchStorage(ctx context.Context) (<-chan struct{}, error) {
	return watcher.Notify(ctx, p.st.hub, watcher.Collection(modeldb.StorageC), watcher.Collection(modeldb.AttachmentsC),
		watcher.Collection(modeldb.MachinesC), watcher.Collection(modeldb.LeftoversC),
		watcher.Doc(modeldb.ModelC, modeldb.ModelC)), nil
}

// StorageWork returns the storage instances to create, attach, detach, destroy or release, in natural order, followed by
// those that are Gone but whose filesystems were left by forced removals.
func (p Provisioning) StorageWork(ctx context.Context) ([]entity.StorageWork, error) {
	return storage.Work(ctx, p.st.db)
}

// DropFilesystem removes the leftovers of a filesystem that was destroyed or released.
func (p Provisioning) DropFilesystem(ctx context.Context, filesystem string) error {
	return p.st.dropLeftovers(ctx, bson.D{{"filesystem", filesystem}})
}

// SetFilesystem records the filesystem that the cloud created for the instance: see storage.SetFilesystem.
func (s *Storage) SetFilesystem(ctx context.Context, f entity.Filesystem) error {
	return storage.SetFilesystem(ctx, s.st.db, s.doc.ID, f)
}

// SetAttached records where the storage is mounted for its unit, on an instance of its machine: see storage.SetAttached.
func (s *Storage) SetAttached(ctx context.Context, unit, instance, location string) error {
	return storage.SetAttached(ctx, s.st.db, s.doc.ID, unit, instance, location)
}

// Attached returns the storage recorded as attached on the cloud's instances, in natural order.
func (p Provisioning) Attached(ctx context.Context) ([]entity.Attached, error) {
	return storage.Attached(ctx, p.st.db)
}

// LoseAttachments records that storage is no longer attached to a machine's instance: see storage.LoseAttachments.
func (p Provisioning) LoseAttachments(ctx context.Context, lost []entity.Attached) error {
	return storage.LoseAttachments(ctx, p.st.db, lost)
}

// RemoveAttachment removes the storage's Dead attachment to a unit, once the cloud has detached it.
func (s *Storage) RemoveAttachment(ctx context.Context, unit string) error {
	a, err := s.st.attachment(ctx, modeldb.AttachmentID(unit, s.doc.ID))
	if err != nil {
		return err
	}
	return s.st.move(ctx, a, lifecycle.ToRemove, lifecycle.Provisioner, destruction{now: s.st.db.Now()})
}

// SetStatus records why the storage could not be created, attached, detached or destroyed.
func (s *Storage) SetStatus(ctx context.Context, status entity.Status) error {
	key := modeldb.StorageKey(s.doc.ID)
	return s.st.db.SetStatus(ctx, key, status, func(o *modeltxn.Ops) error {
		if err := s.refresh(ctx); err != nil {
			return err
		}
		o.WakeForce(key, s.doc.Living, status)
		return nil
	})
}

// Pools returns the model's storage pools.
func (st *State) Pools() storage.Pools { return storage.PoolsOf(st.db) }

// AttachStorage attaches an unattached instance to the unit.
func (u *Unit) AttachStorage(ctx context.Context, id string) error {
	return storage.Attach(ctx, u.st.db, u.doc.Name, id)
}

// AddStorage adds new instances to the unit for one of its charm's stores, and returns their ids: see storage.Add.
func (u *Unit) AddStorage(ctx context.Context, store string, c entity.StorageConstraints) ([]string, error) {
	return storage.Add(ctx, u.st.db, u.doc.Name, store, c)
}
