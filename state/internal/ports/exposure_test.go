package ports_test

import (
	"fmt"
	"testing"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltest"
	"juju/state/internal/ports"
	"juju/state/modelconfig"
)

// everyone is exposed to anyone, and a service to the office and the space dmz.
func everyone(service string) modeldb.Service { return modeldb.Service{Name: service, Exposed: true} }

func exposedTo(service string, exposures ...modeldb.Exposed) modeldb.Service {
	return modeldb.Service{Name: service, Exposures: exposures}
}

func instance(id string) modeldb.Machine { return modeldb.Machine{ID: id, InstanceID: "i-" + id} }

// consumed is a relation with a service of another model, which connects from some subnets.
func consumed(endpoint string, change func(*modeldb.Relation)) modeldb.Relation {
	r := modeldb.Relation{Key: "remote:db mysql:" + endpoint, ID: 7, Ingress: []string{"172.16.0.0/16"}, Endpoints: []modeldb.Endpoint{
		{Service: "remote", Name: "db", Role: "requirer", Remote: true}, {Service: "mysql", Name: endpoint, Role: "provider"}}}
	if change != nil {
		change(&r)
	}
	return r
}

// Who can reach a port follows from the service of its unit, its endpoints, and the models that use these.
func TestWhoCanReachAPort(t *testing.T) {
	networks := modeldb.Networks{ID: modeldb.NetworksC, Spaces: []modeldb.Space{{ID: "1", Name: "dmz"}}, Subnets: []modeldb.Subnet{
		{Subnet: entity.Subnet{CIDR: "192.168.1.0/24"}, Space: "1"}, {Subnet: entity.Subnet{CIDR: "192.168.2.0/24"}, Space: "1"},
		{Subnet: entity.Subnet{CIDR: "192.168.3.0/24"}, Space: entity.AlphaSpaceID}}}
	all, server, admin := open("mysql/0", "80"), open("mysql/0", "3306", "server"), open("mysql/0", "3307", "admin")
	for _, c := range []struct {
		name string
		docs []any
		want string // everyone's, and those of some
	}{
		{"nothing is exposed", []any{modeldb.Service{Name: "mysql"}}, "[] []"},
		{"another service is", []any{everyone("wordpress")}, "[] []"},
		{"the service is", []any{everyone("mysql")}, "[80/tcp 3306/tcp 3307/tcp] []"},
		{"to networks", []any{exposedTo("mysql", modeldb.Exposed{Endpoint: "", ExposedTo: office})},
			"[] [{10.0.0.0/8 [80/tcp 3306/tcp 3307/tcp]}]"},
		{"an endpoint is", []any{exposedTo("mysql", modeldb.Exposed{Endpoint: "server", ExposedTo: office})},
			"[] [{10.0.0.0/8 [80/tcp 3306/tcp]}]"},
		{"to a space", []any{exposedTo("mysql", modeldb.Exposed{Endpoint: "admin", ExposedTo: dmz})},
			"[] [{192.168.1.0/24 [80/tcp 3307/tcp]} {192.168.2.0/24 [80/tcp 3307/tcp]}]"},
		{"to both halves of everyone", []any{exposedTo("mysql", modeldb.Exposed{Endpoint: "server", ExposedTo: entity.ExposedTo{
			CIDRs: []string{entity.AllIPv4}}}, modeldb.Exposed{Endpoint: "admin", ExposedTo: entity.ExposedTo{CIDRs: []string{entity.AllIPv6}}})},
			"[80/tcp] [{0.0.0.0/0 [3306/tcp]} {::/0 [3307/tcp]}]"},
		{"another model uses an endpoint", []any{consumed("server", nil)}, "[] [{172.16.0.0/16 [80/tcp 3306/tcp]}]"},
		{"the same network twice", []any{consumed("server", nil), exposedTo("mysql", modeldb.Exposed{Endpoint: "server",
			ExposedTo: entity.ExposedTo{CIDRs: []string{"172.16.0.0/16", "10.0.0.0/8"}}})},
			"[] [{10.0.0.0/8 [80/tcp 3306/tcp]} {172.16.0.0/16 [80/tcp 3306/tcp]}]"},
		{"suspended", []any{consumed("server", func(r *modeldb.Relation) { r.Suspended = true })}, "[] []"},
		{"dying", []any{consumed("server", func(r *modeldb.Relation) { r.Life = entity.Dying })}, "[] []"},
		{"from nowhere", []any{consumed("server", func(r *modeldb.Relation) { r.Ingress = nil })}, "[] []"},
		{"of another service", []any{consumed("server", func(r *modeldb.Relation) { r.Endpoints[1].Service = "riak" })}, "[] []"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			broken := modeldb.OpenPort{Unit: "mysql/0", From: 0, To: 0, Protocol: "tcp"} // of a damaged document
			m := modeltest.New(t, append(c.docs, networks, instance("0"), machine0(all, server, admin, []modeldb.OpenPort{broken}))...)
			x, err := ports.Exposure(m.Ctx, m.DB)
			m.OK(err)
			modeltest.Same(t, "open are", fmt.Sprint(x.Instances["i-0"], x.From["i-0"]), c.want)
			host := modeldb.Machine{ID: "0"}
			h, err := ports.HostExposure(m.Ctx, m.DB, host)
			m.OK(err)
			var from []entity.PortsFrom // those that are closed to others
			for _, f := range h.From {
				from = append(from, entity.PortsFrom{CIDR: f.CIDR, Ports: f.Ports})
			}
			if len(h.Closed)+len(x.Instances["i-0"]) != 3 || fmt.Sprint(from) != fmt.Sprint(x.From["i-0"]) {
				t.Errorf("on a host %v are closed, and %v are open to some; in the cloud those are open to %+v", h.Closed, from, x)
			}
		})
	}
}

// The cloud is told of its instances, but those that run a controller, and of the addresses of hosts.
func TestExposureOfMachines(t *testing.T) {
	t.Parallel()
	manager, host, lxd, new := instance("1"), instance("2"), instance("3"), modeldb.Machine{ID: "4"}
	manager.Jobs = []string{modeldb.JobHostUnits, modeldb.JobManageModel}
	manager.CloudAddresses = []string{"10.0.0.1"}
	host.InstanceID, host.Addresses = "manual:db.example.com", []string{"10.0.0.2", "::ffff:10.0.0.8", "fd00::1"}
	host.Addresses = append(host.Addresses, "host.example.com", "127.0.0.1", "::1", "0.0.0.0", "::", "224.0.0.1", "169.254.1.1", "fe80::1%eth0", "fe80::1",
		"255.255.255.255", "fd00::1%eth0") // which let in more than a host, or none
	want := []string{"10.0.0.2", "10.0.0.8", "fd00::1"}
	for n := range 20 {
		address := fmt.Sprintf("192.0.2.%d", n)
		if host.Addresses = append(host.Addresses, address); len(want) < 16 {
			want = append(want, address)
		}
	}
	lxd.CloudAddresses, lxd.Addresses = []string{"10.0.0.3"}, []string{"10.0.0.3", "10.0.0.33"}
	m := modeltest.New(t, instance("0"), manager, host, lxd, new, machine0(open("mysql/0", "80")),
		modeldb.Ports{ID: "1", Ports: open("mysql/1", "81")}, modeldb.Ports{ID: "3", Ports: open("mysql/3", "83")},
		modeldb.Ports{ID: "4", Ports: open("mysql/4", "84")}, everyone("mysql"))
	x, err := ports.Exposure(m.Ctx, m.DB)
	m.OK(err)
	modeltest.Same(t, "the exposure", x, entity.Exposure{Mode: modelconfig.FirewallInstance,
		Instances: map[string][]entity.PortRange{"i-0": ranges("80"), "i-3": ranges("83")},
		Addresses: map[string][]string{"i-3": {"10.0.0.3"}}, Hosts: want})
}

// A host's agent closes what its own units have opened and not everyone can reach. Other machines get in, and the owner.
func TestHostExposure(t *testing.T) {
	for mode, want := range map[string]entity.HostExposure{
		modelconfig.FirewallInstance: {Closed: ranges("3306"), From: []entity.PortsFrom{{CIDR: "10.0.0.0/8", Ports: ranges("3306")}},
			Peers: []string{"10.0.0.1"}},
		modelconfig.FirewallGlobal: {Closed: ranges("3306"), Open: ranges("80 81"), Peers: []string{"10.0.0.1"},
			From: []entity.PortsFrom{{CIDR: "10.0.0.0/8", Ports: ranges("3306 3307")}}},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			host := modeldb.Machine{ID: "0", Placement: "ssh:root@db.example.com:2222", Addresses: []string{"10.0.0.9"}}
			m := modeltest.New(t, modeldb.Model{ID: modeldb.ModelC, Config: map[string]string{modelconfig.FirewallMode: mode}},
				host, modeldb.Machine{ID: "1", Addresses: []string{"10.0.0.1", "fe80::1"}}, everyone("wordpress"),
				exposedTo("mysql", modeldb.Exposed{Endpoint: "", ExposedTo: office}), machine0(open("mysql/0", "3306"), open("wordpress/0", "80"),
					[]modeldb.OpenPort{{Unit: "mysql/0", From: 9, To: 1, Protocol: "tcp"}}),
				modeldb.Ports{ID: "1", Ports: append(open("wordpress/1", "81"), open("mysql/1", "3307")...)})
			want.Mode, want.Open = mode, append(ranges("22 2222 68/udp 546/udp"), want.Open...)
			got, err := ports.HostExposure(m.Ctx, m.DB, host)
			m.OK(err)
			modeltest.Same(t, "the host's exposure", got, want)
			m.Put(everyone("mysql")) // nothing is closed, so no one must be let in
			got, err = ports.HostExposure(m.Ctx, m.DB, host)
			m.OK(err)
			if len(got.Closed)+len(got.From)+len(got.Peers) > 0 {
				t.Errorf("nothing is closed, but %+v", got)
			}
		})
	}
}
