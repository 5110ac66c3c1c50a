package uniter

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
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
// units, to hooks, to the agent and to its machine. What happens and what the hooks are told is
// written into a journal, which is checked against what charms are promised. Whenever events pause,
// the unit must have caught up. The test's name has the seed of a life that goes wrong.
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
	t    *testing.T
	mu   sync.Mutex // guards what follows; held by the player except in sleep
	rand *rand.Rand
	c    *controller
	h    *notedHost
	k    *crasher
	*journal
	agent  Config
	cancel context.CancelCauseFunc
	done   chan error // of the agent; nil when it doesn't run
	next   int        // the number of the next unit, relation or charm
	dead   bool
	quiet  bool // hooks don't fail and nothing crashes

	machine int      // the number of the one that the unit is on
	later   bool     // the charm has all of charm.LaterHooks
	running bool     // a hook runs
	config  string   // what the journal says that config-changed is about
	skips   bool     // the hook that ran last has failed, and would be skipped
	lent    []string // storage that the unit has ever had, but for what force took
}

func newLife(t *testing.T, seed uint64) *life {
	l := &life{t: t, rand: rand.New(rand.NewPCG(seed, 7)), c: newController(), h: newNotedHost(), k: &crasher{},
		journal: newJournal(t), machine: 1}
	l.checker.Lag = 6 // tasks and some hooks take no time, and news of relations takes some
	l.later = l.chance(2)
	l.h.has.Dispatch = l.later
	l.h.run = l.hook
	l.c.onCall = func(method string, do func() error) error {
		err := l.k.around(method, do)
		if method == "EnterScope" {
			scopes := l.scopes()
			l.mu.Lock()
			defer l.mu.Unlock()
			l.entered(scopes)
		}
		return err
	}
	l.agent = Config{API: l.c, Leadership: l.c, Unit: entity.UnitTag("web/0"),
		newHost: func(Config) (*host, error) { return l.k.host(l.h.host()), nil }}
	return l
}

// chance is true with a probability of 1 in n.
func (l *life) chance(n int) bool { return l.rand.IntN(n) == 0 }

// hook is every hook and task: it takes a while, and may fail.
func (l *life) hook(ctx context.Context, hctx *hooks.Context) error {
	l.mu.Lock()
	fails, takes := !l.quiet && l.chance(12), time.Duration(l.rand.IntN(2000))*time.Millisecond
	name, op := hctx.HookName(), l.h.memory.Op
	if op.Kind == localstate.RunTask {
		l.note("task web/0 %s", op.Task)
	} else {
		l.note("begin web/0 %s at=m%d later=%v%s", name, l.machine, l.later, keys(name, l.h.memory))
	}
	l.running = true
	l.mu.Unlock()
	timer := time.NewTimer(takes)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		fails = fails || context.Cause(ctx) == hooks.ErrAbort
	}
	if !fails {
		l.answer(op.Hook)
		time.Sleep(time.Millisecond) // all watches know
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	code := 0
	if fails {
		code = 1
	}
	l.running = false
	if op.Kind == localstate.RunTask {
		l.note("done web/0 %s", op.Task)
	} else {
		l.note("end web/0 %d", code)
		l.skips = fails
	}
	if fails {
		return &hooks.FailedError{Hook: name, ExitCode: 1, Reason: "exit status 1"}
	}
	return nil
}

// answer has the other unit of a chatty relation set something when the unit has heard of it.
func (l *life) answer(hook hooks.Info) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if hook.Kind != hooks.RelationChanged || hook.RemoteUnit == "" || l.quiet {
		return
	}
	l.c.change(func() {
		r := l.c.relations[hook.RelationID]
		if _, ok := r.members[hook.RemoteUnit]; ok && r.chatty {
			r.members = maps.Clone(r.members)
			r.members[hook.RemoteUnit]++
			l.noteMembers(r)
		}
	})
}

// noteMembers notes which units are at the other end of a relation, none if that is not Alive.
func (l *life) noteMembers(r *relation) {
	line := "members web/0 " + relationID(r.info.Endpoint, r.info.ID)
	for unit, version := range r.members {
		if r.info.Life == entity.Alive && !r.gone {
			line += fmt.Sprintf(" %s@%d", unit, version)
		}
	}
	l.note("%s", line)
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
	l.note("# the agent ends: %v", err)
	switch {
	case errors.Is(err, worker.ErrTerminateAgent):
		if l.life() != entity.Dead {
			l.complain("the agent has ended for good, but the unit is %s", l.c.unit.Life)
		}
		l.dead = true
	case errors.Is(err, errCrash), errors.Is(err, errStop):
		l.note("killed web/0")
		l.skips = false // another hook may have failed before it could begin
		for _, t := range l.c.tasks {
			if t.Status == entity.TaskRunning { // and a task may be over before it could
				l.note("cancelled web/0 %s", t.ID)
			}
		}
	default:
		l.complain("the agent has ended with %v", err)
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
	l.note("# the agent starts")
	work := New(l.agent)
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
	said := "retry"
	// One that runs again by itself meanwhile would leave nothing to skip.
	if l.skips && !l.c.retryHooks && l.chance(3) {
		word, said = entity.ResolvedNoHooks, "no-retry"
	}
	l.note("resolved web/0 %s", said)
	l.c.change(func() { l.c.unit.Resolved = word })
}

func (l *life) play() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.noteConfig()
	l.note("leads web/0 0")
	l.note("led web 0")
	l.noteStorage()
	for range l.rand.IntN(3) {
		l.next++
		l.addStorage()
	}
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
		l.complain("the unit is %s, but its agent goes on", l.c.unit.Life)
		l.stop()
	}
	l.note("gone web/0")
	for id, r := range l.c.relations {
		if r.info.InScope && !r.gone {
			l.complain("the unit has gone, and is in the scope of relation %d", id)
		}
	}
	l.report()
}

// settle pauses all events until the unit must have caught up.
func (l *life) settle() {
	l.note("# the world holds still")
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
			l.provide(len(l.c.unit.Storage))
		})
	}
}

// checkCaughtUp compares what the charm knows with what is true.
func (l *life) checkCaughtUp() {
	for n := 0; l.running && n < 60; n++ { // update-status runs even now
		l.sleep(time.Second)
	}
	memory, unit := l.h.memory, l.c.unit
	if l.c.agent.Status != entity.StatusIdle || l.c.failure() != "" || memory.Op != nil {
		l.complain("the unit does not come to rest: %+v, %+v, %+v", l.c.agent, l.c.workload, memory.Op)
	}
	if memory.Charm != unit.ServiceCharmURL || unit.CharmURL != unit.ServiceCharmURL {
		l.complain("the charm is %s, state says %s, it should be %s", memory.Charm, unit.CharmURL, unit.ServiceCharmURL)
	}
	if memory.Config != localstate.ConfigOf(unit) {
		l.complain("config-changed was about %+v, but it is %+v", memory.Config, localstate.ConfigOf(unit))
	}
	for _, event := range unit.Secrets {
		if !event.OfService || l.c.leads != 0 {
			l.complain("the unit was not told of %+v", event)
		}
	}
	for _, task := range l.c.refs() {
		l.complain("task %s is %s", task.ID, task.Status)
	}
	l.noteStorage()
	l.checker.ForgetMembers()
	l.note("members web/0 none:0")
	for id, r := range l.c.relations {
		alive := !r.gone && r.info.Life == entity.Alive
		if r.info.InScope != alive && !r.gone {
			l.complain("relation %d is %s, and the unit's being in its scope is %v", id, r.info.Life, r.info.InScope)
		}
		if alive {
			l.noteMembers(r)
		}
	}
	l.note("settled")
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

// entered notes the relations in whose scope the unit is.
func (l *life) entered(scopes []int) {
	for _, id := range scopes {
		l.note("entered web/0 %s", relationID(l.c.relations[id].info.Endpoint, id))
	}
}

// noteConfig notes what config-changed is about from now on.
func (l *life) noteConfig() {
	if is := configOf(localstate.ConfigOf(l.c.unit)); is != l.config {
		l.config = is
		l.note("config web %s", is)
	}
}
