package state_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// nesting is the lxd-profile.yaml of the charms here.
const nesting = "config: {security.nesting: true}\ndevices: {null: {type: unix-char, source: /dev/null, path: /dev/zilch}}\n"

// profiled adds a charm with a profile.
func (w *world) profiled(metadata, profile string) string {
	w.Helper()
	return statetest.Charm(w.T, w.st, metadata, "lxd-profile.yaml", profile)
}

// profileName returns the name of a profile in this model.
func (w *world) profileName(rest string) string {
	return "juju-default-" + w.st.UUID()[:6] + "-" + rest
}

// wants checks which profiles a machine should have.
func (w *world) wants(machine string, want ...string) {
	w.Helper()
	all, err := w.machine(machine).CharmProfiles(w.ctx)
	w.ok(err)
	names := []string{}
	for _, p := range all {
		names = append(names, strings.TrimPrefix(p.Name, w.profileName("")))
	}
	if diff := cmp.Diff(append([]string{}, want...), names); diff != "" {
		w.Errorf("machine %s should have (-want +got):\n%s", machine, diff)
	}
}

// awaits checks which profile a unit waits for; "" for none.
func (w *world) awaits(unit, want string) {
	w.Helper()
	info, err := w.unit(unit).Info(w.ctx)
	w.ok(err)
	if want != "" {
		want = w.profileName(want)
	}
	if info.AwaitedProfile != want {
		w.Errorf("unit %s waits for %q, want %q", unit, info.AwaitedProfile, want)
	}
}

// mutates checks which machines must get other profiles, and gives these to them as their worker does.
func (w *world) mutates(want ...string) {
	w.Helper()
	work, err := w.st.Provisioning().ProfileWork(w.ctx)
	w.ok(err)
	machines := []string{}
	for _, one := range work {
		machines = append(machines, one.Machine)
		m := w.machine(one.Machine)
		all, err := m.CharmProfiles(w.ctx)
		w.ok(err)
		if diff := cmp.Diff(one.Wanted, entity.ProfileRefs(all)); diff != "" {
			w.Errorf("of machine %s, the work differs from what it should have:\n%s", one.Machine, diff)
		}
		w.ok(m.SetCharmProfiles(w.ctx, entity.ProfilesSet{Instance: one.Instance, Has: one.Wanted}))
	}
	if diff := cmp.Diff(append([]string{}, want...), machines); diff != "" {
		w.Errorf("machines with work (-want +got):\n%s", diff)
	}
}

// A machine gets the profiles of the charms that its units should run, and they wait for it, with the reason shown. The
// subordinates' are among them.
func TestProfilesOfCharms(t *testing.T) {
	w := newWorld(t)
	first := w.profiled(statetest.MySQL, nesting)
	_, err := w.st.AddService(w.ctx, state.AddServiceParams{Name: "mysql", CharmURL: first, Units: 1})
	w.ok(err)
	svc := mustService(w, "mysql")
	w.wants("0", "mysql-0")
	w.awaits("mysql/0", "") // nothing runs there yet
	w.mutates()

	// It is started with its profile, and its unit awaits nothing.
	all, err := w.machine("0").CharmProfiles(w.ctx)
	w.ok(err)
	want := entity.LXDProfile{Config: map[string]string{"security.nesting": "true"},
		Devices: map[string]map[string]string{"null": {"type": "unix-char", "source": "/dev/null", "path": "/dev/zilch"}}}
	if diff := cmp.Diff(want, all[0].LXDProfile); diff != "" {
		t.Errorf("the profile (-want +got):\n%s", diff)
	}
	w.ok(w.machine("0").SetProvisioned(w.ctx, entity.Instance{ID: "i-0", Nonce: "n", Profiles: entity.ProfileRefs(all)}))
	w.ok(w.machine("0").SetStatus(w.ctx, entity.Status{Status: entity.StatusStarted}))
	w.awaits("mysql/0", "")
	w.mutates()
	u := w.started("mysql/0")
	w.ok(u.SetCharm(w.ctx, first))
	w.checkExplain("mysql/0")

	// With another revision, its profile replaces the first; until then the unit waits.
	second := w.profiled(statetest.MySQL, nesting)
	_, err = svc.SetCharm(w.ctx, state.SetCharmParams{URL: second})
	w.ok(err)
	w.wants("0", "mysql-1")
	w.awaits("mysql/0", "mysql-1")
	waits := `unit "mysql/0" gets charm "` + second + `" once machine 0 has LXD profile ` + w.profileName("mysql-1")
	w.checkExplain("mysql/0", waits)
	failed := entity.ProfilesSet{Instance: "i-0", Failed: "LXD is out of order"}
	w.ok(w.machine("0").SetCharmProfiles(w.ctx, failed))
	e := w.checkExplain("mysql/0", waits+", which the cloud does not give it: LXD is out of order")
	if r := e.Reasons[0]; r.By != entity.ByUser || !strings.Contains(r.Hint, "juju upgrade-charm mysql") {
		t.Errorf("explained as %+v", r)
	}
	w.ok(w.machine("0").SetCharmProfiles(w.ctx, entity.ProfilesSet{Instance: "i-former"})) // it is of another instance
	w.awaits("mysql/0", "mysql-1")
	w.mutates("0")
	w.awaits("mysql/0", "")
	w.checkExplain("mysql/0")
	w.ok(u.SetCharm(w.ctx, second))

	// A subordinate's profile is its principal's machine's.
	logging := w.profiled(statetest.Logging, nesting)
	_, err = w.st.AddService(w.ctx, state.AddServiceParams{Name: "logging", CharmURL: logging})
	w.ok(err)
	w.mutates()
	r := w.relate("mysql", "logging")
	w.ok(u.EnterScope(w.ctx, r.ID()))
	w.wants("0", "logging-0", "mysql-1")
	w.awaits("logging/0", "logging-0")
	w.awaits("mysql/0", "")
	w.mutates("0")
	w.awaits("logging/0", "")

	// While there is no instance nothing is awaited, and a new one has what it was started with.
	w.ok(w.machine("0").LoseInstance(w.ctx, entity.Instance{ID: "i-0", Nonce: "n"}))
	w.mutates()
	_, err = svc.SetCharm(w.ctx, state.SetCharmParams{URL: first})
	w.ok(err)
	w.awaits("mysql/0", "")
	w.ok(w.machine("0").SetProvisioned(w.ctx, entity.Instance{ID: "i-1", Nonce: "n", Profiles: []entity.ProfileRef{}}))
	w.awaits("mysql/0", "mysql-0")
	w.mutates("0")

	// A unit on its way out awaits nothing, and its profile stays until it is gone.
	_, err = svc.SetCharm(w.ctx, state.SetCharmParams{URL: second})
	w.ok(err)
	w.awaits("mysql/0", "mysql-1")
	w.ok(svc.Destroy(w.ctx, entity.Destruction{}))
	_, _, err = w.st.Cleaner().Cleanup(w.ctx)
	w.ok(err)
	w.awaits("mysql/0", "")
	w.wants("0", "logging-0", "mysql-1")
}

// In a cloud without profiles, and on machines that no cloud started, no unit waits. Once the controller can give them, an
// instance of which nothing is recorded gets its profiles too.
func TestProfilesWhereThereAreNone(t *testing.T) {
	w := newWorld(t)
	url := w.profiled(statetest.MySQL, nesting)
	_, err := w.st.AddService(w.ctx, state.AddServiceParams{Name: "mysql", CharmURL: url, Units: 1})
	w.ok(err)
	w.provisioned("0")
	w.awaits("mysql/0", "")
	host, err := w.st.AddMachine(w.ctx, state.AddMachineParams{Series: "jammy",
		Manual: entity.Instance{ID: "manual:10.0.0.9", Nonce: "manual"}, Placement: entity.Placement{Manual: "10.0.0.9"}})
	w.ok(err)
	w.wants(host.ID())
	work, err := w.st.Provisioning().ProfileWork(w.ctx)
	w.ok(err)
	if len(work) != 1 || work[0].Machine != "0" || work[0].Recorded {
		t.Errorf("got %+v", work)
	}
	w.mutates("0")
	w.mutates()
}

// The units of a service that is upgraded in batches want the profiles of the charms that they should run by then. A charm
// without configuration and devices has no profile.
func TestProfilesInBatches(t *testing.T) {
	w := newWorld(t)
	first, second := w.profiled(statetest.MySQL, nesting), w.profiled(statetest.MySQL, "description: nothing\n")
	_, err := w.st.AddService(w.ctx, state.AddServiceParams{Name: "mysql", CharmURL: first, Units: 2})
	w.ok(err)
	for _, id := range []string{"0", "1"} {
		w.provisioned(id)
		w.ok(w.started("mysql/"+id).SetCharm(w.ctx, first))
	}
	w.mutates("0", "1")
	svc := mustService(w, "mysql")
	_, err = svc.SetCharm(w.ctx, state.SetCharmParams{URL: second, Batch: 1, HealthTimeout: 1e9})
	w.ok(err)
	w.mutates()
	_, err = svc.AdvanceRollout(w.ctx, func(string) bool { return false })
	w.ok(err)
	work, err := w.st.Provisioning().ProfileWork(w.ctx)
	w.ok(err)
	if len(work) != 1 || len(work[0].Wanted) != 0 {
		t.Fatalf("got %+v, want work for the unit whose turn it is", work)
	}
	w.awaits("mysql/"+work[0].Machine, "")
}
