package hooks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"juju/agent/host/lockfile"
	"juju/doc/tools/verify"
)

// A hook is over when its own process is, whatever it has left running. A child in the
// background goes on printing to the log, but its tools are refused, both between hooks and
// during the next one.
func TestBackgroundChildLivesOn(t *testing.T) {
	verify.Only(t, "starts real processes and takes their time")
	t.Parallel()
	r := newRig(t, map[string]string{
		"start": `
			trap '' HUP
			(
				read line < cmd; echo "daemon heard $line"
				read line < cmd; config-get title; echo "between: $?"
				read line < cmd; relation-set -r db:0 evil=yes; echo "later: $?"
				echo bye > events
			) &
			echo started`,
		"config-changed": "echo running > events; read line < go",
	})
	cmd, events, proceed := newFIFO(t, filepath.Join(r.params.CharmDir, "cmd")),
		newFIFO(t, filepath.Join(r.params.CharmDir, "events")), newFIFO(t, filepath.Join(r.params.CharmDir, "go"))
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	await := func(line string) {
		t.Helper()
		if err := r.log.await(ctx, line); err != nil {
			t.Fatal(err)
		}
	}
	r.mustRun(Info{Kind: Start})
	await("unit.wordpress/0.start INFO started")
	cmd.say("hello")
	await("unit.wordpress/0 INFO daemon heard hello")
	cmd.say("between")
	await("unit.wordpress/0 INFO hint: a hook tool works only while the hook that started it runs")
	await("unit.wordpress/0 INFO between: 1")

	done := make(chan error, 1)
	var hctx *Context
	go func() {
		var err error
		hctx, err = r.runWith(ctx, Info{Kind: ConfigChanged})
		done <- err
	}()
	if got := events.next(); got != "running" {
		t.Fatalf("got %q", got)
	}
	cmd.say("later")
	await("unit.wordpress/0.config-changed INFO ERROR hook context is over")
	await("unit.wordpress/0.config-changed INFO later: 1")
	proceed.say("on")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if !hctx.Changes().IsEmpty() {
		t.Errorf("an old hook's child has written %v", hctx.Changes())
	}
	if got := events.next(); got != "bye" {
		t.Fatalf("got %q", got)
	}
	awaitGone(t, r.started[0])
}

// Hooks of one machine run one at a time, also those of different units, and the wait can be
// cancelled.
func TestOneHookAtATime(t *testing.T) {
	t.Parallel()
	first := newRig(t, map[string]string{"start": "echo in > events; read line < go; echo out > events"})
	second := newRig(t, map[string]string{"start": "echo 'other in' > " + first.params.CharmDir + "/events"})
	second.params.LockPath = first.params.LockPath
	second.open()
	events, proceed := newFIFO(t, filepath.Join(first.params.CharmDir, "events")),
		newFIFO(t, filepath.Join(first.params.CharmDir, "go"))

	results := make(chan error, 2)
	run := func(ctx context.Context, r *rig) {
		_, err := r.runWith(ctx, Info{Kind: Start})
		results <- err
	}
	go run(context.Background(), first)
	if got := events.next(); got != "in" {
		t.Fatalf("got %q", got)
	}
	bound, done := context.WithTimeout(context.Background(), patience)
	defer done()
	waits := func() {
		t.Helper()
		line := `juju.hooks INFO "start" hook waits for the machine lock: hook "start" of unit wordpress/0 runs`
		if err := second.log.await(bound, line); err != nil {
			t.Fatal(err)
		}
		second.log.take()
	}
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	go run(ctx, second)
	waits()
	cancel(enough)
	if err := <-results; !errors.Is(err, enough) {
		t.Fatalf("waiting ended with %v", err)
	}
	// A hook that is exempt neither waits nor keeps others waiting. One that waits says so, and goes on when it
	// becomes exempt.
	for _, waits := range []bool{false, true} {
		params := testParams(Info{Kind: Start})
		holders, exempt := make(chan string, 1), make(chan struct{})
		if !waits {
			close(exempt)
		}
		params.LockExempt = exempt
		params.Waiting = func(_ context.Context, holder string) { holders <- holder }
		hctx, err := NewContext(second.backend, params)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			results <- second.runner.Run(context.Background(), hctx, second.record)
		}()
		if waits {
			select {
			case got := <-holders:
				if got != `the machine lock is held by hook "start" of unit wordpress/0` {
					t.Errorf("it waits because %s", got)
				}
			case <-bound.Done():
				t.Error("it does not say that it waits")
			}
			close(exempt)
		}
		if got := events.next(); got != "other in" {
			t.Fatalf("got %q", got)
		}
		if err := <-results; err != nil || len(holders) > 0 {
			t.Errorf("an exempt hook ended with %v, waited for %d", err, len(holders))
		}
	}
	// One that is not exempt gets its turn.
	go run(context.Background(), second)
	waits()
	proceed.say("on")
	for _, want := range []string{"out", "other in"} {
		if got := events.next(); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
	for range 2 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	if len(second.started) != 3 {
		t.Errorf("recorded %v, want three processes", second.started)
	}
}

// Hooks of different machines run at the same time, but for those that need the host's lock. One that waits for it holds
// its own machine's lock, and becoming exempt ends its wait too.
func TestTheLockOfTheHost(t *testing.T) {
	t.Parallel()
	script := map[string]string{"start": "echo in > events; read line < go; echo out > events"}
	first, second, third := newRig(t, script), newRig(t, script), newRig(t, map[string]string{"start": "true"})
	second.params.HostLockPath, third.params.HostLockPath = first.params.HostLockPath, first.params.HostLockPath
	second.open()
	third.open()
	fifos := func(r *rig) (events, proceed *fifo) {
		return newFIFO(t, filepath.Join(r.params.CharmDir, "events")), newFIFO(t, filepath.Join(r.params.CharmDir, "go"))
	}
	firstSays, firstGo := fifos(first)
	secondSays, secondGo := fifos(second)
	exempt, waits := make(chan struct{}), make(chan string, 1)
	results := make(chan error, 2)
	run := func(r *rig) {
		params := testParams(Info{Kind: Start})
		params.HostLock, params.LockExempt = true, exempt
		params.Waiting = func(_ context.Context, why string) { waits <- why }
		hctx, err := NewContext(r.backend, params)
		if err == nil {
			err = r.runner.Run(context.Background(), hctx, r.record)
		}
		results <- err
	}
	go run(first)
	firstSays.next()
	third.mustRun(Info{Kind: Start}) // it does not need the lock
	go run(second)
	bound, done := context.WithTimeout(context.Background(), patience)
	defer done()
	select {
	case why := <-waits:
		if why != `the host lock is held by hook "start" of unit wordpress/0` {
			t.Errorf("it waits because %s", why)
		}
	case err := <-results:
		t.Fatalf("two hooks have the host's lock (%v)", err)
	case <-bound.Done():
		t.Fatal("it does not say that it waits")
	}
	line := `juju.hooks INFO "start" hook waits for the host lock: hook "start" of unit wordpress/0 runs`
	if err := second.log.await(bound, line); err != nil {
		t.Error(err)
	}
	if held, err := lockfile.IsHeld(second.params.LockPath); !held || err != nil {
		t.Errorf("its machine is free meanwhile (%v)", err)
	}
	close(exempt)
	secondSays.next()
	for _, path := range []string{second.params.LockPath, third.params.LockPath} {
		if held, err := lockfile.IsHeld(path); held || err != nil {
			t.Errorf("an exempt hook holds its machine's lock (%v)", err)
		}
	}
	firstGo.say("on")
	secondGo.say("on")
	for range 2 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
}

// A machine that is gone, with its lock, keeps no hook of another one from the host's lock.
func TestTheLockOfTheHostOutlivesMachines(t *testing.T) {
	t.Parallel()
	host, machine := filepath.Join(t.TempDir(), "host"), t.TempDir()
	for i, path := range []string{filepath.Join(machine, "lock"), filepath.Join(t.TempDir(), "lock")} {
		r := newRig(t, map[string]string{"start": "true"})
		r.params.LockPath, r.params.HostLockPath = path, host
		r.open()
		params := testParams(Info{Kind: Start})
		params.HostLock = true
		hctx, err := NewContext(r.backend, params)
		if err == nil {
			err = r.runner.Run(t.Context(), hctx, r.record)
		}
		if err != nil {
			t.Fatalf("hook %d: %v", i, err)
		}
		if err := os.RemoveAll(machine); err != nil {
			t.Fatal(err)
		}
	}
}

// An agent that is stopped lets its hook finish, and says so.
func TestStopLetsHookFinish(t *testing.T) {
	t.Parallel()
	r := newRig(t,
		map[string]string{"start": "echo in > events; read line < go; relation-set -r 0 a=\"$(config-get title)\""})
	events, proceed := newFIFO(t, filepath.Join(r.params.CharmDir, "events")),
		newFIFO(t, filepath.Join(r.params.CharmDir, "go"))
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		events.next()
		cancel()
	}()
	params := testParams(Info{Kind: Start})
	params.Stopping = func() { proceed.say("on") }
	hctx, err := NewContext(r.backend, params)
	if err == nil {
		err = r.runner.Run(ctx, hctx, func(Process) error { return nil })
	}
	if err != nil {
		t.Fatal(err)
	}
	// Its tools have worked to the end.
	if got := hctx.Changes().Relations[0]["a"]; got != "My blog" {
		t.Errorf("changes are %v", hctx.Changes())
	}
}

// A hook that is aborted has failed, at once, also while its agent is stopped and waits for it. All its children are
// ended too, even those that ignore SIGTERM.
func TestAbortEndsTheGroup(t *testing.T) {
	for name, trap := range map[string]string{"willing": "", "unwilling": "trap '' TERM; "} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, map[string]string{"start": trap + "sleep 1000 & echo in > events; while :; do sleep 1000; done"})
			events := newFIFO(t, filepath.Join(r.params.CharmDir, "events"))
			ctx, stop := context.WithCancel(context.Background())
			ctx, abort := WithAbort(ctx)
			params := testParams(Info{Kind: Start})
			params.Stopping = abort
			go func() {
				events.next()
				if trap == "" {
					stop()
				} else {
					abort()
				}
			}()
			hctx, err := NewContext(r.backend, params)
			if err != nil {
				t.Fatal(err)
			}
			var p Process
			err = r.runner.Run(ctx, hctx, func(started Process) error {
				p = started
				return nil
			})
			stop()
			wantFailed(t, err, -1, "aborted")
			if left := processes(p.PID); len(left) > 0 {
				t.Errorf("left running: %v", left)
			}
		})
	}
}

// A hook that a signal ends has failed, unless the signal is SIGTERM and its agent is told to stop at the same time.
func TestASignalEndsAHook(t *testing.T) {
	for _, c := range []struct {
		signal, reason string
		stops          bool
	}{
		{"TERM", "signal: terminated", false},
		{"TERM", "", true},
		{"KILL", "signal: killed", true},
	} {
		t.Run(fmt.Sprint(c.signal, c.stops), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, map[string]string{"start": "echo in > events; kill -" + c.signal + " $$"})
			events := newFIFO(t, filepath.Join(r.params.CharmDir, "events"))
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			begun := make(chan struct{})
			go func() {
				defer close(begun)
				events.next()
				if c.stops {
					cancel()
				}
			}()
			_, err := r.runWith(ctx, Info{Kind: Start})
			<-begun
			if c.reason != "" {
				wantFailed(t, err, -1, c.reason)
			} else if !errors.Is(err, ErrStopped) {
				t.Errorf("ended with %v", err)
			}
		})
	}
}

// No hook begins before its process has been written down.
func TestUnrecordedHookNeverRuns(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"start": "touch ran"})
	hctx, err := NewContext(r.backend, testParams(Info{Kind: Start}))
	if err != nil {
		t.Fatal(err)
	}
	full := errors.New("disk full")
	var process Process
	err = r.runner.Run(context.Background(), hctx, func(p Process) error {
		process = p
		if alive, err := p.runs(); err != nil || !alive {
			t.Errorf("the launcher is not there: %v", err)
		}
		if _, err := os.Stat(filepath.Join(r.params.CharmDir, "ran")); !os.IsNotExist(err) {
			t.Errorf("the hook has begun: %v", err)
		}
		return full
	})
	if !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
	awaitGone(t, process)
	if _, err := os.Stat(filepath.Join(r.params.CharmDir, "ran")); !os.IsNotExist(err) {
		t.Errorf("the hook has run: %v", err)
	}
	r.mustRun(Info{Kind: Start}) // the lock and the socket are free
}

// A slow controller holds up a hook, but not its end: a tool that waits in the background is
// ended with the hook.
func TestHookEndsTools(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"start": "(config-get title; echo gone > events) & read line < go"})
	events, proceed := newFIFO(t, filepath.Join(r.params.CharmDir, "events")),
		newFIFO(t, filepath.Join(r.params.CharmDir, "go"))
	r.backend.block = make(chan struct{})
	proceed.say("on")
	r.mustRun(Info{Kind: Start})
	if got := events.next(); got != "gone" {
		t.Errorf("got %q", got)
	}
	awaitGone(t, r.started[0])
}
