package state

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/google/uuid"
	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/secret"
	"juju/state/mongo"
	"juju/state/watcher"
)

// controllerDB is the name of the controller's own database.
const controllerDB = "juju"

// ControllerModel is the name of the model that holds the controller's machines.
const ControllerModel = "controller"

// A Controller is the database of users and models, and the way to each model.
// It is safe for concurrent use.
type Controller struct {
	store   *mongo.Store
	db      *mongo.Database
	options Options
	now     func() time.Time
	doc     controllerDoc

	seen   sightings // of leases
	hasher *secret.Hasher
	known  secret.Known // users' passwords that were right lately
	hub    *watcher.Hub
	tails  *tails

	// id is this process's way to the store: who makes a model signs with it.
	id string
	// alone says that no other process can have the store open.
	alone bool

	// archives is held by those who add a charm, and shut by who looks which
	// archives have none.
	archives sync.RWMutex

	mu      sync.Mutex
	states  map[string]*State
	opening map[string]chan struct{} // closed when the model is open, or could not be opened
	making  map[string]time.Time     // models that others are making, and since when we know
	closed  bool
	ends    sync.WaitGroup // of models that are being opened, or closed
}

type controllerDoc struct {
	ID    string `bson:"_id"`
	UUID  string `bson:"uuid"`
	Name  string `bson:"name"`
	Cloud string `bson:"cloud"`
}

// Options are what a controller is opened with; the zero value is right in
// service.
type Options struct {
	Sizes Sizes            // DefaultSizes when zero
	Now   func() time.Time // time.Now when nil; only for timestamps and ages
	// PasswordCost is bcrypt's cost of users' passwords; its default when zero.
	PasswordCost int

	// The steps of upgrades, of tests; those of the program when nil.
	controllerSteps, modelSteps []upgradeStep
}

// InitParams is what a new controller begins with.
type InitParams struct {
	Name     string
	UUID     string // a fresh one when empty
	Cloud    string // the provider's kind
	Series   string // of machines, for charms that name none
	User     string // the first user, who may do everything
	Password string
}

// Initialize makes a controller in an empty store: its own database, the first
// user, and the model that holds its machines, with machine 0 in it. It can be
// run again after it was cut short.
func Initialize(ctx context.Context, store *mongo.Store, p InitParams, o Options) error {
	c := newController(store, o)
	defer c.Close()
	if err := store.Make(controllerDB, c.controllerForm().schema); err != nil {
		return err
	}
	if p.UUID == "" {
		p.UUID = uuid.NewString()
	}
	c.doc = controllerDoc{controllerC, p.UUID, p.Name, p.Cloud}
	hash, err := c.hashUserPassword(p.Password)
	if err != nil {
		return err
	}
	first := userDoc{ID: userID(p.User), Name: p.User, Access: AccessSuperuser, Password: hash, CreatedBy: p.User, Created: c.now()}
	err = change(ctx, c.db, func(o *ops) error {
		var there controllerDoc
		if err := c.db.Get(controllerC, controllerC, &there, "controller"); err == nil {
			c.doc = there
			return mongo.ErrNothing
		} else if !isNotFound(err) {
			return err
		}
		o.insert(controllerC, controllerC, c.doc)
		o.insert(schemaC, schemaC, c.controllerForm().doc())
		o.insert(usersC, first.ID, first)
		return nil
	})
	if err != nil {
		return fmt.Errorf("cannot initialise the controller: %w", err)
	}
	st, err := c.addModel(ctx, AddModelParams{Name: ControllerModel, Owner: p.User, Series: p.Series})
	if errors.Is(err, entity.AlreadyExists) {
		st, err = c.modelNamed(ctx, p.User, ControllerModel)
	}
	if err != nil {
		return err
	}
	return st.addManager(ctx, p.Series)
}

// modelNamed opens the model that an owner gave this name.
func (c *Controller) modelNamed(ctx context.Context, owner, name string) (*State, error) {
	var rows []ModelRow
	if err := c.db.All(modelsC, bson.D{{"owner", owner}, {"name", name}}, &rows); err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, entity.Errorf(entity.NotFound, "model %q of %s not found", name, owner)
	}
	return c.Model(ctx, rows[0].UUID)
}

// OpenController opens the controller that a store holds. What an older program
// has stored is first brought to the form of this one; entity.NotSupported when a
// newer one has been there.
func OpenController(ctx context.Context, store *mongo.Store, o Options) (*Controller, error) {
	c := newController(store, o)
	if err := c.db.Get(controllerC, controllerC, &c.doc, "controller"); err != nil {
		c.Close()
		return nil, fmt.Errorf("cannot open the controller: %w", err)
	}
	// What a crash left half done is finished before anybody sees it.
	if err := c.db.ResumeTransactions(ctx, c.leftBefore()); err != nil {
		c.Close()
		return nil, err
	}
	if err := c.upgrade(ctx); err != nil {
		c.Close()
		return nil, fmt.Errorf("cannot open the controller: %w", err)
	}
	return c, nil
}

// leftBefore is from when on unfinished transactions are somebody's who is at them,
// when a database is opened. Nobody is, where no other process can have it open.
func (c *Controller) leftBefore() time.Time {
	if c.alone {
		return time.Unix(math.MaxUint32, 0) // the last that a transaction's id can say
	}
	return c.now()
}

func newController(store *mongo.Store, o Options) *Controller {
	if o.Sizes == (Sizes{}) {
		o.Sizes = DefaultSizes
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.controllerSteps == nil {
		o.controllerSteps = controllerSteps
	}
	if o.modelSteps == nil {
		o.modelSteps = modelSteps
	}
	c := &Controller{store: store, db: store.Open(controllerDB), options: o, now: o.Now, hasher: secret.NewHasher(o.PasswordCost), id: newID(), alone: store.Embedded() != nil,
		states: map[string]*State{}, opening: map[string]chan struct{}{}, making: map[string]time.Time{}}
	c.hub, c.tails = follow(c.db, store.Barrier)
	return c
}

// Close ends every watch and all connections; the store stays open.
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
	// First all are told, for each takes a moment to end.
	for _, st := range all {
		st.hub.Close()
	}
	c.hub.Close()
	for _, st := range all {
		st.close(closing())
	}
	c.ends.Wait()
	c.tails.end()
	c.db.Close(closing())
}

func closing() error { return entity.Errorf(entity.Unavailable, "the controller is closing") }

// UUID returns the controller's identity.
func (c *Controller) UUID() string { return c.doc.UUID }

// Name returns the name that the controller was bootstrapped with.
func (c *Controller) Name() string { return c.doc.Name }

// Cloud returns the kind of the controller's provider.
func (c *Controller) Cloud() string { return c.doc.Cloud }

// Began says that a request begins, to the barrier that is passed with its context
// at its end. On a MongoDB it fails when the primary was lost in between: what was
// read from it may be taken back.
func Began(ctx context.Context) context.Context { return mongo.Began(ctx) }

// Barrier returns when everything that was written before is on disk.
func (c *Controller) Barrier(ctx context.Context) error { return c.store.Barrier(ctx) }

// ResumeTransactions is State.ResumeTransactions for the controller's database.
func (c *Controller) ResumeTransactions(ctx context.Context) error {
	return c.db.ResumeTransactions(ctx, c.now().Add(-resumeAge))
}

// PruneTransactions is State.PruneTransactions for the controller's database.
func (c *Controller) PruneTransactions(ctx context.Context, age time.Duration) (int, error) {
	return c.db.PruneTransactions(ctx, c.now().Add(-age))
}
