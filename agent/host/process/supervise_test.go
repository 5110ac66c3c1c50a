package process

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"juju/doc/tools/verify"
	"juju/state/entity"
)

func TestSuperviseRestartsAKilledProcess(t *testing.T) {
	verify.Only(t, "kills real processes")
	t.Parallel()
	s := newStage(t)
	s.start("hold") // as the keeper does
	first := s.hear("ready")
	stop, _ := s.supervise("hold")
	s.kill(first)
	const kills = 5
	var id Identity
	for range kills - 1 {
		id = s.hear("ready")
		s.kill(id)
	}
	id = s.hear("ready")
	if err := stop(); !errors.Is(err, context.Canceled) {
		t.Errorf("supervising: %v", err)
	}
	if !id.Alive() {
		t.Error("the process ended with its supervisor")
	}
	if n := s.onlyOne(); n != kills+1 {
		t.Errorf("%d processes ran, want %d", n, kills+1)
	}
	if how, ago := Killed(s.dir); !strings.HasPrefix(how, "it was killed (SIGKILL) at ") || ago > verify.Patience {
		t.Errorf("the last one ended thus: %q, %v ago", how, ago)
	}
	noteKill(s.dir, true, true)
	if how, _ := Killed(s.dir); !strings.HasPrefix(how, "the kernel killed it at ") || !strings.Contains(how, "memory was used up") {
		t.Errorf("out of memory: %q", how)
	}
	noteKill(s.dir, false, true)
	if how, _ := Killed(s.dir); how != "" {
		t.Errorf("one that has ended by itself: %q", how)
	}
}

// A killed supervisor leaves a process that the next one watches and does not start again,
// though the process is not its child.
func TestSupervisorComesBack(t *testing.T) {
	verify.Only(t, "kills real processes")
	t.Parallel()
	s := newStage(t)
	supervisor := s.spawn("supervisor", &syscall.SysProcAttr{Setsid: true})
	first := s.hear("ready")
	s.kill(supervisor)
	s.gone(supervisor)
	if !first.Alive() {
		t.Fatal("the process ended with its supervisor")
	}

	stop, _ := s.supervise("hold")
	if holder, err := Holder(s.dir); err != nil || holder != first {
		t.Errorf("got holder %v, %v, want %v", holder, err, first)
	}
	s.kill(first)
	second := s.hear("ready")
	if second == first {
		t.Error("the dead are back")
	}
	if err := stop(); !errors.Is(err, context.Canceled) {
		t.Errorf("supervising: %v", err)
	}
	if n := s.onlyOne(); n != 2 {
		t.Errorf("%d processes ran, want 2", n)
	}
}

func TestTwoSupervisorsDoNoHarm(t *testing.T) {
	verify.Only(t, "kills real processes")
	t.Parallel()
	s := newStage(t)
	stop1, _ := s.supervise("hold")
	stop2, _ := s.supervise("hold")
	kills := 4
	if testing.Short() {
		kills = 2
	}
	for range kills {
		s.kill(s.hear("ready"))
	}
	s.hear("ready")
	for _, stop := range []func() error{stop1, stop2} {
		if err := stop(); !errors.Is(err, context.Canceled) {
			t.Errorf("supervising: %v", err)
		}
	}
	if n := s.onlyOne(); n != kills+1 {
		t.Errorf("%d processes ran, want %d", n, kills+1)
	}
}

func TestSuperviseLeavesAnEndedProcessDown(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	if err := Supervise(t.Context(), s.spec("dead")); err != nil {
		t.Fatalf("supervising a process that ends for good: %v", err)
	}
	why, ended := Ended(s.dir)
	if !ended || why != "the unit is Dead" {
		t.Errorf("ended: %v, because %q", ended, why)
	}
	if err := Supervise(t.Context(), s.spec("dead")); err != nil {
		t.Errorf("supervising it again: %v", err)
	}
	if _, err := Start(t.Context(), s.spec("hold")); !errors.Is(err, ErrEnded) {
		t.Errorf("starting it: got error %v, want ErrEnded", err)
	}
	if _, err := Hold(s.dir); !errors.Is(err, ErrEnded) {
		t.Errorf("holding it, as if started by hand: got error %v, want ErrEnded", err)
	}
	if n := s.onlyOne(); n != 1 {
		t.Errorf("%d processes ran, want 1", n)
	}
	for range 2 {
		if err := ClearEnded(s.dir); err != nil {
			t.Fatal(err)
		}
	}
	s.start("hold")
}

// The process is ended from outside while it is supervised.
func TestSupervisedProcessIsEnded(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	_, wait := s.supervise("hold")
	id := s.hear("ready")
	for range 2 {
		if err := End(t.Context(), s.dir, "enough", 10*time.Second); err != nil {
			t.Fatal(err)
		}
	}
	if id.Alive() {
		t.Error("it lives on")
	}
	if err := wait(); err != nil {
		t.Errorf("supervising: %v", err)
	}
	if err := End(t.Context(), s.dir+"-not", "enough", 0); err != nil {
		t.Errorf("ending what is not there: %v", err)
	}
	if err := MarkEnded(s.dir+"-not", "enough"); err != nil {
		t.Errorf("marking what is not there: %v", err)
	}
}

func TestSuperviseEndsWithTheDirectory(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	_, wait := s.supervise("hold")
	id := s.hear("ready")
	if err := os.RemoveAll(s.dir); err != nil {
		t.Fatal(err)
	}
	s.kill(id)
	if err := wait(); !errors.Is(err, ErrRemoved) || !strings.Contains(err.Error(), s.dir) {
		t.Errorf("supervising: %v, want ErrRemoved of %s", err, s.dir)
	}
}

func TestBackoff(t *testing.T) {
	b := newRestarts()
	if d := b.next(time.Second); d != 0 {
		t.Errorf("the first time: wait %v, want none", d)
	}
	last := time.Duration(0)
	for i := range 50 {
		d := b.next(time.Millisecond)
		if d <= 0 || d > backoffMax {
			t.Errorf("wait %d is %v", i, d)
		}
		last = d
	}
	if last < backoffMax/2 {
		t.Errorf("after 50 times: wait %v, want %v or half of it", last, backoffMax)
	}
	if d := b.next(backoffReset); d != 0 {
		t.Errorf("after a long life: wait %v, want none", d)
	}
}

// A process that needs more room than the disk has is not started, and the caller learns why.
func TestNoRoom(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := Start(t.Context(), Spec{Dir: dir, Path: "/bin/true", Room: 1 << 62})
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "no space left on device: "+dir+" has ") ||
		entity.Hint(err) == "" {
		t.Errorf("got error %v (%s)", err, entity.Hint(err))
	}
	if err := CheckRoom(dir, 1); err != nil {
		t.Errorf("no room for one byte: %v", err)
	}
}
