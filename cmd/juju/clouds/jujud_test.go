package clouds

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"juju/agent/host/process"
	"juju/agent/storeconf"
	"juju/cmd/juju/clitest"
	"juju/provider/local"
	"juju/state/constraints"
	"juju/state/entity"
)

// fakeJujud puts on PATH a jujud that does what a script does. It returns what reads its arguments and its input, which the
// script has in $args and $input.
func fakeJujud(t *testing.T, script string) (asked func() string) {
	t.Helper()
	dir := clitest.BinariesOnPath(t)
	seen := filepath.Join(dir, "seen")
	text := "#!/bin/sh\nargs=\"$*\"\ninput=$(cat)\necho \"$args <$input>\" >>" + seen + "\n" + script + "\n"
	if err := os.WriteFile(filepath.Join(dir, "jujud"), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return func() string {
		t.Helper()
		text, err := os.ReadFile(seen)
		if err != nil {
			t.Error(err)
		}
		if err := os.Remove(seen); err != nil {
			t.Error(err)
		}
		return strings.TrimSpace(string(text))
	}
}

// A controller on this host is created, restored, migrated and removed by jujud. What storage earlier controllers released
// remains, and is not told of again.
func TestAControllerOnThisHost(t *testing.T) {
	asked := fakeJujud(t, `echo '{"controller-uuid":"u","api-addresses":["127.0.0.1:0"],"models":{"m":"v"}}'`)
	ctx, dir := t.Context(), t.TempDir()
	clitest.Write(t, filepath.Join(local.Released(dir), "m/old/f"), "")
	home := localCloud{}
	if !home.IsFree(dir) {
		t.Error("a directory with released storage is not free")
	}
	made, err := home.Create(ctx, dir, BootstrapParams{Name: "prod", Model: "m"}, nil)
	if err != nil || made.Controller != "u" {
		t.Fatalf("%+v, %v", made, err)
	}
	if got := asked(); !strings.HasPrefix(got, "bootstrap --dir "+dir+` <{"name":"prod",`) {
		t.Errorf("jujud was asked %s", got)
	}
	if _, err := home.Create(ctx, dir, BootstrapParams{Model: "n"}, nil); err == nil || !strings.Contains(err.Error(), `it has no model "n"`) {
		t.Errorf("without its model: %v", err)
	}
	asked()
	r := Restoration{User: "bob", Backup: func() (io.Reader, error) { return strings.NewReader("the backup"), nil }}
	if made, err := home.Restore(ctx, dir, r, nil); err != nil || made.Controller != "u" {
		t.Errorf("%+v, %v", made, err)
	}
	if got, want := asked(), "restore --dir "+dir+" <{\"user\":\"bob\"}\nthe backup>"; got != want {
		t.Errorf("jujud was asked %s, want %s", got, want)
	}
	memory, err := constraints.Parse("mem=1G")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []Restoration{{CloudConfig: "f"}, {Constraints: memory}} {
		_, err := home.Restore(ctx, dir, r, nil)
		says(t, r, err, "cannot use --cloud-config or --bootstrap-constraints")
	}
	// It is started again after its migration, which is not possible if it was destroyed meanwhile.
	for _, dir := range []string{local.KeeperDir(dir), local.ControllerDir(dir)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := process.MarkEnded(local.ControllerDir(dir), "it was destroyed"); err != nil {
		t.Fatal(err)
	}
	if err := home.MigrateStore(ctx, dir, "u", "mongodb://h/"); !errors.Is(err, process.ErrEnded) {
		t.Errorf("%v", err)
	}
	if got, want := asked(), "migrate-store --dir "+dir+" <mongodb://h/>"; got != want {
		t.Errorf("jujud was asked %s, want %s", got, want)
	}
	if err := home.Start(ctx, dir, "u"); !errors.Is(err, process.ErrEnded) {
		t.Errorf("%v", err)
	}
	clitest.Write(t, filepath.Join(local.Released(dir), "m/new/f"), "")
	if err := (storeconf.Config{URL: "mongodb://h/", Controller: "u"}).Write(local.ControllerDir(dir)); err != nil {
		t.Fatal(err)
	}
	kept, err := home.Destroy(ctx, dir, "", false)
	if want := filepath.Join(local.Released(dir), "m/new"); err != nil || strings.Join(kept, " ") != want {
		t.Errorf("kept %q, %v, want %s", kept, err, want)
	}
	if got, want := asked(), "remove-store --dir "+dir+" <>"; got != want {
		t.Errorf("jujud was asked %s, want %s", got, want)
	}
	if !home.IsFree(dir) {
		t.Error("its directory has more than storage")
	}
}

// The databases of a controller are not left behind without a word.
func TestAStoreThatCannotBeRemoved(t *testing.T) {
	fakeJujud(t, "echo ERROR no answer >&2; exit 1")
	dir := t.TempDir()
	if err := (storeconf.Config{URL: "mongodb://h/"}).Write(local.ControllerDir(dir)); err != nil {
		t.Fatal(err)
	}
	_, err := localCloud{}.Destroy(t.Context(), dir, "u", false)
	if says(t, "an unreachable MongoDB", err, "no answer"); entity.Hint(err) != "To keep its databases in the MongoDB: rm "+storeconf.Path(local.ControllerDir(dir)) {
		t.Errorf("hint %q", entity.Hint(err))
	}
}

// A jujud that is interrupted may clean up. The script opens the FIFO when it runs, and never ends by itself.
func TestJujudIsInterrupted(t *testing.T) {
	dir := t.TempDir()
	fifo, cleaned := filepath.Join(dir, "fifo"), filepath.Join(dir, "cleaned")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	fakeJujud(t, "trap 'touch "+cleaned+"; exit 1' TERM\n: >"+fifo+"\nwhile :; do sleep 0.01; done")
	ctx, cancel := context.WithCancelCause(t.Context())
	over := errors.New("it is over")
	go func() {
		defer cancel(over)
		if f, err := os.Open(fifo); err == nil {
			f.Close()
		}
	}()
	if _, err := runJujud(ctx, strings.NewReader(""), "bootstrap"); err != over {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(cleaned); err != nil {
		t.Errorf("it could not clean up: %v", err)
	}
}

// A restored controller is not started while something else listens at its address.
func TestAnAddressInUse(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = awaitFree(ctx, l.Addr().String())
	_, port, _ := net.SplitHostPort(l.Addr().String())
	if says(t, "in use", err, "the controller is restored, but its address is in use: "); !strings.Contains(entity.Hint(err), "'sport = :"+port+"'") {
		t.Errorf("hint %q", entity.Hint(err))
	}
	l.Close()
	says(t, "free", awaitFree(t.Context(), l.Addr().String()), "")
}

// Revive says what it starts, and nothing more if another command has started it meanwhile.
func TestReviveSaysWhatItStarts(t *testing.T) {
	clitest.BinariesOnPath(t)
	dir := t.TempDir()
	c := localCloud{}.Controller(At{dir, "prod", "u"})
	hold := func(dir string) {
		t.Helper()
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		held, err := process.Hold(dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(held.Close)
	}
	hold(local.KeeperDir(dir))
	revive := func(terminal bool) string {
		t.Helper()
		session, said := newSession(t)
		session.ErrTerminal = terminal
		if err := c.Revive(t.Context(), session); err != nil {
			t.Error(err)
		}
		return said.String()
	}
	if said := revive(false); said != "Controller \"prod\" is not running; starting it\n" {
		t.Errorf("it says %q", said)
	}
	hold(local.ControllerDir(dir))
	if said := revive(false); said != "The keeper of controller \"prod\" is not running; starting it\n" {
		t.Errorf("it says %q", said)
	}
	if said := revive(true); strings.Contains(said, "has been started") {
		t.Errorf("it says %q", said)
	}
	if kept, err := c.IsKept(); !kept || err != nil || c.LacksSpace() {
		t.Errorf("it is kept: %v, %v; it lacks space: %v", kept, err, c.LacksSpace())
	}
}
