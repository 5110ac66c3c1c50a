package operation

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"juju/worker/uniter/localstate"
)

// A script is an operation that logs its steps, and a store that logs its writes. Each step
// marks the state with its name.
type script struct {
	log   []string
	fails string // the step or write that fails
	err   error  // errFails if nil
	times int    // how often it fails; 0 for always
	skip  bool
	once  bool // nothing to commit
}

var errFails = errors.New("fails")

func (s *script) note(what string) error {
	s.log = append(s.log, what)
	if what != s.fails {
		return nil
	}
	if s.times--; s.times == 0 {
		s.fails = ""
	}
	return cmp.Or(s.err, errFails)
}

func (s *script) step(name string, from localstate.State) (localstate.State, error) {
	from.Charm += name
	return from, s.note(name + " from " + strings.TrimSuffix(from.Charm, name))
}

func (s *script) Write(state localstate.State) error { return s.note("write " + state.Charm) }
func (s *script) String() string                     { return "act" }
func (s *script) History() string                    { return "" }

func (s *script) Prepare(_ context.Context, from localstate.State) (localstate.State, error) {
	to, err := s.step("P", from)
	if s.skip && err == nil {
		err = errSkipExecute
	}
	return to, err
}

func (s *script) Execute(
	_ context.Context, from localstate.State, persist func(localstate.State) error,
) (localstate.State, error) {
	begun := from
	begun.Charm += "e"
	if err := persist(begun); err != nil {
		return from, err
	}
	to, err := s.step("E", begun)
	if s.once && err == nil {
		err = errSkipCommit
	}
	return to, err
}

func (s *script) Commit(ctx context.Context, from localstate.State) (localstate.State, error) {
	if ctx.Err() != nil {
		return from, ctx.Err()
	}
	return s.step("C", from)
}

func TestEachStepIsOnDiskBeforeTheNextBegins(t *testing.T) {
	all := []string{"P from -", "write -P", "write -Pe", "E from -Pe", "write -PeE", "C from -PeE", "write -PeEC"}
	s := &script{}
	e := NewExecutor(s, localstate.State{Charm: "-"})
	if err := e.Run(t.Context(), s); err != nil || !slices.Equal(s.log, all) || e.State().Charm != "-PeEC" {
		t.Errorf("did %q, then %v, in state %q", s.log, err, e.State().Charm)
	}

	// After a failure nothing else runs, and the state is the last that was written.
	for i, step := range all {
		s := &script{fails: step}
		e := NewExecutor(s, localstate.State{Charm: "-"})
		if err := e.Run(t.Context(), s); !errors.Is(err, errFails) || !slices.Equal(s.log, all[:i+1]) {
			t.Errorf("when %q fails: did %q, then %v", step, s.log, err)
		}
		want := "-"
		for _, done := range all[:i] {
			if state, ok := strings.CutPrefix(done, "write "); ok {
				want = state
			}
		}
		if got := e.State().Charm; got != want {
			t.Errorf("when %q fails: state %q, want %q", step, got, want)
		}
	}

	s = &script{skip: true}
	if err := NewExecutor(s, localstate.State{Charm: "-"}).Run(t.Context(), s); err != nil ||
		!slices.Equal(s.log, []string{"P from -", "write -P", "C from -P", "write -PC"}) {
		t.Errorf("with nothing to execute: did %q, then %v", s.log, err)
	}

	s = &script{once: true}
	if err := NewExecutor(s, localstate.State{Charm: "-"}).Run(t.Context(), s); err != nil ||
		!slices.Equal(s.log, all[:len(all)-2]) {
		t.Errorf("with nothing to commit: did %q, then %v", s.log, err)
	}
}

// On a full disk an operation waits for room, whichever write fails, and runs once. An agent
// that is told to stop does not wait.
func TestOperationWaitsForRoomOnTheDisk(t *testing.T) {
	full := &os.PathError{Op: "write", Path: "state.new", Err: syscall.ENOSPC}
	synctest.Test(t, func(t *testing.T) {
		for _, write := range []string{"write P", "write Pe", "write PeE", "write PeEC"} {
			s := &script{fails: write, err: full, times: 90}
			began := time.Now()
			e := NewExecutor(s, localstate.State{})
			var told []error
			e.Full = func(_ context.Context, err error) { told = append(told, err) }
			if err := e.Run(t.Context(), s); err != nil {
				t.Errorf("%s: %v", write, err)
			}
			if want := []error{full, nil}; !slices.Equal(told, want) {
				t.Errorf("%s: it was told %v, want %v", write, told, want)
			}
			if took := time.Since(began); took != 90*time.Second {
				t.Errorf("%s: it took %v", write, took)
			}
			if got := slices.Compact(s.log); len(got) != 7 {
				t.Errorf("%s: did %q", write, got)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		s := &script{fails: "write P", err: full, times: 1000}
		if err := NewExecutor(s, localstate.State{}).Run(ctx, s); !errors.Is(err, syscall.ENOSPC) || ctx.Err() == nil {
			t.Errorf("told to stop: %v", err)
		}
	})
}

// An agent that is told to stop commits what it has executed.
func TestStopBeforeCommit(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := &script{}
	if err := NewExecutor(s, localstate.State{}).Run(ctx, s); err != nil || s.log[len(s.log)-1] != "write PeEC" {
		t.Errorf("did %q, then %v", s.log, err)
	}
}

// A committer's commit takes a given time, unless its context ends.
type committer struct {
	script
	takes time.Duration
}

func (c *committer) Commit(ctx context.Context, from localstate.State) (localstate.State, error) {
	select {
	case <-time.After(c.takes):
		return c.script.Commit(ctx, from)
	case <-ctx.Done():
		return from, context.Cause(ctx)
	}
}

// A commit waits while the controller's store elects a primary or the controller is
// restarted. Only an agent that is told to stop does not wait for long.
func TestCommitTimeout(t *testing.T) {
	for name, c := range map[string]struct {
		takes, stop time.Duration // when the agent is told to stop; 0 is never
		commits     bool
	}{
		"as an election does":                   {15 * time.Second, 0, true},
		"as a controller's restart may":         {4 * time.Minute, 0, true},
		"told to stop, a little more":           {19 * time.Second, 10 * time.Second, true},
		"told to stop, longer than the timeout": {time.Minute, 10 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.stop > 0 {
					time.AfterFunc(c.stop, cancel)
				}
				s := &committer{takes: c.takes}
				began := time.Now()
				err := NewExecutor(s, localstate.State{}).Run(ctx, s)
				if took := time.Since(began); (err == nil) != c.commits || !c.commits && took != c.stop+commitTimeout {
					t.Errorf("%v after %v", err, took)
				}
			})
		})
	}
}
