package state

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
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
	store *mongo.Store
	db    *mongo.Database
	sizes Sizes
	now   func() time.Time
	doc   controllerDoc

	hub   *watcher.Hub
	tails *tails

	mu     sync.Mutex
	states map[string]*State
	closed bool
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
	if err := store.Make(controllerDB, controllerSchema(c.sizes)); err != nil {
		return err
	}
	if p.UUID == "" {
		p.UUID = uuid.NewString()
	}
	c.doc = controllerDoc{controllerC, p.UUID, p.Name, p.Cloud}
	hash, err := hashUserPassword(p.Password)
	if err != nil {
		return err
	}
	err = c.db.Run(ctx, func(int) ([]txn.Op, error) {
		var there controllerDoc
		if err := c.db.Get(controllerC, controllerC, &there, "controller"); err == nil {
			c.doc = there
			return nil, mongo.ErrNothing
		} else if !isNotFound(err) {
			return nil, err
		}
		o := newOps()
		o.insert(controllerC, controllerC, c.doc)
		o.insert(usersC, p.User, userDoc{Name: p.User, Access: AccessSuperuser, Password: hash, Created: c.now()})
		return o.build()
	})
	if err != nil {
		return fmt.Errorf("cannot initialise the controller: %w", err)
	}
	st, err := c.AddModel(ctx, AddModelParams{Name: ControllerModel, Owner: p.User, Series: p.Series})
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

// OpenController opens the controller that a store holds.
func OpenController(ctx context.Context, store *mongo.Store, o Options) (*Controller, error) {
	c := newController(store, o)
	if err := c.db.Get(controllerC, controllerC, &c.doc, "controller"); err != nil {
		c.Close()
		return nil, fmt.Errorf("cannot open the controller: %w", err)
	}
	// What a crash left half done is finished before anybody sees it.
	if err := c.db.ResumeTransactions(ctx, c.now()); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func newController(store *mongo.Store, o Options) *Controller {
	if o.Sizes == (Sizes{}) {
		o.Sizes = DefaultSizes
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	c := &Controller{store: store, db: store.Open(controllerDB), sizes: o.Sizes, now: o.Now, states: map[string]*State{}}
	c.hub, c.tails = follow(c.db, store.Barrier)
	return c
}

// WatchModels names models that became ready, or are not so any more.
func (c *Controller) WatchModels(ctx context.Context) (<-chan []string, error) {
	return watcher.Strings(ctx, c.hub, watcher.Listing[string]{
		Topics: []watcher.Topic{watcher.Collection(modelsC)},
		List: func(ids []string) (map[string]string, error) {
			query := bson.D{{"step", stepReady}}
			if ids != nil {
				query = append(query, bson.DocElem{Name: "_id", Value: bson.D{{"$in", ids}}})
			}
			var rows []ModelRow
			if err := c.db.All(modelsC, query, &rows); err != nil {
				return nil, err
			}
			steps := map[string]string{}
			for _, r := range rows {
				steps[r.UUID] = r.Step
			}
			return steps, nil
		},
	})
}

// Close ends every watch and all connections; the store stays open.
func (c *Controller) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.closed = true
	// First all are told, for each takes a moment to end.
	for _, st := range c.states {
		st.hub.Close()
	}
	c.hub.Close()
	for _, st := range c.states {
		st.close()
	}
	c.tails.end()
	c.db.Close()
}

// UUID returns the controller's identity.
func (c *Controller) UUID() string { return c.doc.UUID }

// Name returns the name that the controller was bootstrapped with.
func (c *Controller) Name() string { return c.doc.Name }

// Cloud returns the kind of the controller's provider.
func (c *Controller) Cloud() string { return c.doc.Cloud }

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

// The steps of a model's row. In creating only the code that performs the step
// opens the model's database; everybody else does so while the row says ready.
const (
	stepCreating = "creating"
	stepReady    = "ready"
)

// A ModelRow is what the controller keeps of a model.
type ModelRow struct {
	UUID    string    `bson:"_id"`
	Name    string    `bson:"name"`
	Owner   string    `bson:"owner"`
	Series  string    `bson:"series"`
	Step    string    `bson:"step"`
	Created time.Time `bson:"created"`
}

// AddModelParams describes a new model.
type AddModelParams struct {
	Name   string
	Owner  string
	Series string
}

// AddModel makes a model and opens it. When one of that name and owner is being
// made already, as after a crash, its making is finished.
func (c *Controller) AddModel(ctx context.Context, p AddModelParams) (*State, error) {
	if !entity.IsValidModel(p.Name) {
		return nil, entity.Errorf(entity.Invalid, "%q is not a valid name: model names may only contain lowercase letters, digits and hyphens", p.Name)
	}
	row := ModelRow{UUID: uuid.NewString(), Name: p.Name, Owner: p.Owner, Series: p.Series, Step: stepCreating, Created: c.now()}
	err := c.db.Run(ctx, func(int) ([]txn.Op, error) {
		var same []ModelRow
		if err := c.db.All(modelsC, bson.D{{"owner", p.Owner}, {"name", p.Name}}, &same); err != nil {
			return nil, err
		}
		if len(same) > 0 {
			if same[0].Step != stepCreating {
				return nil, entity.Errorf(entity.AlreadyExists, "model %q for %s already exists", p.Name, p.Owner)
			}
			row = same[0]
			return nil, mongo.ErrNothing
		}
		o := newOps()
		// The index alone would not do: mgo/txn takes its refusal for an insert
		// that was made already.
		o.insert(modelNamesC, p.Owner+"#"+p.Name, bson.D{{"model", row.UUID}})
		o.insert(modelsC, row.UUID, row)
		return o.build()
	})
	if err != nil {
		return nil, fmt.Errorf("cannot add model %q: %w", p.Name, err)
	}
	if err := c.makeModel(ctx, row); err != nil {
		return nil, fmt.Errorf("cannot add model %q: %w", p.Name, err)
	}
	return c.Model(ctx, row.UUID)
}

// makeModel makes the database of a model whose row says creating, and then the
// row ready.
func (c *Controller) makeModel(ctx context.Context, row ModelRow) error {
	if err := c.store.Make(row.UUID, modelSchema(c.sizes)); err != nil {
		return err
	}
	db := c.store.Open(row.UUID)
	defer db.Close()
	err := db.Run(ctx, func(int) ([]txn.Op, error) {
		var there modelDoc
		if err := db.Get(modelC, modelC, &there, "model"); err == nil {
			return nil, mongo.ErrNothing
		} else if !isNotFound(err) {
			return nil, err
		}
		o := newOps()
		o.insert(modelC, modelC, modelDoc{ID: modelC, Name: row.Name, UUID: row.UUID, Series: row.Series, Cloud: c.doc.Cloud})
		return o.build()
	})
	if err != nil {
		return err
	}
	return c.db.Run(ctx, func(int) ([]txn.Op, error) {
		var now ModelRow
		if err := c.db.Get(modelsC, row.UUID, &now, "model"); err != nil {
			return nil, err
		}
		if now.Step == stepReady {
			return nil, mongo.ErrNothing
		}
		o := newOps()
		o.update(modelsC, row.UUID, bson.D{{"step", stepCreating}}, bson.D{{"$set", bson.D{{"step", stepReady}}}})
		return o.build()
	})
}

// Models returns the models that are ready, by name.
func (c *Controller) Models(ctx context.Context) ([]ModelRow, error) {
	var rows []ModelRow
	if err := c.db.All(modelsC, bson.D{{"step", stepReady}}, &rows); err != nil {
		return nil, err
	}
	sortBy(rows, func(r ModelRow) string { return r.Name })
	return rows, nil
}

// Model returns the model with this UUID; each call gives the same State, which
// lives as long as the controller is open.
func (c *Controller) Model(ctx context.Context, id string) (*State, error) {
	c.mu.Lock()
	st, closed := c.states[id], c.closed
	c.mu.Unlock()
	if closed {
		return nil, entity.Errorf(entity.Unavailable, "the controller is closing")
	}
	if st != nil {
		return st, nil
	}
	var row ModelRow
	if err := c.db.Get(modelsC, id, &row, fmt.Sprintf("model %q", id)); err != nil {
		return nil, err
	}
	if row.Step != stepReady {
		return nil, entity.Errorf(entity.NotFound, "model %q not found", id)
	}
	st = c.openState(row.UUID, row.Name)
	// As in OpenController: first what a crash left.
	if err := st.db.ResumeTransactions(ctx, c.now()); err != nil {
		st.close()
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if other := c.states[id]; other != nil || c.closed {
		st.close()
		if c.closed {
			return nil, entity.Errorf(entity.Unavailable, "the controller is closing")
		}
		return other, nil
	}
	c.states[id] = st
	return st, nil
}
