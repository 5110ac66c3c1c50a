package facades_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"juju/apiserver/client"
	"juju/provider/dummytest"
	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// What the cloud does not have is refused by every method that needs it, and nothing is written.
func TestUnavailableMachinesAreRefused(t *testing.T) {
	t.Parallel()
	cloud := dummytest.New(nil)
	cloud.SetSeries("jammy", "noble")
	w := newWorld(t, onCloud(cloud))
	ctx := t.Context()
	c, root := w.admin().client(), w.root().client()
	mysql := statetest.Charm(t, w.st, statetest.MySQL)
	old := statetest.Charm(t, w.st, `{name: old, summary: s, description: d, series: [trusty, xenial]}`)
	if _, err := w.st.AddService(ctx, state.AddServiceParams{Name: "there", CharmURL: mysql, Units: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.st.AddService(ctx,
		state.AddServiceParams{Name: "needy", CharmURL: mysql, Constraints: statetest.Constraints("arch=s390x")}); err != nil {
		t.Fatal(err)
	}
	const arch = "invalid constraint value: arch=s390x\nvalid values are: [amd64 arm64]"
	check := func(what string, err error, kind entity.Kind, text string) {
		t.Helper()
		if entity.KindOf(err) != kind || !strings.Contains(err.Error(), text) || entity.Hint(err) == "" &&
			kind != entity.Invalid {
			t.Errorf("%s: got error %v (%q, hint %q), want %q with %q", what, err, entity.KindOf(err), entity.Hint(err), kind,
				text)
		}
	}
	before := w.stored()
	deploy := func(args client.DeployArgs) error {
		args.Service, args.Units = "x", 1
		_, _, checked := c.CheckDeploy(ctx, args, entity.Platforms{Series: map[string][]string{old: {"trusty", "xenial"}}[args.CharmURL]})
		_, err := c.Deploy(ctx, args)
		if err == nil || checked == nil || err.Error() != checked.Error() {
			t.Errorf("Deploy returns %v, and CheckDeploy %v", err, checked)
		}
		return err
	}
	refusals := func() {
		check("deploy", deploy(client.DeployArgs{CharmURL: mysql, Constraints: statetest.Constraints("arch=s390x")}), entity.Invalid,
			`cannot deploy "x": `+arch)
		check("deploy to a series", deploy(client.DeployArgs{CharmURL: mysql, Series: "xenial"}), entity.Invalid,
			`series "xenial" is not available: the cloud has jammy, noble`)
		check("deploy of an old charm", deploy(client.DeployArgs{CharmURL: old}), entity.Invalid,
			"the charm's series trusty, xenial are not available: the cloud has jammy, noble")
		check("deploy in a container", deploy(client.DeployArgs{CharmURL: mysql, Placement: statetest.To("kvm:0")}), entity.Invalid,
			`cannot deploy "x": the cloud has no kvm containers`)
		check("deploy in a zone", deploy(client.DeployArgs{CharmURL: mysql, Placement: statetest.To("zone=a")}), entity.Invalid,
			`cannot deploy "x": zone=a placement is invalid`)
		check("add-unit", third(c.AddUnits(ctx, "needy", 1, nil)), entity.Invalid, `cannot add a unit to service "needy": `+
			arch)
		check("add-unit in a container", third(c.AddUnits(ctx, "there", 2, statetest.To("0", "kvm"))), entity.Invalid,
			`cannot add a unit to service "there": the cloud has no kvm containers`)
		check("add-unit in a zone", third(c.AddUnits(ctx, "there", 1, statetest.To("zone=a"))), entity.Invalid,
			`cannot add a unit to service "there": zone=a placement is invalid`)
		check("add-machine", third(c.AddMachine(ctx, client.MachineArgs{Constraints: statetest.Constraints("arch=s390x")})),
			entity.Invalid, "cannot add a machine: "+arch)
		check("add-machine of a series", third(c.AddMachine(ctx, client.MachineArgs{Series: "xenial"})), entity.Invalid,
			`series "xenial" is not available`)
		check("add-machine at a place", third(c.AddMachine(ctx, client.MachineArgs{Placement: statetest.At("zone=a")})), entity.Invalid,
			"zone=a placement is invalid")
		check("add-machine in a container", third(c.AddMachine(ctx, client.MachineArgs{Placement: statetest.At("kvm")})), entity.Invalid,
			"cannot add a machine: the cloud has no kvm containers")
		check("add-machine in a bad container", third(c.AddMachine(ctx, client.MachineArgs{Placement: entity.Placement{Container: "lxd", Machine: "web"}})),
			entity.Invalid, `cannot add a machine: invalid value "web" for "lxd" scope: expected machine-id`)
		check("set-constraints", second(c.SetServiceConstraints(ctx, "there", statetest.Constraints("arch=s390x"))), entity.Invalid,
			"cannot set constraints: "+arch)
		check("set-model-constraints", second(c.SetModelConstraints(ctx, statetest.Constraints("arch=s390x"))), entity.Invalid,
			"cannot set constraints: "+arch)
		check("model-config", c.SetModelConfig(ctx,
			map[string]string{"default-series": "xenial", "automatically-retry-hooks": "true"}), entity.Invalid,
			`default-series "xenial" is not available: the cloud has jammy, noble`)
	}
	refusals()
	_, err := root.CreateModel(ctx, "second", client.ModelPlace{}, map[string]string{"default-series": "xenial"})
	check("add-model", err, entity.Invalid, `cannot add model "second": default-series "xenial" is not available`)
	if after := w.stored(); after != before {
		t.Errorf("a refused request has changed:\n%s\nbefore\n%s", after, before)
	}

	// Nothing is written either if a cloud fails.
	cloud.Break("PrecheckInstance")
	_, _, err = c.AddMachine(ctx, client.MachineArgs{})
	check("a broken cloud", err, entity.Unavailable,
		"cannot ask the cloud what machines it has: dummy.PrecheckInstance is broken")
	cloud.Mend("PrecheckInstance")
	if after := w.stored(); after != before {
		t.Errorf("a failed request has changed:\n%s\nbefore\n%s", after, before)
	}
	if _, _, err := c.AddMachine(ctx,
		client.MachineArgs{Placement: statetest.At("valid"), Constraints: statetest.Constraints("arch=arm64")}); err != nil {
		t.Errorf("what the cloud has: %v", err)
	}
}

// Nothing is written either if a cloud does not answer.
func TestACloudThatStalls(t *testing.T) {
	t.Parallel()
	cloud := dummytest.New(nil)
	w := newWorld(t, onCloud(cloud))
	w.backend.Limits.CloudTime = time.Second
	c, mysql := w.admin().client(), statetest.Charm(t, w.st, statetest.MySQL)
	before := w.stored()
	for method, call := range map[string]func() error{
		"PrecheckInstance": func() error {
			_, _, err := c.AddMachine(t.Context(), client.MachineArgs{})
			return err
		},
		"Series": func() error {
			_, err := c.Deploy(t.Context(), client.DeployArgs{Service: "x", CharmURL: mysql, Units: 1})
			return err
		},
	} {
		release := cloud.Stall(method)
		err := call()
		release()
		if entity.KindOf(err) != entity.Unavailable || !strings.Contains(err.Error(), "the cloud has not answered for 1s") || entity.Hint(err) == "" {
			t.Errorf("%s: got error %v (hint %q)", method, err, entity.Hint(err))
		}
	}
	if after := w.stored(); after != before {
		t.Errorf("a failed request has changed:\n%s\nbefore\n%s", after, before)
	}
}

// Machines, containers and units are where they are placed; the scope of a zone may be the model.
func TestPlacementsOnACloudWithZones(t *testing.T) {
	t.Parallel()
	cloud := dummytest.New(nil)
	cloud.SetZones("a", "b")
	w := newWorld(t, onCloud(cloud))
	ctx := t.Context()
	c := w.admin().client()
	mysql := statetest.Charm(t, w.st, statetest.MySQL)
	if _, err := c.Deploy(ctx, client.DeployArgs{Service: "db", CharmURL: mysql, Units: 1,
		Placement: statetest.To("zone=b")}); err != nil {
		t.Fatal(err)
	}
	_, _, inUnits := c.AddUnits(ctx, "db", 2, statetest.To("lxd:0", w.st.UUID()+":zone=a"))
	for _, err := range []error{inUnits, third(c.AddMachine(ctx, client.MachineArgs{Placement: statetest.At("lxd:0")})),
		third(c.AddMachine(ctx, client.MachineArgs{Placement: statetest.At("lxd")})),
		third(c.AddMachine(ctx, client.MachineArgs{Placement: statetest.At("zone=b")}))} {
		if err != nil {
			t.Error(err)
		}
	}
	all, err := w.st.Machines(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range all {
		info, err := m.Info(ctx)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.TrimSpace(m.ID()+" "+info.Placement))
	}
	// What has the model for its scope is for the cloud, which knows no machine.
	for _, scope := range []string{w.st.UUID(), w.st.Name()} {
		_, _, inUnits := c.AddUnits(ctx, "db", 1, statetest.To(scope+":0"))
		_, _, inMachines := c.AddMachine(ctx, client.MachineArgs{Placement: statetest.At(scope + ":0")})
		for _, err := range []error{inUnits, inMachines} {
			if err == nil || !strings.Contains(err.Error(), "0 placement is invalid") {
				t.Errorf("%s:0 gets %v", scope, err)
			}
		}
	}
	if want := "0 zone=b, 0/lxd/0, 0/lxd/1, 1 zone=a, 2, 2/lxd/0, 3 zone=b"; strings.Join(got, ", ") != want {
		t.Errorf("the machines are %s, want %s", strings.Join(got, ", "), want)
	}
}

// What the cloud ignores is stored nevertheless, and the user is warned.
func TestWarningsOfIgnoredConstraints(t *testing.T) {
	t.Parallel()
	cloud := dummytest.New(nil)
	w := newWorld(t, onCloud(cloud))
	ctx := t.Context()
	c := w.admin().client()
	mysql := statetest.Charm(t, w.st, statetest.MySQL)
	ignored := statetest.Constraints("mem=1G cpu-power=7 virt-type=kvm")
	check := func(what string, warnings []string, err error, want ...string) {
		t.Helper()
		if err != nil || !slices.Equal(warnings, want) {
			t.Errorf("%s: got warnings %q, %v, want %q", what, warnings, err, want)
		}
	}
	text := `unsupported constraints: cpu-power, virt-type: cloud "dummy" ignores them`
	_, warnings, err := c.CheckDeploy(ctx, client.DeployArgs{Service: "plan", Constraints: ignored}, entity.Platforms{})
	check("CheckDeploy", warnings, err, text)
	warnings, err = c.Deploy(ctx, client.DeployArgs{Service: "mysql", CharmURL: mysql, Units: 1, Constraints: ignored})
	check("deploy", warnings, err, text)
	_, warnings, err = c.AddMachine(ctx, client.MachineArgs{Constraints: ignored})
	check("add-machine", warnings, err, text)
	warnings, err = c.SetServiceConstraints(ctx, "mysql", ignored)
	check("set-constraints", warnings, err, text)
	warnings, err = c.SetModelConstraints(ctx, ignored)
	check("set-model-constraints", warnings, err, text)
	// A user who has been warned is not warned again for each unit with the constraints.
	_, warnings, err = c.AddUnits(ctx, "mysql", 1, nil)
	check("add-unit", warnings, err)
	// With an unsupported key, another invalid one is still an error.
	if _, err = c.SetServiceConstraints(ctx, "mysql",
		statetest.Constraints("cpu-power=7 arch=s390x")); entity.KindOf(err) != entity.Invalid {
		t.Errorf("an ignored and an invalid one: %v", err)
	}

	// A host that was upgraded has another series than the services deployed there before.
	cloud.SetSeries("trixie")
	_, warnings, err = c.AddUnits(ctx, "mysql", 1, nil)
	check("add-unit", warnings, err,
		`service "mysql" has series "jammy", which is no longer available: hooks run on "trixie"`)
	warnings, err = c.Deploy(ctx, client.DeployArgs{Service: "forced", CharmURL: mysql, Series: "xenial", Force: true})
	check("deploy --series xenial --force", warnings, err, `series "xenial" is not available: hooks run on "trixie"`)
	if svc, err := w.st.Service(ctx, "forced"); err != nil || svc.Series() != "trixie" {
		t.Errorf("status shows the series %q (%v), hooks see trixie", svc.Series(), err)
	}
}

// A service is exposed also where that changes nothing, and the user is warned.
func TestWarningsOfOpenPorts(t *testing.T) {
	t.Parallel()
	cloud := dummytest.New(nil)
	w := newWorld(t, onCloud(cloud))
	ctx := t.Context()
	c := w.admin().client()
	if _, err := c.Deploy(ctx, client.DeployArgs{Service: "mysql",
		CharmURL: statetest.Charm(t, w.st, statetest.MySQL)}); err != nil {
		t.Fatal(err)
	}
	check := func(c *client.Conn, service string, want ...string) {
		t.Helper()
		warnings, err := c.Expose(ctx, service, nil)
		if err != nil || !slices.Equal(warnings, want) {
			t.Errorf("expose: got warnings %q, %v, want %q", warnings, err, want)
		}
	}
	const all = "all ports are reachable, whether their services are exposed or not: "
	check(c, "mysql")
	cloud.Break("CheckFirewall")
	check(c, "mysql")
	cloud.Mend("CheckFirewall")
	cloud.SetFirewall(false)
	check(c, "mysql", all+"the dummy has no firewall")
	if s, err := w.st.Service(ctx, "mysql"); err != nil || s.ExposedEndpoints() == nil {
		t.Errorf("the service is not exposed (%v)", err)
	}
}

// Who exposes a service is told which hosts close no ports, as their agents say while they are connected.
func TestWarningsOfHosts(t *testing.T) {
	t.Parallel()
	cloud := dummytest.New(nil)
	w := newWorld(t, onCloud(cloud)).populate()
	ctx := t.Context()
	c := w.admin().client()
	check := func(when string, want ...string) {
		t.Helper()
		warnings, err := c.Expose(ctx, "mysql", nil)
		if err != nil || !slices.Equal(warnings, want) {
			t.Errorf("%s: got warnings %q, %v, want %q", when, warnings, err, want)
		}
	}
	say := func(agent *client.Conn, why string) {
		t.Helper()
		w.ok(client.HostFirewallerFacade{Caller: agent}.SetFirewallError(ctx, agent.Tag(), why))
	}
	m0, m1 := w.agent(entity.MachineTag("0")).client(), w.agent(entity.MachineTag("1")).client()
	leave := w.arrive(m0.Tag())
	w.arrive(m1.Tag())
	check("nothing is known")
	const all = " are reachable, whether their services are exposed or not: "
	say(m1, strings.Repeat("é", 1000))
	long := "all ports of machine 1" + all + entity.Cut(strings.Repeat("é", 1000), 1000)
	check("a long reason", long)
	say(m0, "the host has no command nft")
	check("two", "all ports of machine 0"+all+"the host has no command nft", long)
	cloud.SetFirewall(false)
	check("nor does the cloud", "all ports"+all+"the dummy has no firewall",
		"all ports of machine 0"+all+"the host has no command nft", long)
	cloud.SetFirewall(true)
	say(m1, "")
	check("one can", "all ports of machine 0"+all+"the host has no command nft")
	leave()
	check("the other is gone")
}
