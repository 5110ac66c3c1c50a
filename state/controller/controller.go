package controller

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/juju/loggo"
	"gopkg.in/mgo.v2/bson"

	"juju/state"
	"juju/state/entity"
	"juju/state/internal/secret"
	"juju/state/lease"
	"juju/state/mongo"
	"juju/state/schema"
	"juju/state/sealing"
	"juju/state/watcher"
)

var logger = loggo.GetLogger("juju.state.controller")

// DB is the name of the controller's own database.
const DB = "juju"

const controllerDB = DB

// A Controller manages the controller's own database, and opens each model's State. It is safe for concurrent use.
type Controller struct {
	store   *mongo.Store
	db      *mongo.Database
	options Options
	now     func() time.Time
	doc     controllerDoc

	leases   *lease.Leases // of services
	singular *lease.Leases
	claimed  atomic.Int64 // the last epoch of the singular lease that this process got
	hasher   *secret.Hasher
	known    secret.Known // users' passwords verified recently
	hub      *watcher.Hub
	tail     *watcher.Tailer

	// id identifies this process. It is stored as the creator of the models that it creates.
	id string
	// alone is set if no other process can have the store open.
	alone bool

	// adding is read-locked while a charm is added, and write-locked during the search for unused archives.
	adding sync.RWMutex

	mu      sync.Mutex
	states  map[string]model
	opening map[string]chan struct{} // closed when the model was opened, or opening it failed
	making  map[string]time.Time     // models that other processes are creating, and when this one first saw them
	closed  bool
	ends    sync.WaitGroup // models being opened or closed
}

type controllerDoc struct {
	ID    string `bson:"_id"`
	UUID  string `bson:"uuid"`
	Name  string `bson:"name"`
	Cloud string `bson:"cloud"`
	// Defaults are the settings that new models get, in their stored form. The version grows with each change.
	Defaults        map[string]string `bson:"defaults,omitempty"`
	DefaultsVersion int               `bson:"defaultsversion,omitempty"`
	// TokenKey signs the tokens of consumers, in base64; see consumers.go. It has a name of those that are never shown.
	TokenKey string `bson:"password,omitempty"`
	// SecretKey is the ID of the key that seals the content of secrets, which the store does not have; "" before the first one.
	SecretKey string `bson:"secretkey,omitempty"`
}

// A model is an open model with the function that closes it.
type model struct {
	*state.State
	close func(why error)
}

// Options configure a controller; the zero value is right for production.
type Options struct {
	Sizes state.Sizes      // state.DefaultSizes if zero
	Now   func() time.Time // time.Now if nil; used for timestamps and ages only
	// SecretKey seals the content of secrets; without it, there can be none.
	SecretKey *sealing.Key
	// PasswordCost is the bcrypt cost of users' passwords; bcrypt's default if zero.
	PasswordCost int
	// Shared is set if other processes may have the store open, which is always the case for MongoDB.
	Shared bool

	// The upgrade steps of the controller's database and of models; Steps and state.Steps if nil.
	Steps, ModelSteps []schema.Step
}

// InitParams describe a new controller.
type InitParams struct {
	Name     string
	UUID     string // a new one if empty
	Cloud    string // the provider's kind
	Series   string // the default series of machines, for charms that name none
	User     string // the first user, a superuser
	Password string
}

// Initialize creates a controller in an empty store: its own database, the first user, and the controller model with
// machine 0 in it. It can be run again after an interruption.
func Initialize(ctx context.Context, store *mongo.Store, p InitParams, o Options) error {
	c := newController(store, o)
	defer c.Close()
	if err := store.Make(ctx, controllerDB, c.form().Schema); err != nil {
		return err
	}
	if p.UUID == "" {
		p.UUID = uuid.NewString()
	}
	c.doc = controllerDoc{ID: controllerC, UUID: p.UUID, Name: p.Name, Cloud: p.Cloud}
	hash, err := c.hashUserPassword(p.Password)
	if err != nil {
		return err
	}
	first := userDoc{ID: userID(p.User), Name: p.User, Access: AccessSuperuser, Password: hash, CreatedBy: p.User,
		Created: c.now()}
	err = c.db.Change(ctx, func(o *mongo.Ops) error {
		var there controllerDoc
		if err := c.db.Get(ctx, controllerC, controllerC, &there, "controller"); err == nil {
			c.doc = there
			return mongo.ErrNothing
		} else if !entity.IsNotFound(err) {
			return err
		}
		o.Insert(controllerC, controllerC, c.doc)
		c.form().Record(o)
		o.Insert(usersC, first.ID, first)
		return nil
	})
	if err != nil {
		return fmt.Errorf("cannot initialise the controller: %w", err)
	}
	st, err := c.addModel(ctx, AddModelParams{Name: state.ControllerModel, Owner: p.User, Series: p.Series})
	if errors.Is(err, entity.AlreadyExists) {
		st, err = c.modelNamed(ctx, p.User, state.ControllerModel)
	}
	if err != nil {
		return err
	}
	return state.AddManager(ctx, st, p.Series)
}

// modelNamed opens an owner's model by its name.
func (c *Controller) modelNamed(ctx context.Context, owner, name string) (*state.State, error) {
	var rows []ModelRow
	if err := c.db.All(ctx, modelsC, bson.D{{"owner", owner}, {"name", name}}, &rows); err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, entity.Errorf(entity.NotFound, "model %q of %s not found", name, owner)
	}
	return c.Model(ctx, rows[0].UUID)
}

// Open opens the controller in a store, and upgrades documents written by an older version. The error is
// entity.NotSupported if a newer version wrote them.
func Open(ctx context.Context, store *mongo.Store, o Options) (*Controller, error) {
	c, err := Attach(ctx, store, o)
	if err == nil {
		if err = c.Upgrade(ctx); err != nil {
			c.Close()
		}
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Attach is Open without the upgrade. Until Upgrade has been called, only what is about the nodes, and
// DropDatabases, may be used.
func Attach(ctx context.Context, store *mongo.Store, o Options) (*Controller, error) {
	c := newController(store, o)
	if err := c.db.Get(ctx, controllerC, controllerC, &c.doc, "controller"); err != nil {
		c.Close()
		return nil, fmt.Errorf("cannot open the controller: %w", err)
	}
	return c, nil
}

// Upgrade upgrades documents written by an older version, as Open says.
func (c *Controller) Upgrade(ctx context.Context) error {
	// Finish the transactions that a crash interrupted before anyone sees their data.
	if err := c.db.ResumeTransactions(ctx, c.leftBefore()); err != nil {
		return err
	}
	if err := c.upgrade(ctx); err != nil {
		return fmt.Errorf("cannot open the controller: %w", err)
	}
	return nil
}

// leftBefore returns the time before which unfinished transactions are abandoned, because no process is
// working on them. If no other process can have the database open, all are.
func (c *Controller) leftBefore() time.Time {
	if c.alone {
		return time.Unix(math.MaxUint32, 0) // the latest time that a transaction's id can hold
	}
	return c.now()
}

func newController(store *mongo.Store, o Options) *Controller {
	if o.Sizes == (state.Sizes{}) {
		o.Sizes = state.DefaultSizes
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Steps == nil {
		o.Steps = Steps
	}
	if o.ModelSteps == nil {
		o.ModelSteps = state.Steps
	}
	c := &Controller{store: store, db: store.Open(controllerDB), options: o, now: o.Now,
		hasher: secret.NewHasher(o.PasswordCost), id: mongo.NewID(), alone: store.Embedded() != nil && !o.Shared,
		states: map[string]model{}, opening: map[string]chan struct{}{}, making: map[string]time.Time{}}
	c.leases = lease.New(c.db, lease.Collection, store.Barrier, o.Now)
	c.singular = lease.New(c.db, controllerLeasesC, store.Barrier, o.Now)
	c.hub, c.tail = watcher.Follow(func(ctx context.Context, hub *watcher.Hub) {
		watcher.Tail(ctx, c.db.Tail, store.Barrier, hub)
	})
	return c
}

// Close stops every watch and closes all connections; the store stays open.
func (c *Controller) Close() {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	c.closed = true
	all := c.states
	c.states = nil
	c.mu.Unlock()
	// Each takes a moment, so close them concurrently.
	var group sync.WaitGroup
	for _, m := range all {
		group.Go(func() { m.close(closing()) })
	}
	group.Go(c.tail.End)
	group.Wait()
	c.ends.Wait()
	c.db.Close(closing())
}

func closing() error { return entity.Errorf(entity.Unavailable, "the controller is closing") }

// UUID returns the controller's UUID.
func (c *Controller) UUID() string { return c.doc.UUID }

// Name returns the controller's name, as given at bootstrap.
func (c *Controller) Name() string { return c.doc.Name }

// Cloud returns the kind of the controller's cloud, such as "dummy".
func (c *Controller) Cloud() string { return c.doc.Cloud }

// Remote reports whether the store is a MongoDB, and not in this process.
func (c *Controller) Remote() bool { return c.store.Embedded() == nil }

// Began records the start of a request in its context, for the Barrier at its end. On MongoDB, Barrier fails
// if the primary was lost meanwhile, because data that the request read may be rolled back.
func Began(ctx context.Context) context.Context { return mongo.Began(ctx) }

// Noting returns the context of the same request, which calls note as soon as it has changed something, before that is on
// disk: what note writes is on disk with the change.
func Noting(ctx context.Context, note func()) context.Context { return mongo.Noting(ctx, note) }

// Moving returns a context whose work calls moved, which may be called by several goroutines, whenever it has made some
// progress.
func Moving(ctx context.Context, moved func()) context.Context { return mongo.Moving(ctx, moved) }

// Barrier waits until all earlier writes are on disk.
func (c *Controller) Barrier(ctx context.Context) error { return c.store.Barrier(ctx) }

// Sync is mongo.Store.Sync. What is read afterwards is at least as new as anything that was written before it, by any
// controller.
func (c *Controller) Sync(ctx context.Context) error { return c.store.Sync(ctx) }

// ResumeTransactions is State.ResumeTransactions for the controller's database.
func (c *Controller) ResumeTransactions(ctx context.Context) error {
	return c.db.ResumeTransactions(ctx, c.now().Add(-mongo.ResumeAge))
}

// PruneTransactions is State.PruneTransactions for the controller's database.
func (c *Controller) PruneTransactions(ctx context.Context, age time.Duration) (int, error) {
	return c.db.PruneTransactions(ctx, c.now().Add(-age))
}
