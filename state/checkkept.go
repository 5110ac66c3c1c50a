package state

import (
	"context"
	"fmt"
	"strings"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/lifecycle"
)

// kept adds to want the counts that are not of references: of owned documents, and of
// machines that go with a service.
func (v *view) kept(e recorded, want bson.M) {
	for _, doc := range lifecycle.RowOf(e.kind).Owns {
		if doc.Held != lifecycle.Counted {
			continue
		}
		for _, id := range e.owned(doc) {
			if v.get(doc.In, id) != nil {
				want[doc.In] = 1
			}
		}
	}
	if e.kind == lifecycle.Service && e.doc["machines"] == true {
		want[takesMachines] = 1
	}
}

// judgeMinUnits finds services with a minimum number of units that lack the document that
// is watched for it, and documents of services without a minimum.
func judgeMinUnits(v *view, service string) *wrong {
	s, watched := v.get(servicesC, service), v.get(minUnitsC, service) != nil
	keeps := s.life() == entity.Alive && s.number("minunits") > 0
	where := docID{minUnitsC, service}
	switch {
	case s == nil || keeps == watched:
		return nil // or for another rule
	case keeps:
		return toInsert(where, "it is missing, so the service's minimum number of units is not kept", "write it",
			minUnitsDoc{Service: service, Token: "mended"})
	}
	return toRemove(where, "its service has no minimum number of units", "remove it")
}

// leasesOf returns the ids of the model's leases.
func (st *State) leasesOf(v *view) []string {
	ids, err := st.controller.leaseIDs(st.uuid)
	v.fail(err)
	return ids
}

// judgeLease finds leases of services that are gone.
func (st *State) judgeLease(v *view, id string) *wrong {
	_, service, _ := strings.Cut(id, "#")
	if v.get(servicesC, service) != nil {
		return nil
	}
	for _, c := range v.where(cleanupsC, "kind", cleanupLease) {
		if strings.HasPrefix(c.text("arg"), service+"#") {
			return nil // the cleanup removes it
		}
	}
	l, err := st.controller.readLease(id)
	v.fail(err)
	if err != nil || !l.there {
		return nil
	}
	return &wrong{where: docID{leasesC, id},
		what: fmt.Sprintf("service %q is gone, and no cleanup will remove it", service), repair: "remove it",
		act: func(ctx context.Context) error {
			_, err := st.cleanupLease(ctx, service)
			return err
		}}
}

// judgeLeaseModel finds leases of models that are gone.
func (c *Controller) judgeLeaseModel(v *view, id string) *wrong {
	model, _, _ := strings.Cut(id, "#")
	if v.get(leasesC, id) == nil || v.get(modelsC, model) != nil {
		return nil
	}
	return &wrong{where: docID{leasesC, id}, what: "model " + model + " is gone", repair: "remove it",
		act: func(ctx context.Context) error { return c.dropLeases(ctx, model) }}
}
