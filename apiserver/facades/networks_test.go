package facades_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"juju/apiserver/client"
	"juju/apiserver/facades"
	"juju/apiserver/params"
	"juju/provider/dummytest"
	"juju/state"
	"juju/state/constraints"
	"juju/state/entity"
	"juju/state/statetest"
)

// The subnets are those that the cloud tells when they are first asked for, and then again when a user asks it to.
func TestSpacesAndSubnets(t *testing.T) {
	cloud := dummytest.New(nil)
	cloud.SetSubnets(entity.Subnet{CIDR: "10.0.0.0/16", ProviderID: "a", Network: "net", Zones: []string{"z2", "z1"}},
		entity.Subnet{CIDR: "fd00::/8", ProviderID: "b", Network: "net"})
	w := newWorld(t, onCloud(cloud)).populate()
	c := w.admin()
	says := func(facade string, version int, method string, p any, want string) {
		t.Helper()
		var result any
		w.ok(c.do(facade, version, method, p, &result))
		text, err := json.Marshal(result)
		if w.ok(err); string(text) != want {
			t.Errorf("%s.%s:\n%s\nwant\n%s", facade, method, text, want)
		}
	}
	db := params.Entity{Tag: params.TagOf(entity.SpaceTag("db"))}
	a := `{"cidr":"10.0.0.0/16","life":"alive","provider-id":"a","provider-network-id":"net","space-tag":"space-alpha","vlan-tag":0,"zones":["z2","z1"]}`
	b := `{"cidr":"fd00::/8","life":"alive","provider-id":"b","provider-network-id":"net","space-tag":"space-alpha","vlan-tag":0,"zones":[]}`
	says("Spaces", 6, "ListSpaces", nil, `{"results":[{"id":"0","name":"alpha","subnets":[`+a+`,`+b+`]}]}`)
	says("Subnets", 5, "ListSubnets", params.SubnetsFilters{Zone: "z1"}, `{"results":[`+a+`]}`)
	says("Subnets", 5, "AllZones", nil, `{"results":[{"available":true,"name":"z1"},{"available":true,"name":"z2"}]}`)
	says("Subnets", 5, "SubnetsByCIDR", params.CIDRs{CIDRs: []string{"fd00::1/8", "10.1.0.0/16"}},
		`{"results":[{"subnets":[{"cidr":"fd00::/8","id":"2",`+b[len(`{"cidr":"fd00::/8",`):]+`]},{}]}`)
	says("Spaces", 6, "CreateSpaces", params.CreateSpaces{Spaces: []params.CreateSpace{{SpaceTag: db.Tag, CIDRs: []string{"10.0.0.0/16"}}}},
		`{"results":[{}]}`)
	says("Spaces", 6, "MoveSubnets", params.MoveSubnets{Args: []params.MoveSubnetsTo{{SpaceTag: params.TagOf(entity.SpaceTag("alpha")),
		SubnetTags: []params.Tag{params.TagOf(entity.SubnetTag("1"))}}}},
		`{"results":[{"moved-subnets":[{"cidr":"10.0.0.0/16","old-space":"space-db","subnet":"subnet-1"}],"new-space":"space-alpha"}]}`)
	says("Spaces", 6, "RenameSpace", params.RenameSpaces{Changes: []params.RenameSpace{{FromSpaceTag: db.Tag, ToSpaceTag: params.TagOf(entity.SpaceTag("data"))}}},
		`{"results":[{}]}`)
	says("Application", 19, "SetConstraints", map[string]any{"application": "mysql", "constraints": map[string]any{"spaces": []string{"^data"}}}, `{}`)
	db.Tag = params.TagOf(entity.SpaceTag("data"))
	says("Spaces", 6, "ShowSpace", params.Entities{Entities: []params.Entity{db}},
		`{"results":[{"applications":[],"machine-count":0,"space":{"id":"3","name":"data","subnets":[]}}]}`)
	says("Spaces", 6, "RemoveSpace", params.RemoveSpaces{SpaceParams: []params.RemoveSpace{{Space: db}}},
		`{"results":[{"constraints":[{"tag":"application-mysql"}]}]}`)
	says("Spaces", 6, "RemoveSpace", params.RemoveSpaces{SpaceParams: []params.RemoveSpace{{Space: db, Force: true}}}, `{"results":[{}]}`)
	cloud.SetSubnets(entity.Subnet{CIDR: "10.7.0.0/16", ProviderID: "c", Network: "net"})
	says("Spaces", 6, "ReloadSpaces", nil, `{}`)
	says("Subnets", 5, "AllZones", nil, `{"results":[]}`)
	cloud.Fail("Subnets", 1, errors.New("no route to host"))
	if err := c.do("Spaces", 6, "ReloadSpaces", nil, nil); err == nil || err.Error() != "cannot ask the cloud what subnets it has: no route to host" {
		t.Errorf("got error %v from a cloud that does not answer", err)
	}
	says("Spaces", 6, "ListSpaces", nil, `{"results":[{"id":"0","name":"alpha","subnets":[{"cidr":"10.7.0.0/16","life":"alive","provider-id":"c","provider-network-id":"net","space-tag":"space-alpha","vlan-tag":0,"zones":[]}]}]}`)
}

// Whoever exposes a service to a space exposes it to the subnets there, although nobody has asked for the subnets before.
func TestExposureAsksForTheSubnets(t *testing.T) {
	cloud := dummytest.New(nil)
	cloud.SetSubnets(entity.Subnet{CIDR: "10.0.0.0/16", ProviderID: "a", Network: "net"})
	w := newWorld(t, onCloud(cloud)).populate()
	c := w.admin()
	expose := func(space string) error {
		return c.do("Application", 19, "Expose", params.ApplicationExpose{ApplicationName: "mysql",
			ExposedEndpoints: entity.ExposedEndpoints{"server": {Spaces: []string{space}}}}, nil)
	}
	cloud.Fail("Subnets", 1, errors.New("no route to host"))
	if err := expose(entity.AlphaSpace); !errors.Is(err, entity.Unavailable) {
		t.Errorf("got error %v from a cloud that does not answer", err)
	}
	w.ok(expose(entity.AlphaSpace))
	spaces, err := w.st.Settings().Networks().Spaces(t.Context())
	if w.ok(err); len(spaces[0].Subnets) != 1 {
		t.Errorf("the space alpha has the subnets %v", spaces[0].Subnets)
	}
}

// Spaces that the cloud's machines can't be in are refused by every method that needs them, and nothing is written. Units go to
// machines that are there instead, if these are in the spaces.
func TestSpacesWithoutMachinesAreRefused(t *testing.T) {
	cloud := dummytest.New(nil)
	cloud.SetSubnets(entity.Subnet{CIDR: "10.0.0.0/16", ProviderID: "a", Network: "net"}, entity.Subnet{CIDR: "10.1.0.0/16", ProviderID: "b", Network: "net"})
	w := newWorld(t, onCloud(cloud)).populate()
	ctx, c := t.Context(), w.admin().client()
	mysql := statetest.Charm(t, w.st, statetest.MySQL)
	w.ok(c.AddSpace(ctx, "db", []string{"10.1.0.0/16"}))
	w.ok(c.AddSpace(ctx, "outside", nil))
	before := w.stored()
	deploy := func(constraints string, bindings map[string]string, to ...string) error {
		args := client.DeployArgs{Service: "x", CharmURL: mysql, Units: 1, Constraints: statetest.Constraints(constraints), Bindings: bindings, Placement: statetest.To(to...)}
		_, _, checked := c.CheckDeploy(ctx, args, entity.Platforms{})
		_, err := c.Deploy(ctx, args)
		if checked != nil && (err == nil || err.Error() != checked.Error()) {
			t.Errorf("Deploy returns %v, and CheckDeploy %v", err, checked)
		}
		return err
	}
	const none = `no machine can have an address in space "outside": the cloud is in none of its subnets`
	machine := func(constraints string) error {
		return third(c.AddMachine(ctx, client.MachineArgs{Constraints: statetest.Constraints(constraints)}))
	}
	for what, err := range map[string]error{
		`cannot deploy "x": ` + none:       deploy("spaces=db,outside", nil),
		`cannot deploy "x": ` + none + " ": deploy("", map[string]string{"server": "outside"}),
		`cannot deploy "x": every machine has an address in space "alpha": the cloud is in one of its subnets`: deploy("spaces=^alpha", nil),
		`cannot deploy "x": space "db" is excluded by the constraints, and bound`:                              deploy("spaces=^db", map[string]string{"": "db"}),
		`cannot deploy "x": space "nowhere" not found`:                                                         deploy("spaces=^nowhere", nil),
		`cannot add a machine: ` + none:                                                                        machine("spaces=outside"),
		`cannot set constraints: ` + none:                                                                      second(c.SetServiceConstraints(ctx, "mysql", statetest.Constraints("spaces=outside"))),
	} {
		if what = strings.TrimSpace(what); err == nil || err.Error() != what || entity.Hint(err) == "" {
			t.Errorf("got error %v (hint %q), want %s", err, entity.Hint(err), what)
		}
	}
	if after := w.stored(); after != before {
		t.Errorf("a refused request has changed:\n%s\nbefore\n%s", after, before)
	}
	// A model's constraints are for machines to come, and may be overridden: they are accepted with a warning.
	warnings, err := c.SetModelConstraints(ctx, statetest.Constraints("spaces=outside"))
	if want := []string{"no machine can be added with these constraints: " + none}; err != nil || !slices.Equal(warnings, want) {
		t.Errorf("a model's constraints: %v, warnings %q, want %q", err, warnings, want)
	}
	if err := machine(""); err == nil || err.Error() != "cannot add a machine: "+none {
		t.Errorf("a machine with the model's constraints: %v", err)
	}
	w.ok(second(c.SetModelConstraints(ctx, constraints.Value{})))
	// What the cloud can do, it does; a machine that a user has added is in a space in which the cloud's are not.
	w.ok(machine("spaces=db,^outside"))
	host, err := w.st.AddMachine(ctx, state.AddMachineParams{Series: "jammy", Manual: entity.Instance{ID: "manual:h", Nonce: "n", Addresses: []string{"192.0.2.7"}}})
	w.ok(err)
	cloud.SetSubnets(entity.Subnet{CIDR: "10.0.0.0/16", ProviderID: "a", Network: "net"}, entity.Subnet{CIDR: "192.0.2.0/24", ProviderID: "c", Network: "net"})
	w.ok(c.ReloadSpaces(ctx))
	_, err = c.MoveToSpace(ctx, "outside", []string{"192.0.2.0/24"}, false)
	w.ok(err)
	cloud.SetSubnets(entity.Subnet{CIDR: "10.0.0.0/16", ProviderID: "a", Network: "net"})
	w.ok(deploy("spaces=outside", nil))
	u, err := w.st.Unit(ctx, "x/0")
	w.ok(err)
	if info, err := u.Info(ctx); err != nil || info.Machine != host.ID() {
		t.Errorf("the unit is on machine %s (%v), want %s", info.Machine, err, host.ID())
	}
	if err := third(c.AddUnits(ctx, "x", 1, nil)); err == nil || err.Error() != `cannot add a unit to service "x": `+none {
		t.Errorf("got error %v for another unit", err)
	}
	w.ok(third(c.AddUnits(ctx, "x", 1, statetest.To(host.ID()))))
}

// A countedCloud counts how often it is asked for a machine.
type countedCloud struct {
	facades.Cloud
	asked *atomic.Int32
}

func (c countedCloud) Precheck(
	ctx context.Context, series string, constraints constraints.Value, spaces entity.MachineSpaces, at entity.Placement,
) error {
	c.asked.Add(1)
	return c.Cloud.Precheck(ctx, series, constraints, spaces, at)
}

// The cloud is asked once for each place where machines are started, also if these must be in spaces.
func TestTheCloudIsAskedOnceForAPlace(t *testing.T) {
	cloud := dummytest.New(nil)
	cloud.SetSubnets(entity.Subnet{CIDR: "10.0.0.0/16", ProviderID: "a", Network: "net"}, entity.Subnet{CIDR: "10.1.0.0/16", ProviderID: "b", Network: "net"})
	var asked atomic.Int32
	w := newWorld(t, func(c *facades.Config) {
		onCloud(cloud)(c)
		open := c.Cloud
		c.Cloud = func(ctx context.Context, model string) (facades.Cloud, error) {
			one, err := open(ctx, model)
			return countedCloud{one, &asked}, err
		}
	}).populate()
	ctx, c := t.Context(), w.admin().client()
	w.ok(c.AddSpace(ctx, "db", []string{"10.1.0.0/16"}))
	once := func(what string, err error) {
		t.Helper()
		w.ok(err)
		if n := asked.Swap(0); n != 1 {
			t.Errorf("to %s the cloud is asked %d times, want once", what, n)
		}
	}
	mysql := statetest.Charm(t, w.st, statetest.MySQL)
	asked.Store(0)
	_, err := c.Deploy(ctx, client.DeployArgs{Service: "x", CharmURL: mysql, Units: 1, Bindings: map[string]string{"": "db"}})
	once("deploy", err)
	once("add a unit", third(c.AddUnits(ctx, "x", 1, nil)))
}
