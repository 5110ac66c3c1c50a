package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"gopkg.in/mgo.v2/bson"

	"juju/state"
	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/watcher"
)

// The steps of a model's row. While it is creating or removing, only the code for that step opens the model's database;
// everything else opens it only while the row is ready. Each step is idempotent; ResumeModel continues one that a crash
// interrupted.
const (
	stepCreating = "creating" // Creator is creating the database
	stepReady    = "ready"
	stepRemoving = "removing" // the model is Dead; its database, archives and grants are being removed
)

// A ModelRow is a model's record in the controller's database.
type ModelRow struct {
	UUID    string    `bson:"_id"`
	Name    string    `bson:"name"`
	Owner   string    `bson:"owner"`
	Series  string    `bson:"series"` // the controller's default series
	Step    string    `bson:"step"`
	Created time.Time `bson:"created"`
	Creator string    `bson:"creator,omitempty"` // the id of the Controller that creates it
	// Disowned is set when the owner is removed: a later user of the name does not own the model.
	Disowned bool `bson:"disowned,omitempty"`
	// Credential is the name of the cloud's credential that the model uses; "" for the first.
	Credential string `bson:"credential,omitempty"`
	// Config is the model's initial config; the current one is in the model's own document.
	Config map[string]string `bson:"config,omitempty"`
	// Removing is when the removal began. Forced is set if the model was destroyed with force; then the removal does
	// not wait for the cloud if it keeps failing.
	Removing time.Time `bson:"removing,omitempty"`
	Forced   bool      `bson:"forced,omitempty"`
	// Filesystems are the cloud's ids of the filesystems still to be destroyed. All others of a model
	// that is being removed are released.
	Filesystems []string `bson:"filesystems,omitempty"`
}

// ownedBy reports whether a user, by id, owns the model.
func (r ModelRow) ownedBy(id string) bool { return !r.Disowned && userID(r.Owner) == id }

// IsRemoving reports whether the model is Dead and being removed: it can't be opened, and its name is still taken.
func (r ModelRow) IsRemoving() bool { return r.Step == stepRemoving }

func modelNameID(owner, name string) string { return owner + "#" + name }

// AddModelParams describes a new model.
type AddModelParams struct {
	Name       string
	Owner      string
	Series     string            // the controller's default if empty
	Config     map[string]string // settings of the model, as users write them
	Credential string            // that of ModelRow
}

// AddModel creates a model and opens it. If a controller that has since died began to create one with that name and
// owner, AddModel finishes it.
func (c *Controller) AddModel(ctx context.Context, p AddModelParams) (*state.State, error) {
	if p.Name == state.ControllerModel {
		return nil, entity.Errorf(entity.Invalid, "cannot add model %q: that name is reserved for the controller's own model",
			p.Name)
	}
	return c.addModel(ctx, p)
}

func (c *Controller) addModel(ctx context.Context, p AddModelParams) (*state.State, error) {
	if !entity.IsValidModel(p.Name) {
		return nil, entity.InvalidModel(p.Name)
	}
	fail := func(err error) (*state.State, error) { return nil, fmt.Errorf("cannot add model %q: %w", p.Name, err) }
	config, err := state.ParseModelConfig(p.Config)
	if err != nil {
		return fail(err)
	}
	if p.Name != state.ControllerModel {
		if config, err = c.withDefaults(ctx, config); err != nil {
			return fail(err)
		}
	}
	row := ModelRow{UUID: uuid.NewString(), Name: p.Name, Owner: p.Owner, Series: p.Series, Step: stepCreating,
		Created: c.now(), Creator: c.id, Config: config, Credential: p.Credential}
	takenOver := false
	err = c.db.Change(ctx, func(o *mongo.Ops) error {
		owner, err := c.userDocOf(ctx, p.Owner)
		if err != nil {
			return err
		}
		var same []ModelRow
		if err := c.db.All(ctx, modelsC, bson.D{{"owner", p.Owner}, {"name", p.Name}}, &same); err != nil {
			return err
		}
		o.Assert(usersC, owner.ID, bson.D{{"removed", false}})
		if len(same) == 0 {
			// The unique index alone is not enough: mgo/txn treats a duplicate key as an insert that was
			// already applied.
			o.Insert(modelNamesC, modelNameID(p.Owner, p.Name), bson.D{{"model", row.UUID}})
			o.Insert(modelsC, row.UUID, row)
			return c.useCredential(ctx, o, row.Credential)
		}
		if c.isAbandoned(same[0]) {
			row, takenOver = same[0], true
			o.Update(modelsC, row.UUID, row.isMade(), bson.D{{"$set", bson.D{{"creator", c.id}}}, {"$unset", bson.D{{"disowned", ""}}}})
			row.Creator = c.id
			return nil
		}
		return alreadyThere(same[0])
	})
	if err != nil {
		return fail(err)
	}
	if err := c.makeModel(ctx, row); err != nil {
		c.giveUp(ctx, row)
		return fail(err)
	}
	st, err := c.Model(ctx, row.UUID)
	if err == nil && takenOver {
		// Its creation may have begun with other settings.
		var reset []string
		for key := range row.Config {
			if _, ok := config[key]; !ok {
				reset = append(reset, key)
			}
		}
		err = st.Settings().SetConfig(ctx, config, reset)
		if err == nil {
			err = c.SetModelCredential(ctx, row.UUID, p.Credential)
		}
	}
	return st, err
}

func alreadyThere(row ModelRow) error {
	err := entity.Errorf(entity.AlreadyExists, "model %q for %s already exists", row.Name, row.Owner)
	switch row.Step {
	case stepCreating:
		return entity.WithHint(err, "It is being created; see juju models in a moment.")
	case stepRemoving:
		return entity.WithHint(err, "It is still being removed; try again in a moment.")
	}
	return err
}

// isMade asserts that the creator of a row is still creating the model.
func (r ModelRow) isMade() bson.D {
	if r.Creator == "" { // written by an older version
		return bson.D{{"step", stepCreating}, {"creator", bson.D{{"$exists", false}}}}
	}
	return bson.D{{"step", stepCreating}, {"creator", r.Creator}}
}

// makingBound is the timeout for creating a model. Other controllers wait twice as long, by their own clocks, before they
// treat the creator as dead.
const makingBound = time.Minute

// isAbandoned reports whether a model is unfinished and its creator is dead. The embedded store has one controller at a
// time, so any other creator is dead. In a shared store the creator is treated as dead if it did not finish in time.
func (c *Controller) isAbandoned(row ModelRow) bool {
	if row.Step != stepCreating {
		return false
	}
	if c.alone && row.Creator != c.id {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key := row.UUID + " " + row.Creator
	since, known := c.making[key]
	if !known {
		c.making[key] = c.now()
		return false
	}
	return c.now().Sub(since) > 2*makingBound
}

// errLostStep is the error for the creator of a model that another controller took over.
var errLostStep = entity.Errorf(entity.Unavailable, "another controller has taken it over or removed it; try again")

// makeModel creates the database of a model whose row is creating, and then marks the row ready.
func (c *Controller) makeModel(ctx context.Context, row ModelRow) error {
	ctx, cancel := context.WithTimeout(ctx, makingBound)
	defer cancel()
	if err := c.makeDatabase(ctx, row); err != nil {
		return err
	}
	return c.db.Change(ctx, func(o *mongo.Ops) error {
		var now ModelRow
		if err := c.db.Get(ctx, modelsC, row.UUID, &now, "model"); err != nil && !entity.IsNotFound(err) {
			return err
		}
		if now.Step != stepCreating || now.Creator != row.Creator {
			return errLostStep
		}
		o.Update(modelsC, row.UUID, row.isMade(),
			bson.D{{"$set", bson.D{{"step", stepReady}}}, {"$unset", bson.D{{"creator", 1}}}})
		return nil
	})
}

// makeDatabase creates the database of a model.
func (c *Controller) makeDatabase(ctx context.Context, row ModelRow) error {
	return state.Make(ctx, c.store, c.modelForm(), c.newModel(row))
}

func (c *Controller) newModel(row ModelRow) state.NewModel {
	return state.NewModel{UUID: row.UUID, Name: row.Name, Series: row.Series, Cloud: c.doc.Cloud, Config: row.Config,
		Created: row.Created}
}

// giveUp removes a model whose creation failed, even if the request was cancelled.
func (c *Controller) giveUp(ctx context.Context, row ModelRow) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), makingBound)
	defer cancel()
	err := c.beginRemoval(ctx, row)
	if errors.Is(err, errLostStep) {
		// Another controller took over the row. If it removed the row, remove what this controller has created since.
		if _, rowErr := c.ModelRow(ctx, row.UUID); entity.IsNotFound(rowErr) {
			err = c.store.Drop(ctx, row.UUID)
		}
	}
	if err != nil {
		logger.Errorf("cannot remove the unfinished model %q: %v", row.Name, err)
	}
}

// ModelRow reads the row of a model.
func (c *Controller) ModelRow(ctx context.Context, id string) (row ModelRow, err error) {
	err = c.db.Get(ctx, modelsC, id, &row, fmt.Sprintf("model %q", id))
	return row, err
}

// ModelNamed is ModelRow by the model's owner and name.
func (c *Controller) ModelNamed(ctx context.Context, owner, name string) (row ModelRow, err error) {
	var named struct{ Model string }
	if err := c.db.Get(ctx, modelNamesC, modelNameID(owner, name), &named,
		fmt.Sprintf("model %q", owner+"/"+name)); err != nil {
		return row, err
	}
	return c.ModelRow(ctx, named.Model)
}

// Models returns the models that are ready or being removed, by name.
func (c *Controller) Models(ctx context.Context) ([]ModelRow, error) {
	var rows []ModelRow
	if err := c.db.All(ctx, modelsC, bson.D{{"step", bson.D{{"$ne", stepCreating}}}}, &rows); err != nil {
		return nil, err
	}
	slices.SortFunc(rows, func(a, b ModelRow) int { return entity.CompareNatural(a.Name, b.Name) })
	return rows, nil
}

// Model returns the model with this UUID if it is ready; each call returns the same State. If the model is no longer
// ready, Model closes it.
func (c *Controller) Model(ctx context.Context, id string) (*state.State, error) {
	row, err := c.readyRow(ctx, id)
	if err != nil {
		return nil, err
	}
	st, opened, err := c.open(ctx, row)
	if err != nil || !opened {
		return st, err
	}
	// The row may have changed while the model was being opened, before there was anything to close.
	if _, err := c.readyRow(ctx, id); err != nil {
		return nil, errors.Join(err, c.dropRemade(ctx, row.UUID))
	}
	return st, nil
}

// Opened is Model for a caller that may use a model until this process closes it, which it does when it hears that the model
// is no longer ready. Only if the model is not open is its row read.
func (c *Controller) Opened(ctx context.Context, id string) (*state.State, error) {
	c.mu.Lock()
	m, open := c.states[id]
	c.mu.Unlock()
	if open {
		return m.State, nil
	}
	return c.Model(ctx, id)
}

// dropRemade drops the database of a model that was removed while it was being opened, because opening
// recreates missing collections. It leaves alone a database that has not been removed yet.
func (c *Controller) dropRemade(ctx context.Context, uuid string) error {
	if left, err := state.ReadRemnant(ctx, c.store, uuid); err != nil || left.There {
		return err
	}
	return c.store.Drop(ctx, uuid)
}

// open returns the open model of a row, and whether this call opened it. Only one call at a time opens a
// model, because opening resumes unfinished transactions, which must not belong to another call.
func (c *Controller) open(ctx context.Context, row ModelRow) (st *state.State, opened bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		if c.closed {
			return nil, false, closing()
		}
		if m, open := c.states[row.UUID]; open {
			return m.State, false, nil
		}
		other := c.opening[row.UUID]
		if other == nil {
			break
		}
		c.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		c.mu.Lock()
		if err != nil {
			return nil, false, err
		}
	}
	mine := make(chan struct{})
	c.opening[row.UUID] = mine
	c.ends.Add(1)
	defer c.ends.Done()
	c.mu.Unlock()
	m, err := c.openModel(ctx, row)
	c.mu.Lock()
	delete(c.opening, row.UUID)
	close(mine)
	if err != nil {
		return nil, false, err
	}
	if c.closed {
		m.close(closing())
		return nil, false, closing()
	}
	c.states[row.UUID] = m
	return m.State, true, nil
}

// readyRow reads a model's row; if the row is not ready it closes the model.
func (c *Controller) readyRow(ctx context.Context, id string) (ModelRow, error) {
	row, err := c.ModelRow(ctx, id)
	if err == nil && row.Step != stepReady {
		err = notReady(id)
	}
	if entity.IsNotFound(err) {
		c.forget(id)
	}
	return row, err
}

func notReady(id string) error { return entity.Errorf(entity.NotFound, "model %q not found", id) }

// forget closes a model that can no longer be used.
func (c *Controller) forget(id string) {
	c.mu.Lock()
	m, open := c.states[id]
	delete(c.states, id)
	if open {
		c.ends.Add(1)
	}
	c.mu.Unlock()
	if open {
		defer c.ends.Done()
		m.close(notReady(id))
	}
}

// openModel opens the database of a model that is ready.
func (c *Controller) openModel(ctx context.Context, row ModelRow) (model, error) {
	host := state.Host{Store: c.store, Form: c.modelForm(), Now: c.now, Leases: c.leases,
		Archives: archives{c, row.UUID}, SecretKey: c.options.SecretKey, Made: func() (state.NewModel, error) {
			row, err := c.ModelRow(ctx, row.UUID)
			return c.newModel(row), err
		}}
	// As in Open, first finish the transactions that a crash interrupted, and upgrade.
	st, close, err := state.Open(ctx, host, row.UUID, row.Name, c.leftBefore())
	return model{st, close}, err
}

// WatchModels sends the UUIDs of models that became ready or stopped being ready.
func (c *Controller) WatchModels(ctx context.Context) (<-chan []string, error) {
	return watcher.Strings(ctx, c.hub, watcher.Listing[string]{
		Topics: []watcher.Topic{watcher.Collection(modelsC)},
		List: func(ids []string) (map[string]string, error) {
			query := bson.D{{"step", stepReady}}
			if ids != nil {
				query = append(query, bson.DocElem{Name: "_id", Value: bson.D{{"$in", ids}}})
			}
			var rows []ModelRow
			if err := c.db.All(ctx, modelsC, query, &rows); err != nil {
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
