package state

import (
	"context"
	"fmt"
	"strings"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/annotations"
	"juju/state/internal/blocks"
	"juju/state/internal/modeldb"
	"juju/state/internal/networks"
	"juju/state/lifecycle"
)

// ControllerModel is the name of the model that holds the controller's machines.
const ControllerModel = modeldb.ControllerModel

// Annotations returns the model's annotations.
func (st *State) Annotations() annotations.Annotations { return annotations.Of(st.db) }

// Blocks returns the model's blocks.
func (st *State) Blocks() blocks.Blocks { return blocks.Of(st.db) }

// Networks returns the model's spaces, and the subnets of its cloud.
func (s Settings) Networks() networks.Networks { return networks.Of(s.st.db) }

// Life returns the model's current life.
func (st *State) Life(ctx context.Context) (entity.Life, error) {
	doc, err := st.db.Model(ctx)
	return doc.Life, err
}

// Destroy sets the model Dying: nothing can be added to it, and everything in it is destroyed with the same strength.
// how specifies whether storage that outlives machines is destroyed or released; if it specifies neither and there is
// some, the error is entity.PersistentStorage. If the model is not Alive, a stronger destruction raises its strength,
// and the latest choice applies to storage that is not yet destroyed. If that would release storage that the cloud may
// already be destroying, everything else is done, and the error is entity.NotAlive and lists that storage. The error is
// entity.Invalid for the controller's own model.
func (st *State) Destroy(ctx context.Context, how entity.Destruction) error {
	if st.db.Name == ControllerModel {
		return entity.Errorf(entity.Invalid, "%q is a controller; use 'juju destroy-controller' to destroy it", st.db.Name)
	}
	// A removed model is an error.
	if _, err := st.db.Model(ctx); err != nil {
		return err
	}
	d := st.begin(how).alone()
	d.storage, d.release = how.Storage, how.Release && !how.Storage
	m := &modelEntity{st: st}
	var late []string // may be destroyed although it should be released
	err := st.move(ctx, m, lifecycle.ToDestroy, lifecycle.User, d, func(o *ops) (_ bool, err error) {
		if how.Storage || how.Release {
			late, err = m.releaseOps(ctx, o, d)
			return true, err
		}
		n, err := st.Provisioning().PersistentStorage(ctx)
		if err == nil && n > 0 {
			err = entity.HasStorage("model", st.db.Name, n, 0)
		}
		return true, err
	})
	if err == nil && len(late) > 0 {
		err = entity.WithHint(entity.Errorf(entity.NotAlive, "storage %s may be lost: the cloud had begun to destroy it",
			strings.Join(late, ", ")), "All other storage of model %q is released.", st.db.Name)
	}
	return err
}

// releaseOps changes whether the storage of a model that is not Alive is destroyed or released. It returns the ids of
// storage that changes from destroyed to released.
func (m *modelEntity) releaseOps(ctx context.Context, o *ops, d destruction) (late []string, err error) {
	switch {
	case m.doc.Life == entity.Alive: // turning sets it for an Alive one
		return nil, nil
	case d.storage && m.doc.Released:
		o.Update(modeldb.ModelC, modeldb.ModelC, bson.D{{"life", m.doc.Life}}, bson.D{{"$unset", bson.D{{"released", 1}}}})
		return nil, nil
	case d.storage || m.doc.Released:
		return nil, nil
	}
	dead, err := m.st.storages(ctx, bson.D{{"life", entity.Dead}, {"filesystem", bson.D{{"$exists", true}}}})
	if err != nil {
		return nil, err
	}
	for _, s := range dead {
		if s.doc.IsPersistent() && !s.doc.IsReleased(m.doc) {
			late = append(late, s.doc.ID)
		}
	}
	left, err := m.st.db.Leftovers(ctx, bson.D{{"filesystem", bson.D{{"$exists", true}}}, {"release", bson.D{{"$ne", true}}}})
	for _, l := range left {
		_, id := lifecycle.ParseKey(l.Of)
		late = append(late, id)
	}
	o.Update(modeldb.ModelC, modeldb.ModelC, bson.D{{"life", m.doc.Life}},
		bson.D{{"$set", bson.D{{"released", true}}}, {"$unset", bson.D{{"withstorage", 1}}}})
	return late, err
}

// EnsureDead sets a Dying model Dead. The error is entity.InUse while it is not empty.
func (st *State) EnsureDead(ctx context.Context) error {
	if _, err := st.db.Model(ctx); err != nil {
		return err
	}
	return st.move(ctx, &modelEntity{st: st}, lifecycle.ToDead, lifecycle.Controller, destruction{now: st.db.Now()})
}

// A modelEntity is a model as a living entity in its own database.
type modelEntity struct {
	ordinary
	st  *State
	doc modeldb.Model
}

func (m *modelEntity) state() *State         { return m.st }
func (m *modelEntity) kind() lifecycle.Kind  { return lifecycle.Model }
func (m *modelEntity) name() string          { return "" }
func (m *modelEntity) docID() string         { return modeldb.ModelC }
func (m *modelEntity) tag() entity.Tag       { return entity.ModelTag(m.st.db.UUID) }
func (m *modelEntity) life() *modeldb.Living { return &m.doc.Living }

func (m *modelEntity) refresh(ctx context.Context) (err error) {
	m.doc, err = m.st.db.Model(ctx)
	return err
}

func (m *modelEntity) turning(_ context.Context, _ *ops, t turn) (update bson.D, err error) {
	if t.from == entity.Alive && t.release {
		return bson.D{{"$set", bson.D{{"released", true}}}}, nil
	}
	return nil, nil
}

// refusal returns the error that says what blocks the removal of a model.
func (m *modelEntity) refusal(ctx context.Context, _ lifecycle.Goal, barred *lifecycle.Barred) error {
	if barred.Ref.Name == "" {
		return entity.Errorf(entity.Invalid, "model %q is not dying", m.doc.Name)
	}
	holders, err := m.st.holders(ctx, m)
	if err != nil {
		return err
	}
	var found []string
	for _, ref := range lifecycle.RefsTo(lifecycle.Model) {
		if n := holders[ref.Name]; n > 0 {
			found = append(found, fmt.Sprintf(ref.Why, n))
		}
	}
	return entity.Errorf(entity.InUse, "model not empty, found %s", strings.Join(found, ", "))
}
