package facades_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"juju/apiserver/client"
	"juju/state/entity"
)

// A disk that is full is a reason of its machine, its units and their services, also below a reason of their own; one that
// is nearly full is one of the machine. Without names, its machine is explained.
func TestExplainFullDisks(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	w.arrive(entity.MachineTag("0"))
	ctx, admin := t.Context(), w.admin().client()
	for _, unit := range []string{"mysql/0", "mysql/1"} {
		u, err := w.st.Unit(ctx, unit)
		w.ok(err)
		w.ok(u.SetAgentStatus(ctx, entity.Status{Status: entity.StatusIdle}))
		w.ok(u.SetStatus(ctx, entity.Status{Status: entity.StatusActive}))
	}
	reasons := func(words ...string) (lines []string) {
		t.Helper()
		all, _, err := admin.Explain(ctx, words...)
		w.ok(err)
		for _, e := range all {
			for _, r := range e.Reasons {
				if r.By == entity.ByUser {
					lines = append(lines, e.Name+": "+r.Text+" → "+r.Hint)
				}
			}
		}
		return lines
	}
	tag := entity.MachineTag("0")
	m, err := w.st.Machine(ctx, "0")
	w.ok(err)
	w.ok(m.SetStatus(ctx, entity.Status{Status: entity.StatusStarted}))
	machiner := client.MachinerFacade{Caller: w.agent(tag).client()}
	tell := func(disk entity.FullDisk) { w.ok(machiner.SetFullDisk(ctx, tag, disk)) }
	check := func(name string, want ...string) {
		t.Helper()
		var words []string
		if name != "" {
			words = strings.Fields(name)
		}
		if diff := cmp.Diff(want, reasons(words...)); diff != "" {
			t.Errorf("explain %s differs:\n%s", name, diff)
		}
	}
	const hint = " → make room on the disk of /d (df -h, du -xh); what waits for it then goes on by itself"
	check("mysql/0")
	check("0")
	tell(entity.FullDisk{Dir: "/d", Below: 64 << 20, Need: 64 << 20})
	const nearly = "machine 0: machine 0: the disk is nearly full: /d has less than 64 MiB free" + hint
	check("mysql/0")
	check("0", nearly)
	check("", nearly)
	tell(entity.FullDisk{Dir: "/d", Below: 1 << 20, Need: 64 << 20, Stops: true})
	const full = "machine 0: the disk is full: /d has less than 1 MiB free, and needs 64 MiB; hooks and commands wait or fail" + hint
	check("mysql/0", "unit mysql/0: "+full)
	check("mysql/1")
	check("mysql", "service mysql: "+full)
	check("0", "machine 0: "+full)
	check("", "machine 0: "+full)
	tell(entity.FullDisk{})
	check("mysql/0")
	check("0")
}
