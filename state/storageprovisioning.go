package state

import (
	"context"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/lifecycle"
	"juju/state/mongo"
	"juju/state/watcher"
)

// Provisioning is the part of a model's state that its provisioners of machines and of storage use,
// besides the methods of Machine and Storage.
type Provisioning struct{ st *State }

// Provisioning returns the model's state as its provisioners use it.
func (st *State) Provisioning() Provisioning { return Provisioning{st} }

// WatchStorage fires when the result of StorageWork may have changed.
func (p Provisioning) WatchStorage(ctx context.Context) (<-chan struct{}, error) {
	return watcher.Notify(ctx, p.st.hub, watcher.Collection(storageC), watcher.Collection(attachmentsC),
		watcher.Collection(machinesC), watcher.Collection(leftoversC), watcher.Doc(modelC, modelC)), nil
}

// StorageWork returns the storage instances that are not made, attached, detached or
// destroyed or released as they should be, in natural order. Those that are Gone follow: forced
// removals have left their filesystems.
func (p Provisioning) StorageWork(ctx context.Context) ([]entity.StorageWork, error) {
	st := p.st
	model, err := st.model()
	if err != nil {
		return nil, err
	}
	// What is Dying waits for the unit that has it.
	attachments, err := st.attachments(bson.D{{"$or", []bson.D{
		{{"life", entity.Dead}}, {{"life", entity.Alive}, {"location", bson.D{{"$exists", false}}}}}}})
	if err != nil {
		return nil, err
	}
	due := map[string]*attachment{}
	for _, a := range attachments {
		due[a.doc.Storage] = a
	}
	all, err := st.storages(bson.D{{"$or", []bson.D{
		{{"life", bson.D{{"$ne", entity.Alive}}}}, {{"filesystem", bson.D{{"$exists", false}}}},
		{{"_id", bson.D{{"$in", notNil(storageIDs(attachments))}}}}}}})
	if err != nil {
		return nil, err
	}
	work := make([]entity.StorageWork, 0, len(all))
	for _, s := range all {
		w := entity.StorageWork{ID: s.doc.ID, Life: s.doc.Life, Pool: s.doc.Pool, Size: s.doc.Size,
			Filesystem: s.doc.Filesystem, OnMachine: !s.isPersistent(),
			Release: s.isReleased(model)}
		a := due[s.doc.ID]
		if a == nil && s.doc.Life == entity.Dying {
			if a, err = st.attachmentOf(s.doc.ID); err != nil {
				return nil, err
			}
			if a != nil {
				continue // the unit must detach it first
			}
		}
		if a != nil {
			if w.Attachment, err = st.attachmentWork(ctx, a); err != nil {
				return nil, err
			}
		}
		work = append(work, w)
	}
	left, err := st.leftovers(bson.D{{"filesystem", bson.D{{"$exists", true}}}})
	for _, d := range left {
		_, id := lifecycle.ParseKey(d.Of)
		work = append(work, entity.StorageWork{ID: id, Life: entity.Gone, Filesystem: d.Filesystem,
			Release: d.isReleased(model)})
	}
	return work, err
}

// DropFilesystem removes the leftovers of a filesystem, which is destroyed or released.
func (p Provisioning) DropFilesystem(ctx context.Context, filesystem string) error {
	return p.st.dropLeftovers(ctx, bson.D{{"filesystem", filesystem}})
}

func (st *State) attachmentWork(ctx context.Context, a *attachment) (*entity.AttachmentWork, error) {
	w := &entity.AttachmentWork{Unit: a.doc.Unit, Life: a.doc.Life, Mount: a.doc.Mount, Location: a.doc.Location}
	m, err := st.Machine(ctx, a.doc.Machine)
	if entity.IsNotFound(err) {
		return w, nil
	} else if err != nil {
		return nil, err
	}
	w.Instance = m.doc.InstanceID
	if w.Life != entity.Alive {
		return w, nil
	}
	there, err := st.attachments(bson.D{{"machine", a.doc.Machine}, {"location", bson.D{{"$exists", true}}}})
	for _, other := range there {
		if other.doc.ID != a.doc.ID && overlaps(other.doc.Mount, a.doc.Mount) {
			w.InUse = other.doc.Storage
		}
	}
	return w, err
}

// SetFilesystem records what the cloud has made for the instance. It does nothing if that is
// recorded already; the error is entity.NotAlive if the instance is Dead.
func (s *Storage) SetFilesystem(ctx context.Context, f entity.Filesystem) error {
	return s.st.change(ctx, func(o *ops) error {
		if err := s.refresh(ctx); err != nil {
			return err
		}
		switch {
		case s.doc.Filesystem == f.ID:
			return mongo.ErrNothing
		case s.doc.Life == entity.Dead:
			return entity.Errorf(entity.NotAlive, "storage %q is dead", s.doc.ID)
		case s.doc.Filesystem != "":
			return entity.Errorf(entity.AlreadyExists, "storage %q has filesystem %q", s.doc.ID, s.doc.Filesystem)
		}
		o.Update(storageC, s.doc.ID, append(bson.D{{"filesystem", bson.D{{"$exists", false}}}}, notDead...),
			bson.D{{"$set", bson.D{{"filesystem", f.ID}, {"made", f.Size}}}})
		o.dropStatus(storageKey(s.doc.ID))
		return nil
	})
}

// SetAttached records where the unit that has the storage finds it. The error is
// entity.NotAlive if it is to be detached, or entity.NotFound if it has been.
func (s *Storage) SetAttached(ctx context.Context, unit, location string) error {
	return s.st.change(ctx, func(o *ops) error {
		a, err := s.st.attachment(attachmentID(unit, s.doc.ID))
		switch {
		case err != nil:
			return err
		case a.doc.Life != entity.Alive:
			return entity.Errorf(entity.NotAlive, "storage %q is being detached", s.doc.ID)
		case a.doc.Location == location:
			return mongo.ErrNothing
		}
		o.Update(attachmentsC, a.doc.ID, isAlive, bson.D{{"$set", bson.D{{"location", location}}}})
		o.dropStatus(storageKey(s.doc.ID))
		return nil
	})
}

// RemoveAttachment removes the Dead attachment of the storage to a unit, once the cloud has
// detached it.
func (s *Storage) RemoveAttachment(ctx context.Context, unit string) error {
	a, err := s.st.attachment(attachmentID(unit, s.doc.ID))
	if err != nil {
		return err
	}
	return s.st.move(ctx, a, lifecycle.ToRemove, lifecycle.Provisioner, destruction{now: s.st.now()})
}

// SetStatus records why the storage could not be made, attached, detached or destroyed.
func (s *Storage) SetStatus(ctx context.Context, status entity.Status) error {
	return s.st.setStatus(ctx, storageKey(s.doc.ID), status)
}

// dropStatus removes a status that does not hold any more.
func (o *ops) dropStatus(key string) { o.Remove(statusesC, key, nil) }
