package state

import (
	"context"
	"fmt"
	"strings"

	"gopkg.in/mgo.v2/bson"

	"juju/state/check"
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
			if v.Get(doc.In, id) != nil {
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
func judgeMinUnits(v *view, service string) *check.Wrong {
	s, watched := v.Get(servicesC, service), v.Get(minUnitsC, service) != nil
	keeps := s.Life() == entity.Alive && s.Number("minunits") > 0
	where := check.DocID{minUnitsC, service}
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
	v.Fail(err)
	return ids
}

// judgeLease finds leases of services that are gone.
func (st *State) judgeLease(v *view, id string) *check.Wrong {
	_, service, _ := strings.Cut(id, "#")
	if v.Get(servicesC, service) != nil {
		return nil
	}
	for _, c := range v.Where(cleanupsC, "kind", cleanupLease) {
		if strings.HasPrefix(c.Text("arg"), service+"#") {
			return nil // the cleanup removes it
		}
	}
	l, err := st.controller.readLease(id)
	v.Fail(err)
	if err != nil || !l.there {
		return nil
	}
	return &check.Wrong{Where: check.DocID{leasesC, id},
		What: fmt.Sprintf("service %q is gone, and no cleanup will remove it", service), Repair: "remove it",
		Act: func(ctx context.Context) error {
			_, err := st.cleanupLease(ctx, service)
			return err
		}}
}

// judgeLeaseModel finds leases of models that are gone.
func (c *Controller) judgeLeaseModel(v *view, id string) *check.Wrong {
	model, _, _ := strings.Cut(id, "#")
	if v.Get(leasesC, id) == nil || v.Get(modelsC, model) != nil {
		return nil
	}
	return &check.Wrong{Where: check.DocID{leasesC, id}, What: "model " + model + " is gone", Repair: "remove it",
		Act: func(ctx context.Context) error { return c.dropLeases(ctx, model) }}
}
