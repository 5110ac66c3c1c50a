package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
	"juju/worker/remoterelations"
)

// A stumbling model fails some calls of a worker after they have done their work, as when a controller crashes before it
// hears that.
type stumbling struct {
	remoterelations.Model
	fails func() error
}

func (s stumbling) Connect(ctx context.Context, model string, c entity.Connection) error {
	return errors.Join(s.Model.Connect(ctx, model, c), s.fails())
}

func (s stumbling) Join(ctx context.Context, relation int) error {
	return errors.Join(s.Model.Join(ctx, relation), s.fails())
}

func (s stumbling) End(ctx context.Context, relation int) error {
	return errors.Join(s.Model.End(ctx, relation), s.fails())
}

func (s stumbling) Mirror(ctx context.Context, relation int, m entity.Members) error {
	return errors.Join(s.Model.Mirror(ctx, relation, m), s.fails())
}

// A distant model is one of another controller, for whoever has a token. What it forbids is tested with the API.
type distant struct {
	remoterelations.Model
	x     state.CrossModel
	cut   func() error
	token string
}

// reach stands for the network to another controller.
func (w *acrossWorld) reach(ctx context.Context, r entity.Consumed) (remoterelations.External, error) {
	cut := func() error {
		if w.cut.Load() {
			return errors.New("no route to host")
		}
		return nil
	}
	other, err := w.ctrl.Model(ctx, r.Model)
	if err != nil || cut() != nil {
		return nil, errors.Join(err, cut())
	}
	x := other.CrossModel()
	return distant{stumbling{sharing{x, w.ctrl, other}, w.fails}, x, cut, r.External.ID}, nil
}

func (d distant) Relations(ctx context.Context) ([]entity.Connection, error) {
	all, err := d.x.OfConsumer(ctx, d.token)
	return all, errors.Join(err, d.cut())
}

func (d distant) Counterpart(ctx context.Context, _ string, relation int) (*entity.Connection, error) {
	all, err := d.Relations(ctx)
	i := slices.IndexFunc(all, func(c entity.Connection) bool { return c.Counterpart == relation })
	if err != nil || i < 0 {
		return nil, err
	}
	return &all[i], nil
}

func (d distant) Connect(ctx context.Context, model string, c entity.Connection) error {
	c.Token = d.token
	return errors.Join(d.cut(), d.Model.Connect(ctx, model, c))
}

func (d distant) Members(ctx context.Context, relation, first int) (entity.Members, error) {
	m, err := d.Model.Members(ctx, relation, first)
	return m, errors.Join(err, d.cut())
}

func (distant) Close() error { return nil }

// counterpart returns the relation that mirrors one that consumes an offer, in the same controller or as in another.
func counterpart(ctx context.Context, st, other *state.State, c entity.Connection) (*entity.Connection, error) {
	consumed, err := st.CrossModel().Consumed(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range consumed {
		if r.Name == c.Remote && r.External != nil {
			return distant{x: other.CrossModel(), cut: func() error { return nil }, token: r.External.ID}.Counterpart(ctx, "", c.Relation)
		}
	}
	return other.CrossModel().Counterpart(ctx, st.UUID(), c.Relation)
}

// A dice is shared by the test and the workers.
type dice struct {
	mu  sync.Mutex
	rnd *rand.Rand
}

func (d *dice) below(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rnd.IntN(n)
}

// Two models offer services to each other and use them, while random things happen in both: offers, relations, units and
// services come, are suspended and go. When it is quiet, both sides of each relation are alike; and in the end all is gone.
func TestRelationsAcrossModelsAtRandom(t *testing.T) {
	seeds, steps := 3, 100
	if testing.Short() {
		seeds, steps = 1, 60
	}
	if soaks() {
		seeds, steps = 40, 300
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			w := newRandomWorld(t, uint64(seed))
			for step := range steps {
				w.step()
				if step%20 == 19 {
					w.alike()
				}
			}
			w.alike()
			w.end()
		})
	}
}

// A randomWorld is an acrossWorld in which things happen at random.
type randomWorld struct {
	*acrossWorld
	dice   *dice
	models []*state.State
	names  int
	story  []string
}

func newRandomWorld(t *testing.T, seed uint64) *randomWorld {
	w := &randomWorld{acrossWorld: emptyAcrossWorld(t), dice: &dice{rnd: rand.New(rand.NewPCG(seed, 2))}}
	w.fails = func() error {
		if w.dice.below(10) == 0 {
			return errors.New("the controller has crashed")
		}
		return nil
	}
	w.models = []*state.State{w.model("shop", "mysql", statetest.MySQL), w.model("blog", "wordpress", statetest.Wordpress)}
	t.Cleanup(w.cancel)           // before the workers are awaited
	for _, st := range w.models { // each model has both charms
		for service, metadata := range map[string]string{"mysql": statetest.MySQL, "wordpress": statetest.Wordpress} {
			if _, err := st.Service(w.ctx, service); entity.IsNotFound(err) {
				_, err := st.AddService(w.ctx, state.AddServiceParams{Name: service, CharmURL: statetest.Charm(t, st, metadata), Units: 1})
				w.ok(err)
			}
		}
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(strings.Join(w.story, "\n"))
		}
	})
	return w
}

func (w *randomWorld) name(of string) string {
	w.names++
	return fmt.Sprintf("%s%d", of, w.names)
}

func one[T any](w *randomWorld, of []T) T { return of[w.dice.below(len(of))] }

// step does something that a user or an agent may do, to either model.
func (w *randomWorld) step() {
	i := w.dice.below(2)
	st, other := w.models[i], w.models[1-i]
	how := entity.Destruction{}
	if w.dice.below(4) == 0 {
		how.Strength = entity.Force
	}
	what, err := w.act(st, other, how)
	w.story = append(w.story, fmt.Sprintf("%s: %s (%v): %v", st.Name(), what, how.Strength, err))
	if err != nil && entity.KindOf(err) == "" {
		w.Fatalf("%s: %v", what, err)
	}
	for range w.dice.below(3) {
		w.mayAct(one(w, w.models))
	}
}

// mayAct lets the agents of a model act once.
func (w *randomWorld) mayAct(st *state.State) {
	if err := w.agents(st); err != nil && entity.KindOf(err) == "" {
		w.Fatal(err)
	}
}

func (w *randomWorld) act(st, other *state.State, how entity.Destruction) (what string, err error) {
	x := st.CrossModel()
	offers, err := other.CrossModel().Offers(w.ctx)
	w.ok(err)
	own, err := x.Offers(w.ctx)
	w.ok(err)
	consumed, err := x.Consumed(w.ctx)
	w.ok(err)
	connections, err := x.Connections(w.ctx)
	w.ok(err)
	units, err := st.Status(w.ctx)
	w.ok(err)
	switch n := w.dice.below(20); {
	case n <= 1:
		name := w.name("offer")
		return "offer " + name, x.AddOffer(w.ctx, entity.NewOffer{Name: name, Service: "mysql", Endpoints: []string{"server"}})
	case n <= 4 && len(offers) > 0:
		o, name := one(w, offers), w.name("remote")
		c := entity.Consumed{Name: name, Model: other.UUID(), Offer: o.UUID,
			User: statetest.Admin, URL: "admin/" + other.Name() + "." + o.Name, Endpoints: o.Endpoints}
		if w.dice.below(2) == 0 {
			w.elsewhere.Store(true)
			c.External = &entity.External{Name: "elsewhere", ID: "token of " + name}
		}
		return fmt.Sprintf("consume %s as %s, as of another controller: %v", o.Name, name, c.External != nil), x.Consume(w.ctx, c)
	case n <= 9 && len(consumed) > 0:
		r := one(w, consumed)
		_, err := st.AddRelation(w.ctx, "wordpress", r.Name)
		return "relate " + r.Name, err
	case n == 10 && len(connections) > 2:
		c := one(w, connections)
		if slices.ContainsFunc(consumed, func(r entity.Consumed) bool { return r.Name == c.Remote && r.External != nil }) {
			how.Strength = entity.Plain // by force, another controller is only told while the remote service is there
		}
		r, err := st.RelationByID(w.ctx, c.Relation)
		if err == nil {
			err = r.Destroy(w.ctx, how)
		}
		return fmt.Sprintf("destroy relation %d", c.Relation), err
	case n == 11 && len(connections) > 0:
		c := one(w, connections)
		return fmt.Sprintf("suspend relation %d: %v", c.Relation, !c.Suspended), x.SuspendRelation(w.ctx, c.Relation, !c.Suspended, "why")
	case n == 12 && len(own) > 1:
		name := one(w, own).Name
		o, err := x.Offer(w.ctx, name)
		if err == nil {
			err = o.Destroy(w.ctx, how)
		}
		return "remove offer " + name, err
	case n == 13 && len(consumed) > 2:
		name := one(w, consumed).Name
		r, err := x.Remote(w.ctx, name)
		how.Strength = entity.Plain // by force, another controller would not be told
		if err == nil {
			err = r.Destroy(w.ctx, how)
		}
		return "remove " + name, err
	case n == 14:
		s, err := st.Service(w.ctx, one(w, []string{"mysql", "wordpress"}))
		if err == nil {
			_, err = s.AddUnits(w.ctx, 1, nil)
		}
		return "add a unit", err
	case n == 15 && len(units.AllUnits()) > 2:
		name := one(w, units.AllUnits()).Name
		u, err := st.Unit(w.ctx, name)
		if err == nil {
			err = u.Destroy(w.ctx, how)
		}
		return "destroy unit " + name, err
	case n == 16:
		w.cut.Store(!w.cut.Load())
		return fmt.Sprintf("the other model can be opened: %v", !w.cut.Load()), nil
	default:
		return w.setting(st)
	}
}

// setting changes what a unit has set in its relations.
func (w *randomWorld) setting(st *state.State) (string, error) {
	status, err := st.Status(w.ctx)
	w.ok(err)
	if len(status.AllUnits()) == 0 {
		return "nothing", nil
	}
	name := one(w, status.AllUnits()).Name
	u, err := st.Unit(w.ctx, name)
	if err != nil {
		return "read unit " + name, err
	}
	data, err := u.RelationData(w.ctx)
	if err != nil {
		return "read the relations of " + name, err
	}
	changes := entity.HookChanges{Relations: map[int]map[string]string{}}
	for _, d := range data {
		if d.Units[name].InScope {
			changes.Relations[d.ID] = map[string]string{one(w, []string{"a", "b"}): one(w, []string{"", "1", "2"})}
		}
	}
	return fmt.Sprintf("%s sets %v", name, changes.Relations), u.CommitHook(w.ctx, changes)
}

// sides returns who is in each relation across models that is Alive in both, as each of the models says.
func (w *randomWorld) sides() (all []string) {
	for i, st := range w.models {
		other := w.models[1-i]
		connections, err := st.CrossModel().Connections(w.ctx)
		w.ok(err)
		for _, c := range connections {
			if !c.Consumes {
				continue
			}
			there, err := counterpart(w.ctx, st, other, c)
			w.ok(err)
			if there == nil {
				all = append(all, fmt.Sprintf("%s: relation %d has no counterpart", st.Name(), c.Relation))
				continue
			}
			if c.Life != entity.Alive || there.Life != entity.Alive || c.Suspended != there.Suspended || c.Message != there.Message {
				all = append(all, fmt.Sprintf("%s: relation %+v is not like %+v", st.Name(), c, *there))
			}
			all = append(all, w.differences(st, c, other, *there)...)
			all = append(all, w.differences(other, *there, st, c)...)
		}
		for _, c := range connections {
			if c.Consumes {
				continue
			}
			if there, err := other.CrossModel().Consuming(w.ctx, c.Counterpart); err != nil || there == nil {
				all = append(all, fmt.Sprintf("%s: relation %d is of none that consumes: %v", st.Name(), c.Relation, err))
			}
		}
	}
	return all
}

// differences compares the units in a relation, and what they have set, with what the other model's units see of them.
func (w *randomWorld) differences(st *state.State, c entity.Connection, other *state.State, there entity.Connection) (all []string) {
	members, err := st.CrossModel().Members(w.ctx, c.Relation, 0)
	w.ok(err)
	want := map[string]map[string]string{}
	for n, settings := range members.Units {
		want[fmt.Sprint(n)] = settings
	}
	status, err := other.Status(w.ctx)
	w.ok(err)
	for _, one := range status.AllUnits() {
		u, err := other.Unit(w.ctx, one.Name)
		w.ok(err)
		data, err := u.RelationData(w.ctx)
		w.ok(err)
		for _, d := range data {
			if d.ID != there.Relation || !d.Units[one.Name].InScope {
				continue
			}
			got := map[string]map[string]string{}
			for name, unit := range d.Units {
				if _, n, _ := strings.Cut(name, "/"); name != one.Name && unit.InScope {
					got[n] = unit.Settings
				}
			}
			if !maps.EqualFunc(want, got, maps.Equal[map[string]string, map[string]string]) {
				all = append(all, fmt.Sprintf("%s sees %v in relation %d, want %v", one.Name, got, d.ID, want))
			}
		}
	}
	return all
}

// alike waits until both models agree. Nothing is wrong with either.
func (w *randomWorld) alike() {
	w.cut.Store(false)
	var differ []string
	defer func() {
		if len(differ) > 0 { // it was given up
			w.Logf("they differ: %s", strings.Join(differ, "\n"))
		}
	}()
	w.until("both sides are alike", func() bool {
		differ = w.sides()
		return len(differ) == 0
	}, w.models...)
	w.story = append(w.story, "alike")
	for _, st := range w.models {
		connections, err := st.CrossModel().Connections(w.ctx)
		w.ok(err)
		w.Logf("%d steps: %s has %d relations across models", len(w.story), st.Name(), len(connections))
	}
	for _, st := range w.models {
		if found, err := st.Check(w.ctx, false); err != nil || len(found) > 0 {
			w.Errorf("%s: %v, %v", st.Name(), found, err)
		}
	}
}

// end destroys both models, and waits until nothing of their relations is left.
func (w *randomWorld) end() {
	first := w.dice.below(2)
	for _, st := range []*state.State{w.models[first], w.models[1-first]} {
		if err := st.Destroy(w.ctx, entity.Destruction{}); err != nil && entity.KindOf(err) == "" {
			w.Fatal(err)
		}
	}
	var left []string
	w.until("nothing is left", func() bool {
		left = nil
		for _, st := range w.models {
			offers, err := st.CrossModel().Offers(w.ctx)
			w.ok(err)
			remotes, err := st.CrossModel().Consumed(w.ctx)
			w.ok(err)
			connections, err := st.CrossModel().Connections(w.ctx)
			w.ok(err)
			left = append(left, fmt.Sprint(st.Name(), offers, remotes, connections))
			if len(offers)+len(remotes)+len(connections) > 0 {
				return false
			}
		}
		return true
	}, w.models...)
	slices.Sort(left)
}
