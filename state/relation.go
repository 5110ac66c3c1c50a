package state

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/mgo.v2/bson"

	"juju/charm"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/lifecycle"
	"juju/state/limits"
)

// newRelation is modeldb.NewRelation for a new relation.
func (st *State) newRelation(id int, ends ...modeldb.Endpoint) modeldb.Relation {
	doc := modeldb.NewRelation(id, ends...)
	doc.Living = st.born()
	return doc
}

// A Relation is a snapshot of a relation.
type Relation struct {
	ordinary
	st  *State
	doc modeldb.Relation
}

// ID returns the relation's number, which is never reused.
func (r *Relation) ID() int { return r.doc.ID }

// Key returns the relation's key, such as "wordpress:db mysql:server".
func (r *Relation) Key() string { return r.doc.Key }

// Life returns the relation's life when it was read.
func (r *Relation) Life() entity.Life { return r.doc.Life }

// Endpoints returns the relation's endpoints; a peer relation has one.
func (r *Relation) Endpoints() []modeldb.Endpoint { return slices.Clone(r.doc.Endpoints) }

func (r *Relation) isPeer() bool { return len(r.doc.Endpoints) == 1 }

// RelationByID reads a relation by its number; the error is entity.NotFound if there is none.
func (st *State) RelationByID(ctx context.Context, id int) (*Relation, error) {
	doc, err := st.db.RelationByID(ctx, id)
	if err != nil {
		return nil, err
	}
	return &Relation{st: st, doc: doc}, nil
}

// hadRelation reports whether a relation has ever had this number.
func (st *State) hadRelation(ctx context.Context, id int) (bool, error) {
	var next struct {
		Counter int `bson:"counter"`
	}
	err := st.db.Get(ctx, modeldb.SequenceC, modeldb.RelationSequence, &next, "sequence of relations")
	if entity.IsNotFound(err) {
		err = nil
	}
	return id >= 0 && id < next.Counter, err
}

// relation reads a relation by its key.
func (st *State) relation(ctx context.Context, key string) (*Relation, error) {
	doc, err := st.db.Relation(ctx, key)
	return &Relation{st: st, doc: doc}, err
}

// Relation finds a relation by the names of its services or endpoints. Relations of implicit endpoints match only if
// there is no other.
func (st *State) Relation(ctx context.Context, names ...string) (*Relation, error) {
	candidates, others, err := st.inferEndpoints(ctx, names)
	if err != nil {
		return nil, err
	}
	found, err := st.existing(ctx, candidates)
	if err == nil && len(found) == 0 {
		found, err = st.existing(ctx, others)
	}
	if err != nil {
		return nil, err
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		key := modeldb.NewRelation(0, candidates[0]...).Key
		return nil, entity.WithHint(entity.Errorf(entity.NotFound, "relation %q not found", key),
			"To list the relations: juju status --relations")
	}
	var keys []string
	for _, r := range found {
		keys = append(keys, r.doc.Key)
	}
	return nil, ambiguous(names, keys)
}

// existing reads the existing relations between pairs of endpoints.
func (st *State) existing(ctx context.Context, pairs [][]modeldb.Endpoint) (found []*Relation, err error) {
	for _, ends := range pairs {
		r, err := st.relation(ctx, modeldb.NewRelation(0, ends...).Key)
		if entity.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		found = append(found, r)
	}
	return found, nil
}

// AddRelation relates two services, named with or without their endpoints.
func (st *State) AddRelation(ctx context.Context, names ...string) (*Relation, error) {
	return st.CrossModel().AddRelationVia(ctx, nil, names...)
}

// AddRelationVia is State.AddRelation with a service of another model, to which connections come from these subnets.
func (c CrossModel) AddRelationVia(ctx context.Context, via []string, names ...string) (*Relation, error) {
	st := c.st
	if len(names) != 2 {
		return nil, entity.Errorf(entity.Invalid, "a relation must involve two services")
	}
	candidates, _, err := st.inferEndpoints(ctx, names)
	if err != nil {
		return nil, err
	}
	if len(candidates) > 1 {
		var keys []string
		for _, ends := range candidates {
			keys = append(keys, modeldb.NewRelation(0, ends...).Key)
		}
		return nil, ambiguous(names, keys)
	}
	id, taken := 0, false // numbers are never used again, so an attempt that is repeated keeps its number
	doc := st.newRelation(0, candidates[0]...)
	if err := checkVia(doc, via); err != nil {
		return nil, fmt.Errorf("cannot add relation %q: %w", doc.Key, err)
	}
	doc.Via = via
	err = st.change(ctx, func(o *ops) error {
		if _, err := st.db.AliveModel(ctx); err != nil {
			return err
		}
		if there, err := st.relation(ctx, doc.Key); err == nil && there.doc.Life != entity.Alive {
			return entity.WithHint(entity.Errorf(entity.AlreadyExists, "the old one is still being removed"),
				"To wait until it is removed: juju destroy-relation %s --wait; to see what blocks it: juju explain %[1]s",
				strings.Join(names, " "))
		} else if err == nil {
			return entity.Errorf(entity.AlreadyExists, "relation already exists")
		} else if !entity.IsNotFound(err) {
			return err
		}
		o.AssertModelAlive()
		if err := st.checkEnds(ctx, o, doc); err != nil {
			return err
		}
		if doc.IsContainer() {
			if err := st.forgetOrphans(ctx, o, doc); err != nil {
				return err
			}
		}
		if !taken {
			var err error
			if id, err = st.db.Next(ctx, modeldb.RelationSequence, 1); err != nil {
				return err
			}
			taken = true
		}
		doc.ID = id
		st.addRelationOps(o, doc)
		return st.keepOps(ctx, o, doc)
	})
	if err != nil {
		return nil, fmt.Errorf("cannot add relation %q: %w", doc.Key, err)
	}
	return st.relation(ctx, doc.Key)
}

// checkVia rejects subnets that connections in a relation can't be said to come from.
func checkVia(doc modeldb.Relation, via []string) error {
	if len(via) == 0 {
		return nil
	}
	if _, across := doc.RemoteEnd(); !across {
		return entity.WithHint(entity.Errorf(entity.Invalid,
			"the --via option can only be used when relating to offers in a different model"),
			"Units of one model reach each other at their own addresses: leave it out.")
	}
	return cmp.Or(entity.CheckEgress(via), limits.ExposedTo.Check(len(via)))
}

// checkEnds rejects a relation that its services can't have, and asserts that each is Alive and has the charm that was
// checked: since the names were resolved, either service may have been replaced.
func (st *State) checkEnds(ctx context.Context, o *ops, doc modeldb.Relation) error {
	var services []*Service
	var charms []*charm.Charm
	for _, e := range doc.Endpoints {
		if e.Remote {
			if err := st.checkRemote(ctx, o, doc, e); err != nil {
				return err
			}
			continue
		}
		svc, err := st.Service(ctx, e.Service)
		if err != nil {
			return err
		}
		if svc.doc.Life != entity.Alive {
			return entity.Errorf(entity.NotAlive, "service %q is not alive", e.Service)
		}
		ch, err := st.db.Charm(ctx, svc.doc.CharmURL)
		if err != nil {
			return err
		}
		if all := modeldb.EndpointsOf(e.Service, ch.Meta); !slices.ContainsFunc(all, e.ImplementedBy) {
			return noEndpoint(e.Service, e.Name, all)
		}
		if err := st.checkLimit(ctx, o, e, ch.Meta); err != nil {
			return err
		}
		keeps := bson.D{{"life", entity.Alive}, {"charm", svc.doc.CharmURL}}
		if doc.IsContainer() {
			keeps = append(keeps, bson.DocElem{Name: "series", Value: svc.doc.Series})
		}
		o.Assert(modeldb.ServicesC, e.Service, keeps)
		services, charms = append(services, svc), append(charms, ch)
	}
	if !doc.IsContainer() {
		return nil
	}
	if len(services) < 2 {
		return entity.Errorf(entity.Invalid, "a container scoped relation must be within one model")
	}
	a, b, meta := services[0].doc, services[1].doc, charms[1].Meta
	if !b.Subordinate {
		a, b, meta = b, a, charms[0].Meta
	}
	switch { // b is a subordinate
	case !b.Subordinate:
		return entity.Errorf(entity.Invalid, "container scoped relation requires at least one subordinate service")
	case a.Series == b.Series || meta.Supports(a.Series):
		return nil
	}
	return entity.Errorf(entity.Invalid, "subordinate must support principal application's base; subordinate only supports: %s",
		meta.BaseNames())
}

func (st *State) addRelationOps(o *ops, doc modeldb.Relation) {
	o.Insert(modeldb.RelationsC, doc.Key, doc)
	o.addCounts(&Relation{st: st, doc: doc})
	for _, e := range doc.Endpoints {
		o.Insert(modeldb.EndpointsC, modeldb.EndpointID(e.Service, doc.Key), modeldb.RelationEnd{Service: e.Service, Relation: doc.Key})
	}
}

// relationsOf reads all relations of a service, by number.
func (st *State) relationsOf(ctx context.Context, service string) ([]*Relation, error) {
	docs, err := st.db.RelationsOf(ctx, service)
	return mapped(docs, func(d modeldb.Relation) *Relation { return &Relation{st: st, doc: d} }), err
}

// relationsBy reads the relations that refer to a target, by number.
func (st *State) relationsBy(ctx context.Context, ref lifecycle.Ref, name string) ([]*Relation, error) {
	docs, err := st.db.RelationsBy(ctx, ref, name)
	return mapped(docs, func(d modeldb.Relation) *Relation { return &Relation{st: st, doc: d} }), err
}

// hasContainerRelation reports whether two services have an Alive relation of container scope.
func (st *State) hasContainerRelation(ctx context.Context, service, other string) (bool, error) {
	relations, err := st.containerRelations(ctx, service, other)
	return len(relations) > 0, err
}

// containerRelations reads the Alive relations of container scope between two services.
func (st *State) containerRelations(ctx context.Context, service, other string) ([]*Relation, error) {
	relations, err := st.relationsOf(ctx, service)
	return slices.DeleteFunc(relations, func(r *Relation) bool {
		return r.doc.Life != entity.Alive || !r.doc.IsContainer() || r.doc.Counterpart(service).Service != other
	}), err
}

// Destroy sets the relation Dying if units are in its scope, and removes it otherwise. If it is already Dying, a
// stronger destruction raises its strength. The error is entity.Invalid for an Alive peer relation, which ends with its
// service or with an upgrade to a charm that does not have it.
func (r *Relation) Destroy(ctx context.Context, how entity.Destruction) error {
	if r.isPeer() && r.doc.Life == entity.Alive {
		return entity.WithHint(entity.Errorf(entity.Invalid, "cannot destroy relation %q: is a peer relation", r.doc.Key),
			"It is removed with its service: juju destroy-service %s", r.doc.Endpoints[0].Service)
	}
	err := r.st.move(ctx, r, lifecycle.ToDestroy, lifecycle.User, r.st.begin(how).alone())
	if err != nil {
		return fmt.Errorf("cannot destroy relation %q: %w", r.doc.Key, err)
	}
	return nil
}

// How relations differ from other living entities.

func (r *Relation) state() *State         { return r.st }
func (r *Relation) kind() lifecycle.Kind  { return lifecycle.Relation }
func (r *Relation) name() string          { return strconv.Itoa(r.doc.ID) }
func (r *Relation) docID() string         { return r.doc.Key }
func (r *Relation) tag() entity.Tag       { return entity.RelationTag(r.doc.Key) }
func (r *Relation) life() *modeldb.Living { return &r.doc.Living }

func (r *Relation) targets(ref lifecycle.Ref) []string {
	if ref.To == lifecycle.Offer {
		return unlessEmpty(r.doc.Offer)
	}
	var services []string
	for _, e := range r.doc.Endpoints {
		if !e.Remote && ref.To == lifecycle.Service || e.Remote && ref.To == lifecycle.Remote && r.doc.Offer == "" {
			services = append(services, e.Service)
		}
	}
	return services
}

// refresh returns entity.NotFound if another relation has taken the key.
func (r *Relation) refresh(ctx context.Context) error {
	now, err := r.st.relation(ctx, r.doc.Key)
	if err == nil && now.doc.ID != r.doc.ID {
		return entity.Errorf(entity.NotFound, "relation %d not found", r.doc.ID)
	}
	if err == nil {
		r.doc = now.doc
	}
	return err
}

func (r *Relation) asserts() bson.D { return bson.D{{"id", r.doc.ID}} }

// turning updates the life and strength in the relation's endpoint documents, which unit agents watch. A cleanup deletes
// the settings of a removed relation, because their number is unbounded. A relation of container scope may leave
// subordinates without another one: their agents destroy them, and a cleanup does so for disconnected agents, even if no
// unit is in scope.
func (r *Relation) turning(ctx context.Context, o *ops, t turn) (update bson.D, err error) {
	if t.to == entity.Gone {
		o.Cleanup(modeldb.CleanupSettings, modeldb.RelationKey(r.doc.ID))
		if r.isPeer() {
			err = r.addPeersLater(ctx, o)
		}
	} else {
		for _, e := range r.doc.Endpoints {
			o.Update(modeldb.EndpointsC, modeldb.EndpointID(e.Service, r.doc.Key), modeltxn.Exists,
				bson.D{{"$set", bson.D{{"life", t.to}, {"strength", t.strength}}}})
		}
	}
	if r.doc.IsContainer() && t.begins() {
		o.addCleanup(modeldb.CleanupOrphans, r.doc.Key, t.destruction)
	}
	return nil, err
}
