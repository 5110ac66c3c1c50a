package storage

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"

	"gopkg.in/mgo.v2/bson"

	"juju/charm"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/lifecycle"
	"juju/state/limits"
	"juju/state/mongo"
)

// Numbers keeps the numbers allocated for new instances across a transaction's attempts.
type Numbers struct {
	taken []int
	used  int
}

// Reserve allocates the numbers of an attempt that adds n instances, which are then used from the first.
func (s *Numbers) Reserve(ctx context.Context, db *modeltxn.DB, n int) error {
	s.used = 0
	missing := n - len(s.taken)
	if missing <= 0 {
		return nil
	}
	first, err := db.Next(ctx, modeldb.StorageSequence, missing)
	if err != nil {
		return err
	}
	for i := range missing {
		s.taken = append(s.taken, first+i)
	}
	return nil
}

func (s *Numbers) next(ctx context.Context, db *modeltxn.DB) (int, error) {
	if s.used == len(s.taken) {
		n, err := db.Next(ctx, modeldb.StorageSequence, 1)
		if err != nil {
			return 0, err
		}
		s.taken = append(s.taken, n)
	}
	s.used++
	return s.taken[s.used-1], nil
}

// StoresOf reads the metadata of a service's charm, and asserts that it does not change. During a rollout it has only the
// stores that the former charm has too: units have either charm, and the rollout may be reverted.
func StoresOf(ctx context.Context, db *modeltxn.DB, o *modeltxn.Ops, service string) (*charm.Meta, error) {
	svc, err := db.Service(ctx, service)
	if err != nil {
		return nil, err
	}
	o.Assert(modeldb.ServicesC, service, svc.KeepsCharm())
	ch, err := db.Charm(ctx, svc.CharmURL)
	if err != nil {
		return nil, err
	}
	if svc.Rollout == nil {
		return ch.Meta, nil
	}
	former, err := db.Charm(ctx, svc.Rollout.Former)
	if err != nil {
		return nil, err
	}
	meta := *ch.Meta
	meta.Storage = maps.Clone(meta.Storage)
	maps.DeleteFunc(meta.Storage, func(name string, _ charm.Storage) bool {
		_, has := former.Meta.Storage[name]
		return !has
	})
	return &meta, nil
}

// A Grant is storage that a transaction adds to a unit.
type Grant struct {
	DB      *modeltxn.DB
	Numbers *Numbers
	Used    Used
	Born    modeldb.Living
	Model   modeldb.Model
	Meta    *charm.Meta // of the unit's charm: see StoresOf
	Unit    modeldb.Unit
	Machine string // the unit's, or its principal's
}

// New adds the storage of a new unit of a service: the instances in attach, and new ones up to the number specified
// for the service's units.
func (g Grant) New(ctx context.Context, o *modeltxn.Ops, stores map[string]entity.StorageConstraints,
	attach []string) error {
	counts := map[string]uint64{}
	for _, id := range attach {
		s, err := g.DB.Storage(ctx, id)
		if err != nil {
			return err
		}
		if err := g.Attach(ctx, o, s); err != nil {
			return err
		}
		counts[entity.StoreOf(id)]++
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		c := stores[name]
		if err := checkCount(g.Meta.Storage[name], max(c.Count, counts[name])); err != nil {
			return fmt.Errorf("charm %q store %q: %w", g.Meta.Name, name, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(stores)) {
		c := stores[name]
		c.Count -= min(c.Count, counts[name])
		if _, err := g.add(ctx, o, name, c); err != nil {
			return err
		}
	}
	return nil
}

// add adds new instances for one of the charm's stores, attaches them, and returns their ids.
func (g Grant) add(ctx context.Context, o *modeltxn.Ops, store string,
	c entity.StorageConstraints) (ids []string, err error) {
	if c.Count == 0 {
		return nil, nil
	}
	pool, err := g.Used.Pool(ctx, g.DB, o, g.Model, c.Pool)
	if err != nil {
		return nil, fmt.Errorf("charm %q store %q: %w", g.Meta.Name, store, err)
	}
	for range c.Count {
		n, err := g.Numbers.next(ctx, g.DB)
		if err != nil {
			return nil, err
		}
		s := modeldb.Storage{Living: g.Born, ID: store + "/" + strconv.Itoa(n), Pool: pool, Size: c.Size}
		s.Born = s.Since
		if pool.Provider == entity.PoolRootFS {
			s.Machine = g.Machine
		}
		insert(o, s)
		g.attach(o, s)
		ids = append(ids, s.ID)
	}
	return ids, nil
}

// Attach attaches an existing instance.
func (g Grant) Attach(ctx context.Context, o *modeltxn.Ops, s modeldb.Storage) error {
	store, ok := g.Meta.Storage[entity.StoreOf(s.ID)]
	if !ok {
		return entity.Errorf(entity.Invalid, "charm %q has no store called %q", g.Meta.Name, entity.StoreOf(s.ID))
	}
	if s.Life != entity.Alive {
		return entity.Errorf(entity.NotAlive, "storage %q is not alive", s.ID)
	}
	if s.Machine != "" && s.Machine != g.Machine {
		return entity.WithHint(entity.Errorf(entity.Invalid, "storage %q is on the disk of machine %s", s.ID, s.Machine),
			"Only units of that machine can have it; for another: juju add-storage")
	}
	if a, err := g.DB.AttachmentOf(ctx, s.ID); err != nil {
		return err
	} else if a != nil {
		return entity.WithHint(entity.Errorf(entity.InUse, "storage %q is attached to unit %q", s.ID, a.Unit),
			"Detach it first: juju detach-storage %s", s.ID)
	}
	if store.Type == charm.StorageBlock {
		return entity.Errorf(entity.Invalid, "cannot attach filesystem storage %q as block storage", s.ID)
	}
	o.AssertLife(modeldb.StorageC, s.ID, entity.Alive)
	o.Expect(modeldb.StorageKey(s.ID), "attachments", 0)
	g.attach(o, s)
	return nil
}

func (g Grant) attach(o *modeltxn.Ops, s modeldb.Storage) {
	a := modeldb.Attachment{Living: g.Born, ID: modeldb.AttachmentID(g.Unit.Name, s.ID),
		Unit: g.Unit.Name, Subordinate: g.Unit.Principal != "", Storage: s.ID, Machine: g.Machine,
		Mount: mountOf(g.Meta.Storage[entity.StoreOf(s.ID)], s.ID)}
	a.Born = a.Since
	o.Insert(modeldb.AttachmentsC, a.ID, a)
	o.AddCounts(lifecycle.Attachment, modeldb.AttachmentName(a.Unit, a.Storage), a.Targets)
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

// insert adds a new instance.
func insert(o *modeltxn.Ops, s modeldb.Storage) {
	o.Insert(modeldb.StorageC, s.ID, s)
	o.AddCounts(lifecycle.Storage, s.ID, s.Targets)
}

// Read completes a grant for a unit that is there, which must be Alive, with its model, machine and charm, and asserts that these
// do not change.
func (g *Grant) Read(ctx context.Context, o *modeltxn.Ops) (err error) {
	g.Numbers.used = 0
	if g.Model, err = g.DB.AliveModel(ctx); err != nil {
		return err
	}
	if g.Unit.Life != entity.Alive {
		return entity.Errorf(entity.NotAlive, "unit %q is not alive", g.Unit.Name)
	}
	if g.Machine, err = g.DB.MachineOf(ctx, g.Unit); err != nil {
		return err
	}
	if g.Meta, err = StoresOf(ctx, g.DB, o, g.Unit.Service); err != nil {
		return err
	}
	o.AssertModelAlive()
	o.AssertLife(modeldb.UnitsC, g.Unit.Name, entity.Alive)
	return nil
}

// change runs a transaction that adds storage to a unit.
func change(ctx context.Context, db *modeltxn.DB, unit string, build func(*modeltxn.Ops, Grant) error) error {
	g := Grant{DB: db, Numbers: &Numbers{}, Born: modeldb.Living{Since: db.Now()}}
	return db.Change(ctx, func(o *modeltxn.Ops) (err error) {
		g.Used = Used{}
		if g.Unit, err = db.Unit(ctx, unit); err == nil {
			err = g.Read(ctx, o)
		}
		if err != nil {
			return err
		}
		return build(o, g)
	})
}

// Attach attaches an unattached instance to a unit.
func Attach(ctx context.Context, db *modeltxn.DB, unit, id string) error {
	err := change(ctx, db, unit, func(o *modeltxn.Ops, g Grant) error {
		s, err := db.Storage(ctx, id)
		if err != nil {
			return err
		}
		if a, err := db.AttachmentOf(ctx, id); err == nil && a != nil && a.Unit == unit && a.Life == entity.Alive {
			return mongo.ErrNothing
		} else if err != nil {
			return err
		}
		if err := g.Attach(ctx, o, s); err != nil {
			return err
		}
		return g.CheckChange(ctx, o, entity.StoreOf(id), 1)
	})
	if err != nil {
		return fmt.Errorf("cannot attach storage %s to unit %s: %w", id, unit, err)
	}
	return nil
}

// Add adds new instances to a unit for one of its charm's stores, and returns their ids. Pool and size default to those of the
// service's units.
func Add(ctx context.Context, db *modeltxn.DB, unit, store string,
	c entity.StorageConstraints) (ids []string, err error) {
	err = change(ctx, db, unit, func(o *modeltxn.Ops, g Grant) error {
		ids, err = g.More(ctx, o, store, c)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("adding %q storage to unit %s: %w", store, unit, err)
	}
	return ids, nil
}

// More adds instances for one of the charm's stores, like Add.
func (g Grant) More(ctx context.Context, o *modeltxn.Ops, store string, c entity.StorageConstraints) ([]string, error) {
	svc, err := g.DB.Service(ctx, g.Unit.Service)
	if err != nil {
		return nil, err
	}
	usual := svc.Stores[store]
	if c.Pool == "" {
		c.Pool = usual.Pool
	}
	if c.Size == 0 {
		c.Size = usual.Size
	}
	if err := g.CheckChange(ctx, o, store, int(min(c.Count, 1<<20))); err != nil {
		return nil, err
	}
	if c, err = complete(g.Model, g.Meta, g.Meta.Storage[store], c); err != nil {
		return nil, err
	}
	return g.add(ctx, o, store, c)
}

// CheckChange rejects attaching n more instances of a store to the unit, or with a negative n detaching some, if the
// charm does not allow the result. It asserts that the unit's storage does not change meanwhile.
func (g Grant) CheckChange(ctx context.Context, o *modeltxn.Ops, name string, n int) error {
	store, ok := g.Meta.Storage[name]
	if !ok {
		return entity.Errorf(entity.Invalid, "charm %q has no store called %q", g.Meta.Name, name)
	}
	if err := o.KeepCounts(ctx, g.DB, modeldb.UnitKey(g.Unit.Name)); err != nil {
		return err
	}
	has, err := g.DB.Attachments(ctx, bson.D{{"unit", g.Unit.Name}})
	if err != nil {
		return err
	}
	total := n
	for _, a := range has {
		if entity.StoreOf(a.Storage) == name && a.Life == entity.Alive {
			total++
		}
	}
	doing, plural := "attach", "s"
	if n < 0 {
		doing, n = "detach", -n
		for _, a := range has {
			if a.Life == entity.Alive { // another may be detached concurrently
				o.Assert(modeldb.AttachmentsC, a.ID, modeltxn.IsAlive)
			}
		}
	}
	if n == 1 {
		plural = ""
	}
	fail := func(format string, args ...any) error {
		return entity.Errorf(entity.Invalid, "charm %q store %q: %s", g.Meta.Name, name, fmt.Sprintf(format, args...))
	}
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
