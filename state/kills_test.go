package state_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"juju/doc/tools/verify"
)

// victimOf is the environment variable that tells a victim process where the
// stage is. With _AT appended it says at which point of which mutator the
// process kills itself.
const victimOf = "STATE_TEST_VICTIM"

// answered is a file that the victim creates once its call has returned without
// an error.
const answered = "answered"

// madeBefore is a file with scene.made, which whoever repeats the victim's call needs.
const madeBefore = "made"

// TestVictim runs in the process that kills itself at a point of a mutator.
func TestVictim(t *testing.T) {
	dir := os.Getenv(victimOf)
	if dir == "" {
		t.Skip("run by TestKilledProcess")
	}
	var (
		at    point
		which int
	)
	if _, err := fmt.Sscan(os.Getenv(victimOf+"_AT"), &which, &at.message, &at.after); err != nil {
		t.Fatal(err)
	}
	s, err := readStage(dir)
	if err != nil {
		t.Fatal(err)
	}
	c := cutter{before: func() {
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}}
	s.open(t, c.tap)
	m := mutators[which]
	call := m.ready(s)
	s.ok(os.WriteFile(filepath.Join(dir, madeBefore), []byte(s.made), 0o600))
	c.arm(at)
	if err := call(); err == nil {
		s.ok(os.WriteFile(filepath.Join(dir, answered), nil, 0o600))
	}
	s.close()
}

// Like TestCutConnection, with the store on disk and in another process. That
// process is killed, and leaves nothing but its files.
func TestKilledProcess(t *testing.T) {
	verify.Only(t, "kills real processes")
	st := sharedStage(t)
	seed := testSeed(t)
	rnd := rand.New(rand.NewPCG(seed, 0))
	which := rnd.Perm(len(mutators))
	if few := 12; !soak {
		if testing.Short() {
			few = 2
		}
		which = which[:few]
	}
	seeds := map[int]uint64{}
	for _, i := range which {
		seeds[i] = rnd.Uint64()
	}
	inParallel(t, which, func(i int) string { return mutators[i].String() }, func(t *testing.T, i int) {
		r := mutators[i].record(t, st)
		// A process that is killed before a message leaves what one leaves that
		// is killed after the message before it.
		for _, at := range points(rand.New(rand.NewPCG(seeds[i], 0)), r.messages, true) {
			killAt(t, st, i, r, at)
		}
	})
}

func killAt(t *testing.T, st *stage, which int, r record, at point) {
	m, dir := mutators[which], t.TempDir()
	st.write(t, dir)
	ctx, cancel := context.WithTimeout(t.Context(), verify.Patience)
	defer cancel()
	victim := exec.CommandContext(ctx, os.Args[0], "-test.run", "^TestVictim$")
	victim.Env = append(os.Environ(), victimOf+"="+dir, "TMPDIR="+t.TempDir(),
		fmt.Sprintf("%s_AT=%d %d %v", victimOf, which, at.message, at.after))
	out, err := victim.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL || ctx.Err() != nil {
		t.Fatalf("the victim was not killed: %v\n%s", err, out)
	}
	s := &scene{stage: st, fs: vfs.Default, dir: filepath.Join(dir, "store")}
	s.later.Store(r.later)
	s.open(t, nil)
	defer func() { s.close() }()
	made, err := os.ReadFile(filepath.Join(dir, madeBefore))
	s.ok(err)
	s.made = string(made)
	_, notTold := os.Stat(filepath.Join(dir, answered))
	if !s.verify(ctx, m, r, notTold == nil && !m.logs) {
		t.Fatalf("killed at message %d of %d (after it: %v)", at.message, r.messages, at.after)
	}
	if s.repeat(ctx, m, r, nil, true); t.Failed() {
		t.Fatalf("repeated after being killed at message %d of %d (after it: %v)", at.message, r.messages, at.after)
	}
}
