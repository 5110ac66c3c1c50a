package state_test

import (
	"testing"

	"juju/state/entity"
)

// A request names the boot during which it was made, so a machine restarts once for all requests of one boot.
func TestRequestReboot(t *testing.T) {
	w := newWorld(t)
	w.addSubordinate()
	requested := func(want string) {
		t.Helper()
		info, err := w.machine("0").Info(w.ctx)
		w.ok(err)
		if info.Reboot != want {
			t.Errorf("a restart is requested during boot %q, want %q", info.Reboot, want)
		}
	}
	w.refused(w.unit("mysql/0").RequestReboot(w.ctx, ""), entity.Invalid, "no boot specified")
	requested("")
	for _, boot := range []string{"one", "two"} {
		w.ok(w.unit("logging/0").RequestReboot(w.ctx, boot))
		requested(boot)
		w.st.Before(func() { t.Error("the same request changes something") })
		w.ok(w.unit("mysql/0").RequestReboot(w.ctx, boot))
		w.st.Before(nil)
		requested(boot)
	}
}
