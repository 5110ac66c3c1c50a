package apiserver

import (
	"path/filepath"
	"strings"
	"testing"

	"juju/apiserver/client"
	"juju/apiserver/facades"
	"juju/apiserver/facades/facadestest"
	"juju/state/entity"
)

// upgradeWorld is a controller of version 1.2.3 that can be upgraded.
func upgradeWorld(t *testing.T) (*world, *facadestest.Upgrades) {
	f := &facadestest.Upgrades{Installed: map[entity.Binaries]string{}}
	w := newWorld(t, func(c *Config) {
		c.Upgrades, c.Binaries = f, &facades.Binaries{Path: filepath.Join(t.TempDir(), "none"), SHA256: facadestest.Runs.SHA256}
		c.Commit = "c0ffee"
		c.Limits = DefaultLimits()
		c.Limits.Binaries = 100
	})
	return w, f
}

// Status says which version each agent runs, and which have yet to be upgraded, or why they can't be.
func TestStatusShowsAgentBinaries(t *testing.T) {
	w, _ := upgradeWorld(t)
	w.populate()
	ctx := t.Context()
	m0, u0 := entity.MachineTag("0"), entity.UnitTag("mysql/0")
	machine, err := w.st.Machine(ctx, "0")
	w.ok(err)
	w.ok(machine.SetStatus(ctx, entity.Status{Status: entity.StatusStarted}))
	unit, err := w.st.Unit(ctx, "mysql/0")
	w.ok(err)
	w.ok(unit.SetAgentStatus(ctx, entity.Status{Status: entity.StatusIdle}))
	agent := func(tag entity.Tag, p entity.Binaries) *client.Conn {
		info := w.info(tag)
		info.Binaries = p
		if tag.Kind == entity.KindUnit {
			info.Nonce = ""
		}
		return w.dial(info)
	}
	old := entity.Binaries{Version: "1.2.0", Commit: "c0-dirty",
		SHA256: strings.Repeat("34", 8)} // the beginning, as a directory's name
	atM, atU := agent(m0, old), agent(u0, old)
	user := w.dial(w.adminInfo(w.st.UUID()))
	events, err := user.WatchStatus(ctx)
	w.ok(err)
	build := func(version, commit string) string { return entity.Binaries{Version: version, Commit: commit}.Build() }
	// wait waits until status shows this of the machine's agent and of the unit's.
	wait := func(want string) {
		t.Helper()
		for {
			<-events
			status, err := user.Status(ctx)
			w.ok(err)
			m, u := status.Machines[0], status.Services[0].Units[0]
			got := strings.Join([]string{build(m.AgentVersion, m.AgentCommit), m.Status.Message,
				build(u.AgentVersion, u.AgentCommit), u.Agent.Message}, "|")
			if got == want {
				return
			}
			t.Logf("status shows %s", got)
		}
	}
	wait("1.2.0 (c0-dirty)||1.2.0 (c0-dirty)|")
	w.ok(w.st.Settings().SetBinaries(ctx, entity.Binaries{Version: "1.2.0", SHA256: strings.Repeat("34", 32)}))
	wait("1.2.0 (c0-dirty)||1.2.0 (c0-dirty)|")
	all := w.admin().watchesAll()
	all.next(3)
	w.ok(w.st.Settings().SetBinaries(ctx, facadestest.Runs))
	wait("1.2.0 (c0-dirty)|upgrade to 1.2.3 is pending|1.2.0 (c0-dirty)|upgrade to 1.2.3 is pending")
	for _, name := range []string{"machine 0", "unit mysql/0"} { // no document of theirs has changed
		all.until(name, func(d map[string]any) bool { return at(d, "agent-status", "message") == "upgrade to 1.2.3 is pending" })
	}
	w.ok(client.AgentFacade{Caller: atM}.SetUpgradeError(ctx, m0, "upgrade to 1.2.3 failed: no such luck"))
	wait("1.2.0 (c0-dirty)|upgrade to 1.2.3 failed: no such luck|1.2.0 (c0-dirty)|upgrade to 1.2.3 is pending")
	if p, err := (client.AgentFacade{Caller: atM}).Programs(ctx, m0); p != facadestest.Runs || err != nil {
		t.Errorf("the agent is to run %v, %v", p, err)
	}
	atM.Close()
	agent(m0, facadestest.Runs)
	wait("1.2.3||1.2.0 (c0-dirty)|upgrade to 1.2.3 is pending")
	atU.Close()
	agent(u0, entity.Binaries{Version: "1.4.0"}) // newer than the model
	wait("1.2.3||1.4.0|")
	// What can't be a version or a commit is not shown.
	agent(m0, entity.Binaries{Version: "none\n"})
	wait("||1.4.0|")
	agent(u0, entity.Binaries{Version: "1.5.0", Commit: "none\n"})
	wait("|||")
}
