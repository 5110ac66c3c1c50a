package modelstatus

import (
	"slices"

	"juju/state/entity"
	"juju/state/internal/modeldb"
)

func (a *everything) remote(doc modeldb.Remote) entity.RemoteStatus {
	said := a.statuses[modeldb.RemoteKey(doc.Name)]
	r := entity.RemoteStatus{Name: doc.Name, Life: doc.Life, URL: doc.URL, Status: said.Mended(), Relations: map[string][]string{}}
	for _, e := range doc.Endpoints {
		r.Endpoints = append(r.Endpoints, e.Described())
	}
	for _, of := range a.relations {
		if end, err := of.Endpoint(doc.Name); err == nil {
			r.Relations[end.Name] = append(r.Relations[end.Name], of.Counterpart(doc.Name).Service)
		}
	}
	for _, others := range r.Relations {
		slices.Sort(others)
	}
	return r
}

func (a *everything) offer(doc modeldb.Offer) entity.OfferStatus {
	o := entity.OfferStatus{Name: doc.Name, Life: doc.Life, Service: doc.Service, CharmURL: a.services[doc.Service].CharmURL,
		Endpoints: a.offered[doc.Name]}
	for _, r := range a.relations {
		if r.Offer != doc.Name {
			continue
		}
		if o.Total++; !r.Suspended && r.Life == entity.Alive {
			o.Active++
		}
	}
	return o
}
