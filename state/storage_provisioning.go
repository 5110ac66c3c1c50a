package state

import (
	"context"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/lifecycle"
	"juju/state/mongo"
	"juju/state/watcher"
)

// Provisioning is what the provisioners of machines and storage use, besides the methods of Machine and Storage.
type Provisioning struct{ st *State }

// Provisioning returns what the model's provisioners use.
func (st *State) Provisioning() Provisioning { return Provisioning{st} }

// WatchStorage fires when the result of StorageWork may have changed.
func (p Provisioning) WatchStorage(ctx context.Context) (<-chan struct{}, error) {
	return watcher.Notify(ctx, p.st.hub, watcher.Collection(modeldb.StorageC), watcher.Collection(modeldb.AttachmentsC),
		watcher.Collection(modeldb.MachinesC), watcher.Collection(modeldb.LeftoversC), watcher.Doc(modeldb.ModelC, modeldb.ModelC)), nil
}

// StorageWork returns the storage instances to create, attach, detach, destroy or release, in natural order, followed by
// those that are Gone but whose filesystems were left by forced removals.
func (p Provisioning) StorageWork(ctx context.Context) ([]entity.StorageWork, error) {
	st := p.st
	model, err := st.db.Model(ctx)
	if err != nil {
		return nil, err
	}
	// Dying attachments wait for their unit.
	attachments, err := st.attachments(ctx, bson.D{{"$or", []bson.D{
		{{"life", entity.Dead}}, {{"life", entity.Alive}, {"location", bson.D{{"$exists", false}}}}}}})
	if err != nil {
		return nil, err
	}
	due := map[string]*attachment{}
	for _, a := range attachments {
		due[a.doc.Storage] = a
	}
	all, err := st.storages(ctx, bson.D{{"$or", []bson.D{
		{{"life", bson.D{{"$ne", entity.Alive}}}}, {{"filesystem", bson.D{{"$exists", false}}}},
		{{"_id", bson.D{{"$in", notNil(storageIDs(attachments))}}}}}}})
	if err != nil {
		return nil, err
	}
	work := make([]entity.StorageWork, 0, len(all))
	for _, s := range all {
		w := entity.StorageWork{ID: s.doc.ID, Life: s.doc.Life, Pool: s.doc.Pool, Size: s.doc.Size,
			Filesystem: s.doc.Filesystem, OnMachine: !s.doc.IsPersistent(),
			Release: s.doc.IsReleased(model)}
		a := due[s.doc.ID]
		if a == nil && s.doc.Life == entity.Dying {
			if a, err = st.attachmentOf(ctx, s.doc.ID); err != nil {
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
	left, err := st.db.Leftovers(ctx, bson.D{{"filesystem", bson.D{{"$exists", true}}}})
	for _, d := range left {
		_, id := lifecycle.ParseKey(d.Of)
		work = append(work, entity.StorageWork{ID: id, Life: entity.Gone, Filesystem: d.Filesystem,
			Release: d.IsReleased(model)})
	}
	return work, err
}

// DropFilesystem removes the leftovers of a filesystem that was destroyed or released.
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
	others, err := st.db.Attachments(ctx, bson.D{{"machine", a.doc.Machine}})
	w.InUse, w.After = a.doc.Meets(others)
	return w, err
}

// SetFilesystem records the filesystem that the cloud created for the instance. It does nothing if it is already
// recorded; the error is entity.NotAlive if the storage is Dead, or the filesystem is on the disk of an instance that
// its machine has lost.
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
		if !s.doc.IsPersistent() {
			if err := s.st.onInstance(ctx, o, s.doc.Machine, f.Instance); err != nil {
				return err
			}
		}
		o.Update(modeldb.StorageC, s.doc.ID, append(bson.D{{"filesystem", bson.D{{"$exists", false}}}}, modeltxn.NotDead...),
			bson.D{{"$set", bson.D{{"filesystem", f.ID}, {"made", f.Size}}}})
		o.DropStatus(modeldb.StorageKey(s.doc.ID))
		return nil
	})
}

// onInstance asserts that a machine has an instance. The error is entity.NotAlive if the machine has lost it.
func (st *State) onInstance(ctx context.Context, o *ops, machine, instance string) error {
	m, err := st.Machine(ctx, machine)
	if err != nil {
		return err
	}
	if m.doc.InstanceID != instance {
		return entity.Errorf(entity.NotAlive, "machine %s has lost its instance %s", machine, instance)
	}
	var is any = instance
	if instance == "" {
		is = bson.D{{"$exists", false}}
	}
	o.Assert(modeldb.MachinesC, machine, bson.D{{"instance", is}})
	return nil
}

// SetAttached records where the storage is mounted for its unit, on an instance of its machine. The error is
// entity.NotAlive if it is being detached or the machine has lost the instance, or entity.NotFound if it has been
// detached.
func (s *Storage) SetAttached(ctx context.Context, unit, instance, location string) error {
	return s.st.change(ctx, func(o *ops) error {
		a, err := s.st.attachment(ctx, modeldb.AttachmentID(unit, s.doc.ID))
		switch {
		case err != nil:
			return err
		case a.doc.Life != entity.Alive:
			return entity.Errorf(entity.NotAlive, "storage %q is being detached", s.doc.ID)
		case a.doc.Location == location:
			return mongo.ErrNothing
		}
		if err := s.st.onInstance(ctx, o, a.doc.Machine, instance); err != nil {
			return err
		}
		o.Update(modeldb.AttachmentsC, a.doc.ID, modeltxn.IsAlive, bson.D{{"$set", bson.D{{"location", location}}}})
		o.DropStatus(modeldb.StorageKey(s.doc.ID))
		return nil
	})
}

// Attached returns the storage recorded as attached on the cloud's instances, in natural order.
func (p Provisioning) Attached(ctx context.Context) (all []entity.Attached, err error) {
	attachments, err := p.st.attachments(ctx, bson.D{{"life", entity.Alive}, {"location", bson.D{{"$exists", true}}}})
	if err != nil || len(attachments) == 0 {
		return nil, err
	}
	storages, err := p.st.storages(ctx, bson.D{{"_id", bson.D{{"$in", storageIDs(attachments)}}}})
	if err != nil {
		return nil, err
	}
	filesystems := map[string]string{}
	for _, s := range storages {
		filesystems[s.doc.ID] = s.doc.Filesystem
	}
	instances := map[string]string{}
	for _, a := range attachments {
		machine := a.doc.Machine
		if _, known := instances[machine]; !known {
			m, err := p.st.Machine(ctx, machine)
			if entity.IsNotFound(err) {
				continue
			} else if err != nil {
				return nil, err
			}
			instances[machine] = m.doc.InstanceID
		}
		one := entity.Attached{Storage: a.doc.Storage, Unit: a.doc.Unit, Machine: machine, Instance: instances[machine],
			Filesystem: filesystems[a.doc.Storage], Mount: a.doc.Mount, Location: a.doc.Location, Born: a.doc.Born.UTC()}
		if one.Instance != "" && !entity.IsManualInstance(one.Instance) && one.Filesystem != "" {
			all = append(all, one)
		}
	}
	return all, nil
}

// LoseAttachments records that storage is no longer attached to a machine's instance. The storage provisioner attaches
// it again. The error is entity.NotAlive or entity.NotFound if the records have changed meanwhile.
func (p Provisioning) LoseAttachments(ctx context.Context, lost []entity.Attached) error {
	return p.st.change(ctx, func(o *ops) error {
		for i, was := range lost {
			a, err := p.st.attachment(ctx, modeldb.AttachmentID(was.Unit, was.Storage))
			switch {
			case err != nil:
				return err
			case a.doc.Life != entity.Alive || !a.doc.Born.Equal(was.Born) || a.doc.Location != was.Location:
				return entity.Errorf(entity.NotAlive, "storage %q has been detached", was.Storage)
			}
			if i == 0 {
				if err := p.st.onInstance(ctx, o, was.Machine, was.Instance); err != nil {
					return err
				}
			}
			o.Update(modeldb.AttachmentsC, a.doc.ID, modeltxn.IsAlive, bson.D{{"$unset", bson.D{{"location", 1}}}})
		}
		return nil
	})
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
