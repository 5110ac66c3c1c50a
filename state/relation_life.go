package state

import (
	"context"
	"fmt"
	"strconv"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/lifecycle"
)

// Destroy sets the relation Dying if units are in its scope, and removes it otherwise. If
// it is Dying already, a stronger destruction raises its strength. The error is
// entity.Invalid for a peer relation.
func (r *Relation) Destroy(ctx context.Context, how entity.Destruction) error {
	if r.isPeer() {
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

func (r *Relation) targets(lifecycle.Ref) []string {
	var services []string
	for _, e := range r.doc.Endpoints {
		services = append(services, e.Service)
	}
	return services
}

// refresh returns entity.NotFound if another relation has taken the key.
func (r *Relation) refresh(context.Context) error {
	now, err := r.st.relation(r.doc.Key)
	if err == nil && now.doc.ID != r.doc.ID {
		return entity.Errorf(entity.NotFound, "relation %d not found", r.doc.ID)
	}
	if err == nil {
		r.doc = now.doc
	}
	return err
}

func (r *Relation) asserts() bson.D { return bson.D{{"id", r.doc.ID}} }

// turning sets the relation's endpoint documents, which unit agents watch, to its life
// and strength. A cleanup deletes the settings of a removed relation, because there can
// be any number of them. A relation of container scope may leave subordinates without
// another one: their agents destroy them, and a cleanup does so for agents that are away,
// even if no unit is in scope.
func (r *Relation) turning(_ context.Context, o *ops, t turn) (update bson.D, err error) {
	if t.to == entity.Gone {
		o.Cleanup(modeldb.CleanupSettings, modeldb.RelationKey(r.doc.ID))
	} else {
		for _, e := range r.doc.Endpoints {
			o.Update(modeldb.EndpointsC, modeldb.EndpointID(e.Service, r.doc.Key), modeltxn.Exists,
				bson.D{{"$set", bson.D{{"life", t.to}, {"strength", t.strength}}}})
		}
	}
	if r.doc.IsContainer() && t.begins() {
		o.owe(modeldb.CleanupOrphans, r.doc.Key, t.destruction)
	}
	return nil, nil
}
