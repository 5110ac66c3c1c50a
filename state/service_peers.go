package state

import (
	"context"
	"slices"
	"strconv"

	"gopkg.in/mgo.v2/bson"

	"juju/charm"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/lifecycle"
	"juju/state/mongo"
)

// relationOps rejects a charm that lacks an endpoint in use, asserts that no relation is added meanwhile, destroys the
// peer relations that the charm does not have, and adds those that only it has, unless the service is Dying. An upgrade in
// batches may find peers that end: unless the old or the new charm has a relation of that name, no unit needs it.
func (c *charmChange) relationOps(ctx context.Context, o *ops, old *charm.Meta) error {
	if err := o.KeepCounts(ctx, c.st.db, modeldb.ServiceKey(c.doc.Name)); err != nil {
		return err
	}
	relations, err := c.st.relationsOf(ctx, c.doc.Name)
	if err != nil {
		return err
	}
	if err := checkLimits(o, c.doc.Name, c.charm.Meta, relations); err != nil {
		return err
	}
	ends := modeldb.EndpointsOf(c.doc.Name, c.charm.Meta)
	for _, r := range relations {
		end, err := r.doc.Endpoint(c.doc.Name)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(ends, end.ImplementedBy) {
			continue
		}
		if !r.isPeer() {
			return entity.WithHint(entity.Errorf(entity.Invalid, "would break relation %q", r.doc.Key),
				"The charm has no endpoint like %s. To remove the relation first: juju destroy-relation %s", end.Name, r.doc.Key)
		}
		_, had := old.Peers[end.Name]
		_, has := c.charm.Meta.Peers[end.Name]
		if c.Batch > 0 && !c.reverts && (had || has) {
			return entity.WithHint(entity.Errorf(entity.Invalid,
				"would break relation %q, while units still have the charm with it", r.doc.Key),
				"Without --batch all units are upgraded at once.")
		}
		if r.doc.Life == entity.Alive {
			if err := o.moveOps(ctx, r, lifecycle.ToDestroy, lifecycle.User, c.begun); err != nil {
				return err
			}
		}
	}
	if c.doc.Life != entity.Alive {
		return nil
	}
	return c.peers.add(ctx, o, c.Service, c.charm.Meta, relations)
}

// newPeers are the peer relations that a transaction creates, so that one that is built again creates the same. It may
// have another charm by then, whose endpoint of the same name has another interface.
type newPeers map[modeldb.Endpoint]modeldb.Relation

// add adds the peer relations of a charm that are not among a service's relations. One that is being removed keeps the
// name of its endpoint until then: see addPeersLater.
func (n newPeers) add(ctx context.Context, o *ops, s *Service, meta *charm.Meta, relations []*Relation) error {
	for _, end := range modeldb.EndpointsOf(s.doc.Name, meta) {
		if end.Role != string(charm.RolePeer) || slices.ContainsFunc(relations, func(r *Relation) bool {
			has, err := r.doc.Endpoint(s.doc.Name)
			return err == nil && has.Name == end.Name
		}) {
			continue
		}
		if _, made := n[end]; !made {
			id, err := s.st.db.Next(ctx, modeldb.RelationSequence, 1)
			if err != nil {
				return err
			}
			n[end] = s.st.newRelation(id, end)
		}
		s.st.addRelationOps(o, n[end])
	}
	return nil
}

// addPeersLater adds the cleanup that follows the removal of a peer relation, whose service may have another charm by
// then, with a peer relation of the same name. A service that is destroyed with its relation needs none.
func (r *Relation) addPeersLater(ctx context.Context, o *ops) error {
	service := r.doc.Endpoints[0].Service
	if o.moving[modeldb.ServiceKey(service)] {
		return nil
	}
	doc, err := r.st.db.Service(ctx, service)
	if entity.IsNotFound(err) || err == nil && doc.Life != entity.Alive {
		return nil
	} else if err != nil {
		return err
	}
	id := modeldb.CleanupPeers + "-" + strconv.Itoa(r.doc.ID)
	o.Insert(modeldb.CleanupsC, id, modeldb.Cleanup{ID: id, Kind: modeldb.CleanupPeers, Arg: service})
	return nil
}

// addPeers adds the peer relations that an Alive service lacks.
func (st *State) addPeers(ctx context.Context, service string) error {
	peers := newPeers{}
	return st.change(ctx, func(o *ops) error {
		s, err := st.Service(ctx, service)
		if entity.IsNotFound(err) || err == nil && s.doc.Life != entity.Alive {
			return mongo.ErrNothing
		} else if err != nil {
			return err
		}
		ch, err := st.db.Charm(ctx, s.doc.CharmURL)
		if err != nil {
			return err
		}
		relations, err := st.relationsOf(ctx, service)
		if err != nil {
			return err
		}
		if err := peers.add(ctx, o, s, ch.Meta, relations); err != nil {
			return err
		}
		if o.Len() == 0 {
			return mongo.ErrNothing
		}
		o.Assert(modeldb.ServicesC, service, bson.D{{"life", entity.Alive}, {"charm", s.doc.CharmURL}})
		o.Expect(modeldb.ServiceKey(service), "relations", len(relations))
		return nil
	})
}
