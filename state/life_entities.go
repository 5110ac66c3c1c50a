package state

import (
	"context"
	"strconv"
	"time"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/lifecycle"
	"juju/state/mongo"
)

// A referrer refers to entities as specified by lifecycle.Refs. It is an entity, or a unit's presence in a relation's
// scope.
type referrer interface {
	kind() lifecycle.Kind
	// targets returns the names of the entities that a reference names.
	targets(ref lifecycle.Ref) []string
}

// A living entity has a life in the lifecycle tables: the model, a machine, unit, service, relation or storage. Shared
// behaviour is in life_move.go and life_remove.go; these methods are what differs.
type living interface {
	referrer
	state() *State
	name() string  // the entity's key without the prefix
	docID() string // the document's id
	tag() entity.Tag
	life() *modeldb.Living
	refresh(ctx context.Context) error // entity.NotFound if the entity was removed

	// guards returns the guards that hold for the entity, given its counts. asserts covers the facts they depend on.
	guards(ctx context.Context, by lifecycle.Actor, holders map[string]int) ([]lifecycle.Guard, error)
	// asserts returns what every transaction that moves the entity asserts about its document, besides its life.
	asserts() bson.D
	// turning adds what is specific to this kind in a step. update extends the update of the document; it is not used
	// when the entity is removed.
	turning(ctx context.Context, o *ops, t turn) (update bson.D, err error)
	// refusal returns the error that tells users what blocks a move.
	refusal(ctx context.Context, goal lifecycle.Goal, barred *lifecycle.Barred) error
}

// ordinary has the default implementations of living's methods. Kinds embed it and override what differs.
type ordinary struct{}

func (ordinary) targets(lifecycle.Ref) []string { return nil }

func (ordinary) guards(context.Context, lifecycle.Actor, map[string]int) ([]lifecycle.Guard, error) {
	return nil, nil
}

func (ordinary) asserts() bson.D { return nil }

func (ordinary) refusal(_ context.Context, _ lifecycle.Goal, barred *lifecycle.Barred) error {
	return barred
}

// A turn is a step of an entity's life; a destruction that only raises the strength is a
// turn from Dying to Dying.
type turn struct {
	from, to entity.Life
	destruction
}

// begins reports whether this is the entity's first destruction, or raises its strength.
func (t turn) begins() bool { return t.from == entity.Alive || t.from == t.to }

func keyOf(e living) string { return lifecycle.Key(e.kind(), e.name()) }

// find reads an entity by its kind and the name in its key; the error is entity.NotFound if there is none.
func (st *State) find(ctx context.Context, kind lifecycle.Kind, name string) (living, error) {
	switch kind {
	case lifecycle.Model:
		m := &modelEntity{st: st}
		return m, m.refresh(ctx)
	case lifecycle.Machine, lifecycle.Container:
		return st.Machine(ctx, name)
	case lifecycle.Principal, lifecycle.Subordinate:
		return st.Unit(ctx, name)
	case lifecycle.Service:
		return st.Service(ctx, name)
	case lifecycle.Storage:
		return st.Storage(ctx, name)
	case lifecycle.Attachment:
		return st.attachment(ctx, modeldb.ParseAttachment(name))
	case lifecycle.Offer:
		return st.CrossModel().Offer(ctx, name)
	case lifecycle.Remote:
		return st.CrossModel().Remote(ctx, name)
	case lifecycle.Relation:
		id, err := strconv.Atoi(name)
		if err != nil {
			return nil, entity.Errorf(entity.Invalid, "invalid relation number %q", name)
		}
		return st.RelationByID(ctx, id)
	}
	return nil, entity.Errorf(entity.Invalid, "unknown kind of entity %q", kind)
}

// findKey reads an entity by its key.
func (st *State) findKey(ctx context.Context, key string) (living, error) {
	kind, name := lifecycle.ParseKey(key)
	return st.find(ctx, kind, name)
}

// sources reads the entities that refer to a target, in natural order; none if the sources are scopes.
func (st *State) sources(ctx context.Context, ref lifecycle.Ref, name string) ([]living, error) {
	switch ref.From {
	case lifecycle.Principal, lifecycle.Subordinate:
		return asLiving(st.units(ctx, modeldb.SourcesQuery(ref, name)))
	case lifecycle.Machine, lifecycle.Container:
		return asLiving(st.machines(ctx, modeldb.SourcesQuery(ref, name)))
	case lifecycle.Service:
		return asLiving(st.services(ctx, modeldb.SourcesQuery(ref, name)))
	case lifecycle.Offer:
		return asLiving(st.offers(ctx, modeldb.SourcesQuery(ref, name)))
	case lifecycle.Remote:
		return asLiving(st.remotes(ctx, modeldb.SourcesQuery(ref, name)))
	case lifecycle.Relation:
		return asLiving(st.relationsBy(ctx, ref, name))
	case lifecycle.Storage:
		return asLiving(st.storages(ctx, modeldb.SourcesQuery(ref, name)))
	case lifecycle.Attachment:
		return asLiving(st.attachments(ctx, modeldb.SourcesQuery(ref, name)))
	}
	return nil, nil
}

func asLiving[E living](all []E, err error) ([]living, error) {
	out := make([]living, len(all))
	for i, e := range all {
		out[i] = e
	}
	return out, err
}

// holders returns the number of sources by reference: an entity's counts, and those found for references that are not
// counted. It returns nothing for a removed entity.
func (st *State) holders(ctx context.Context, e living) (map[string]int, error) {
	counts, err := st.db.CountsOf(ctx, keyOf(e))
	if err != nil {
		return nil, err
	}
	for _, ref := range lifecycle.RefsTo(e.kind()) {
		if ref.IsCounted() {
			continue
		}
		if counts[ref.Name], err = st.db.Count(ctx, ref.In, modeldb.SourcesQuery(ref, e.name())); err != nil {
			return nil, err
		}
	}
	return counts, nil
}

// ownedIDs returns the ids of an entity's documents of one kind: none, one, or one for each endpoint of a relation.
func ownedIDs(e living, doc lifecycle.Document) []string {
	var ids []string
	switch doc.ID {
	case lifecycle.ByName:
		ids = []string{e.name()}
	case lifecycle.ByKey:
		ids = []string{keyOf(e)}
	case lifecycle.ByTag:
		ids = []string{e.tag().String()}
	case lifecycle.ByDeployer:
		if parent := e.(*Unit).doc.Deployer(); !parent.IsZero() {
			ids = []string{modeldb.DeploymentID(parent, e.name())}
		}
	case lifecycle.ByService:
		for _, end := range e.(*Relation).doc.Endpoints {
			ids = append(ids, modeldb.EndpointID(end.Service, e.docID()))
		}
	}
	for i := range ids {
		ids[i] += doc.Suffix
	}
	return ids
}

// unlessEmpty returns a list of the name, or nil if it is "".
func unlessEmpty(name string) []string {
	if name == "" {
		return nil
	}
	return []string{name}
}

// born is the life of a new entity.
func (st *State) born() modeldb.Living { return modeldb.Living{Since: st.db.Now()} }

// A destruction is an entity.Destruction in progress. It is created before the transaction is built, so that each
// attempt builds the same operations.
type destruction struct {
	strength entity.Strength
	deadline time.Time // if forced
	now      time.Time
	id       string // prefix of its cleanups' ids
	machines bool   // of units and services: also destroy their machines
	release  bool   // of storage and models: keep the data in the cloud
	storage  bool   // of units, services and models: also destroy their storage
}

// begin starts a destruction and its timeout. Only units and services also destroy machines and storage; other callers
// use alone.
func (st *State) begin(how entity.Destruction) destruction {
	d := destruction{strength: how.Strength, now: st.db.Now(), id: mongo.NewID(), machines: how.Machines,
		storage: how.Storage}
	if how.Strength == entity.Force {
		d.deadline = d.now.Add(how.Timeout)
	}
	return d
}

// forced returns the destruction of entities that are destroyed with one whose deadline has passed.
func (st *State) forced() destruction { return st.again(entity.Force, st.db.Now()) }

// alone is the same destruction without the machines and storage.
func (d destruction) alone() destruction {
	d.machines, d.storage = false, false
	return d
}

// again is the same destruction, applied to something else.
func (st *State) again(strength entity.Strength, deadline time.Time) destruction {
	return destruction{strength: strength, deadline: deadline, now: st.db.Now(), id: mongo.NewID()}
}

// turn returns the fields that are set in a document when its life changes.
func (d destruction) turn(to entity.Life) bson.D {
	return bson.D{{"life", to}, {"since", d.now}}
}

// forces reports whether the destruction forces an entity that was not forced before, or brings its deadline forward.
func (d destruction) forces(l modeldb.Living) bool {
	return d.strength == entity.Force && (!l.Forced() || d.deadline.Before(l.Deadline))
}

// raise returns the fields that the destruction changes in a document, nil if none.
func (d destruction) raise(l modeldb.Living) bson.D {
	var set bson.D
	if d.strength > l.Strength {
		set = append(set, bson.DocElem{Name: "strength", Value: d.strength})
	}
	if d.forces(l) {
		set = append(set, bson.DocElem{Name: "deadline", Value: d.deadline})
	}
	if d.machines && !l.Machines {
		set = append(set, bson.DocElem{Name: "machines", Value: true})
	}
	if d.storage && !l.WithStorage {
		set = append(set, bson.DocElem{Name: "withstorage", Value: true})
	}
	return set
}

// unraised asserts that a document's strength and deadline are as read, or weaker: strength only grows, and a deadline
// only gets earlier.
func unraised(l modeldb.Living) bson.D {
	assert := bson.D{{"life", l.Life}, {"strength", bson.D{{"$not", bson.D{{"$gt", l.Strength}}}}}}
	if l.Forced() {
		assert = append(assert, bson.DocElem{Name: "deadline", Value: l.Deadline})
	}
	return assert
}

// forceOps has the cleaner remove an entity by force once the destruction's deadline has passed. A model needs no such
// cleanup: it is removed once its contents are.
func (o *ops) forceOps(key string, l modeldb.Living, d destruction) {
	switch {
	case !d.forces(l) || key == modeldb.ModelKey:
		return
	case l.Forced():
		o.Update(modeldb.CleanupsC, modeldb.ForceID(key), modeltxn.Exists, bson.D{{"$set", bson.D{{"deadline", d.deadline}}}})
		return
	}
	o.Insert(modeldb.CleanupsC, modeldb.ForceID(key), modeldb.Cleanup{ID: modeldb.ForceID(key), Kind: modeldb.CleanupForce, Arg: key, Strength: d.strength,
		Deadline: d.deadline})
}

// addCleanup leaves the effects of a destruction on others to the cleaner.
func (o *ops) addCleanup(kind, arg string, d destruction) {
	id := d.id + "-" + kind + "-" + arg
	o.Insert(modeldb.CleanupsC, id, modeldb.Cleanup{ID: id, Kind: kind, Arg: arg, Strength: d.strength, Deadline: d.deadline})
}
