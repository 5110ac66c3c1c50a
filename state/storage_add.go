package state

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"

	"gopkg.in/mgo.v2/bson"

	"juju/charm"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/limits"
	"juju/state/mongo"
)

// storageNumbers keeps the numbers allocated for new instances across a transaction's attempts.
type storageNumbers struct {
	taken []int
	used  int
}

// reserve allocates the numbers of an attempt that adds n instances, which are then used from the first.
func (s *storageNumbers) reserve(ctx context.Context, st *State, n int) error {
	s.used = 0
	missing := n - len(s.taken)
	if missing <= 0 {
		return nil
	}
	first, err := st.db.Next(ctx, modeldb.StorageSequence, missing)
	if err != nil {
		return err
	}
	for i := range missing {
		s.taken = append(s.taken, first+i)
	}
	return nil
}

func (s *storageNumbers) next(ctx context.Context, st *State) (int, error) {
	if s.used == len(s.taken) {
		n, err := st.db.Next(ctx, modeldb.StorageSequence, 1)
		if err != nil {
			return 0, err
		}
		s.taken = append(s.taken, n)
	}
	s.used++
	return s.taken[s.used-1], nil
}

// defaultSize is the default size of storage, in MiB.
const defaultSize = 1024

// storageFor completes the user's storage constraints with the charm's, and checks them: the result has each of the
// charm's stores. Stores of block devices have none.
func storageFor(m modeldb.Model, meta *charm.Meta,
	asked map[string]entity.StorageConstraints) (map[string]entity.StorageConstraints, error) {
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		if _, ok := meta.Storage[name]; !ok {
			return nil, entity.Errorf(entity.Invalid, "charm %q has no store called %q", meta.Name, name)
		}
	}
	all := map[string]entity.StorageConstraints{}
	for _, name := range slices.Sorted(maps.Keys(meta.Storage)) {
		store := meta.Storage[name]
		c, given := asked[name]
		if !given {
			c.Count = uint64(store.CountMin)
		}
		c, err := completeStorage(m, meta, store, c)
		if err != nil {
			return nil, err
		}
		if err := checkStoreCount(store, c.Count); err != nil {
			return nil, fmt.Errorf("charm %q store %q: %w", meta.Name, name, err)
		}
		if c.Count > 0 || store.Type == charm.StorageFilesystem {
			all[name] = c
		}
	}
	return all, checkMounts(meta, all)
}

// checkMounts rejects storage of two stores at the same path.
func checkMounts(meta *charm.Meta, all map[string]entity.StorageConstraints) error {
	names := slices.Sorted(maps.Keys(all))
	for i, one := range names {
		for _, other := range names[i+1:] {
			if all[one].Count == 0 || all[other].Count == 0 {
				continue
			}
			if at := mountOf(meta.Storage[one], one+"/0"); at == mountOf(meta.Storage[other], other+"/0") {
				return entity.Errorf(entity.Invalid, "charm %q stores %q and %q are both at %s", meta.Name, one, other, at)
			}
		}
	}
	return nil
}

// completeStorage fills in the pool and size of storage for a store, and checks them.
func completeStorage(m modeldb.Model, meta *charm.Meta, store charm.Storage,
	c entity.StorageConstraints) (entity.StorageConstraints, error) {
	fail := func(format string, args ...any) (entity.StorageConstraints, error) {
		return c, entity.Errorf(entity.Invalid, "charm %q store %q: %s", meta.Name, store.Name, fmt.Sprintf(format, args...))
	}
	pools := entity.StoragePools(m.Cloud)
	if c.Pool == "" {
		c.Pool = pools[0].Name
	}
	if c.Size == 0 {
		c.Size = cmp.Or(store.MinimumSize, defaultSize)
	}
	switch {
	case c.Count == 0: // the store does not matter
	case store.Shared:
		return fail("shared storage support not implemented")
	case store.Type == charm.StorageBlock:
		return fail("cloud %q has no block storage", m.Cloud)
	}
	if c.Size < store.MinimumSize {
		return fail("minimum storage size is %s, %s specified", entity.MiB(store.MinimumSize), entity.MiB(c.Size))
	}
	return c, nil
}

func checkStoreCount(store charm.Storage, n uint64) error {
	switch {
	case store.CountMin == 1 && store.CountMax == 1 && n != 1:
		return entity.Errorf(entity.Invalid, "storage is singular, %d specified", n)
	case n < uint64(store.CountMin):
		return entity.Errorf(entity.Invalid, "%s required, %d specified", instances(store.CountMin), n)
	case store.CountMax >= 0 && n > uint64(store.CountMax):
		return entity.Errorf(entity.Invalid, "at most %s supported, %d specified", instances(store.CountMax), n)
	case n > uint64(limits.UnitStorage.Max):
		return limits.UnitStorage.Check(int(min(n, math.MaxInt32)))
	}
	return nil
}

// instances formats a number of instances.
func instances(n int) string {
	if n == 1 {
		return "1 instance"
	}
	return strconv.Itoa(n) + " instances"
}

// storeChanges rejects attaching n more instances of a store to a unit, or with a negative n detaching some, if the
// charm does not allow the result. It asserts that the unit's storage does not change meanwhile.
func (u *Unit) storeChanges(ctx context.Context, o *ops, meta *charm.Meta, name string, n int) error {
	store, ok := meta.Storage[name]
	if !ok {
		return entity.Errorf(entity.Invalid, "charm %q has no store called %q", meta.Name, name)
	}
	has, err := u.st.attachments(ctx, bson.D{{"unit", u.doc.Name}})
	if err != nil {
		return err
	}
	total := n
	for _, a := range has {
		if entity.StoreOf(a.doc.Storage) == name && a.doc.Life == entity.Alive {
			total++
		}
	}
	doing, plural := "attach", "s"
	if n < 0 {
		doing, n = "detach", -n
		for _, a := range has {
			if a.doc.Life == entity.Alive { // another may be detached concurrently
				o.Assert(modeldb.AttachmentsC, a.doc.ID, modeltxn.IsAlive)
			}
		}
	}
	if n == 1 {
		plural = ""
	}
	fail := func(format string, args ...any) error {
		return entity.Errorf(entity.Invalid, "charm %q store %q: %s", meta.Name, name, fmt.Sprintf(format, args...))
	}
	o.Expect(modeldb.UnitKey(u.doc.Name), "attachments", len(has))
	switch {
	case store.CountMin == 1 && store.CountMax == 1 && total != 1:
		return fail("cannot %s, storage is singular", doing)
	case total < store.CountMin:
		return fail("%sing %d storage instance%s brings the total to %d, which is less than the minimum of %d", doing, n,
			plural, total, store.CountMin)
	case store.CountMax >= 0 && total > store.CountMax:
		return fail("%sing %d storage instance%s brings the total to %d, exceeding the maximum of %d", doing, n, plural,
			total, store.CountMax)
	}
	return limits.UnitStorage.Check(len(has) + n)
}

// storesOf reads the metadata of a service's charm, and asserts that it does not change. During a rollout it has only the
// stores that the former charm has too: units have either charm, and the rollout may be reverted.
func (st *State) storesOf(ctx context.Context, o *ops, service string) (*charm.Meta, error) {
	svc, err := st.Service(ctx, service)
	if err != nil {
		return nil, err
	}
	o.Assert(modeldb.ServicesC, service, svc.doc.KeepsCharm())
	ch, err := st.db.Charm(ctx, svc.doc.CharmURL)
	if err != nil {
		return nil, err
	}
	if svc.doc.Rollout == nil {
		return ch.Meta, nil
	}
	former, err := st.db.Charm(ctx, svc.doc.Rollout.Former)
	if err != nil {
		return nil, err
	}
	meta := *ch.Meta
	meta.Storage = maps.Clone(meta.Storage)
	maps.DeleteFunc(meta.Storage, func(name string, _ charm.Storage) bool { _, has := former.Meta.Storage[name]; return !has })
	return &meta, nil
}

// A storageGrant is storage that a transaction adds to a unit.
type storageGrant struct {
	st      *State
	numbers *storageNumbers
	born    modeldb.Living
	model   modeldb.Model
	meta    *charm.Meta
	unit    modeldb.Unit
	machine string // the unit's, or its principal's
}

// grantOps adds the storage of a new unit of a service: the instances in attach, and new ones up to the number specified
// for the service's units.
func (g storageGrant) grantOps(ctx context.Context, o *ops, svc *Service, attach []string) error {
	counts := map[string]uint64{}
	for _, id := range attach {
		s, err := g.st.Storage(ctx, id)
		if err != nil {
			return err
		}
		if err := g.attachOps(ctx, o, s); err != nil {
			return err
		}
		counts[entity.StoreOf(id)]++
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		c := svc.doc.Stores[name]
		if err := checkStoreCount(g.meta.Storage[name], max(c.Count, counts[name])); err != nil {
			return fmt.Errorf("charm %q store %q: %w", g.meta.Name, name, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(svc.doc.Stores)) {
		c := svc.doc.Stores[name]
		c.Count -= min(c.Count, counts[name])
		if _, err := g.newOps(ctx, o, name, c); err != nil {
			return err
		}
	}
	return nil
}

// newOps adds new instances for one of the charm's stores, attaches them, and returns their ids.
func (g storageGrant) newOps(ctx context.Context, o *ops, store string,
	c entity.StorageConstraints) (ids []string, err error) {
	if c.Count == 0 {
		return nil, nil
	}
	pool, err := g.st.poolOps(ctx, o, g.model, c.Pool)
	if err != nil {
		return nil, fmt.Errorf("charm %q store %q: %w", g.meta.Name, store, err)
	}
	for range c.Count {
		n, err := g.numbers.next(ctx, g.st)
		if err != nil {
			return nil, err
		}
		s := &Storage{st: g.st, doc: modeldb.Storage{Living: g.born, ID: store + "/" + strconv.Itoa(n), Pool: pool, Size: c.Size}}
		s.doc.Born = s.doc.Since
		if pool.Provider == entity.PoolRootFS {
			s.doc.Machine = g.machine
		}
		o.Insert(modeldb.StorageC, s.doc.ID, s.doc)
		o.addCounts(s)
		g.attachmentOps(o, s)
		ids = append(ids, s.doc.ID)
	}
	return ids, nil
}

// attachOps attaches an existing instance.
func (g storageGrant) attachOps(ctx context.Context, o *ops, s *Storage) error {
	store, ok := g.meta.Storage[entity.StoreOf(s.doc.ID)]
	if !ok {
		return entity.Errorf(entity.Invalid, "charm %q has no store called %q", g.meta.Name, entity.StoreOf(s.doc.ID))
	}
	if s.doc.Life != entity.Alive {
		return entity.Errorf(entity.NotAlive, "storage %q is not alive", s.doc.ID)
	}
	if s.doc.Machine != "" && s.doc.Machine != g.machine {
		return entity.WithHint(entity.Errorf(entity.Invalid, "storage %q is on the disk of machine %s", s.doc.ID, s.doc.Machine),
			"Only units of that machine can have it; for another: juju add-storage")
	}
	if a, err := g.st.attachmentOf(ctx, s.doc.ID); err != nil {
		return err
	} else if a != nil {
		return entity.WithHint(entity.Errorf(entity.InUse, "storage %q is attached to unit %q", s.doc.ID, a.doc.Unit),
			"Detach it first: juju detach-storage %s", s.doc.ID)
	}
	if store.Type == charm.StorageBlock {
		return entity.Errorf(entity.Invalid, "cannot attach filesystem storage %q as block storage", s.doc.ID)
	}
	o.AssertLife(modeldb.StorageC, s.doc.ID, entity.Alive)
	o.Expect(modeldb.StorageKey(s.doc.ID), "attachments", 0)
	g.attachmentOps(o, s)
	return nil
}

func (g storageGrant) attachmentOps(o *ops, s *Storage) {
	a := &attachment{st: g.st, doc: modeldb.Attachment{Living: g.born, ID: modeldb.AttachmentID(g.unit.Name, s.doc.ID),
		Unit: g.unit.Name, Subordinate: g.unit.Principal != "", Storage: s.doc.ID, Machine: g.machine,
		Mount: mountOf(g.meta.Storage[entity.StoreOf(s.doc.ID)], s.doc.ID)}}
	a.doc.Born = a.doc.Since
	o.Insert(modeldb.AttachmentsC, a.doc.ID, a.doc)
	o.addCounts(a)
}

// storageDir is the default location of storage.
const storageDir = "/var/lib/juju/storage"

// mountOf returns the mount path of an instance.
func mountOf(store charm.Storage, id string) string {
	if store.Location != "" && store.CountMax == 1 {
		return path.Clean(store.Location)
	}
	dir := storageDir
	if store.Location != "" {
		dir = path.Clean(store.Location)
	}
	return path.Join(dir, id)
}

// AttachStorage attaches an unattached instance to the unit.
func (u *Unit) AttachStorage(ctx context.Context, id string) error {
	err := u.grant(ctx, func(o *ops, g storageGrant) error {
		s, err := u.st.Storage(ctx, id)
		if err != nil {
			return err
		}
		if a, err := u.st.attachmentOf(ctx, id); err == nil && a != nil && a.doc.Unit == u.doc.Name && a.doc.Life == entity.Alive {
			return mongo.ErrNothing
		} else if err != nil {
			return err
		}
		if err := g.attachOps(ctx, o, s); err != nil {
			return err
		}
		return u.storeChanges(ctx, o, g.meta, entity.StoreOf(id), 1)
	})
	if err != nil {
		return fmt.Errorf("cannot attach storage %s to unit %s: %w", id, u.doc.Name, err)
	}
	return nil
}

// AddStorage adds new instances to the unit for one of its charm's stores, and returns their ids. Pool and size default
// to those of the service's units.
func (u *Unit) AddStorage(ctx context.Context, store string, c entity.StorageConstraints) (ids []string, err error) {
	err = u.grant(ctx, func(o *ops, g storageGrant) error {
		ids, err = u.addStorageOps(ctx, o, g, store, c)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("adding %q storage to unit %s: %w", store, u.doc.Name, err)
	}
	return ids, nil
}

func (u *Unit) addStorageOps(ctx context.Context, o *ops, g storageGrant, store string,
	c entity.StorageConstraints) ([]string, error) {
	svc, err := u.st.Service(ctx, u.doc.Service)
	if err != nil {
		return nil, err
	}
	usual := svc.doc.Stores[store]
	if c.Pool == "" {
		c.Pool = usual.Pool
	}
	if c.Size == 0 {
		c.Size = usual.Size
	}
	if err := u.storeChanges(ctx, o, g.meta, store, int(min(c.Count, 1<<20))); err != nil {
		return nil, err
	}
	if c, err = completeStorage(g.model, g.meta, g.meta.Storage[store], c); err != nil {
		return nil, err
	}
	return g.newOps(ctx, o, store, c)
}

// grant runs a transaction that adds storage to the unit, which must be Alive.
func (u *Unit) grant(ctx context.Context, build func(*ops, storageGrant) error) error {
	numbers, born := &storageNumbers{}, u.st.born()
	return u.st.change(ctx, func(o *ops) error {
		if err := u.refresh(ctx); err != nil {
			return err
		}
		g, err := u.granting(ctx, o, numbers, born)
		if err != nil {
			return err
		}
		return build(o, g)
	})
}

// granting returns the parameters for new storage of the unit, and asserts that they do not change.
func (u *Unit) granting(ctx context.Context, o *ops, numbers *storageNumbers, born modeldb.Living) (g storageGrant, err error) {
	numbers.used = 0
	g = storageGrant{st: u.st, numbers: numbers, born: born, unit: u.doc}
	if g.model, err = u.st.db.AliveModel(ctx); err != nil {
		return g, err
	}
	if u.doc.Life != entity.Alive {
		return g, entity.Errorf(entity.NotAlive, "unit %q is not alive", u.doc.Name)
	}
	if g.machine, err = u.st.db.MachineOf(ctx, u.doc); err != nil {
		return g, err
	}
	if g.meta, err = u.st.storesOf(ctx, o, u.doc.Service); err != nil {
		return g, err
	}
	o.AssertModelAlive()
	o.AssertLife(modeldb.UnitsC, u.doc.Name, entity.Alive)
	return g, nil
}
