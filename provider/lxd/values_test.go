package lxd

import (
	"strings"
	"testing"

	"github.com/canonical/lxd/shared/api"
	"github.com/google/go-cmp/cmp"

	"juju/provider"
	"juju/provider/providertest"
	"juju/state/constraints"
	"juju/state/entity"
)

// Zones are cluster members; without a cluster there are none.
func TestZones(t *testing.T) {
	cluster := []string{"a", "b", "c"}
	for _, test := range []struct {
		members         []string
		cons, placement string
		want            string // or the error, with "!"
	}{
		{nil, "", "", ""},
		{nil, "zones=a", "", ""}, // ignored, with a warning
		{nil, "", "zone=a", "!unknown placement directive: zone=a"},
		{cluster, "", "", "a b c"},
		{cluster, "zones=b,c", "", "b c"},
		{cluster, "zones=b,c", "zone=a", "a"},
		{cluster, "zones=x", "", `!availability zone "x" is not a member of the LXD cluster that is online: it has a, b, c`},
		{cluster, "", "zone=x", `!availability zone "x" is not a member of the LXD cluster that is online: it has a, b, c`},
		{cluster, "", "a", "!unknown placement directive: a"},
	} {
		cons, err := constraints.Parse(test.cons)
		if err != nil {
			t.Fatal(err)
		}
		all, err := zones(test.members, cons, test.placement)
		got := strings.Join(all, " ")
		if err != nil {
			got = "!" + err.Error()
		}
		if got != test.want {
			t.Errorf("%v %q %q: %q, want %q", test.members, test.cons, test.placement, got, test.want)
		}
	}
}

func TestSeriesOfAliases(t *testing.T) {
	for alias, want := range map[string]string{
		"juju/bookworm": "bookworm", "juju/plan9": "plan9", "jammy": "jammy", "ubuntu/22.04": "jammy",
		"debian/12":       "bookworm",
		"debian/bookworm": "bookworm", "ubuntu/bookworm": "", "alpine/3.19": "", "web": "", "juju/": "",
	} {
		if got := seriesOf(alias); got != want {
			t.Errorf("%s: %q, want %q", alias, got, want)
		}
	}
	want := []string{"trixie", "debian/13/cloud", "debian/trixie/cloud", "13"}
	if diff := cmp.Diff(want, serverAliases("trixie")); diff != "" {
		t.Errorf("aliases of a server (-want +got):\n%s", diff)
	}
}

// Addresses of bridges created inside the container are not reachable from outside.
func TestAddresses(t *testing.T) {
	i := api.Instance{ExpandedConfig: map[string]string{"volatile.eth0.hwaddr": "aa", "volatile.uuid": "bb"},
		ExpandedDevices: map[string]map[string]string{"eth1": {"hwaddr": "cc"}, "root": {"path": "/"}}}
	on := func(hwaddr string, addresses ...string) api.InstanceStateNetwork {
		n := api.InstanceStateNetwork{Hwaddr: hwaddr}
		for _, a := range addresses {
			address, scope, _ := strings.Cut(a, " ")
			n.Addresses = append(n.Addresses, api.InstanceStateNetworkAddress{Address: address, Scope: scope})
		}
		return n
	}
	state := api.InstanceState{Network: map[string]api.InstanceStateNetwork{
		"lo": on("", "127.0.0.1 local"), "docker0": on("bb", "172.17.0.1 global"),
		"eth0": on("aa", "fd42::9 global", "fe80::1 link", "10.0.0.9 global"), "eth1": on("cc", "10.0.0.10 global"),
	}}
	if diff := cmp.Diff([]string{"10.0.0.10", "10.0.0.9", "fd42::9"}, addresses(i, state)); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
}

func TestHardwareOfAContainer(t *testing.T) {
	i := api.Instance{InstancePut: api.InstancePut{Architecture: "aarch64"},
		ExpandedConfig:  map[string]string{"limits.cpu": "2", "limits.memory": "2GiB"},
		ExpandedDevices: map[string]map[string]string{"root": {"type": "disk", "path": "/", "size": "10GB"}}}
	want := provider.Hardware{Arch: "arm64", Cores: 2, Mem: 2048, RootDisk: 9536}
	if got := hardware(i); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	for text, want := range map[string]uint64{"": 0, "50%": 0, "1048576": 1, "1048576B": 1, "512MiB": 512, "1 GiB": 1024,
		"x": 0} {
		if got := mib(text); got != want {
			t.Errorf("%q: %d MiB, want %d", text, got, want)
		}
	}
	i.ExpandedConfig = map[string]string{"limits.cpu": "0-3"} // pinned by hand
	if got := hardware(i); got.Cores != 0 {
		t.Errorf("got %v", got)
	}
}

// LXD 5.0 lists containers on an offline member with little more than their names. They are not considered deleted.
func TestContainersOfAnOfflineMember(t *testing.T) {
	c := &Cloud{config: Config{Controller: "c"}}
	here := api.Instance{Name: prefix(providertest.ModelA) + "0-x", Location: "one", Status: "Running",
		StatusCode:  api.Running,
		InstancePut: api.InstancePut{Config: map[string]string{controllerKey: "c", modelKey: providertest.ModelA}}}
	offline := func(name string) api.Instance {
		return api.Instance{Name: name, Location: "two", Status: "Error", StatusCode: api.Error}
	}
	p := params("1/lxd/2", "n")
	p.Controller, p.Model = "c", providertest.ModelA
	listing := []api.Instance{here, offline(instanceName(p)), offline("web1"), offline(prefix("another-model-ffffff") + "1-x")}
	all, err := c.owned(listing, providertest.ModelA)
	if err != nil || len(all) != 2 || all[1].Name != instanceName(p) || all[1].Config[machineKey] != p.MachineID {
		t.Errorf("got %+v (%v), want the model's", all, err)
	}
	if in, err := c.public(t.Context(), all[1]); err != nil || in.Zone != "two" || in.Status != "error" {
		t.Errorf("got %+v (%v)", in, err)
	}
	_, err = c.owned(listing, "")
	if !provider.IsRetryable(err) || !strings.Contains(err.Error(), "member two of its cluster is offline") ||
		!strings.Contains(entity.Hint(err), "lxc cluster remove --force two") {
		t.Errorf("the controller's: got error %v (%s)", err, entity.Hint(err))
	}
	if all, err := c.owned([]api.Instance{here, offline("web1")}, ""); err != nil || len(all) != 1 {
		t.Errorf("got %v, %v beside a container of someone else's", all, err)
	}
}
