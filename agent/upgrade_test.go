package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"juju/agent/binaries"
	"juju/agent/binaries/binariestest"
	"juju/state/entity"
	"juju/worker"
)

// A fakeUpgrade is a controller that wants its agents to run certain binaries.
type fakeUpgrade struct {
	want    entity.Binaries
	archive []byte
	lost    error // of the download
	events  chan struct{}
	asked   int      // downloads
	said    []string // what SetUpgradeError was told last, when it changed
}

func (f *fakeUpgrade) Programs(context.Context, entity.Tag) (entity.Binaries, error) {
	return f.want, nil
}

func (f *fakeUpgrade) WatchPrograms(context.Context, entity.Tag) (<-chan struct{}, error) {
	return f.events, nil
}

func (f *fakeUpgrade) SetUpgradeError(_ context.Context, _ entity.Tag, text string) error {
	f.said = append(f.said, text)
	return nil
}

func (f *fakeUpgrade) Archive(context.Context, string) (io.ReadCloser, error) {
	f.asked++
	return io.NopCloser(bytes.NewReader(f.archive)), f.lost
}

// wants returns a fakeUpgrade that wants binaries of a version, with their archive.
func wants(t *testing.T, version, says string) *fakeUpgrade {
	t.Helper()
	archive, want := binariestest.Pack(t, version, "#!/bin/sh\n"+says+"\n")
	return &fakeUpgrade{want: want, archive: archive,
		events: make(chan struct{}, 1)}
}

func upgraderFor(t *testing.T, f *fakeUpgrade, own entity.Binaries) (upgrader, binaries.Dir) {
	dir := binaries.New(filepath.Join(t.TempDir(), "tools"), binaries.Options{})
	return upgrader{api: f, machine: entity.MachineTag("3"), own: own, dir: dir, retry: time.Minute,
		trialRetry: trialRetry, idle: func(context.Context, func() error) error { return nil }}, dir
}

func current(t *testing.T, d binaries.Dir) entity.Binaries {
	t.Helper()
	r, err := d.Record()
	if err != nil {
		t.Fatal(err)
	}
	return r.Current
}

var running = entity.Binaries{Version: "0.1.0", SHA256: "0123456789abcdef"}

func TestAMachineIsUpgraded(t *testing.T) {
	f := wants(t, "0.2.0", "echo 0.2.0")
	u, dir := upgraderFor(t, f, running)
	f.events <- struct{}{}
	if err := u.run(t.Context()); !errors.Is(err, errUpgraded) || !errors.Is(err, worker.ErrFatal) {
		t.Errorf("it ends with %v", err)
	}
	if got := current(t, dir); got != f.want {
		t.Errorf("the machine's binaries are %v", got)
	}
	if len(f.said) > 0 {
		t.Errorf("it says %q", f.said)
	}
}

func TestAMachineThatNeedsNoUpgradeDownloadsNothing(t *testing.T) {
	sum := strings.Repeat("0123456789abcdef", 4)
	for name, test := range map[string]struct{ own, want entity.Binaries }{
		"nothing is wanted":    {running, entity.Binaries{}},
		"only a version":       {running, entity.Binaries{Version: "0.2.0"}},
		"it runs them":         {running, entity.Binaries{Version: "0.1.0", SHA256: sum}},
		"it runs a newer ones": {entity.Binaries{Version: "0.3.0"}, entity.Binaries{Version: "0.2.0", SHA256: sum}},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fakeUpgrade{want: test.want}
			u, dir := upgraderFor(t, f, test.own)
			if again, err := u.handle(t.Context()); again != 0 || err != nil {
				t.Errorf("%v, %v", again, err)
			}
			if f.asked > 0 || current(t, dir) != (entity.Binaries{}) || fmt.Sprintf("%q", f.said) != `[""]` {
				t.Errorf("%d downloads, %v, it says %q", f.asked, current(t, dir), f.said)
			}
		})
	}
}

// A bad archive leaves the old binaries running, and the user is told why.
func TestAnUpgradeThatFailsIsReported(t *testing.T) {
	cut := wants(t, "0.2.0", "echo 0.2.0")
	cut.archive = cut.archive[:len(cut.archive)/2]
	changed := wants(t, "0.2.0", "echo 0.2.0")
	changed.archive = wants(t, "0.2.0", "echo 0.2.0 # another").archive
	lost := wants(t, "0.2.0", "echo 0.2.0")
	lost.lost = entity.Errorf(entity.Unavailable, "the controller answers 404 Not Found")
	for name, test := range map[string]struct {
		f    *fakeUpgrade
		says string
	}{
		"cut":             {cut, "the archive of agent binaries does not have the SHA-256 " + cut.want.SHA256},
		"changed":         {changed, "the archive of agent binaries does not have the SHA-256 " + changed.want.SHA256},
		"no download":     {lost, "cannot download the agent binaries: the controller answers 404 Not Found"},
		"it does not run": {wants(t, "0.2.0", "exit 7"), "jujud does not run: exit status 7"},
	} {
		t.Run(name, func(t *testing.T) {
			u, dir := upgraderFor(t, test.f, running)
			if again, err := u.handle(t.Context()); again < u.retry || err != nil {
				t.Errorf("%v, %v", again, err)
			}
			if len(test.f.said) != 1 || test.f.said[0] != "upgrade to 0.2.0 failed: "+test.says {
				t.Errorf("it says %q", test.f.said)
			}
			if got := current(t, dir); got != (entity.Binaries{}) {
				t.Errorf("the machine's binaries are %v", got)
			}
		})
	}
}

// A failed download is tried again after a while, and succeeds.
func TestAFailedUpgradeIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeUpgrade{want: entity.Binaries{Version: "0.2.0", SHA256: strings.Repeat("ab", 32)},
			lost: errors.New("no such luck"), events: make(chan struct{}, 1)}
		u, _ := upgraderFor(t, f, running)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- u.run(ctx) }()
		f.events <- struct{}{}
		synctest.Wait()
		time.Sleep(2*u.retry + time.Second)
		synctest.Wait()
		if f.asked != 2 && f.asked != 3 {
			t.Errorf("it was tried %d times", f.asked)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("it ends with %v", err)
		}
	})
}

// Binaries whose trial has failed on this machine are tried again after a while, since it may have failed only
// because the controller was away; and others at once.
func TestAFailedTrialIsReported(t *testing.T) {
	f := wants(t, "0.2.0", "echo 0.2.0")
	u, dir := upgraderFor(t, f, running)
	if err := u.upgrade(t.Context(), f.want); err != nil {
		t.Fatal(err)
	}
	if back, err := dir.Revert("it did not come up in 3 starts"); !back || err != nil {
		t.Fatal(back, err)
	}
	f.asked = 0
	for range 2 {
		if _, err := u.handle(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	const says = "upgrade to 0.2.0 failed: it did not come up in 3 starts; it is tried again after 1h0m0s"
	if f.asked > 0 || len(f.said) != 2 || f.said[1] != says {
		t.Errorf("%d downloads; it says %q", f.asked, f.said)
	}
	later := u
	later.trialRetry = time.Nanosecond
	if _, err := later.handle(t.Context()); !errors.Is(err, errUpgraded) || current(t, dir) != f.want {
		t.Errorf("after a while: %v; the machine's binaries are %v", err, current(t, dir))
	}
	if back, err := dir.Revert("it did not come up in 3 starts"); !back || err != nil {
		t.Fatal(back, err)
	}
	newer := wants(t, "0.2.1", "echo 0.2.1")
	u.api = newer
	if _, err := u.handle(t.Context()); !errors.Is(err, errUpgraded) || current(t, dir) != newer.want {
		t.Errorf("%v; the machine's binaries are %v", err, current(t, dir))
	}
}
