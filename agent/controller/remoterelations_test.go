package controller

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/statetest"
	"juju/worker"
	"juju/worker/remoterelations"
)

// An acrossWorld has a service of one model that one of another uses, with the workers that keep both sides alike.
type acrossWorld struct {
	*testing.T
	ctx      context.Context
	cancel   context.CancelFunc
	ctrl     *controller.Controller
	offering *state.State // mysql, offered as "hosted"
	using    *state.State // wordpress, which uses it as "db"
	changes  chan struct{}
	cut      atomic.Bool // no model can open another
	// elsewhere is set once a model has consumed an offer as of another controller.
	elsewhere atomic.Bool
	fails     func() error // what the workers' calls return when they have done their work; nil for no error
}

// An own is a model as its own worker sees it. What only other models need must not wake that, unless another controller
// must be told.
type own struct {
	sharing
	w *acrossWorld
}

func (o own) WatchShared(ctx context.Context) (<-chan struct{}, error) {
	if !o.w.elsewhere.Load() {
		o.w.Error("a model's own worker watches what is for others")
	}
	return o.sharing.WatchShared(ctx)
}

func (w *acrossWorld) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// model adds a model with a service, whose changes wake the test, and runs its worker.
func (w *acrossWorld) model(name, service, metadata string) *state.State {
	st, err := w.ctrl.AddModel(w.ctx, controller.AddModelParams{Name: name, Owner: statetest.Admin, Series: "jammy"})
	w.ok(err)
	_, err = st.AddService(w.ctx, state.AddServiceParams{Name: service, CharmURL: statetest.Charm(w.T, st, metadata), Units: 1})
	w.ok(err)
	for _, watch := range []func(context.Context) (<-chan struct{}, error){st.CrossModel().WatchShared, st.Watches().Status} {
		events, err := watch(w.ctx)
		w.ok(err)
		go func() {
			for range events {
				select {
				case w.changes <- struct{}{}:
				default:
				}
			}
		}()
	}
	work := remoterelations.New(remoterelations.Config{UUID: st.UUID(), Model: stumbling{own{sharing{st.CrossModel(), w.ctrl, st}, w}, w.fails},
		Open: func(ctx context.Context, uuid string) (remoterelations.Model, error) {
			if w.cut.Load() {
				return nil, errors.New("its database is damaged")
			}
			other, err := w.ctrl.Model(ctx, uuid)
			if err != nil {
				return nil, err
			}
			return stumbling{sharing{other.CrossModel(), w.ctrl, other}, w.fails}, nil
		},
		Reach: w.reach, Retry: time.Millisecond})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = worker.Run(w.ctx, time.Millisecond, map[string]worker.Func{"remoterelations": work})
	}()
	w.Cleanup(func() { <-ended })
	return st
}

// agents acts as the agents and the cleaner of a model, once.
func (w *acrossWorld) agents(st *state.State) error {
	if _, _, err := st.Cleaner().Cleanup(w.ctx); err != nil {
		return err
	}
	status, err := st.Status(w.ctx)
	if err != nil {
		return err
	}
	for _, one := range status.AllUnits() {
		u, err := st.Unit(w.ctx, one.Name)
		if err != nil {
			return err
		}
		info, err := u.Info(w.ctx)
		if err != nil {
			return err
		}
		if info.Life == entity.Dead {
			if err := u.Remove(w.ctx); err != nil {
				return err
			}
			continue
		}
		if err := u.SetAgentStatus(w.ctx, entity.Status{Status: entity.StatusIdle}); err != nil {
			return err
		}
		if info.Life == entity.Alive && info.ServiceLife != entity.Alive {
			if err := u.DestroySelf(w.ctx); err != nil {
				return err
			}
			info.Life = entity.Dying
		}
		relations, err := u.Relations(w.ctx)
		if err != nil {
			return err
		}
		for _, r := range relations {
			if info.Life == entity.Alive && r.Life == entity.Alive {
				err = u.EnterScope(w.ctx, r.ID)
			} else {
				err = u.LeaveScope(w.ctx, r.ID)
			}
			if err != nil {
				return err
			}
		}
		if info.Life == entity.Dying {
			if err := u.EnsureDead(w.ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// until lets the agents act after each change, until it holds.
func (w *acrossWorld) until(what string, holds func() bool, with ...*state.State) {
	w.Helper()
	timeout := time.After(patience)
	for {
		for _, st := range with {
			if err := w.agents(st); err != nil && entity.KindOf(err) == "" && !errors.Is(err, entity.NotFound) {
				w.Fatal(err)
			}
		}
		if holds() {
			return
		}
		select {
		case <-w.changes:
		case <-timeout:
			w.Fatalf("it never happened: %s", what)
		}
	}
}

// sees reports whether a model's only connection has a mirrored unit, and its own.
func (w *acrossWorld) sees(st *state.State, service string) bool {
	all, err := st.CrossModel().Connections(w.ctx)
	w.ok(err)
	if len(all) != 1 {
		return false
	}
	u, err := st.Unit(w.ctx, service+"/0")
	w.ok(err)
	data, err := u.RelationData(w.ctx)
	w.ok(err)
	for _, d := range data {
		in := 0
		for _, unit := range d.Units {
			if unit.InScope {
				in++
			}
		}
		if d.ID == all[0].Relation && in == 2 {
			return true
		}
	}
	return false
}

// emptyAcrossWorld returns a world without models.
func emptyAcrossWorld(t *testing.T) *acrossWorld {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	w := &acrossWorld{T: t, ctx: ctx, cancel: cancel, changes: make(chan struct{}, 1), fails: func() error { return nil }}
	w.ctrl, _ = statetest.Controller(t)
	return w
}

func newAcrossWorld(t *testing.T) *acrossWorld {
	t.Helper()
	return newAcrossWorldOf(t, statetest.Admin)
}

// newAcrossWorldOf is newAcrossWorld for a user who has consumed the offer, and may do so.
func newAcrossWorldOf(t *testing.T, user string) *acrossWorld {
	t.Helper()
	w := emptyAcrossWorld(t)
	ctx := w.ctx
	w.offering, w.using = w.model("shop", "mysql", statetest.MySQL), w.model("blog", "wordpress", statetest.Wordpress)
	t.Cleanup(w.cancel) // before the workers are awaited
	w.ok(w.offering.CrossModel().AddOffer(ctx, entity.NewOffer{Name: "hosted", Service: "mysql", Endpoints: []string{"server"}}))
	offers, err := w.offering.CrossModel().Offers(ctx)
	w.ok(err)
	if user != statetest.Admin {
		_, err := w.ctrl.AddUser(ctx, controller.AddUserParams{Name: user, Password: "a long password", Creator: statetest.Admin})
		w.ok(err)
		w.ok(w.ctrl.GrantOffer(ctx, w.offering.UUID(), offers[0].UUID, user, controller.AccessConsume, statetest.Admin))
	}
	w.ok(w.using.CrossModel().Consume(ctx, entity.Consumed{Name: "db", Model: w.offering.UUID(), Offer: offers[0].UUID, User: user,
		URL: "admin/shop.hosted", Endpoints: offers[0].Endpoints}))
	_, err = w.using.AddRelation(ctx, "wordpress", "db")
	w.ok(err)
	w.until("both see each other", func() bool { return w.sees(w.offering, "mysql") && w.sees(w.using, "wordpress") }, w.offering, w.using)
	return w
}

func (w *acrossWorld) relationIn(st *state.State) *state.Relation {
	all, err := st.CrossModel().Connections(w.ctx)
	w.ok(err)
	r, err := st.RelationByID(w.ctx, all[0].Relation)
	w.ok(err)
	return r
}

// Whatever ends first, and however, both sides of the relation are removed. Only the side that is destroyed by force does
// without its agents.
func TestRelationsAcrossModelsEnd(t *testing.T) {
	forced := entity.Destruction{Strength: entity.Force}
	for name, end := range map[string]func(w *acrossWorld, how entity.Destruction) error{
		"the relation": func(w *acrossWorld, how entity.Destruction) error { return w.relationIn(w.using).Destroy(w.ctx, how) },
		"the relation of the offer": func(w *acrossWorld, how entity.Destruction) error {
			return w.relationIn(w.offering).Destroy(w.ctx, how)
		},
		"the remote service": func(w *acrossWorld, how entity.Destruction) error {
			r, err := w.using.CrossModel().Remote(w.ctx, "db")
			w.ok(err)
			return r.Destroy(w.ctx, how)
		},
		"the using service": func(w *acrossWorld, how entity.Destruction) error {
			s, err := w.using.Service(w.ctx, "wordpress")
			w.ok(err)
			return s.Destroy(w.ctx, how)
		},
		"the offer":           func(w *acrossWorld, how entity.Destruction) error { return w.endOffer(how) },
		"the offered service": func(w *acrossWorld, how entity.Destruction) error { return w.endOffered(how) },
		"the using model":     func(w *acrossWorld, how entity.Destruction) error { return w.using.Destroy(w.ctx, how) },
		"the offering model":  func(w *acrossWorld, how entity.Destruction) error { return w.offering.Destroy(w.ctx, how) },
	} {
		for strength, how := range map[string]entity.Destruction{"": {}, " by force": forced} {
			t.Run(name+strength, func(t *testing.T) {
				t.Parallel()
				w := newAcrossWorld(t)
				err := end(w, how)
				refused := how != forced && (name == "the offer" || name == "the offered service")
				if refused != errors.Is(err, entity.InUse) || !refused && err != nil {
					t.Fatalf("got %v, want a refusal: %v", err, refused)
				}
				if refused {
					return
				}
				w.until("both sides end", func() bool {
					for _, st := range []*state.State{w.offering, w.using} {
						all, err := st.CrossModel().Connections(w.ctx)
						if err != nil || len(all) > 0 {
							return false
						}
					}
					return true
				}, w.offering, w.using)
				for _, st := range []*state.State{w.offering, w.using} {
					if found, err := st.Check(w.ctx, false); err != nil || len(found) > 0 {
						t.Errorf("%s: %v, %v", st.Name(), found, err)
					}
				}
			})
		}
	}
}

// A relation ends also while the other model can't be opened.
func TestRelationEndsWithoutTheOtherModel(t *testing.T) {
	w := newAcrossWorld(t)
	w.cut.Store(true)
	w.ok(w.relationIn(w.using).Destroy(w.ctx, entity.Destruction{}))
	w.until("its own side ends", func() bool {
		all, err := w.using.CrossModel().Connections(w.ctx)
		return err == nil && len(all) == 0
	}, w.using)
	w.cut.Store(false)
	w.until("the other side ends", func() bool {
		all, err := w.offering.CrossModel().Connections(w.ctx)
		return err == nil && len(all) == 0
	}, w.offering)
}

func (w *acrossWorld) endOffer(how entity.Destruction) error {
	o, err := w.offering.CrossModel().Offer(w.ctx, "hosted")
	w.ok(err)
	return o.Destroy(w.ctx, how)
}

func (w *acrossWorld) endOffered(how entity.Destruction) error {
	s, err := w.offering.Service(w.ctx, "mysql")
	w.ok(err)
	return s.Destroy(w.ctx, how)
}

// While a relation is suspended, no unit is in it, on either side; then they join again.
func TestSuspendedRelationIsEmpty(t *testing.T) {
	w := newAcrossWorld(t)
	id := w.relationIn(w.offering).ID()
	w.ok(w.offering.CrossModel().SuspendRelation(w.ctx, id, true, "noon"))
	w.until("nobody is in it", func() bool {
		for _, st := range []*state.State{w.offering, w.using} {
			if m, err := st.CrossModel().Members(w.ctx, w.relationIn(st).ID(), 0); err != nil || len(m.Units) > 0 {
				return false
			}
		}
		return !w.sees(w.offering, "mysql") && !w.sees(w.using, "wordpress")
	}, w.offering, w.using)
	w.ok(w.offering.CrossModel().SuspendRelation(w.ctx, id, false, ""))
	w.until("both see each other", func() bool { return w.sees(w.offering, "mysql") && w.sees(w.using, "wordpress") }, w.offering, w.using)
}

// Whoever loses the right to consume an offer loses the data too, however that happens: both sides of the relation are
// suspended.
func TestWhoMayNotConsumeIsSuspended(t *testing.T) {
	for name, lose := range map[string]func(w *acrossWorld, offer string) error{
		"revoked": func(w *acrossWorld, offer string) error {
			return w.ctrl.RevokeOffer(w.ctx, w.offering.UUID(), offer, "bob", controller.AccessConsume)
		},
		"disabled": func(w *acrossWorld, _ string) error { return w.ctrl.DisableUser(w.ctx, "bob") },
		"removed":  func(w *acrossWorld, _ string) error { return w.ctrl.RemoveUser(w.ctx, "bob") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newAcrossWorldOf(t, "bob")
			offers, err := w.offering.CrossModel().Offers(w.ctx)
			w.ok(err)
			w.ok(lose(w, offers[0].UUID))
			w.until("both sides are suspended", func() bool {
				for _, st := range []*state.State{w.offering, w.using} {
					all, err := st.CrossModel().Connections(w.ctx)
					w.ok(err)
					if !all[0].Suspended || all[0].Message != "bob may no longer consume the offer" {
						return false
					}
				}
				return true
			}, w.offering, w.using)
		})
	}
}

// The access to an offer that the cleaner has destroyed is removed.
func TestAccessToRemovedOffersIsPruned(t *testing.T) {
	w := newAcrossWorldOf(t, "bob")
	x := w.offering.CrossModel()
	w.ok(x.AddOffer(w.ctx, entity.NewOffer{Name: "another", Service: "mysql", Endpoints: []string{"server"}}))
	offers, err := x.Offers(w.ctx)
	w.ok(err)
	another := offers[slices.IndexFunc(offers, func(o entity.Offer) bool { return o.Name == "another" })]
	w.ok(w.ctrl.GrantOffer(w.ctx, w.offering.UUID(), another.UUID, "bob", controller.AccessRead, statetest.Admin))
	o, err := x.Offer(w.ctx, "another")
	w.ok(err)
	w.ok(o.Destroy(w.ctx, entity.Destruction{}))
	w.ok((&running{ctrl: w.ctrl}).pruneOffers(w.ctx, w.offering))
	left, err := w.ctrl.GrantedOffers(w.ctx, w.offering.UUID())
	w.ok(err)
	if len(left) != 1 || left[0] == another.UUID {
		t.Errorf("anyone has access to %v", left)
	}
}

// Whoever may no longer use an offer gets no new relation with it.
func TestRevokedUserIsNotConnected(t *testing.T) {
	w := newAcrossWorld(t)
	s := sharing{w.offering.CrossModel(), w.ctrl, w.offering}
	offers, err := w.offering.CrossModel().Offers(w.ctx)
	w.ok(err)
	c := entity.Connection{Relation: 99, Offer: offers[0].UUID, User: "bob", Far: "server", Near: entity.NearEnd{Service: "blog",
		RemoteEndpoint: entity.RemoteEndpoint{Name: "db", Role: "requirer", Interface: "mysql"}}}
	if err := s.Connect(w.ctx, w.using.UUID(), c); entity.KindOf(err) != entity.Unauthorized {
		t.Errorf("got %v, want that bob may not", err)
	}
}
