package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"juju/agent/host/atomicfile"
	"juju/agent/host/process"
	"juju/agent/storeconf"
	"juju/provider/local"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/mongo"
)

// migrationName is the file that records a migration of the store that is not complete. mongo.conf alone says which store
// is the controller's: it changes once the other one has everything.
const migrationName = "migration.json"

// A migration is the content of that file: the URLs of the stores, "" for the embedded one.
type migration struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// A migrator moves the store of a controller that is not running.
type migrator struct {
	own     string // the controller's own directory
	conf    config
	options Options
	migration
}

// MigrateStore moves the store of the controller in the cloud's directory dir to the MongoDB at url or, if that is "", to
// the embedded store. The controller must not be running. Every document is compared before the new store is used, and the
// old one is removed afterwards. If MigrateStore is interrupted, the controller has one of the two, complete, and another
// call goes on.
func MigrateStore(ctx context.Context, dir, url string, o Options) error {
	own := local.ControllerDir(dir)
	fail := func(err error) error {
		return fmt.Errorf("cannot migrate the store: %w", noRoom(err, own, "migrate the store"))
	}
	held, err := process.Hold(own)
	if err != nil {
		return fail(err)
	}
	defer held.Close()
	conf, err := readConfig(own)
	if err != nil {
		return fail(err)
	}
	now, err := storeconf.Read(own)
	if err != nil {
		return fail(err)
	}
	m := &migrator{own: own, conf: conf, options: o, migration: migration{To: url}}
	if now != nil {
		m.From = now.URL
	}
	if err := m.run(ctx); err != nil {
		return fail(err)
	}
	return nil
}

func (m *migrator) run(ctx context.Context) error {
	left, err := m.recorded()
	if err != nil {
		return err
	}
	if m.From == m.To {
		if left == nil || left.To != m.To {
			return entity.Errorf(entity.AlreadyExists, "it is there already")
		}
		m.From = left.From
		return m.finish(ctx)
	}
	if m.From != "" && m.To != "" {
		return entity.WithHint(entity.Errorf(entity.NotSupported, "it is in another MongoDB"),
			"Move it to the embedded store first: juju migrate-store --embedded")
	}
	if err := m.copy(ctx, left); err != nil {
		return err
	}
	if err := m.use(); err != nil {
		return err
	}
	return m.finish(ctx)
}

// copy makes the new store. left is the migration that was interrupted, or nil.
func (m *migrator) copy(ctx context.Context, left *migration) error {
	from, err := m.open(ctx, m.From)
	if err != nil {
		return err
	}
	defer from.Close()
	if err := m.checkAlone(ctx, from); err != nil {
		return err
	}
	to, err := m.prepare(ctx, left, from)
	if err != nil {
		return err
	}
	defer to.Close()
	if err := mongo.Copy(ctx, from, to); err != nil {
		return entity.WithHint(err, "The controller keeps its store. Once the cause is fixed, run the command again.")
	}
	return nil
}

func (m *migrator) path(name string) string { return filepath.Join(m.own, name) }

func (m *migrator) open(ctx context.Context, url string) (*mongo.Store, error) {
	if url == "" {
		return openEmbedded(m.own, m.options, ending("migrate the store", "migrate the store", m.own))
	}
	store, _, err := openMongo(ctx, url, m.options)
	return store, err
}

// recorded returns the migration that was interrupted, or nil.
func (m *migrator) recorded() (*migration, error) {
	text, err := os.ReadFile(m.path(migrationName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	left := &migration{}
	if err == nil {
		err = json.Unmarshal(text, left)
	}
	return left, err
}

// checkAlone returns an error if other controllers use the store. What it has about upgrades of several is removed, because
// nothing keeps that up to date while one controller is all there is.
func (m *migrator) checkAlone(ctx context.Context, from *mongo.Store) error {
	ctrl, err := controller.Attach(ctx, from, m.options.State)
	if err != nil {
		return err
	}
	defer ctrl.Close()
	if m.From == "" {
		return ctrl.ForgetNodeUpgrade(ctx)
	}
	nodes, err := ctrl.Nodes(ctx)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(nodes, func(n controller.Node) bool { return n.ID != m.conf.machine() }); i >= 0 {
		return entity.WithHint(entity.Errorf(entity.InUse, "controller %s uses it too", nodes[i].ID),
			"Remove the other controllers first: juju destroy-machine -m controller %s", nodes[i].ID)
	}
	u, err := ctrl.NodeUpgrade(ctx)
	if err == nil && u.IsGoing() {
		err = entity.WithHint(entity.Errorf(entity.InUse, "the controller is being upgraded to %s", u.To.Build()),
			"Wait for the end of that: juju upgrade-controller")
	}
	if err != nil {
		return err
	}
	return ctrl.ForgetNodeUpgrade(ctx)
}

// prepare opens the new store, empty, after it has recorded the migration.
func (m *migrator) prepare(ctx context.Context, left *migration, from *mongo.Store) (to *mongo.Store, err error) {
	text, err := json.MarshalIndent(m.migration, "", "  ")
	if err != nil {
		return nil, err
	}
	record := func() error { return atomicfile.WriteFile(m.path(migrationName), text, 0o600) }
	if m.To == "" {
		// What is there is of an earlier migration to the MongoDB.
		if err := errors.Join(record(), os.RemoveAll(m.path(dbName))); err != nil {
			return nil, err
		}
		return m.open(ctx, m.To)
	}
	if to, err = m.open(ctx, m.To); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			to.Close()
		}
	}()
	if err := checkShareable(to); err != nil {
		return nil, err
	}
	names, err := to.Databases(ctx)
	if err != nil {
		return nil, err
	}
	if left != nil && left.To == m.To { // begin again
		ours, err := from.Databases(ctx)
		if err != nil {
			return nil, err
		}
		for _, name := range ours {
			if err := to.Drop(ctx, name); err != nil {
				return nil, err
			}
		}
	} else if slices.Contains(names, controllerDB) {
		url, err := mongo.ParseURL(m.To)
		if err != nil {
			return nil, err
		}
		return nil, occupied(url)
	}
	return to, record()
}

// use makes the new store the controller's.
func (m *migrator) use() error {
	if m.To == "" {
		return storeconf.Remove(m.own)
	}
	return storeconf.Config{URL: m.To, Controller: m.conf.Controller}.Write(m.own)
}

// finish removes the old store.
func (m *migrator) finish(ctx context.Context) error {
	if m.From == "" {
		return errors.Join(os.RemoveAll(m.path(dbName)), os.Remove(m.path(migrationName)))
	}
	from, err := m.open(ctx, m.From)
	if err != nil {
		return err
	}
	defer from.Close()
	if err := dropAll(ctx, from, m.conf.Controller); err != nil {
		return err
	}
	return os.Remove(m.path(migrationName))
}
