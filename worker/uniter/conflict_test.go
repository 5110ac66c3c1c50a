package uniter

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"juju/state/entity"
)

// immutable is FS_IMMUTABLE_FL of linux/fs.h.
const immutable = 0x10

// protect keeps a file from being replaced, by everyone, until the function that it returns is called.
func protect(t *testing.T, path string) (end func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		dir := filepath.Dir(path)
		mode := func(m os.FileMode) {
			if err := os.Chmod(dir, m); err != nil {
				t.Fatal(err)
			}
		}
		mode(0o500)
		return func() { mode(0o700) }
	}
	flags := func(change func(int) int) error {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		now, err := unix.IoctlGetInt(int(f.Fd()), unix.FS_IOC_GETFLAGS)
		if err != nil {
			return err
		}
		return unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, change(now))
	}
	if err := flags(func(f int) int { return f | immutable }); err != nil {
		t.Skipf("root can't make a file immutable here: %v", err)
	}
	done := false
	end = func() {
		if done {
			return
		}
		if err := flags(func(f int) int { return f &^ immutable }); err != nil {
			t.Error(err)
		}
		done = true
	}
	t.Cleanup(end)
	return end
}

// The history says that a hook has failed, but not that an upgrade out of this has failed too.
func TestHistoryOfAForcedUpgrade(t *testing.T) {
	r := newRig(t, map[string]string{"start": "echo tried >>tries; exit 1"})
	r.charm("local:web-2", map[string]string{"start": ""})
	r.start()
	r.settle(nil)
	r.settle(func() { r.c.unit.ServiceCharmURL, r.c.unit.ForceCharm = "local:web-2", true })
	if r.c.failure() != `hook failed: "start"` {
		t.Errorf("the workload's status is %+v", r.c.workload)
	}
	r.expectHistory("charm local:web-1", "hook start (failed)", "charm local:web-2")
}

// A file in the charm directory stands in the way of an upgrade.
func TestConflictOfAnUpgrade(t *testing.T) {
	r := newRig(t, map[string]string{"config-changed": "status-set active serving", "hooks/sub/data": "one"})
	r.charm("local:web-2", map[string]string{"sub/data": "two"})
	r.charm("local:web-3", map[string]string{"other": "three"})
	var said said
	said.listen(t)
	r.start()
	r.settle(nil)
	r.expect("install", "config-changed", "start")
	inTheWay := filepath.Join(r.dir, "charm/hooks/start")
	conflicts := func() {
		t.Helper()
		reason, _ := r.c.workload.Data["reason"].(string)
		delete(r.c.workload.Data, "reason")
		if r.c.failure() != "upgrade failed" ||
			!strings.HasPrefix(reason, "cannot replace the files of the charm: hooks/start: ") ||
			!cmp.Equal(r.c.workload.Data, map[string]any{"charm": r.c.unit.ServiceCharmURL}) {
			t.Errorf("the workload's status is %+v with reason %q", r.c.workload, reason)
		}
		if len(said.lines) != 1 || !strings.Contains(said.lines[0], `unit web/0: upgrade to charm "`+
			r.c.unit.ServiceCharmURL+`" failed: cannot replace the files of the charm: `) {
			t.Errorf("the log has %q", said.lines)
		}
		said.lines = nil
		r.expect()
	}

	end := protect(t, inTheWay)
	r.settle(func() { r.c.unit.ServiceCharmURL = "local:web-2" })
	conflicts()
	// A new agent finds the same state.
	r.c.change(func() { r.c.unit.ConfigVersion = 7 })
	r.stop()
	r.start()
	r.settle(nil)
	if r.c.failure() != "upgrade failed" || len(said.lines) > 0 {
		t.Errorf("a new agent says %+v, %q", r.c.workload, said.lines)
	}
	r.expect()
	// It is still in the way.
	r.settle(func() { r.c.unit.Resolved = entity.ResolvedNoHooks })
	conflicts()
	end()
	r.settle(func() { r.c.unit.Resolved = entity.ResolvedRetry })
	r.expect("upgrade-charm", "config-changed")
	if r.c.unit.Resolved != entity.ResolvedNone {
		t.Error("the user's request was not taken back")
	}
	if r.c.workload.Status != entity.StatusUnknown && r.c.workload.Status != entity.StatusActive {
		t.Errorf("the workload's status is %+v", r.c.workload)
	}

	// Another charm without the file ends the conflict too, once it is forced.
	end = protect(t, inTheWay)
	r.settle(func() { r.c.unit.ServiceCharmURL = "local:web-3" })
	conflicts()
	end()
	r.c.change(func() { r.c.unit.ServiceCharmURL = "local:web-1" })
	r.stop()
	r.start()
	r.settle(nil)
	r.expect()
	r.settle(func() { r.c.unit.ForceCharm = true })
	r.expect("upgrade-charm", "config-changed")
	if _, err := os.Stat(filepath.Join(r.dir, "charm/hooks/other")); !os.IsNotExist(err) {
		t.Errorf("a file of the charm that was given up is left: %v", err)
	}
	if r.c.workload.Status != entity.StatusActive || r.c.workload.Message != "serving" {
		t.Errorf("the workload's status is %+v", r.c.workload)
	}
}
