package state

import (
	"context"

	"gopkg.in/mgo.v2/bson"

	"juju/charm"
	"juju/state/entity"
	"juju/state/internal/modeldb"
)

// checkLimit rejects one more relation of a service's endpoint than its charm allows, and asserts that there are not more
// until the transaction is applied. The caller asserts the charm, which meta is of.
func (st *State) checkLimit(ctx context.Context, o *ops, end modeldb.Endpoint, meta *charm.Meta) error {
	limit := meta.Relations()[end.Name].Limit
	if limit == 0 {
		return nil
	}
	if err := o.KeepCounts(ctx, st.db, modeldb.ServiceKey(end.Service)); err != nil {
		return err
	}
	relations, err := st.relationsOf(ctx, end.Service)
	if err != nil {
		return err
	}
	if established(o, relations, end.Service, end.Name) < limit {
		return nil
	}
	return entity.WithHint(entity.Errorf(entity.Invalid,
		"establishing a new relation for %s:%s would exceed its maximum relation limit of %d: quota limit exceeded",
		end.Service, end.Name, limit), "To see its relations: juju status %s --relations", end.Service)
}

// checkLimits rejects a charm that allows fewer relations of an endpoint than a service has. The caller asserts that these are
// all.
func checkLimits(o *ops, service string, meta *charm.Meta, relations []*Relation) error {
	for _, end := range modeldb.EndpointsOf(service, meta) {
		limit := meta.Relations()[end.Name].Limit
		if limit == 0 || end.Role == string(charm.RolePeer) {
			continue
		}
		if n := established(o, relations, service, end.Name); n > limit {
			return entity.WithHint(entity.Errorf(entity.Invalid,
				"new charm version imposes a maximum relation limit of %d for %s:%s which "+
					"cannot be satisfied by the number of already established relations (%d): quota limit exceeded",
				limit, service, end.Name, n),
				"Remove relations first: juju remove-relation %s:%s SERVICE", service, end.Name)
		}
	}
	return nil
}

// established counts the relations of an endpoint, and asserts that those which are suspended, and don't count, still are.
func established(o *ops, relations []*Relation, service, endpoint string) (n int) {
	for _, r := range relations {
		end, err := r.doc.Endpoint(service)
		switch {
		case err != nil || end.Name != endpoint:
		case r.doc.Suspended:
			o.Assert(modeldb.RelationsC, r.doc.Key, bson.D{{"id", r.doc.ID}, {"suspended", true}})
		default:
			n++
		}
	}
	return n
}
