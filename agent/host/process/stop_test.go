package process

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"juju/doc/tools/verify"
)

// Stop ends a process group that ignores SIGTERM, including children, and nothing else.
func TestStopKillsTheGroup(t *testing.T) {
	verify.Only(t, "kills real processes")
	t.Parallel()
	s, other := newStage(t), newStage(t)
	bystander := other.start("hold")
	id := s.start("deaf")
	first, second := s.hear2("ready", "sleeping")
	if first != id {
		t.Errorf("got %v, want %v", first, id)
	}
	if err := Stop(t.Context(), s.dir, 100*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	for _, p := range []Identity{first, second} {
		if p.Alive() {
			t.Errorf("process %d is still there", p.PID)
		}
	}
	if !bystander.Alive() {
		t.Error("a process of another directory was ended too")
	}
}

// A process started by hand shares the process group of a shell, or here of the test, which
// must live to see its end.
func TestStopOfAProcessStartedByHand(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.spawn("hold", nil)
	s.hear("ready")
	if started, err := Start(t.Context(), s.spec("hold")); err != nil || started {
		t.Errorf("beside it: started %v, error %v", started, err)
	}
	if err := Stop(t.Context(), s.dir, time.Minute); err != nil {
		t.Error(err)
	}
	if id.Alive() {
		t.Error("it lives on")
	}
}

// hear2 receives two events, in either order.
func (s *stage) hear2(one, two string) (first, second Identity) {
	s.t.Helper()
	got := map[string]Identity{}
	b := make([]byte, 4096)
	s.conn.SetReadDeadline(time.Now().Add(verify.Patience))
	for range 2 {
		n, err := s.conn.Read(b)
		if err != nil {
			s.t.Fatal(err)
		}
		var e event
		json.Unmarshal(b[:n], &e)
		got[e.What] = e.Identity
	}
	return got[one], got[two]
}

// A lock may name a pid that the kernel has since given to another process, which must not be
// killed.
func TestStopNeverKillsOnAPidAlone(t *testing.T) {
	verify.Only(t, "starts real processes and takes their time")
	t.Parallel()
	s, other := newStage(t), newStage(t)
	held, err := Hold(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	stranger := other.start("hold")
	for name, forged := range map[string]Identity{
		"began earlier": {stranger.PID, stranger.Start - 1, stranger.Boot},
		"another boot":  {stranger.PID, stranger.Start, "yesterday"},
	} {
		text, _ := json.Marshal(forged)
		if err := os.WriteFile(filepath.Join(s.dir, lockName), text, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Stop(t.Context(), s.dir, 0); err == nil {
			t.Errorf("%s: stopped something", name)
		}
		if err := forged.Signal(syscall.SIGKILL); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if members, _, err := group(forged); name == "began earlier" && (err != nil || len(members) != 0) {
			t.Errorf("%s: the group of another: %v, %v", name, members, err)
		}
	}
	if !stranger.Alive() {
		t.Error("the stranger is dead")
	}
	// A process does not end itself in this way either.
	me, _ := Of(os.Getpid())
	text, _ := json.Marshal(me)
	os.WriteFile(filepath.Join(s.dir, lockName), text, 0o600)
	if err := Stop(t.Context(), s.dir, 0); err == nil {
		t.Error("stopped itself")
	}
}

// A process's descendants are found by its mark: a child, a daemon in a session of its own, and
// a child that lost its environment but not its session.
func TestEndMarked(t *testing.T) {
	t.Parallel()
	s, other := newStage(t), newStage(t)
	bystander := other.start("hold")
	mother := s.start("mother")
	var all []Identity
	for range 4 {
		s.conn.SetReadDeadline(time.Now().Add(verify.Patience))
		b := make([]byte, 4096)
		n, err := s.conn.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		var e event
		json.Unmarshal(b[:n], &e)
		all = append(all, e.Identity)
	}
	s.kill(mother) // which orphans them all
	s.gone(mother)
	match := func(v, _ string) bool { return v == s.ear() }
	marks, err := Marks(notifyVariable)
	if err != nil || !slices.Contains(marks, s.ear()) || !slices.Contains(marks, other.ear()) {
		t.Errorf("got marks %q, %v", marks, err)
	}
	if err := EndMarked(t.Context(), notifyVariable, match, time.Minute); err != nil {
		t.Fatal(err)
	}
	for _, id := range all {
		if id.Alive() {
			t.Errorf("process %d is still there", id.PID)
		}
	}
	if !bystander.Alive() {
		t.Error("a process with another mark was ended too")
	}
	if err := EndMarked(t.Context(), notifyVariable, match, 0); err != nil {
		t.Errorf("ending nothing: %v", err)
	}
}

// A child with an empty environment is ended with the session, which the marked process leads.
func TestEndMarkedEndsSessions(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.start("mother")
	match := func(v, _ string) bool { return v == s.ear() }
	found, _, err := marked(roleVariable, func(v, _ string) bool { return v == "mother" })
	if err != nil {
		t.Fatal(err)
	}
	inSession := 0
	leader, _ := Holder(s.dir)
	for _, st := range found {
		if st.session == leader.PID {
			inSession++
		}
	}
	if inSession != 3 {
		t.Errorf("found %d processes in the session of the only one with that mark, want it and its two children there",
			inSession)
	}
	if err := EndMarked(t.Context(), notifyVariable, match, time.Second); err != nil {
		t.Fatal(err)
	}
}

// Root finds what has taken another user's identity, as the daemons of charms do.
func TestEndMarkedOfOtherUsers(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can start processes as another user")
	}
	s := newStage(t)
	daemon := exec.Command("sleep", "600")
	daemon.Env = []string{notifyVariable + "=" + s.ear()}
	daemon.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		daemon.Wait()
		close(ended)
	}()
	defer func() {
		daemon.Process.Kill()
		<-ended
	}()
	match := func(v, _ string) bool { return v == s.ear() }
	if err := EndMarked(t.Context(), notifyVariable, match, time.Second); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(verify.Patience):
		t.Error("the daemon of another user is still there")
	}
}
