package state

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/charm"
	"juju/state/entity"
	"juju/state/internal/crossmodel"
	"juju/state/internal/modeldb"
	"juju/state/lifecycle"
	"juju/state/mongo"
)

// CrossModel is what a model has to do with other models: its offers, the remote services that it uses, and the
// relations with them. mirror.go keeps both sides of a relation alike.
type CrossModel struct{ st *State }

// CrossModel returns what the model has to do with others.
func (st *State) CrossModel() CrossModel { return CrossModel{st} }

// An Offer is a snapshot of an offer.
type Offer struct {
	st  *State
	doc modeldb.Offer
}

// A Remote is a snapshot of a remote service.
type Remote struct {
	ordinary
	st  *State
	doc modeldb.Remote
}

// AddOffer offers endpoints of a service to other models. If they are offered so already, it only takes over the description, unless
// that is empty.
func (x CrossModel) AddOffer(ctx context.Context, p entity.NewOffer) error {
	fail := func(err error) error { return fmt.Errorf("cannot offer service %q as %q: %w", p.Service, p.Name, err) }
	if !entity.IsValidService(p.Name) {
		return fail(entity.WithHint(entity.Errorf(entity.Invalid, "invalid offer name"),
			"Offers are named like services. "+entity.ServiceNames))
	}
	if len(p.Endpoints) == 0 {
		return fail(entity.WithHint(entity.Errorf(entity.Invalid, "no endpoints are given"),
			"For example: juju offer %s:ENDPOINT", p.Service))
	}
	names := slices.Compact(slices.Sorted(slices.Values(p.Endpoints)))
	doc := modeldb.Offer{Living: x.st.born(), Name: p.Name, UUID: uuid.NewString(), Service: p.Service, Endpoints: names, Description: p.Description}
	err := x.st.change(ctx, func(o *ops) error {
		if _, err := x.st.db.AliveModel(ctx); err != nil {
			return err
		}
		if there, err := x.Offer(ctx, p.Name); err == nil {
			return there.again(o, doc)
		} else if !entity.IsNotFound(err) {
			return err
		}
		for _, name := range names {
			if _, _, err := x.st.offerable(ctx, o, p.Service, name); err != nil {
				return err
			}
		}
		o.AssertModelAlive()
		o.Insert(modeldb.OffersC, doc.Name, doc)
		o.addCounts(&Offer{st: x.st, doc: doc})
		return nil
	})
	if err != nil {
		return fail(err)
	}
	return nil
}

// again makes the offer like one that is to be made in its place.
func (o *Offer) again(in *ops, now modeldb.Offer) error {
	switch was := o.doc; {
	case was.Life != entity.Alive || was.Service != now.Service || !slices.Equal(was.Endpoints, now.Endpoints):
		return entity.WithHint(entity.Errorf(entity.AlreadyExists, "offer already exists, of service %q with endpoints %s",
			was.Service, strings.Join(was.Endpoints, ", ")),
			"Other models know its endpoints; to offer others, remove it first: juju remove-offer %s.%s", o.st.db.Name, now.Name)
	case now.Description == "" || was.Description == now.Description:
		return mongo.ErrNothing
	}
	in.AssertModelAlive()
	in.Update(modeldb.OffersC, now.Name, bson.D{{"life", entity.Alive}, {"uuid", o.doc.UUID}}, bson.D{{"$set", bson.D{{"description", now.Description}}}})
	return nil
}

// offerable returns an endpoint of an Alive service that other models can relate to, with the metadata of its charm, and
// asserts what that depends on.
func (st *State) offerable(ctx context.Context, o *ops, service,
	name string) (end modeldb.Endpoint, meta *charm.Meta, err error) {
	svc, err := st.Service(ctx, service)
	if err != nil {
		return end, nil, err
	}
	if svc.doc.Life != entity.Alive {
		return end, nil, entity.Errorf(entity.NotAlive, "service %q is not alive", service)
	}
	ch, err := st.db.Charm(ctx, svc.doc.CharmURL)
	if err != nil {
		return end, nil, err
	}
	ends := modeldb.EndpointsOf(service, ch.Meta)
	i := slices.IndexFunc(ends, func(e modeldb.Endpoint) bool { return e.Name == name })
	if i < 0 {
		return end, nil, noEndpoint(service, name, ends)
	}
	if end = ends[i]; end.Role == string(charm.RolePeer) || end.Scope == string(charm.ScopeContainer) {
		return end, nil, entity.Errorf(entity.Invalid, "endpoint %s is for units of its own model only", end)
	}
	o.Assert(modeldb.ServicesC, service, bson.D{{"life", entity.Alive}, {"charm", svc.doc.CharmURL}})
	return end, ch.Meta, nil
}

// Offer reads an offer; the error is entity.NotFound if there is none.
func (x CrossModel) Offer(ctx context.Context, name string) (*Offer, error) {
	doc, err := x.st.db.Offer(ctx, name)
	return &Offer{st: x.st, doc: doc}, err
}

func (st *State) offers(ctx context.Context, query bson.D) ([]*Offer, error) {
	docs, err := st.db.Offers(ctx, query)
	return mapped(docs, func(d modeldb.Offer) *Offer { return &Offer{st: st, doc: d} }), err
}

// Offers returns the model's offers, or those of names that exist, by name.
func (x CrossModel) Offers(ctx context.Context, names ...string) ([]entity.Offer, error) {
	return crossmodel.Offers(ctx, x.st.db, names...)
}

// Destroy removes the offer. The error is entity.InUse while a relation uses it, unless the destruction is forced, which
// destroys the relations too.
func (o *Offer) Destroy(ctx context.Context, how entity.Destruction) error {
	err := o.st.move(ctx, o, lifecycle.ToDestroy, lifecycle.User, o.st.begin(how).alone())
	if err != nil {
		return fmt.Errorf("cannot remove offer %q: %w", o.doc.Name, err)
	}
	return nil
}

// Consume makes a service of another model available under a name. If that is already so, it only takes over how the other
// controller is reached, if it is another's.
func (x CrossModel) Consume(ctx context.Context, p entity.Consumed) error {
	fail := func(err error) error { return fmt.Errorf("cannot consume %s as %q: %w", p.URL, p.Name, err) }
	if !entity.IsValidService(p.Name) {
		return fail(entity.InvalidService(p.Name))
	}
	if len(p.Endpoints) == 0 {
		return fail(entity.Errorf(entity.Invalid, "the offer has no endpoints"))
	}
	doc := modeldb.Remote{Living: x.st.born(), Name: p.Name, Model: p.Model, Offer: p.Offer, URL: p.URL, User: p.User}
	for _, e := range p.Endpoints {
		doc.Endpoints = append(doc.Endpoints, modeldb.Endpoint{Service: p.Name, Name: e.Name, Role: e.Role, Interface: e.Interface,
			Scope: string(charm.ScopeGlobal), Remote: true})
	}
	if e := p.External; e != nil {
		doc.External, doc.Token = &modeldb.External{Controller: e.Controller, Name: e.Name, Addresses: e.Addresses, CACert: e.CACert, TokenID: e.ID}, e.Token
	}
	err := x.st.change(ctx, func(o *ops) error {
		if _, err := x.st.db.AliveModel(ctx); err != nil {
			return err
		}
		if there, err := x.Remote(ctx, p.Name); err == nil && there.doc.Offer == p.Offer && there.doc.Life == entity.Alive {
			o.AssertModelAlive()
			return there.reachOps(o, p.External)
		} else if err == nil {
			return entity.WithHint(entity.Errorf(entity.AlreadyExists, "remote service already exists, for %s", there.doc.URL),
				"Use another name: juju consume %s NAME", p.URL)
		} else if !entity.IsNotFound(err) {
			return err
		}
		if _, err := x.st.Service(ctx, p.Name); err == nil {
			return entity.WithHint(entity.Errorf(entity.AlreadyExists, "the model has a service of this name"),
				"Use another name: juju consume %s NAME", p.URL)
		} else if !entity.IsNotFound(err) {
			return err
		}
		o.AssertModelAlive()
		o.Assert(modeldb.ServicesC, p.Name, txn.DocMissing) // services and remote services share their names
		o.Insert(modeldb.RemotesC, p.Name, doc)
		o.addCounts(&Remote{st: x.st, doc: doc})
		key := modeldb.RemoteKey(p.Name)
		o.Insert(modeldb.StatusesC, key, modeldb.NewStatus(key, entity.Status{Status: entity.StatusUnknown}, x.st.host.Now()))
		return nil
	})
	if err != nil {
		return fail(err)
	}
	return nil
}

// reachOps changes how the controller of a remote service is reached. The token stays, because the relations with the offer
// were made with it.
func (r *Remote) reachOps(o *ops, now *entity.External) error {
	was := r.doc.External
	if was == nil || now == nil || slices.Equal(was.Addresses, now.Addresses) && was.CACert == now.CACert {
		return mongo.ErrNothing
	}
	o.Update(modeldb.RemotesC, r.doc.Name, bson.D{{"life", entity.Alive}, {"offer", r.doc.Offer}},
		bson.D{{"$set", bson.D{{"external.addresses", now.Addresses}, {"external.cacert", now.CACert}}}})
	return nil
}

// Remote reads a remote service; the error is entity.NotFound if there is none.
func (x CrossModel) Remote(ctx context.Context, name string) (*Remote, error) {
	doc, err := x.st.db.Remote(ctx, name)
	return &Remote{st: x.st, doc: doc}, err
}

func (st *State) remotes(ctx context.Context, query bson.D) ([]*Remote, error) {
	docs, err := st.db.Remotes(ctx, query)
	return mapped(docs, func(d modeldb.Remote) *Remote { return &Remote{st: st, doc: d} }), err
}

// Destroy removes the remote service, with its relations.
func (r *Remote) Destroy(ctx context.Context, how entity.Destruction) error {
	err := r.st.move(ctx, r, lifecycle.ToDestroy, lifecycle.User, r.st.begin(how).alone())
	if err != nil {
		return fmt.Errorf("cannot remove remote service %q: %w", r.doc.Name, err)
	}
	return nil
}

// SuspendRelation suspends or resumes a relation with an offered service: while it is suspended no unit is in it. The
// other model follows.
func (x CrossModel) SuspendRelation(ctx context.Context, id int, suspended bool, message string) error {
	what := "resume"
	if suspended {
		what = "suspend"
	}
	err := x.suspend(ctx, id, suspended, message, func(r *Relation) error {
		if r.doc.Offer == "" {
			return entity.WithHint(entity.Errorf(entity.NotSupported, "it is not a relation with an offer of this model"),
				"Only the model that offers a service can suspend a relation with it. To list them: juju offers")
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("cannot %s relation %d: %w", what, id, err)
	}
	return nil
}

// suspend changes whether a relation is suspended. Its endpoint documents change too, because units watch those.
func (x CrossModel) suspend(ctx context.Context, id int, suspended bool, message string,
	may func(*Relation) error) error {
	now := x.st.db.Now()
	return x.st.change(ctx, func(o *ops) error {
		r, err := x.st.RelationByID(ctx, id)
		if err != nil {
			return err
		}
		if err := may(r); err != nil {
			return err
		}
		if r.doc.Life != entity.Alive {
			return entity.Errorf(entity.NotAlive, "relation %q is not alive", r.doc.Key)
		}
		if r.doc.Suspended == suspended && r.doc.Message == message {
			return mongo.ErrNothing
		}
		set := bson.D{{"$set", bson.D{{"suspended", suspended}, {"message", message}, {"told", now}}}}
		o.Update(modeldb.RelationsC, r.doc.Key, bson.D{{"id", id}, {"life", entity.Alive}}, set)
		for _, e := range r.doc.Endpoints {
			o.Update(modeldb.EndpointsC, modeldb.EndpointID(e.Service, r.doc.Key), txn.DocExists, bson.D{{"$set", bson.D{{"suspended", suspended}}}})
		}
		return nil
	})
}

// How offers and remote services differ from other living entities.

func (o *Offer) state() *State         { return o.st }
func (o *Offer) kind() lifecycle.Kind  { return lifecycle.Offer }
func (o *Offer) name() string          { return o.doc.Name }
func (o *Offer) docID() string         { return o.doc.Name }
func (o *Offer) tag() entity.Tag       { return entity.OfferTag(o.doc.Name) }
func (o *Offer) life() *modeldb.Living { return &o.doc.Living }
func (o *Offer) asserts() bson.D       { return bson.D{{"uuid", o.doc.UUID}} }

// refresh returns entity.NotFound if another offer has taken the name.
func (o *Offer) refresh(ctx context.Context) error {
	now, err := o.st.CrossModel().Offer(ctx, o.doc.Name)
	if err == nil && now.doc.UUID != o.doc.UUID {
		return entity.Errorf(entity.NotFound, "offer %q not found", o.doc.Name)
	}
	if err == nil {
		o.doc = now.doc
	}
	return err
}

func (o *Offer) targets(ref lifecycle.Ref) []string {
	if ref.To == lifecycle.Service {
		return []string{o.doc.Service}
	}
	return nil
}

// guards makes the end of the model destroy the offer although relations use it: they end with its service.
func (o *Offer) guards(ctx context.Context, _ lifecycle.Actor, _ map[string]int) ([]lifecycle.Guard, error) {
	model, err := o.st.db.Model(ctx)
	if err != nil || model.Life == entity.Alive {
		return nil, err
	}
	return []lifecycle.Guard{lifecycle.Forced}, nil
}

func (o *Offer) turning(ctx context.Context, in *ops, t turn) (bson.D, error) {
	return nil, in.forgetIfGone(ctx, o, t)
}

func (o *Offer) refusal(ctx context.Context, _ lifecycle.Goal, barred *lifecycle.Barred) error {
	if barred.Ref.Name != "connections" {
		return barred
	}
	counts, err := o.st.db.CountsOf(ctx, keyOf(o))
	if err != nil {
		return err
	}
	return entity.WithHint(entity.Errorf(entity.InUse, "offer has %s", entity.Counted(counts["connections"], "relation")),
		"To see them: juju offers. To remove them too: juju remove-offer %s.%s --force", o.st.db.Name, o.doc.Name)
}

func (r *Remote) state() *State         { return r.st }
func (r *Remote) kind() lifecycle.Kind  { return lifecycle.Remote }
func (r *Remote) name() string          { return r.doc.Name }
func (r *Remote) docID() string         { return r.doc.Name }
func (r *Remote) tag() entity.Tag       { return entity.ServiceTag(r.doc.Name) }
func (r *Remote) life() *modeldb.Living { return &r.doc.Living }

func (r *Remote) refresh(ctx context.Context) error {
	now, err := r.st.CrossModel().Remote(ctx, r.doc.Name)
	if err == nil {
		r.doc = now.doc
	}
	return err
}

func (r *Remote) turning(ctx context.Context, o *ops, t turn) (bson.D, error) {
	return nil, o.forgetIfGone(ctx, r, t)
}

func (o *ops) forgetIfGone(ctx context.Context, e living, t turn) error {
	if t.to != entity.Gone {
		return nil
	}
	return o.forgetDestructions(ctx, e)
}

// checkRemote rejects a relation with a remote service that can't be, and asserts that the service is Alive.
func (st *State) checkRemote(ctx context.Context, o *ops, doc modeldb.Relation, end modeldb.Endpoint) error {
	r, err := st.CrossModel().Remote(ctx, end.Service)
	if err != nil {
		return err
	}
	switch {
	case r.doc.Life != entity.Alive:
		return entity.Errorf(entity.NotAlive, "remote service %q is not alive", end.Service)
	case !slices.Contains(r.doc.Endpoints, end):
		return entity.Errorf(entity.NotFound, "remote service %q has no %q relation", end.Service, end.Name)
	case !slices.ContainsFunc(doc.Endpoints, func(e modeldb.Endpoint) bool { return !e.Remote }):
		return entity.Errorf(entity.Invalid, "both services are of other models")
	}
	o.Assert(modeldb.RemotesC, end.Service, bson.D{{"life", entity.Alive}, {"offer", r.doc.Offer}})
	return nil
}

// keepOps keeps a new relation with an offer of another controller until its counterpart there has ended.
func (st *State) keepOps(ctx context.Context, o *ops, doc modeldb.Relation) error {
	end, ok := doc.RemoteEnd()
	if !ok || doc.Consumer != nil {
		return nil
	}
	remote, err := st.db.Remote(ctx, end.Service)
	if err != nil || remote.External == nil {
		return err
	}
	id := modeldb.ScopePrefix(doc.ID, "") + modeldb.Counterpart + "#" + end.Service
	o.Insert(modeldb.ScopesC, id, modeldb.Scope{ID: id, Relation: doc.ID, Remote: end.Service, Role: modeldb.Counterpart})
	o.addRefs(remoteScope{&Relation{st: st, doc: doc}})
	return nil
}
