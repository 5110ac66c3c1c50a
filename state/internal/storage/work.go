package storage

import (
	"context"
	"fmt"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/lifecycle"
	"juju/state/mongo"
)

// Work returns the storage instances to create, attach, detach, destroy or release, in natural order, followed by
// those that are Gone but whose filesystems were left by forced removals.
func Work(ctx context.Context, db *modeltxn.DB) ([]entity.StorageWork, error) {
	model, err := db.Model(ctx)
	if err != nil {
		return nil, err
	}
	// Dying attachments wait for their unit.
	attachments, err := db.Attachments(ctx, bson.D{{"$or", []bson.D{
		{{"life", entity.Dead}}, {{"life", entity.Alive}, {"location", bson.D{{"$exists", false}}}}}}})
	if err != nil {
		return nil, err
	}
	due := map[string]*modeldb.Attachment{}
	for _, a := range attachments {
		due[a.Storage] = &a
	}
	all, err := db.Storages(ctx, bson.D{{"$or", []bson.D{
		{{"life", bson.D{{"$ne", entity.Alive}}}}, {{"filesystem", bson.D{{"$exists", false}}}},
		{{"_id", bson.D{{"$in", idsOf(attachments)}}}}}}})
	if err != nil {
		return nil, err
	}
	work := make([]entity.StorageWork, 0, len(all))
	for _, s := range all {
		w := entity.StorageWork{ID: s.ID, Life: s.Life, Pool: s.Pool, Size: s.Size,
			Filesystem: s.Filesystem, OnMachine: !s.IsPersistent(),
			Release: s.IsReleased(model)}
		a := due[s.ID]
		if a == nil && s.Life == entity.Dying {
			if a, err = db.AttachmentOf(ctx, s.ID); err != nil {
				return nil, err
			}
			if a != nil {
				continue // the unit must detach it first
			}
		}
		if a != nil {
			if w.Attachment, err = attachmentWork(ctx, db, *a); err != nil {
				return nil, err
			}
		}
		work = append(work, w)
	}
	left, err := db.Leftovers(ctx, bson.D{{"filesystem", bson.D{{"$exists", true}}}})
	for _, d := range left {
		_, id := lifecycle.ParseKey(d.Of)
		work = append(work, entity.StorageWork{ID: id, Life: entity.Gone, Filesystem: d.Filesystem,
			Release: d.IsReleased(model)})
	}
	return work, err
}

func attachmentWork(ctx context.Context, db *modeltxn.DB, a modeldb.Attachment) (*entity.AttachmentWork, error) {
	w := &entity.AttachmentWork{Unit: a.Unit, Life: a.Life, Mount: a.Mount, Location: a.Location}
	m, err := db.Machine(ctx, a.Machine)
	if entity.IsNotFound(err) {
		return w, nil
	} else if err != nil {
		return nil, err
	}
	w.Instance = m.InstanceID
	others, err := db.Attachments(ctx, bson.D{{"machine", a.Machine}})
	w.InUse, w.After = a.Meets(others)
	return w, err
}

// SetFilesystem records the filesystem that the cloud created for the instance. It does nothing if it is already
// recorded; the error is entity.NotAlive if the storage is Dead, or the filesystem is on the disk of an instance that
// its machine has lost.
func SetFilesystem(ctx context.Context, db *modeltxn.DB, id string, f entity.Filesystem) error {
	return db.Change(ctx, func(o *modeltxn.Ops) error {
		s, err := db.Storage(ctx, id)
		if err != nil {
			return err
		}
		switch {
		case s.Filesystem == f.ID:
			return mongo.ErrNothing
		case s.Life == entity.Dead:
			return entity.Errorf(entity.NotAlive, "storage %q is dead", s.ID)
		case s.Filesystem != "":
			return entity.Errorf(entity.AlreadyExists, "storage %q has filesystem %q", s.ID, s.Filesystem)
		}
		if !s.IsPersistent() {
			if err := onInstance(ctx, db, o, s.Machine, f.Instance); err != nil {
				return err
			}
		}
		o.Update(modeldb.StorageC, s.ID, append(bson.D{{"filesystem", bson.D{{"$exists", false}}}}, modeltxn.NotDead...),
			bson.D{{"$set", bson.D{{"filesystem", f.ID}, {"made", f.Size}}}})
		o.DropStatus(modeldb.StorageKey(s.ID))
		return nil
	})
}

// onInstance asserts that a machine has an instance. The error is entity.NotAlive if the machine has lost it.
func onInstance(ctx context.Context, db *modeltxn.DB, o *modeltxn.Ops, machine, instance string) error {
	m, err := db.Machine(ctx, machine)
	if err != nil {
		return err
	}
	if m.InstanceID != instance {
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
func SetAttached(ctx context.Context, db *modeltxn.DB, id, unit, instance, location string) error {
	return db.Change(ctx, func(o *modeltxn.Ops) error {
		a, err := attachment(ctx, db, unit, id)
		switch {
		case err != nil:
			return err
		case a.Life != entity.Alive:
			return entity.Errorf(entity.NotAlive, "storage %q is being detached", id)
		case a.Location == location:
			return mongo.ErrNothing
		}
		if err := onInstance(ctx, db, o, a.Machine, instance); err != nil {
			return err
		}
		o.Update(modeldb.AttachmentsC, a.ID, modeltxn.IsAlive, bson.D{{"$set", bson.D{{"location", location}}}})
		o.DropStatus(modeldb.StorageKey(id))
		return nil
	})
}

// Attached returns the storage recorded as attached on the cloud's instances, in natural order.
func Attached(ctx context.Context, db *modeltxn.DB) (all []entity.Attached, err error) {
	attachments, err := db.Attachments(ctx, bson.D{{"life", entity.Alive}, {"location", bson.D{{"$exists", true}}}})
	if err != nil || len(attachments) == 0 {
		return nil, err
	}
	storages, err := db.Storages(ctx, bson.D{{"_id", bson.D{{"$in", idsOf(attachments)}}}})
	if err != nil {
		return nil, err
	}
	filesystems := map[string]string{}
	for _, s := range storages {
		filesystems[s.ID] = s.Filesystem
	}
	instances := map[string]string{}
	for _, a := range attachments {
		machine := a.Machine
		if _, known := instances[machine]; !known {
			m, err := db.Machine(ctx, machine)
			if entity.IsNotFound(err) {
				continue
			} else if err != nil {
				return nil, err
			}
			instances[machine] = m.InstanceID
		}
		one := entity.Attached{Storage: a.Storage, Unit: a.Unit, Machine: machine, Instance: instances[machine],
			Filesystem: filesystems[a.Storage], Mount: a.Mount, Location: a.Location, Born: a.Born.UTC()}
		if one.Instance != "" && !entity.IsManualInstance(one.Instance) && one.Filesystem != "" {
			all = append(all, one)
		}
	}
	return all, nil
}

// LoseAttachments records that storage is no longer attached to a machine's instance. The storage provisioner attaches
// it again. The error is entity.NotAlive or entity.NotFound if the records have changed meanwhile.
func LoseAttachments(ctx context.Context, db *modeltxn.DB, lost []entity.Attached) error {
	return db.Change(ctx, func(o *modeltxn.Ops) error {
		for i, was := range lost {
			a, err := attachment(ctx, db, was.Unit, was.Storage)
			switch {
			case err != nil:
				return err
			case a.Life != entity.Alive || !a.Born.Equal(was.Born) || a.Location != was.Location:
				return entity.Errorf(entity.NotAlive, "storage %q has been detached", was.Storage)
			}
			if i == 0 {
				if err := onInstance(ctx, db, o, was.Machine, was.Instance); err != nil {
					return err
				}
			}
			o.Update(modeldb.AttachmentsC, a.ID, modeltxn.IsAlive, bson.D{{"$unset", bson.D{{"location", 1}}}})
		}
		return nil
	})
}

// attachment reads the attachment of an instance to a unit; the error is entity.NotFound if there is none.
func attachment(ctx context.Context, db *modeltxn.DB, unit, id string) (doc modeldb.Attachment, err error) {
	key := modeldb.AttachmentID(unit, id)
	err = db.Get(ctx, modeldb.AttachmentsC, key, &doc, fmt.Sprintf("attachment %q", key))
	return doc, err
}

// idsOf returns the ids of the instances that are attached, not nil.
func idsOf(all []modeldb.Attachment) []string {
	ids := make([]string, len(all))
	for i, a := range all {
		ids[i] = a.Storage
	}
	return ids
}
