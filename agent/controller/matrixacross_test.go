package controller

import (
	"fmt"

	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/statetest"
)

// An other is the model with which worlds have relations across models. Of its services, "db" and "site" do what they
// should; in "baddb" and "badsite" the hook db-relation-broken fails for ever.
type other struct {
	*system
	st *state.State
}

var bad = map[string]string{"db": "baddb", "site": "badsite"}

func newOther(s *system) other {
	s.Helper()
	st, err := s.c.ctrl.AddModel(s.ctx, controller.AddModelParams{Name: "other", Owner: statetest.Admin, Series: "jammy"})
	s.ok(err)
	for name, worse := range bad {
		fails := []string{"hooks/db-relation-broken", "#!/bin/sh\nexit 1\n"}
		for service, files := range map[string][]string{name: nil, worse: fails} {
			_, err := st.AddService(s.ctx, state.AddServiceParams{Name: service, Units: 1,
				CharmURL: statetest.Charm(s.T, st, metadata[name], files...)})
			s.ok(err)
		}
	}
	return other{s, st}
}

// relate relates the offered service "db" of one model to the service "site" of another, which are called as given. It
// returns the relation of the model that consumes.
func relate(s *system, offering *state.State, db string, using *state.State, site, as string) *state.Relation {
	s.Helper()
	offer := as + "-offer"
	s.ok(offering.CrossModel().AddOffer(s.ctx, entity.NewOffer{Name: offer, Service: db, Endpoints: []string{"db"}}))
	o, err := offering.CrossModel().Offers(s.ctx)
	s.ok(err)
	for _, o := range o {
		if o.Name == offer {
			s.ok(using.CrossModel().Consume(s.ctx, entity.Consumed{Name: as, Model: offering.UUID(), Offer: o.UUID,
				URL: "admin/" + offering.Name() + "." + offer, User: statetest.Admin, Endpoints: o.Endpoints}))
		}
	}
	r, err := using.AddRelation(s.ctx, site, as)
	s.ok(err)
	return r
}

// isAcross reports whether the world has a relation with a service of the other model.
func (w *world) isAcross() bool { return w.kind == across || w.kind == remote || w.kind == offered }

// theirs returns the name of the other model's service in the world's relation.
func (w *world) theirs() string {
	name := "db"
	if w.kind == offered {
		name = "site"
	}
	if w.obstacle == neighbour {
		return bad[name]
	}
	return name
}

// connect makes the relation across models. The world's side of that of an offer is still to come.
func (w *world) connect() {
	w.Helper()
	if w.kind == offered {
		w.theirRelation = relate(w.system, w.st, w.name("db"), w.other.st, w.theirs(), w.name("far")).ID()
		return
	}
	r := relate(w.system, w.other.st, w.theirs(), w.st, w.name("site"), w.name("far"))
	w.relation = r.ID()
	w.target = entity.RelationTag(r.Key())
	if w.kind == remote {
		w.target = entity.ServiceTag(w.name("far"))
	}
	w.ends = []entity.Tag{w.target}
}

// unconnected says what is missing until both sides have the relation, with the other's unit in it.
func (w *world) unconnected() string {
	w.Helper()
	if w.kind == offered {
		c, err := w.st.CrossModel().Counterpart(w.ctx, w.other.st.UUID(), w.theirRelation)
		w.ok(err)
		if c == nil {
			return "the offer has no relation"
		}
		r, err := w.st.RelationByID(w.ctx, c.Relation)
		w.ok(err)
		w.relation, w.ends = r.ID(), []entity.Tag{entity.RelationTag(r.Key())}
	} else {
		c, err := w.other.st.CrossModel().Counterpart(w.ctx, w.st.UUID(), w.relation)
		w.ok(err)
		if c == nil {
			return "the offer in the other model has no relation"
		}
		w.theirRelation = c.Relation
	}
	m, err := w.other.st.CrossModel().Members(w.ctx, w.theirRelation, 0)
	w.ok(err)
	if len(m.Units) == 0 {
		return w.theirs() + "/0 of the other model is not in the relation"
	}
	return ""
}

// endTheirs ends the relation in the other model.
func (w *world) endTheirs() {
	w.Helper()
	r, err := w.other.st.RelationByID(w.ctx, w.theirRelation)
	w.ok(err)
	w.ok(r.Destroy(w.ctx, entity.Destruction{}))
}

// settle waits until the other model has no relation of a world left, but for those of units whose hook has failed. Nothing
// is wrong with it.
func (o other) settle() {
	o.Helper()
	st, err := o.c.ctrl.Model(o.ctx, o.st.UUID())
	o.ok(err)
	settle(o.system, "over in the other model", []other{o}, func() error { return nil }, func(other) string {
		connections, err := st.CrossModel().Connections(o.ctx)
		o.ok(err)
		for _, c := range connections {
			if c.Near.Service != bad["db"] && c.Near.Service != bad["site"] {
				return fmt.Sprintf("it has %+v", c)
			}
		}
		return ""
	})
	findings, err := st.Check(o.ctx, false)
	o.ok(err)
	for _, f := range findings {
		o.Errorf("found afterwards in the other model: %v", f)
	}
}

func (o other) String() string { return "model " + o.st.Name() }

func (o other) tell() string { return o.String() }
