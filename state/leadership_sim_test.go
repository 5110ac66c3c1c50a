package state_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/cockroachdb/pebble/v2/vfs"

	"juju/doc/tools/verify"
	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/statetest"
)

// An election is several controllers, whose clocks differ by years and which
// pause now and then, and candidates that want to lead. A candidate writes as
// the leader, believes that it leads for as long as it was granted, and also
// writes long after that.
type election struct {
	office
	t     *testing.T
	seed  uint64
	ctx   context.Context
	began time.Time

	mu          sync.Mutex
	controllers []seat
	chaos       *rand.Rand
	history     []porcupine.Operation
	beliefs     []belief
	order       atomic.Int64 // of calls and returns
	counts      map[string]int
}

// An office is what a candidate leads.
type office interface {
	claim(ctx context.Context, r *rand.Rand, who int, d time.Duration) (epoch int64, err error)
	// write writes as the leader that got this epoch.
	write(ctx context.Context, r *rand.Rand, who int, epoch int64, text string) error
	release(ctx context.Context, r *rand.Rand, who int) error
}

// A seat is a controller, and the model in it.
type seat struct {
	ctrl *controller.Controller
	st   *state.State
}

// A belief is a time during which a candidate believes that it leads.
type belief struct {
	who      int
	from, to time.Time
}

// Operations on the register that only leaders write.
type (
	action struct {
		kind string // "claim", "write" or "read"
		who  int
		text string
	}
	outcome struct {
		epoch int64 // that it claimed or wrote with
		text  string
		known bool
	}
	register struct {
		who   int
		epoch int64
		text  string
	}
)

// theRegister is the model that the history is checked against. A claim granted
// with a higher epoch makes the candidate the leader; a write succeeds only for the
// leader, with its epoch. Failed operations are not recorded: they can fail for
// any reason.
var theRegister = porcupine.Model{
	Init: func() any { return register{who: -1} },
	Step: func(state, input, output any) (bool, any) {
		r, in, out := state.(register), input.(action), output.(outcome)
		switch in.kind {
		case "claim":
			if out.epoch == r.epoch {
				return in.who == r.who, r
			}
			return out.epoch > r.epoch, register{in.who, out.epoch, r.text}
		case "write":
			leads := r.who == in.who && r.epoch == out.epoch
			if leads {
				r.text = in.text
			}
			return leads || !out.known, r
		}
		return out.text == r.text, r
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprint(input, output) },
}

// note adds an operation to the history. One whose outcome is unknown can take
// effect at any later time.
func (e *election) note(client int, call int64, in action, out outcome) {
	e.mu.Lock()
	defer e.mu.Unlock()
	back := e.order.Add(1)
	if !out.known {
		back = 1 << 62
	}
	e.history = append(e.history, porcupine.Operation{ClientId: client, Input: in, Call: call, Output: out, Return: back})
	e.counts[in.kind]++
}

func (e *election) count(what string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.counts[what]++
}

// open opens the model in another controller.
func (e *election) open(c *controller.Controller, uuid string) seat {
	st, err := c.Model(e.ctx, uuid)
	if err != nil {
		e.t.Error(err)
	}
	return seat{c, st}
}

// one returns any of the controllers.
func (e *election) one(r *rand.Rand) *state.State {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.controllers[r.IntN(len(e.controllers))].st
}

// clock returns a clock that pauses now and then, before or after reading the
// time.
func (e *election) clock(offset time.Duration) func() time.Time {
	return func() time.Time {
		e.mu.Lock()
		pause := time.Duration(0)
		if e.chaos != nil && e.chaos.IntN(40) == 0 {
			pause = time.Duration(e.chaos.Int64N(int64(90 * time.Second)))
		}
		early := pause > 0 && e.chaos.IntN(2) == 0
		e.mu.Unlock()
		now := time.Now()
		time.Sleep(pause)
		if early {
			return now.Add(offset)
		}
		return time.Now().Add(offset)
	}
}

// runs runs one candidate.
func (e *election) runs(who int, until time.Time) {
	r := rand.New(rand.NewPCG(e.seed, uint64(who)))
	for time.Now().Before(until) {
		d := state.MinLease + time.Duration(r.Int64N(int64(time.Minute)))
		sent, call := time.Now(), e.order.Add(1)
		ctx, cancel := context.WithTimeout(e.ctx, time.Duration(r.Int64N(int64(3*time.Minute))))
		epoch, err := e.claim(ctx, r, who, d)
		cancel()
		if err != nil {
			e.failed("claim", err)
			time.Sleep(time.Duration(r.Int64N(int64(20 * time.Second))))
			continue
		}
		e.note(who, call, action{kind: "claim", who: who}, outcome{epoch: epoch, known: true})
		e.mu.Lock()
		if now := time.Now(); now.Before(sent.Add(d)) { // else the answer came too late
			e.beliefs = append(e.beliefs, belief{who, now, sent.Add(d)})
		}
		e.mu.Unlock()
		for range r.IntN(4) {
			time.Sleep(time.Duration(r.Int64N(int64(40 * time.Second))))
			e.writes(r, who, epoch)
		}
		if r.IntN(8) == 0 {
			e.releases(r, who)
		}
	}
}

// releases releases the leadership; the candidate no longer believes that it leads.
func (e *election) releases(r *rand.Rand, who int) {
	now := time.Now()
	e.mu.Lock()
	for i, b := range e.beliefs {
		if b.who == who && b.to.After(now) {
			e.beliefs[i].to = now
		}
	}
	e.mu.Unlock()
	if err := e.release(e.ctx, r, who); err != nil {
		e.t.Error(err)
	}
	e.count("release")
}

// writes writes as the leader, whether or not the candidate still leads, and reads.
func (e *election) writes(r *rand.Rand, who int, epoch int64) {
	text := fmt.Sprintf("%d by %d at %d", who, epoch, e.order.Add(1))
	ctx, cancel := context.WithTimeout(e.ctx, time.Duration(r.Int64N(int64(3*time.Minute))))
	defer cancel()
	call := e.order.Add(1)
	err := e.write(ctx, r, who, epoch, text)
	in := action{"write", who, text}
	switch {
	case err == nil:
		e.note(who, call, in, outcome{epoch: epoch, known: true})
	case errors.Is(err, entity.LeadershipRefused), errors.Is(err, entity.Unavailable):
		e.count("fenced")
	default:
		e.failed("write", err)
		e.note(who, call, in, outcome{epoch: epoch})
	}
	call = e.order.Add(1)
	got, err := e.one(r).LeadersText(e.ctx, "mysql")
	if err != nil && entity.KindOf(err) != entity.NotFound {
		e.t.Error(err)
	} else {
		e.note(who, call, action{kind: "read"}, outcome{text: got, known: true})
	}
}

// failed counts expected failures, and reports all others.
func (e *election) failed(what string, err error) {
	switch {
	case errors.Is(err, entity.LeadershipRefused), errors.Is(err, entity.Unavailable):
		e.count("refused")
	case errors.Is(err, context.DeadlineExceeded):
		e.count("given up")
	case errors.Is(err, entity.Contention):
		e.count("contention")
	default:
		e.t.Errorf("%s: %v", what, err)
	}
}

// disturbs delays transactions between their reads and their commit, and
// replaces controllers by others, until the given time.
func (e *election) disturbs(until time.Time, another func() seat) {
	r := rand.New(rand.NewPCG(e.seed, 99))
	for time.Now().Before(until) {
		time.Sleep(time.Duration(r.Int64N(int64(10 * time.Second))))
		pause := time.Duration(r.Int64N(int64(2 * time.Minute)))
		e.one(r).Before(func() { e.count("pause"); time.Sleep(pause) })
		if r.IntN(40) == 0 {
			next := another()
			e.mu.Lock()
			e.controllers[r.IntN(len(e.controllers))] = next
			e.mu.Unlock()
			e.count("new controller")
		}
	}
}

// Of the units of a service, one leads at a time, and only its writes succeed.
func TestLeadersNeverOverlap(t *testing.T) {
	holdElection(t, 4, func(e *election) office { return unitsLead{e} })
}

// unitsLead has the units of a service as candidates, each of which asks any controller.
type unitsLead struct{ *election }

func (u unitsLead) unit(ctx context.Context, r *rand.Rand, who int) (*state.Unit, error) {
	return u.one(r).Unit(ctx, fmt.Sprintf("mysql/%d", who))
}

func (u unitsLead) claim(ctx context.Context, r *rand.Rand, who int, d time.Duration) (int64, error) {
	unit, err := u.unit(ctx, r, who)
	if err != nil {
		return 0, err
	}
	return unit.ClaimLeadership(ctx, d)
}

func (u unitsLead) write(ctx context.Context, r *rand.Rand, who int, epoch int64, text string) error {
	unit, err := u.unit(ctx, r, who)
	if err != nil {
		return err
	}
	return unit.WriteAsLeader(ctx, epoch, text)
}

func (u unitsLead) release(ctx context.Context, r *rand.Rand, who int) error {
	unit, err := u.unit(ctx, r, who)
	if err != nil {
		return err
	}
	return unit.ReleaseLeadership(ctx)
}

// holdElection runs an election of so many candidates, and checks it.
func holdElection(t *testing.T, candidates int, office func(*election) office) {
	seed := testSeed(t)
	length := 2 * time.Hour
	if testing.Short() {
		length = 30 * time.Minute
	} else if os.Getenv("JUJU_SOAK") != "" {
		length = 100 * time.Hour
	}
	e := &election{t: t, seed: seed, counts: map[string]int{}}
	e.office = office(e)
	synctest.Test(t, func(t *testing.T) {
		e.t, e.began = t, time.Now()
		e.ctx = context.Background()
		store := openStore(t, vfs.NewMem())
		var opened []*controller.Controller
		open := func() *controller.Controller {
			c := statetest.OpenController(t, store, controller.Options{Now: e.clock(time.Duration(len(opened)) * 10000 * time.Hour)})
			opened = append(opened, c)
			return c
		}
		first, err := open().AddModel(e.ctx, controller.AddModelParams{Name: "default", Owner: statetest.Admin, Series: "jammy"})
		if err != nil {
			t.Fatal(err)
		}
		e.controllers = []seat{{opened[0], first}, e.open(open(), first.UUID()), e.open(open(), first.UUID())}
		w := &world{T: t, ctx: e.ctx, ctrl: opened[0], st: first}
		w.deploy("mysql", statetest.MySQL, 4)
		e.chaos = rand.New(rand.NewPCG(seed, 98))
		until := time.Now().Add(length)
		var group sync.WaitGroup
		for i := range candidates {
			group.Go(func() { e.runs(i, until) })
		}
		group.Go(func() {
			e.disturbs(until, func() seat { return e.open(open(), first.UUID()) })
		})
		group.Wait()
		e.mu.Lock()
		e.chaos = nil
		e.mu.Unlock()
		for _, c := range opened {
			c.Close()
		}
		closeStore(t, store)
		time.Sleep(time.Minute) // until mgo's pings end
	})
	e.t = t
	e.check()
}

// check checks that beliefs do not overlap, and that the history is
// linearizable.
func (e *election) check() {
	e.t.Helper()
	slices.SortFunc(e.beliefs, func(a, b belief) int { return a.from.Compare(b.from) })
	leader := belief{who: -1}
	changes := 0
	for _, b := range e.beliefs {
		if b.who != leader.who {
			changes++
			if b.from.Before(leader.to) {
				e.t.Errorf("%d leads after %v, while %d believes until %v that it does", b.who, b.from.Sub(e.began), leader.who,
					leader.to.Sub(e.began))
			}
			leader = b
		} else if b.to.After(leader.to) {
			leader.to = b.to
		}
	}
	e.t.Logf("%d operations, %d changes of leader, %v", len(e.history), changes, e.counts)
	for _, what := range []string{"claim", "write", "read", "fenced", "refused", "given up", "pause"} {
		if e.counts[what] == 0 {
			e.t.Errorf("the run has no %s, so it shows little", what)
		}
	}
	if result := porcupine.CheckOperationsTimeout(theRegister, e.history, verify.Patience); result != porcupine.Ok {
		e.t.Errorf("the history is not linearizable: %s", result)
	}
}
