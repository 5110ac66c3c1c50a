package leadership

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"juju/state/entity"
)

const halfTerm = Term / 2

var web0, web1 = entity.UnitTag("web/0"), entity.UnitTag("web/1")

// A controller has the lease of one service. It keeps a promise from the moment at which it gets
// the claim.
type controller struct {
	mu       sync.Mutex
	holder   entity.Tag
	epoch    int64
	until    time.Time
	claims   int
	blocks   int  // calls that waited for a release
	blocked  int  // that wait now
	released int  // calls that gave a leadership back
	refuses  bool // the unit is not Alive
	wake     chan struct{}
	// delay is called before and after each request: it may wait, and fail.
	delay func(ctx context.Context) error
}

func newController() *controller { return &controller{wake: make(chan struct{})} }

func (c *controller) around(ctx context.Context, f func() error) error {
	if c.delay != nil {
		if err := c.delay(ctx); err != nil {
			return err
		}
	}
	c.mu.Lock()
	err := f()
	c.mu.Unlock()
	if c.delay != nil {
		if err := c.delay(ctx); err != nil {
			return err
		}
	}
	return err
}

func (c *controller) ClaimLeadership(ctx context.Context, unit entity.Tag, d time.Duration) (epoch int64, err error) {
	err = c.around(ctx, func() error {
		c.claims++
		if c.refuses || c.holder != unit && time.Now().Before(c.until) {
			return entity.Errorf(entity.LeadershipRefused, "leadership claim denied")
		}
		if c.holder != unit {
			c.holder, c.epoch = unit, c.epoch+1
		}
		c.until = time.Now().Add(d)
		epoch = c.epoch
		return nil
	})
	return epoch, err
}

func (c *controller) ReleaseLeadership(ctx context.Context, unit entity.Tag) error {
	return c.around(ctx, func() error {
		c.released++
		if c.holder == unit {
			c.holder, c.until = entity.Tag{}, time.Time{}
			close(c.wake)
			c.wake = make(chan struct{})
		}
		return nil
	})
}

func (c *controller) BlockUntilLeadershipReleased(ctx context.Context, _ entity.Tag) error {
	c.mu.Lock()
	c.blocks++
	c.blocked++
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		c.blocked--
		c.mu.Unlock()
	}()
	for {
		c.mu.Lock()
		left, wake := time.Until(c.until), c.wake
		c.mu.Unlock()
		if left <= 0 {
			return nil
		}
		select {
		case <-time.After(left):
		case <-wake:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// begin runs a tracker of the unit; end stops it and waits until it has stopped.
func begin(t *testing.T, c *controller, unit entity.Tag) (tracker *Tracker, end func()) {
	ctx, cancel := context.WithCancel(t.Context())
	tracker = NewTracker(c, unit, Term)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tracker.Run(ctx)
	}()
	end = sync.OnceFunc(func() {
		cancel()
		<-done
	})
	t.Cleanup(end)
	return tracker, end
}

func leads(t *testing.T, tracker *Tracker, want int64) {
	t.Helper()
	synctest.Wait()
	if epoch, known := tracker.Epoch(); epoch != want || !known {
		t.Errorf("%s leads by epoch %d (%v), want %d", tracker.unit.ID, epoch, known, want)
	}
}

func TestALeaderRenewsAtHalfOfItsTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newController()
		if epoch, known := NewTracker(c, web0, Term).Epoch(); epoch != 0 || known {
			t.Errorf("before the first answer: epoch %d, known %v", epoch, known)
		}
		first, end := begin(t, c, web0)
		defer end()
		leads(t, first, 1)
		second, end := begin(t, c, web1)
		defer end()
		leads(t, second, 0)
		time.Sleep(time.Hour + time.Second)
		leads(t, first, 1)
		leads(t, second, 0)
		if c.claims < 120 || c.claims > 140 {
			t.Errorf("%d claims in an hour", c.claims)
		}
	})
}

// Whatever the controller does not answer, a unit stops to lead when its term is over, counted
// from before its last claim that was granted.
func TestALeaderWithoutAControllerLeadsToTheEndOfItsTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newController()
		var away sync.Map
		slow := 10 * time.Second
		c.delay = func(ctx context.Context) error {
			if _, is := away.Load(true); is {
				<-ctx.Done()
				return context.Cause(ctx)
			}
			time.Sleep(slow)
			return nil
		}
		tracker, end := begin(t, c, web0)
		defer end()
		time.Sleep(2*slow + time.Second) // the claim of the start was granted
		leads(t, tracker, 1)
		<-tracker.Changed()
		away.Store(true, true)
		time.Sleep(Term - 2*slow - time.Second - time.Millisecond)
		leads(t, tracker, 1)
		time.Sleep(time.Millisecond)
		leads(t, tracker, 0)
		select {
		case <-tracker.Changed():
		default:
			t.Error("the end of the term is no change")
		}
		away.Delete(true)
		time.Sleep(2 * Term)
		leads(t, tracker, 1) // no other unit has led
	})
}

func TestARetiredLeaderLeadsToTheEndOfItsTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newController()
		first, end := begin(t, c, web0)
		defer end()
		leads(t, first, 1)
		second, end := begin(t, c, web1)
		defer end()
		leads(t, second, 0)
		first.Retire(true)
		time.Sleep(Term - time.Millisecond)
		leads(t, first, 1)
		leads(t, second, 0)
		time.Sleep(time.Millisecond)
		leads(t, first, 0)
		leads(t, second, 2)
		claims := c.claims
		second.Retire(true)
		time.Sleep(time.Hour)
		if leads(t, second, 0); c.claims != claims {
			t.Errorf("retired units have made %d claims", c.claims-claims)
		}
		second.Retire(false) // its service is dying too
		leads(t, second, 2)
	})
}

// A unit that the controller knows to be Dying, and that does not know it yet, asks now and
// then.
func TestAUnitThatCannotLeadDoesNotAskAllTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newController()
		c.refuses = true
		tracker, end := begin(t, c, web0)
		defer end()
		time.Sleep(time.Minute)
		if leads(t, tracker, 0); c.claims > 25 {
			t.Errorf("%d claims in a minute", c.claims)
		}
	})
}

func TestLeadKeepsItsPromise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newController()
		tracker, end := begin(t, c, web0)
		defer end()
		for range 500 {
			time.Sleep(rand.N(20 * time.Second))
			epoch, err := tracker.Lead(t.Context(), halfTerm)
			c.mu.Lock()
			left := time.Until(c.until)
			c.mu.Unlock()
			if err != nil || epoch != 1 || left < halfTerm {
				t.Fatalf("epoch %d, %v, with %v left", epoch, err, left)
			}
		}
		// Longer than any term.
		if epoch, err := tracker.Lead(t.Context(), Term+time.Second); epoch != 0 || err != nil {
			t.Errorf("for longer than a term: %d, %v", epoch, err)
		}
		// When it can't be renewed, it can't be promised.
		time.Sleep(halfTerm / 2)
		tracker.Retire(true)
		c.mu.Lock()
		c.refuses = true
		c.mu.Unlock()
		time.Sleep(halfTerm)
		if epoch, err := tracker.Lead(t.Context(), halfTerm); epoch != 0 || err != nil {
			t.Errorf("not renewed: %d, %v", epoch, err)
		}
		// But until the end of the term, the unit leads.
		now, _ := tracker.Epoch()
		if epoch, err := tracker.Lead(t.Context(), 0); epoch != now || err != nil {
			t.Errorf("to the end of the term: %d, %v, and not %d", epoch, err, now)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c := newController()
		away := entity.Errorf(entity.Unavailable, "the controller is away")
		c.delay = func(context.Context) error { return away }
		if epoch, err := NewTracker(c, web0, Term).Lead(t.Context(), halfTerm); epoch != 0 || !errors.Is(err, away) {
			t.Errorf("nothing is known: %d, %v", epoch, err)
		}
	})
}

func TestReleasedLeadershipIsClaimedImmediately(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newController()
		first, end := begin(t, c, web0)
		leads(t, first, 1)
		second, end2 := begin(t, c, web1)
		defer end2()
		leads(t, second, 0)
		time.Sleep(2 * minBlockPause)
		end()
		leads(t, first, 1)
		first.Release(t.Context())
		leads(t, first, 0)
		leads(t, second, 2)
		first.Release(t.Context()) // it does not lead
		leads(t, second, 2)
	})
}

// Under random delays, outages, stops and releases no two units believe at once that they lead.
func TestAtMostOneUnitBelievesThatItLeads(t *testing.T) {
	terms := 0
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 0))
			var mu sync.Mutex
			n := func(d time.Duration) time.Duration {
				mu.Lock()
				defer mu.Unlock()
				return time.Duration(r.Int64N(int64(d)))
			}
			c := newController()
			c.delay = func(ctx context.Context) error {
				wait := n(time.Second)
				if n(10) == 0 {
					wait = n(2 * Term)
				}
				select {
				case <-time.After(wait):
				case <-ctx.Done():
					return context.Cause(ctx)
				}
				if n(10) == 0 {
					return entity.Errorf(entity.Unavailable, "the connection is lost")
				}
				return nil
			}
			trackers, ends := []*Tracker{nil, nil, nil}, []func(){nil, nil, nil}
			led := map[int64]bool{}
			for range 2000 {
				i := int(n(3))
				switch {
				case trackers[i] == nil:
					trackers[i], ends[i] = begin(t, c, entity.UnitTag([]string{"web/0", "web/1", "web/2"}[i]))
				case n(100) == 0:
					ends[i]()
					if n(2) == 0 {
						trackers[i].Release(t.Context())
					}
					trackers[i] = nil
				}
				time.Sleep(n(2 * time.Second))
				leaders := 0
				for _, tracker := range trackers {
					if tracker == nil {
						continue
					}
					if epoch, _ := tracker.Epoch(); epoch != 0 {
						led[epoch] = true
						leaders++
					}
				}
				if leaders > 1 {
					t.Fatalf("seed %d: %d leaders", seed, leaders)
				}
			}
			terms += len(led)
			for _, end := range ends {
				if end != nil {
					end()
				}
			}
		})
	}
	if terms < 60 {
		t.Errorf("only %d terms in all: leadership hardly ever passes on", terms)
	}
}

func changed(t *testing.T, tracker *Tracker, want bool, when string) {
	t.Helper()
	synctest.Wait()
	select {
	case <-tracker.Changed():
		if !want {
			t.Errorf("%s is a change", when)
		}
	default:
		if want {
			t.Errorf("%s is no change", when)
		}
	}
}

// Each time that a unit begins or ceases to lead is a change, and so is the first answer; a renewal is none.
func TestChangesOfTheLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newController()
		first, _ := begin(t, c, web0)
		changed(t, first, true, "the first claim")
		second, _ := begin(t, c, web1)
		changed(t, second, true, "the first refusal")
		time.Sleep(Term)
		changed(t, first, false, "a renewal")
		changed(t, second, false, "another refusal")
		first.Retire(true)
		time.Sleep(Term)
		changed(t, first, true, "the end of a retired leader's term")
		changed(t, second, true, "its successor's claim")
		if c.blocked != 0 {
			t.Errorf("%d units wait for a release", c.blocked)
		}
	})
}

// A unit that is retired while another leads stops waiting for its release.
func TestARetiredUnitWaitsForNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newController()
		begin(t, c, web0)
		synctest.Wait()
		second, _ := begin(t, c, web1)
		synctest.Wait()
		if c.blocked != 1 {
			t.Errorf("%d units wait for a release, want 1", c.blocked)
		}
		second.Retire(true)
		synctest.Wait()
		if c.blocked != 0 {
			t.Error("the retired unit still waits")
		}
	})
}

// A unit waits for a release only if it was refused, and gives back only a leadership whose term is not over.
func TestOutagesAreNotRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newController()
		var away atomic.Bool
		c.delay = func(context.Context) error {
			if away.Load() {
				return entity.Errorf(entity.Unavailable, "the connection is lost")
			}
			return nil
		}
		tracker, end := begin(t, c, web0)
		leads(t, tracker, 1)
		away.Store(true)
		time.Sleep(2 * Term)
		leads(t, tracker, 0)
		if c.blocks != 0 {
			t.Errorf("it has waited %d times for a release", c.blocks)
		}
		end()
		away.Store(false)
		if tracker.Release(t.Context()); c.released != 0 {
			t.Error("it gives back what it does not have")
		}
	})
}

// At the very end of its term, a unit does not lead any more, whether or not anything has noticed. A clock
// that stood still while the machine slept, or was set back, does not make the term longer.
func TestATermEndsByItself(t *testing.T) {
	for clocks, late := range map[string]func(*Tracker){
		"both clocks agree":               func(*Tracker) {},
		"the monotonic clock stood still": func(tracker *Tracker) { tracker.until = tracker.until.Add(Term) },
		"the wall clock was set back":     func(tracker *Tracker) { tracker.wall = tracker.wall.Add(Term) },
	} {
		synctest.Test(t, func(t *testing.T) {
			tracker := NewTracker(newController(), web0, Term)
			if epoch, err := tracker.Lead(t.Context(), halfTerm); epoch != 1 || err != nil {
				t.Fatalf("%s: epoch %d, %v", clocks, epoch, err)
			}
			late(tracker)
			time.Sleep(Term - time.Nanosecond)
			leads(t, tracker, 1)
			time.Sleep(time.Nanosecond)
			if epoch, _ := tracker.Epoch(); epoch != 0 {
				t.Errorf("%s: it leads after its term", clocks)
			}
		})
	}
}
