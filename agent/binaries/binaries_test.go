package binaries

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"juju/agent/binaries/binariestest"
	"juju/agent/binaries/pack"
	"juju/doc/tools/verify"
	"juju/state/entity"
)

// actVariable selects what the test binary does when it runs itself.
const actVariable = "BINARIES_TEST_ACT"

// The test binary is also installed as jujud.
func TestMain(m *testing.M) {
	act, rest, _ := strings.Cut(os.Getenv(actVariable), " ")
	var err error
	switch act {
	case "":
		os.Exit(m.Run())
	case "enter": // as jujud controller does, or the agent of a unit if the last word says so
		dir, unit, _ := strings.Cut(rest, " ")
		if err = New(dir, Options{}).Enter("jujud", unit == ""); err == nil {
			fmt.Println("installed first")
		}
	case "confirm":
		err = New(rest, Options{}).Confirm()
	case "hang": // as the Go program of a controller that never comes up
		if err = New(rest, hasty).Enter("jujud", true); err == nil {
			select {}
		}
	case "work": // and print when the alarm goes off
		d := New(rest, Options{Bound: verify.Patience})
		if err = d.Enter("jujud", true); err == nil {
			err = d.Confirm()
		}
		left, err2 := unix.Getitimer(unix.ItimerReal)
		err = errors.Join(err, err2)
		fmt.Println("works", left.Value.Nano()+left.Interval.Nano())
	case "upgrade": // and be killed at a step
		words := strings.Fields(rest)
		n, _ := strconv.Atoi(words[1])
		err = killedUpgrade(words[0], n)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "ERROR", err)
		os.Exit(1)
	}
}

func binariesOf(archive []byte, version string) entity.Binaries {
	sum := sha256.Sum256(archive)
	return entity.Binaries{Version: version, SHA256: hex.EncodeToString(sum[:])}
}

// install installs binaries that are scripts.
func install(t testing.TB, d Dir, version string) entity.Binaries {
	t.Helper()
	archive, p := binariestest.Pack(t, version, binariestest.Script(version))
	if err := d.Install(t.Context(), bytes.NewReader(archive), p); err != nil {
		t.Fatal(err)
	}
	return p
}

// enter runs what the Dir's binaries are by Enter, and returns what it prints.
func enter(t testing.TB, dir, unit string) string {
	t.Helper()
	return again(t, strings.TrimSpace("enter "+dir+" "+unit))
}

// again runs the test binary again.
func again(t testing.TB, act string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "controller")
	cmd.Env = append(os.Environ(), actVariable+"="+act)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out) + err.Error()
	}
	return strings.TrimSpace(string(out))
}

func record(t testing.TB, d Dir) Record {
	t.Helper()
	r, err := d.Record()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// listing returns the names in a directory.
func listing(t testing.TB, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestCurrentBinariesAreRun(t *testing.T) {
	dir := t.TempDir()
	d := New(dir, Options{})
	if got := enter(t, dir, ""); got != "installed first" {
		t.Errorf("without a record: %s", got)
	}
	one := install(t, d, "0.2.0")
	if got := enter(t, dir, ""); got != "installed first" {
		t.Errorf("before the switch: %s", got)
	}
	// Missing binaries can't be reverted to.
	for _, sum := range []string{"", "lost"} {
		if err := d.Switch(t.Context(), entity.Binaries{Version: "0.1.0", SHA256: sum}, one); err != nil {
			t.Fatal(err)
		}
		if got := enter(t, dir, ""); got != "runs 0.2.0" {
			t.Errorf("after the switch: %s", got)
		}
		if r := record(t, d); !r.Trial || r.Starts != 1 || r.Previous.SHA256 != "" {
			t.Errorf("the record is %+v", r)
		}
		if _, err := d.Revert("no"); err != nil {
			t.Fatal(err)
		}
		if got := enter(t, dir, ""); got != "installed first" {
			t.Errorf("after the trial: %s", got)
		}
	}
}

func TestATrialFailsAfterSomeStarts(t *testing.T) {
	dir := t.TempDir()
	d := New(dir, Options{})
	one, two := install(t, d, "0.2.0"), install(t, d, "0.3.0")
	if err := d.write(Record{Current: one}); err != nil {
		t.Fatal(err)
	}
	if err := d.Switch(t.Context(), one, two); err != nil {
		t.Fatal(err)
	}
	for range 10 { // the agents of units don't count
		if got := enter(t, dir, "unit"); got != "runs 0.3.0" {
			t.Errorf("a unit's agent: %s", got)
		}
	}
	for i := range maxStarts {
		if got := enter(t, dir, ""); got != "runs 0.3.0" {
			t.Errorf("start %d: %s", i, got)
		}
	}
	if got := enter(t, dir, ""); !strings.HasSuffix(got, "runs 0.2.0") {
		t.Errorf("after the trial: %s", got)
	}
	r := record(t, d)
	if r.Trial || r.Current != one || r.Failed == nil || r.Failed.Binaries != two ||
		r.Failed.Error != "it did not come up in 3 starts" {
		t.Errorf("the record is %+v", r)
	}
	// The old ones may no longer be able to read the store.
	if again, err := d.Retake(); !again || err != nil {
		t.Errorf("%v, %v", again, err)
	}
	for range maxStarts + 2 {
		if got := enter(t, dir, ""); got != "runs 0.3.0" {
			t.Errorf("without a trial: %s", got)
		}
	}
}

// Once the old binaries work, those whose trial failed are removed and can't be retaken: without the files every start
// would fail.
func TestRemovedBinariesAreNotRetaken(t *testing.T) {
	dir := t.TempDir()
	d := New(dir, Options{})
	one, two := install(t, d, "0.2.0"), install(t, d, "0.3.0")
	if err := d.Switch(t.Context(), one, two); err != nil {
		t.Fatal(err)
	}
	if back, err := d.Revert("no such luck"); !back || err != nil {
		t.Fatal(back, err)
	}
	if err := errors.Join(d.Confirm(), d.Sweep()); err != nil {
		t.Fatal(err)
	}
	if on, err := d.Retake(); on || err != nil {
		t.Errorf("%v, %v", on, err)
	}
	if got := enter(t, dir, ""); got != "runs 0.2.0" {
		t.Errorf("it says %s", got)
	}
}

func TestBinariesThatCannotRunAreReverted(t *testing.T) {
	dir := t.TempDir()
	d := New(dir, Options{})
	one := install(t, d, "0.2.0")
	if err := d.Switch(t.Context(), entity.Binaries{}, one); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(d.Of(one.SHA256), "jujud")); err != nil {
		t.Fatal(err)
	}
	if got := enter(t, dir, ""); got != "installed first" {
		t.Errorf("it says %s", got)
	}
	if r := record(t, d); r.Failed == nil || !strings.Contains(r.Failed.Error, "no such file") {
		t.Errorf("the record is %+v", r)
	}
}

// Only the binaries on trial can confirm, and confirmed binaries can't be reverted.
func TestATrialEndsWhenItsProgramConfirms(t *testing.T) {
	dir := t.TempDir()
	d := New(dir, Options{})
	path := filepath.Join(d.Of(goBinaries(t, d).SHA256), "jujud")
	if got := again(t, "confirm "+dir); got != "" || !record(t, d).Trial {
		t.Errorf("another program has confirmed: %q, %+v", got, record(t, d))
	}
	cmd := exec.CommandContext(t.Context(), path)
	cmd.Env = append(os.Environ(), actVariable+"=confirm "+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if r := record(t, d); r.Trial || r.Starts != 0 || r.Failed != nil {
		t.Errorf("the record is %+v", r)
	}
	if back, err := d.Revert("no reason"); back || err != nil {
		t.Errorf("%v, %v", back, err)
	}
}

func TestBadArchivesAreRefused(t *testing.T) {
	good, want := binariestest.Pack(t, "0.2.0", binariestest.Script("0.2.0"))
	other, _ := binariestest.Pack(t, "0.2.0", binariestest.Script("0.2.0")+"\n")
	dead, deadly := binariestest.Pack(t, "0.2.0", "#!/bin/sh\necho no such luck >&2\nexit 1\n")
	loud, endless := binariestest.Pack(t, "0.2.0", "#!/bin/sh\nwhile :; do echo y; done\n")
	text, plain := binariestest.Pack(t, "0.2.0", "no program")
	old, older := binariestest.Pack(t, "0.2.0", binariestest.Script("0.1.0"))
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "jujud"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	var few, many bytes.Buffer
	if _, err := pack.WriteArchive(&few, dir, "jujud"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "extra"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := pack.WriteArchive(&many, dir, "extra"); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		archive []byte
		want    entity.Binaries
		says    string
	}{
		"another hash":     {other, want, "the archive of agent binaries does not have the SHA-256 " + want.SHA256},
		"cut":              {good[:len(good)-20], want, "does not have the SHA-256"},
		"empty":            {nil, want, "does not have the SHA-256"},
		"more after it":    {append(slices.Clone(good), "x"...), want, "does not have the SHA-256"},
		"no archive":       {[]byte("hello"), binariesOf([]byte("hello"), "0.2.0"), "cannot unpack the archive of agent binaries"},
		"a missing binary": {few.Bytes(), binariesOf(few.Bytes(), "0.2.0"), "machine-agent is missing"},
		"another file":     {many.Bytes(), binariesOf(many.Bytes(), "0.2.0"), `unexpected file "extra"`},
		"it fails":         {dead, deadly, "jujud does not run: exit status 1: no such luck"},
		"it prints no end": {loud, endless, "jujud does not run: it prints too much: more than 65536 bytes"},
		"not executable":   {text, plain, "jujud does not run"},
		"another version":  {old, older, "the agent binaries have version 0.1.0, not 0.2.0"},
		"no hash":          {good, entity.Binaries{Version: "0.2.0", SHA256: "../x"}, `invalid SHA-256 "../x"`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			err := New(dir, Options{}).Install(t.Context(), bytes.NewReader(test.archive), test.want)
			if entity.KindOf(err) != entity.Invalid || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got error %v, want %q", err, test.says)
			}
			if left := listing(t, dir); len(left) > 0 {
				t.Errorf("it leaves %q", left)
			}
		})
	}
}

// hasty has a bound for trials that a test can wait for, and in which a busy machine starts a process.
var hasty = Options{Bound: hastyBound}

const hastyBound = 2 * time.Second

// goBinaries installs the test binary as jujud, on trial.
func goBinaries(t *testing.T, d Dir) entity.Binaries {
	t.Helper()
	p := entity.Binaries{Version: "0.2.0", SHA256: strings.Repeat("ab", 32)}
	self, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.MkdirAll(d.Of(p.SHA256), 0o755),
		os.WriteFile(filepath.Join(d.Of(p.SHA256), "jujud"), self, 0o755),
		d.write(Record{Current: p, Trial: true})); err != nil {
		t.Fatal(err)
	}
	return p
}

// Binaries that neither confirm nor exit are killed, whatever started them, and reverted.
func TestATrialThatHangsIsEnded(t *testing.T) {
	verify.Only(t, "a trial is ended after seconds of real time")
	t.Parallel()
	dir := t.TempDir()
	d := New(dir, Options{})
	p := goBinaries(t, d)
	const bound = hastyBound + 100*time.Millisecond // of this trial
	if err := d.write(Record{Current: p, Trial: true, Bound: bound}); err != nil {
		t.Fatal(err)
	}
	if got := again(t, "hang "+dir); !strings.HasSuffix(got, "exit status 1") {
		t.Errorf("it ends with %s", got)
	}
	r := record(t, d)
	if r.Trial || r.Current != (entity.Binaries{}) || r.Failed == nil || r.Failed.Binaries != p ||
		r.Failed.Error != "it did not come up in 2.1s" {
		t.Errorf("the record is %+v", r)
	}

	// The alarm kills a program that does not handle it.
	archive, other := binariestest.Pack(t, "0.3.0", "#!/bin/sh\ncase $1 in version) echo 0.3.0;; --help) ;; *) exec sleep 600;; esac\n")
	if err := errors.Join(d.Install(t.Context(), bytes.NewReader(archive), other),
		d.Switch(t.Context(), entity.Binaries{}, other)); err != nil {
		t.Fatal(err)
	}
	for range maxStarts {
		if got := again(t, "hang "+dir); !strings.HasSuffix(got, "signal: alarm clock") {
			t.Errorf("it ends with %s", got)
		}
	}
	if got := enter(t, dir, ""); !strings.HasSuffix(got, "installed first") {
		t.Errorf("after %d starts: %s", maxStarts, got)
	}
}

// The alarm ends with the trial.
func TestBinariesThatWorkAreKept(t *testing.T) {
	dir := t.TempDir()
	d := New(dir, Options{})
	p := goBinaries(t, d)
	if got := again(t, "work "+dir); got != "works 0" {
		t.Errorf("got %s", got)
	}
	if r := record(t, d); r.Trial || r.Current != p {
		t.Errorf("the record is %+v", r)
	}
}

// A switch is only to installed binaries, named by their hash, of the claimed version: otherwise a superuser could
// downgrade the controller, or switch to the binaries that were installed first.
func TestOnlyWhatIsInstalledIsSwitchedTo(t *testing.T) {
	root := t.TempDir()
	d := New(filepath.Join(root, "tools"), Options{})
	now, old := install(t, d, "0.3.0"), install(t, d, "0.2.0")
	if err := errors.Join(d.write(Record{Current: now}),
		os.WriteFile(filepath.Join(root, "jujud"), []byte(binariestest.Script("0.4.0")), 0o755),
		os.WriteFile(filepath.Join(d.path, "jujud"), []byte(binariestest.Script("0.4.0")), 0o755)); err != nil {
		t.Fatal(err)
	}
	for sum, kind := range map[string]entity.Kind{"": entity.NotFound, ".": entity.NotFound, "..": entity.NotFound,
		recordName: entity.NotFound, strings.Repeat("0", 64): entity.NotFound, old.SHA256: entity.Invalid} {
		err := d.Switch(t.Context(), now, entity.Binaries{Version: "0.4.0", SHA256: sum})
		if entity.KindOf(err) != kind {
			t.Errorf("%q: got %v, want %v", sum, err, kind)
		}
	}
	if r := record(t, d); r.Current != now || r.Trial {
		t.Errorf("the record is %+v", r)
	}
}

// killedUpgrade installs version 0.3.0 and switches to it. It kills this process at the n-th step; if n is negative, it
// prints the number of steps.
func killedUpgrade(dir string, n int) error {
	steps := 0
	d := New(dir, Options{Step: func(string) {
		if steps++; steps == n {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}})
	archive, err := os.Open(filepath.Join(filepath.Dir(dir), "archive"))
	if err != nil {
		return err
	}
	defer archive.Close()
	sum := filepath.Base(os.Getenv("BINARIES_TEST_HASH"))
	want := entity.Binaries{Version: "0.3.0", SHA256: sum}
	if err := d.Install(context.Background(), archive, want); err != nil {
		return err
	}
	r, err := d.Record()
	if err != nil {
		return err
	}
	if r.Current != want {
		if err := d.Switch(context.Background(), r.Current, want); err != nil {
			return err
		}
	}
	if n < 0 {
		fmt.Println(steps)
	}
	return nil
}

// A process that is killed at any step of an upgrade leaves the old binaries or the new ones, whole,
// and the next attempt completes it.
func TestAnUpgradeCanBeKilledAtEveryStep(t *testing.T) {
	verify.Only(t, "kills real processes")
	archive, want := binariestest.Pack(t, "0.3.0", binariestest.Script("0.3.0"))
	t.Setenv("BINARIES_TEST_HASH", want.SHA256)
	world := func() (string, Dir, entity.Binaries) {
		root := t.TempDir()
		if err := os.WriteFile(filepath.Join(root, "archive"), archive, 0o600); err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(root, "tools")
		d := New(dir, Options{})
		old := install(t, d, "0.2.0")
		if err := d.write(Record{Current: old}); err != nil {
			t.Fatal(err)
		}
		return dir, d, old
	}
	dir, _, _ := world()
	steps, err := strconv.Atoi(again(t, "upgrade "+dir+" -1"))
	if err != nil || steps < 6 {
		t.Fatalf("an upgrade has %d steps, %v", steps, err)
	}
	switched := 0
	for n := 1; n <= steps; n++ {
		dir, d, old := world()
		if got := again(t, fmt.Sprint("upgrade ", dir, " ", n)); !strings.HasSuffix(got, "signal: killed") {
			t.Fatalf("step %d: %s", n, got)
		}
		switch got := enter(t, dir, ""); {
		case got == "runs 0.2.0" && record(t, d).Current == old:
		case got == "runs 0.3.0" && record(t, d).Current == want:
			switched++
		default:
			t.Errorf("killed at step %d, it %s; the record is %+v", n, got, record(t, d))
		}
		if got := again(t, "upgrade "+dir+" 0"); got != "" {
			t.Errorf("killed at step %d, the next attempt says %s", n, got)
		}
		if got := enter(t, dir, ""); got != "runs 0.3.0" {
			t.Errorf("killed at step %d, and done again, it %s", n, got)
		}
		if err := d.Sweep(); err != nil {
			t.Error(err)
		}
		left := []string{want.SHA256, old.SHA256, recordName}
		slices.Sort(left)
		if got := listing(t, dir); !slices.Equal(got, left) {
			t.Errorf("killed at step %d, there is %q", n, got)
		}
	}
	if switched != 1 {
		t.Errorf("of %d kills, %d left the new binaries", steps, switched)
	}
}

func TestOldBinariesAreSwept(t *testing.T) {
	dir := t.TempDir()
	d := New(dir, Options{})
	var all []entity.Binaries
	for _, version := range []string{"0.1.0", "0.2.0", "0.3.0", "0.4.0"} {
		all = append(all, install(t, d, version))
		if err := os.WriteFile(d.Archive(all[len(all)-1].SHA256), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// A process runs from the first.
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(sleep)
	if err != nil {
		t.Fatal(err)
	}
	used := filepath.Join(d.Of(all[0].SHA256), "hook-tool")
	if err := errors.Join(os.Remove(used), os.WriteFile(used, text, 0o755)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), used, "600")
	cmd.Args[0] = "sleep"
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	if err := os.Mkdir(filepath.Join(dir, "machine-0"), 0o755); err != nil { // another's
		t.Fatal(err)
	}
	if err := errors.Join(d.write(Record{Current: all[3], Previous: all[2]}), d.Sweep(all[1].SHA256)); err != nil {
		t.Fatal(err)
	}
	want := []string{"machine-0", recordName, all[0].SHA256, all[1].SHA256 + ".tar.gz"}
	for _, p := range all[2:] {
		want = append(want, p.SHA256, p.SHA256+".tar.gz")
	}
	slices.Sort(want)
	if got := listing(t, dir); !slices.Equal(got, want) {
		t.Errorf("there is %q, want %q", got, want)
	}
}
