package state

import (
	"context"
	"errors"
	"fmt"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modelstatus"
	"juju/state/internal/storage"
	"juju/state/lifecycle"
)

// A Storage is a snapshot of a storage instance.
type Storage struct {
	ordinary
	st  *State
	doc modeldb.Storage
}

// Storage reads a storage instance; the error is entity.NotFound if there is none.
func (st *State) Storage(ctx context.Context, id string) (*Storage, error) {
	doc, err := st.db.Storage(ctx, id)
	if err != nil {
		return nil, err
	}
	return &Storage{st: st, doc: doc}, nil
}

// storages reads the storage instances that match, in natural order.
func (st *State) storages(ctx context.Context, query bson.D) ([]*Storage, error) {
	docs, err := st.db.Storages(ctx, query)
	return mapped(docs, func(d modeldb.Storage) *Storage { return &Storage{st: st, doc: d} }), err
}

// ID returns the instance's id, such as "data/0".
func (s *Storage) ID() string { return s.doc.ID }

// Life returns the instance's life when it was read.
func (s *Storage) Life() entity.Life { return s.doc.Life }

// Destroy sets the instance Dying: its filesystem is destroyed or, with release, kept for the user, which can also be
// requested later. The error is entity.InUse while it is attached to a unit, unless the destruction is forced, which
// also detaches it; entity.NotAlive if it is too late to release the filesystem.
func (s *Storage) Destroy(ctx context.Context, how entity.Destruction, release bool) error {
	d := s.st.begin(how).alone()
	d.release = release
	return s.st.move(ctx, s, lifecycle.ToDestroy, lifecycle.User, d, func(o *ops) (bool, error) {
		if !release {
			return true, nil
		}
		return true, s.releaseOps(ctx, o)
	})
}

// releaseOps releases the filesystem of an instance that is being destroyed, unless the cloud is already destroying it.
// For an Alive instance, turning does this.
func (s *Storage) releaseOps(ctx context.Context, o *ops) error {
	switch s.doc.Life {
	case entity.Dying:
		o.Update(modeldb.StorageC, s.doc.ID, bson.D{{"life", entity.Dying}}, bson.D{{"$set", bson.D{{"release", true}}}})
	case entity.Dead:
		model, err := s.st.db.Model(ctx)
		if err == nil && s.doc.Filesystem != "" && !s.doc.IsReleased(model) {
			err = entity.Errorf(entity.NotAlive, "cannot release storage %q: its filesystem is being destroyed", s.doc.ID)
		}
		return err
	}
	return nil
}

// EnsureDead sets a Dying instance Dead, once it is detached. The storage provisioner calls it before it destroys the
// filesystem.
func (s *Storage) EnsureDead(ctx context.Context) error {
	return s.st.move(ctx, s, lifecycle.ToDead, lifecycle.Provisioner, destruction{now: s.st.db.Now()})
}

// Remove removes a Dead instance, once its filesystem is destroyed or released.
func (s *Storage) Remove(ctx context.Context) error {
	return s.st.move(ctx, s, lifecycle.ToRemove, lifecycle.Provisioner, destruction{now: s.st.db.Now()})
}

// cleanupStorage destroys a storage instance with the unit it was attached to, unless it is now attached to another.
func (st *State) cleanupStorage(ctx context.Context, id string, d destruction) error {
	s, err := st.Storage(ctx, id)
	if entity.IsNotFound(err) {
		return nil
	} else if err != nil {
		return err
	}
	err = st.move(ctx, s, lifecycle.ToDestroy, lifecycle.Cleaner, d, func(o *ops) (bool, error) {
		a, err := st.attachmentOf(ctx, id)
		o.Expect(modeldb.StorageKey(id), "attachments", 0)
		return a == nil, err
	})
	if errors.Is(err, entity.InUse) { // it was attached since the condition was read
		return nil
	}
	return err
}

// How storage differs from other living entities.

func (s *Storage) state() *State         { return s.st }
func (s *Storage) kind() lifecycle.Kind  { return lifecycle.Storage }
func (s *Storage) name() string          { return s.doc.ID }
func (s *Storage) docID() string         { return s.doc.ID }
func (s *Storage) tag() entity.Tag       { return entity.StorageTag(s.doc.ID) }
func (s *Storage) life() *modeldb.Living { return &s.doc.Living }

func (s *Storage) targets(ref lifecycle.Ref) []string { return s.doc.Targets(ref) }

func (s *Storage) refresh(ctx context.Context) error {
	now, err := s.st.Storage(ctx, s.doc.ID)
	if err == nil {
		s.doc = now.doc
	}
	return err
}

func (s *Storage) turning(_ context.Context, _ *ops, t turn) (update bson.D, err error) {
	if t.from == entity.Alive && t.release {
		return bson.D{{"$set", bson.D{{"release", true}}}}, nil
	}
	return nil, nil
}

func (s *Storage) refusal(_ context.Context, goal lifecycle.Goal, barred *lifecycle.Barred) error {
	switch {
	case barred.Ref.Name != "":
		return entity.WithHint(entity.Errorf(entity.InUse, "storage is attached"),
			"Use the --force option to remove attached storage, or use \"juju detach-storage\" to explicitly detach "+
				"the storage before removing.")
	case goal == lifecycle.ToRemove:
		return entity.Errorf(entity.Invalid, "storage %q is not dead", s.doc.ID)
	case goal == lifecycle.ToDead:
		return entity.Errorf(entity.Invalid, "storage %q is not dying", s.doc.ID)
	}
	return barred
}

// An attachment is a snapshot of an attachment.
type attachment struct {
	ordinary
	st  *State
	doc modeldb.Attachment
}

func (st *State) attachment(ctx context.Context, id string) (*attachment, error) {
	a := &attachment{st: st}
	if err := st.db.Get(ctx, modeldb.AttachmentsC, id, &a.doc, fmt.Sprintf("attachment %q", id)); err != nil {
		return nil, err
	}
	return a, nil
}

// attachments reads the attachments that match, in natural order.
func (st *State) attachments(ctx context.Context, query bson.D) ([]*attachment, error) {
	docs, err := st.db.Attachments(ctx, query)
	return mapped(docs, func(d modeldb.Attachment) *attachment { return &attachment{st: st, doc: d} }), err
}

func (a *attachment) state() *State         { return a.st }
func (a *attachment) kind() lifecycle.Kind  { return lifecycle.Attachment }
func (a *attachment) name() string          { return modeldb.AttachmentName(a.doc.Unit, a.doc.Storage) }
func (a *attachment) docID() string         { return a.doc.ID }
func (a *attachment) tag() entity.Tag       { return entity.StorageTag(a.doc.Storage) }
func (a *attachment) life() *modeldb.Living { return &a.doc.Living }

func (a *attachment) targets(ref lifecycle.Ref) []string { return a.doc.Targets(ref) }

// refresh returns entity.NotFound if another attachment has taken the id.
func (a *attachment) refresh(ctx context.Context) error {
	now, err := a.st.attachment(ctx, a.doc.ID)
	if err == nil && !now.doc.Born.Equal(a.doc.Born) {
		return entity.Errorf(entity.NotFound, "attachment %q not found", a.name())
	}
	if err == nil {
		a.doc = now.doc
	}
	return err
}

// turning has the cleaner destroy the storage of a removed attachment, if the storage is on the unit's machine or was to
// be destroyed with the unit or its service.
func (a *attachment) turning(ctx context.Context, o *ops, t turn) (update bson.D, err error) {
	if t.to != entity.Gone {
		return nil, nil
	}
	s, err := a.st.Storage(ctx, a.doc.Storage)
	if err != nil {
		return nil, err
	}
	u, err := a.st.Unit(ctx, a.doc.Unit)
	if err != nil {
		return nil, err
	}
	svc, err := a.st.Service(ctx, u.doc.Service)
	if err != nil {
		return nil, err
	}
	// If the unit is being destroyed, this decides what happens to its storage.
	unit, none := unraised(u.doc.Living), bson.DocElem{Name: "withstorage", Value: bson.D{{"$exists", false}}}
	if !u.doc.WithStorage {
		unit = append(unit, none)
	}
	o.Assert(modeldb.UnitsC, u.doc.Name, unit)
	if !svc.doc.WithStorage {
		o.Assert(modeldb.ServicesC, svc.doc.Name, bson.D{none})
	}
	if s.doc.IsPersistent() && !(u.doc.Life != entity.Alive && (u.doc.WithStorage || svc.doc.WithStorage)) {
		return nil, nil
	}
	d := destruction{strength: u.doc.Strength, deadline: u.doc.Deadline}
	id := fmt.Sprintf("%s-%s-%d", modeldb.CleanupStorage, a.doc.ID, a.doc.Born.UnixMilli())
	o.Insert(modeldb.CleanupsC, id, modeldb.Cleanup{ID: id, Kind: modeldb.CleanupStorage, Arg: a.doc.Storage, Strength: d.strength,
		Deadline: d.deadline})
	return nil, nil
}

func (a *attachment) refusal(_ context.Context, goal lifecycle.Goal, barred *lifecycle.Barred) error {
	what := "dying"
	if goal == lifecycle.ToRemove {
		what = "dead"
	}
	return entity.Errorf(entity.Invalid, "attachment of storage %q to unit %q is not %s", a.doc.Storage, a.doc.Unit, what)
}

// attachmentOf returns the attachment of a storage instance, or nil.
func (st *State) attachmentOf(ctx context.Context, storage string) (*attachment, error) {
	doc, err := st.db.AttachmentOf(ctx, storage)
	if err != nil || doc == nil {
		return nil, err
	}
	return &attachment{st: st, doc: *doc}, nil
}

// Detach detaches the storage from its unit, once the unit's hooks have run, and keeps the instance. The error is
// entity.NotSupported if it is on a machine's disk, entity.Invalid if the charm requires it.
func (s *Storage) Detach(ctx context.Context, how entity.Destruction) error {
	d := s.st.begin(how).alone()
	a, err := s.st.attachmentOf(ctx, s.doc.ID)
	if err != nil {
		return err
	}
	switch {
	case a == nil:
		return entity.Errorf(entity.Invalid, "storage %q is not attached", s.doc.ID)
	case !s.doc.IsPersistent() && d.strength != entity.Force:
		return entity.WithHint(entity.Errorf(entity.NotSupported, "storage is not detachable"),
			"It is on the disk of machine %s, and goes with the unit that has it.", s.doc.Machine)
	}
	return s.st.move(ctx, a, lifecycle.ToDestroy, lifecycle.User, d, func(o *ops) (bool, error) {
		if d.strength == entity.Force || a.doc.Life != entity.Alive {
			return true, nil
		}
		u, err := s.st.Unit(ctx, a.doc.Unit)
		if err != nil || u.doc.Life != entity.Alive {
			return err == nil, err
		}
		meta, err := storage.StoresOf(ctx, s.st.db, o.Ops, u.doc.Service)
		if err != nil {
			return false, err
		}
		return true, storage.Grant{DB: s.st.db, Unit: u.doc, Meta: meta}.CheckChange(ctx, o.Ops, entity.StoreOf(s.doc.ID), -1)
	})
}

// DetachStorage records that the unit no longer uses a storage instance. A unit that is not Alive detaches its storage
// itself. It does nothing if that is already recorded.
func (u *Unit) DetachStorage(ctx context.Context, storage string) error {
	a, err := u.st.attachment(ctx, modeldb.AttachmentID(u.doc.Name, storage))
	if err != nil {
		return err
	}
	if u.doc.Life != entity.Alive {
		if err := u.st.move(ctx, a, lifecycle.ToDestroy, lifecycle.UnitAgent, u.st.begin(entity.Destruction{})); err != nil {
			return err
		}
	}
	return u.st.move(ctx, a, lifecycle.ToDead, lifecycle.UnitAgent, destruction{now: u.st.db.Now()})
}

// storage returns the unit's storage, including what is not attached yet, but not what is detached.
func (u *Unit) storage(ctx context.Context) ([]entity.UnitStorage, error) {
	all, err := u.st.attachments(ctx, bson.D{{"unit", u.doc.Name}, {"life", bson.D{{"$ne", entity.Dead}}}})
	if err != nil || len(all) == 0 {
		return nil, err
	}
	instances, err := u.st.storages(ctx, bson.D{{"_id", bson.D{{"$in", storageIDs(all)}}}})
	sizes := map[string]uint64{}
	for _, s := range instances {
		sizes[s.doc.ID] = s.doc.ActualSize()
	}
	out := make([]entity.UnitStorage, len(all))
	for i, a := range all {
		out[i] = entity.UnitStorage{ID: a.doc.Storage, Size: sizes[a.doc.Storage], Location: a.doc.Location, Life: a.doc.Life}
	}
	return out, err
}

func storageIDs(all []*attachment) []string {
	ids := make([]string, len(all))
	for i, a := range all {
		ids[i] = a.doc.Storage
	}
	return ids
}

// StorageStatus returns the status of storage instances, all if no ids are given, in natural order. The error is
// entity.NotFound if one does not exist.
func (st *State) StorageStatus(ctx context.Context, ids ...string) ([]entity.StorageStatus, error) {
	return modelstatus.Storage(ctx, st.db, ids...)
}

// StorageStatus returns the status of the unit's storage, in natural order.
func (u *Unit) StorageStatus(ctx context.Context) ([]entity.StorageStatus, error) {
	all, err := u.st.attachments(ctx, bson.D{{"unit", u.doc.Name}})
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return modelstatus.Storage(ctx, u.st.db, storageIDs(all)...)
}

// PersistentStorage returns the number of storage instances that outlive machines; 0 if the model is not Alive, because
// its destruction has specified what happens to them.
func (p Provisioning) PersistentStorage(ctx context.Context) (int, error) {
	model, err := p.st.db.Model(ctx)
	if err != nil || model.Life != entity.Alive {
		return 0, err
	}
	return p.st.db.Count(ctx, modeldb.StorageC, bson.D{{"machine", bson.D{{"$exists", false}}}})
}
