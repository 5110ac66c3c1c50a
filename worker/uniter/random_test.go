package uniter

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"juju/hooks"
	"juju/state/entity"
	"juju/worker"
	"juju/worker/uniter/localstate"
)

var seedFlag = flag.Uint64("seed", 0, "play only the random life of this seed")

// TestRandomLives plays lives with random events: to the service, to relations and their
// units, to hooks, to the agent and to its machine. An oracle checks that the charm learns
// everything in order. Whenever events pause, the unit must have caught up. The test's name
// has the seed of a life that goes wrong.
func TestRandomLives(t *testing.T) {
	first := rand.Uint64N(1 << 32)
	lives := 300
	if testing.Short() {
		lives = 150
	}
	if os.Getenv("JUJU_SOAK") == "1" {
		lives = 10000
	}
	if *seedFlag != 0 {
		first, lives = *seedFlag, 1
	}
	for i := range lives {
		seed := first + uint64(i)
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { newLife(t, seed).play() })
		})
	}
}

// A life is a unit and what a test does to it.
type life struct {
	t      *testing.T
	mu     sync.Mutex // guards what follows; held by the player except in sleep
	rand   *rand.Rand
	c      *controller
	h      *notedHost
	k      *crasher
	o      *oracle
	config Config
	cancel context.CancelCauseFunc
	done   chan error // of the agent; nil when it doesn't run
	next   int        // the number of the next unit or relation
	dead   bool
	quiet  bool // hooks don't fail and nothing crashes
}

func newLife(t *testing.T, seed uint64) *life {
	l := &life{t: t, rand: rand.New(rand.NewPCG(seed, 7)), c: newController(), h: newNotedHost(), k: &crasher{},
		o: newOracle()}
	l.o.later = l.chance(2)
	l.h.has.Dispatch = l.o.later
	l.h.run = l.hook
	l.c.onCall = func(method string, do func() error) error {
		err := l.k.around(method, do)
		if method == "EnterScope" {
			scopes := l.scopes()
			l.mu.Lock()
			defer l.mu.Unlock()
			for _, id := range scopes {
				l.o.relation(id) // from now on it must end in broken
			}
		}
		return err
	}
	l.config = Config{API: l.c, Leadership: l.c, Unit: entity.UnitTag("web/0"),
		newHost: func(Config) (*host, error) { return l.k.host(l.h.host()), nil }}
	return l
}

// chance is true with a probability of 1 in n.
func (l *life) chance(n int) bool { return l.rand.IntN(n) == 0 }

// hook is every hook: it takes a while, and may fail.
func (l *life) hook(ctx context.Context, hctx *hooks.Context) error {
	l.mu.Lock()
	fails, takes, finishes := !l.quiet && l.chance(12), time.Duration(l.rand.IntN(2000))*time.Millisecond, l.chance(2)
	l.o.begin(l.h.memory.Op.Hook)
	l.mu.Unlock()
	timer := time.NewTimer(takes)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		if context.Cause(ctx) == hooks.ErrAbort || !finishes {
			fails = true
		}
	}
	l.mu.Lock()
	l.o.end(fails)
	l.mu.Unlock()
	if fails {
		return &hooks.FailedError{Hook: hctx.HookName(), ExitCode: 1, Reason: "exit status 1"}
	}
	return nil
}

// sleep lets time pass, and restarts the agent if it has ended.
func (l *life) sleep(d time.Duration) {
	l.mu.Unlock()
	time.Sleep(d)
	synctest.Wait()
	l.mu.Lock()
	if l.done != nil {
		select {
		case err := <-l.done:
			l.ended(err)
		default:
		}
	}
}

func (l *life) ended(err error) {
	l.done = nil
	l.cancel(nil)
	l.o.note("-- the agent ends: %v", err)
	l.o.crashed = true
	switch {
	case errors.Is(err, worker.ErrTerminateAgent):
		if l.life() != entity.Dead {
			l.o.complain("the agent has ended for good, but the unit is %s", l.c.unit.Life)
		}
		l.dead = true
	case errors.Is(err, errCrash), errors.Is(err, errStop):
	default:
		l.o.complain("the agent has ended with %v", err)
	}
}

var errStop = errors.New("told to stop")

func (l *life) start() {
	if l.done != nil || l.dead {
		return
	}
	l.k.restart()
	l.k.mu.Lock()
	l.k.n, l.k.at = 0, 0
	if !l.quiet && l.chance(2) {
		l.k.at = 1 + l.rand.IntN(40)
	}
	l.k.mu.Unlock()
	ctx, cancel := context.WithCancelCause(context.Background())
	done := make(chan error, 1)
	l.cancel, l.done = cancel, done
	l.o.note("-- the agent starts")
	work := New(l.config)
	go func() { done <- work(ctx) }()
}

func (l *life) stop() {
	if l.done == nil {
		return
	}
	l.cancel(errStop)
	l.mu.Unlock()
	err := <-l.done
	l.mu.Lock()
	l.ended(err)
}

// resolve does what the user does about a failed hook.
func (l *life) resolve() {
	l.c.mu.Lock()
	waits := l.c.failure() != "" && l.c.unit.Resolved == entity.ResolvedNone
	l.c.mu.Unlock()
	if !waits || l.done == nil {
		return
	}
	word := entity.ResolvedRetry
	// Only a hook that has run is skipped, so that the oracle can tell. One that runs again
	// by itself meanwhile would leave nothing to skip.
	if l.o.last != nil && l.o.last.failed && !l.o.crashed && !l.c.retryHooks && l.chance(3) {
		word, l.o.passed = entity.ResolvedNoHooks, true
	}
	l.o.note("-- resolved: %s", word)
	l.c.change(func() { l.c.unit.Resolved = word })
}

func (l *life) play() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.start()
	for range 20 + l.rand.IntN(60) {
		l.happen()
		l.sleep(time.Duration(l.rand.IntN(3000)) * time.Millisecond)
		if l.chance(3) {
			l.resolve()
		}
		if l.chance(3) {
			l.start()
		}
	}
	l.settle()
	if l.life() == entity.Alive {
		l.checkCaughtUp()
		l.quiet = false
		l.destroy()
		for range l.rand.IntN(20) {
			l.happen()
			l.sleep(time.Duration(l.rand.IntN(3000)) * time.Millisecond)
			l.resolve()
			l.start()
		}
		l.settle()
	}
	if !l.dead {
		l.o.complain("the unit is %s, but its agent goes on", l.c.unit.Life)
		l.stop()
	}
	l.o.buried()
	for id, r := range l.c.relations {
		if r.info.InScope && !r.gone {
			l.o.complain("the unit has gone, and is in the scope of relation %d", id)
		}
	}
	if len(l.o.wrong) > 0 {
		l.t.Error(l.o)
	}
}

// settle pauses all events until the unit must have caught up.
func (l *life) settle() {
	l.o.note("-- the world holds still")
	l.quiet = true
	for range 100 {
		if l.dead {
			return
		}
		l.start()
		l.sleep(10 * time.Second)
		l.resolve()
		l.c.change(func() {
			if l.c.unit.Life != entity.Alive {
				l.c.unit.Subordinates = nil
			}
		})
	}
}

// checkCaughtUp compares what the charm knows with what is true.
func (l *life) checkCaughtUp() {
	for l.o.begun { // update-status runs even now
		l.sleep(time.Second)
	}
	l.o.conclude(&hooks.Info{}) // whatever ran last is over
	memory, unit := l.h.memory, l.c.unit
	if l.c.agent.Status != entity.StatusIdle || l.c.failure() != "" || memory.Op != nil {
		l.o.complain("the unit does not come to rest: %+v, %+v, %+v", l.c.agent, l.c.workload, memory.Op)
	}
	if memory.Charm != unit.ServiceCharmURL || unit.CharmURL != unit.ServiceCharmURL {
		l.o.complain("the charm is %s, state says %s, it should be %s", memory.Charm, unit.CharmURL, unit.ServiceCharmURL)
	}
	if memory.Config != localstate.ConfigOf(unit) {
		l.o.complain("config-changed was about %+v, but it is %+v", memory.Config, localstate.ConfigOf(unit))
	}
	told := len(l.o.settings) > 0 && l.o.settings[len(l.o.settings)-1] == unit.LeaderSettingsVersion
	if l.o.later && (l.c.leads != 0 && l.o.elected != l.c.leads || l.c.leads == 0 && !told) {
		l.o.complain("the unit leads by claim %d, the leader's settings have version %d, and its charm was told %d, %v",
			l.c.leads, unit.LeaderSettingsVersion, l.o.elected, l.o.settings)
	}
	for id, r := range l.c.relations {
		alive := !r.gone && r.info.Life == entity.Alive
		if r.info.InScope != alive && !r.gone {
			l.o.complain("relation %d is %s, and the unit's being in its scope is %v", id, r.info.Life, r.info.InScope)
		}
		var told map[string]int64
		if seen := l.o.relations[id]; seen != nil {
			told = seen.told
		}
		if alive && !maps.Equal(told, r.members) {
			l.o.complain("the charm was told that relation %d has %v, but it has %v", id, told, r.members)
		}
	}
}

func (l *life) destroy() {
	l.o.note("-- destroyed")
	l.c.change(func() {
		switch l.rand.IntN(4) {
		case 0:
			l.c.unit.ServiceLife = entity.Dying
		case 1:
			l.c.unit.OrphanedBySubRel = true
		case 2:
			l.c.unit.Life = entity.Dying
		case 3:
			l.c.unit.Life, l.c.unit.Strength = entity.Dying, entity.Force
			l.o.forced = time.Now()
		}
	})
}

func (l *life) life() entity.Life {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	return l.c.unit.Life
}

// scopes returns the relations in whose scope the unit is.
func (l *life) scopes() []int {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	var ids []int
	for id, r := range l.c.relations {
		if r.info.InScope && !r.gone {
			ids = append(ids, id)
		}
	}
	return ids
}

// anyRelation returns one that is there, or nil.
func (l *life) anyRelation() *relation {
	var all []*relation
	for _, id := range slices.Sorted(maps.Keys(l.c.relations)) {
		if r := l.c.relations[id]; !r.gone {
			all = append(all, r)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all[l.rand.IntN(len(all))]
}

// happen makes a random event happen.
func (l *life) happen() {
	l.next++
	what := l.rand.IntN(30)
	switch {
	case what == 0:
		l.stop()
		return
	case what == 1 && l.life() == entity.Alive && l.chance(3):
		l.stop()
		l.h.memory = localstate.State{}
		l.o.lost(l.scopes())
		return
	}
	l.c.change(func() {
		alive := l.c.unit.Life == entity.Alive && l.c.unit.ServiceLife == entity.Alive
		switch r := l.anyRelation(); {
		case what < 3:
			l.c.unit.ConfigVersion = int64(l.rand.IntN(1000))
			l.o.note("-- config %d", l.c.unit.ConfigVersion)
		case what == 3:
			l.c.unit.PrivateAddress = fmt.Sprintf("127.0.1.%d", l.next)
		case what < 6:
			l.c.unit.ServiceCharmURL = fmt.Sprintf("local:web-%d", 1+l.rand.IntN(3))
			l.c.unit.ForceCharm = l.chance(2)
			l.o.note("-- charm %s, force %v", l.c.unit.ServiceCharmURL, l.c.unit.ForceCharm)
		case what == 24:
			if l.c.leads = 0; l.chance(2) {
				l.c.leads = int64(l.next) // another unit may have led meanwhile
			}
			l.o.note("-- leads by claim %d", l.c.leads)
		case what == 25:
			l.c.unit.LeaderSettingsVersion = int64(l.next)
			l.o.note("-- the leader's settings have version %d", l.next)
		case what == 23:
			l.c.retryHooks = !l.c.retryHooks
			l.o.note("-- failed hooks run again by themselves: %v", l.c.retryHooks)
		case what == 6 && alive:
			l.c.unit.Subordinates = append(slices.Clone(l.c.unit.Subordinates), fmt.Sprintf("log/%d", l.next))
		case what < 10 && alive:
			members := map[string]int64{}
			for i := range l.rand.IntN(4) {
				members[fmt.Sprintf("mysql/%d", i)] = 1
			}
			endpoint := []string{"db", "ring", "not-yet"}[l.rand.IntN(8)%3]
			if endpoint == "not-yet" && l.chance(2) {
				return // no charm of ours has it
			}
			if endpoint == "not-yet" {
				endpoint = "db"
			}
			l.c.relations[l.next] = newRelation(l.next, endpoint, "mysql", members)
			l.o.note("-- relation %d with %d units", l.next, len(members))
		case r == nil:
		case what < 14:
			r.members = maps.Clone(r.members)
			r.members[fmt.Sprintf("mysql/%d", l.next)] = 1
		case what < 20:
			if units := slices.Sorted(maps.Keys(r.members)); len(units) > 0 {
				r.members = maps.Clone(r.members)
				if l.chance(2) {
					r.members[units[0]] = int64(l.rand.IntN(100))
				} else {
					delete(r.members, units[0])
				}
			}
		case what < 22:
			r.info.Life = entity.Dying
			r.gone = !r.info.InScope
			l.o.note("-- relation %d is destroyed", r.info.ID)
		case what == 22 && l.chance(4):
			r.gone = true
			l.o.relation(r.info.ID).removed = true
			l.o.note("-- relation %d is removed by force", r.info.ID)
		}
	})
}
