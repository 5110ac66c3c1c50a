package ports_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltest"
	"juju/state/internal/modeltxn"
	"juju/state/internal/ports"
	"juju/state/limits"
	"juju/state/mongo"
)

// ranges parses ranges: "80 8000-8010/udp".
func ranges(text string) (all []entity.PortRange) {
	for _, word := range strings.Fields(text) {
		r, err := entity.ParsePortRange(word)
		if err != nil {
			panic(err)
		}
		all = append(all, r)
	}
	return all
}

// open are ports that a unit has open, for some endpoints, or for all.
func open(unit, text string, endpoints ...string) (all []modeldb.OpenPort) {
	for _, r := range ranges(text) {
		all = append(all, modeldb.OpenPort{Unit: unit, From: r.From, To: r.To, Protocol: r.Protocol, Endpoints: endpoints})
	}
	return all
}

// forEndpoints are ports for some endpoints.
func forEndpoints(text string, endpoints ...string) (all []entity.EndpointPorts) {
	for _, r := range ranges(text) {
		all = append(all, entity.EndpointPorts{PortRange: r, Endpoints: endpoints})
	}
	return all
}

// machine0 has what these ports say.
func machine0(open ...[]modeldb.OpenPort) modeldb.Ports {
	return modeldb.Ports{ID: "0", Ports: slices.Concat(open...), Version: 5}
}

// mysql and its subordinate are on machine 0.
var (
	mysql   = modeldb.Unit{Name: "mysql/0", Service: "mysql", Machine: "0"}
	logging = modeldb.Unit{Name: "logging/0", Service: "logging", Principal: "mysql/0"}
)

// shown shows the open ports of machine 0: "mysql/0 80/tcp [server], logging/0 514/tcp".
func shown(m *modeltest.Model) string {
	var all []string
	for _, d := range modeltest.All[modeldb.Ports](m) {
		for _, p := range d.Ports {
			text := fmt.Sprintf("%s %v", p.Unit, p.Range())
			if len(p.Endpoints) > 0 {
				text += fmt.Sprint(" ", p.Endpoints)
			}
			all = append(all, text)
		}
	}
	return strings.Join(all, ", ")
}

// A hook opens and closes ports of its unit. A range that another unit has opened, or that overlaps another of the unit's
// own, is rejected; one that it closes in the same hook is not in its way.
func TestChange(t *testing.T) {
	taken := func(unit, text string) string { return fmt.Sprintf("%s (%q)", text, unit) }
	for _, c := range []struct {
		name   string
		before []modeldb.OpenPort
		hook   entity.HookChanges
		want   string // the ports, "" if nothing changes
		err    string
	}{
		{name: "the first", hook: entity.HookChanges{OpenPorts: ranges("80 53/udp icmp")},
			want: "mysql/0 80/tcp, mysql/0 53/udp, mysql/0 icmp"},
		{name: "one more", before: open("mysql/0", "80"), hook: entity.HookChanges{OpenPorts: ranges("81")},
			want: "mysql/0 80/tcp, mysql/0 81/tcp"},
		{name: "one that is open", before: open("mysql/0", "80"), hook: entity.HookChanges{OpenPorts: ranges("80")}},
		{name: "one that is closed", before: open("mysql/0", "80"), hook: entity.HookChanges{ClosePorts: ranges("81 80/udp")}},
		{name: "nothing", hook: entity.HookChanges{}},
		{name: "one closed", before: open("mysql/0", "80 81"), hook: entity.HookChanges{ClosePorts: ranges("80")}, want: "mysql/0 81/tcp"},
		{name: "another unit's closed", before: open("wordpress/0", "80"), hook: entity.HookChanges{ClosePorts: ranges("80")}},
		{name: "one closed and its neighbour opened", before: open("mysql/0", "80-90"),
			hook: entity.HookChanges{ClosePorts: ranges("80-90"), OpenPorts: ranges("85")}, want: "mysql/0 85/tcp"},
		{name: "one closed and opened", before: open("mysql/0", "80", "server"),
			hook: entity.HookChanges{ClosePorts: ranges("80"), OpenPorts: ranges("80")}, want: "mysql/0 80/tcp"},
		{name: "for endpoints, each once and sorted", hook: entity.HookChanges{EndpointPorts: forEndpoints("80", "server", "admin", "server")},
			want: "mysql/0 80/tcp [admin server]"},
		{name: "for other endpoints", before: open("mysql/0", "79 80", "server"),
			hook: entity.HookChanges{EndpointPorts: forEndpoints("80", "admin")}, want: "mysql/0 79/tcp [server], mysql/0 80/tcp [admin]"},
		{name: "for the same endpoints", before: open("mysql/0", "80", "admin", "server"),
			hook: entity.HookChanges{EndpointPorts: forEndpoints("80", "server", "admin")}},
		{name: "for all endpoints now", before: open("mysql/0", "80", "server"), hook: entity.HookChanges{OpenPorts: ranges("80")},
			want: "mysql/0 80/tcp"},
		{name: "twice in one hook, the last counts", hook: entity.HookChanges{EndpointPorts: slices.Concat(forEndpoints("80", "server"),
			forEndpoints("81"), forEndpoints("80", "admin"))}, want: "mysql/0 80/tcp [admin], mysql/0 81/tcp"},
		{name: "a neighbour of another unit's", before: open("wordpress/0", "80-90"), hook: entity.HookChanges{OpenPorts: ranges("79 91")},
			want: "wordpress/0 80-90/tcp, mysql/0 79/tcp, mysql/0 91/tcp"},
		{name: "the other protocol", before: open("wordpress/0", "53"), hook: entity.HookChanges{OpenPorts: ranges("53/udp")},
			want: "wordpress/0 53/tcp, mysql/0 53/udp"},
		{name: "another unit's", before: open("wordpress/0", "80"), hook: entity.HookChanges{OpenPorts: ranges("80")},
			err: taken("wordpress/0", "80/tcp") + " and " + taken("mysql/0", "80/tcp") + " conflict"},
		{name: "another unit's in one that both closes", before: open("wordpress/0", "80"),
			hook: entity.HookChanges{OpenPorts: ranges("80"), ClosePorts: ranges("80")}, err: "conflict"},
		{name: "the edge of another unit's", before: open("wordpress/0", "80-90"), hook: entity.HookChanges{OpenPorts: ranges("90-99")},
			err: taken("wordpress/0", "80-90/tcp") + " and " + taken("mysql/0", "90-99/tcp") + " conflict"},
		{name: "a part of its own", before: open("mysql/0", "80-90"), hook: entity.HookChanges{OpenPorts: ranges("85")},
			err: taken("mysql/0", "80-90/tcp") + " and " + taken("mysql/0", "85/tcp") + " conflict"},
		{name: "a part of one that it opens too", hook: entity.HookChanges{OpenPorts: ranges("80-90 85")},
			err: taken("mysql/0", "80-90/tcp") + " and " + taken("mysql/0", "85/tcp") + " conflict"},
		{name: "no port", hook: entity.HookChanges{OpenPorts: []entity.PortRange{{From: 0, To: 1, Protocol: "tcp"}}}, err: "port range bounds must be between 1 and 65535, got 0-1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := modeltest.New(t, mysql)
			if c.before != nil {
				m.Put(machine0(c.before))
			}
			change := func(o *modeltxn.Ops) error { return ports.Change(m.Ctx, m.DB, o, mysql, c.hook) }
			switch {
			case c.err != "":
				kind := entity.InUse
				if !strings.Contains(c.err, "conflict") {
					kind = entity.Invalid
				}
				m.Refused(m.Change(m.Ctx, change), kind, c.err)
			case c.want == "":
				m.Nothing(change)
			default:
				m.Do(change)
				modeltest.Same(t, "open are", shown(m), c.want)
				wantVersion := int64(1)
				if c.before != nil {
					wantVersion = 6
				}
				if doc := modeltest.Get[modeldb.Ports](m, "0"); doc.ID != "0" || doc.Version != wantVersion {
					t.Errorf("the document is %q, version %d; want version %d", doc.ID, doc.Version, wantVersion)
				}
			}
		})
	}
}

// The ports of a subordinate are those of its principal's machine. A unit without a machine has none.
func TestPortsAreOfTheUnitsMachine(t *testing.T) {
	t.Parallel()
	m := modeltest.New(t, mysql, machine0(open("mysql/0", "81 80", "server"), open("wordpress/0", "79")),
		modeldb.Ports{ID: "1", Ports: open("riak/0", "1")})
	hook := entity.HookChanges{OpenPorts: ranges("514")}
	m.Do(func(o *modeltxn.Ops) error { return ports.Change(m.Ctx, m.DB, o, logging, hook) })
	for _, u := range []modeldb.Unit{mysql, logging} {
		got, err := ports.Opened(m.Ctx, m.DB, u)
		m.OK(err)
		modeltest.Same(t, u.Name+" sees", got, map[string][]entity.EndpointPorts{"mysql/0": forEndpoints("80 81", "server"),
			"wordpress/0": forEndpoints("79"), "logging/0": forEndpoints("514")})
	}
	nowhere := modeldb.Unit{Name: "mysql/1"}
	got, err := ports.Opened(m.Ctx, m.DB, nowhere)
	m.OK(err)
	modeltest.Same(t, "a unit without a machine sees", got, map[string][]entity.EndpointPorts{})
	m.Refused(m.Change(m.Ctx, func(o *modeltxn.Ops) error { return ports.Change(m.Ctx, m.DB, o, nowhere, hook) }), entity.NotProvisioned,
		`unit "mysql/1" is not assigned to a machine`)
	gone := modeldb.Unit{Name: "logging/1", Principal: "mysql/9"}
	if _, err := ports.Opened(m.Ctx, m.DB, gone); !entity.IsNotFound(err) {
		t.Errorf("the principal is gone: got %v", err)
	}
	m.Refused(m.Change(m.Ctx, func(o *modeltxn.Ops) error { return ports.Change(m.Ctx, m.DB, o, gone, hook) }), entity.NotFound, "mysql/9")
	m.Refused(m.Change(m.Ctx, func(o *modeltxn.Ops) error { return ports.CloseAll(m.Ctx, m.DB, o, gone) }), entity.NotFound, "mysql/9")
}

// A unit has at most limits.UnitPorts open, and the units of a machine limits.MachinePorts; one that is open for some
// endpoints counts once for each. What exceeds the limit, because it was lower once, may still shrink.
func TestLimits(t *testing.T) {
	t.Parallel()
	many := func(unit string, from, n int) []modeldb.OpenPort { // every other port
		all := make([]modeldb.OpenPort, n)
		for i := range all {
			all[i] = modeldb.OpenPort{Unit: unit, From: from + 2*i, To: from + 2*i, Protocol: "tcp"}
		}
		return all
	}
	own, all := limits.UnitPorts.Max, limits.MachinePorts.Max
	two, three := forEndpoints("2", "a", "b"), forEndpoints("2", "a", "b", "c")
	for _, c := range []struct {
		name   string
		before modeldb.Ports
		hook   entity.HookChanges
		err    string
	}{
		{"a unit's last", machine0(many("mysql/0", 1, own-1)), entity.HookChanges{OpenPorts: ranges("2")}, ""},
		{"one more", machine0(many("mysql/0", 1, own)), entity.HookChanges{OpenPorts: ranges("2")}, "open port ranges of a unit: 1001 ranges"},
		{"another in its place", machine0(many("mysql/0", 1, own)), entity.HookChanges{OpenPorts: ranges("2"), ClosePorts: ranges("1")}, ""},
		{"its last for two endpoints", machine0(many("mysql/0", 1, own-2)), entity.HookChanges{EndpointPorts: two}, ""},
		{"for three", machine0(many("mysql/0", 1, own-2)), entity.HookChanges{EndpointPorts: three}, "open port ranges of a unit: 1001 ranges"},
		{"too many shrink", machine0(many("mysql/0", 1, own+5)), entity.HookChanges{ClosePorts: ranges("1")}, ""},
		{"too many become others", machine0(many("mysql/0", 1, own+5)), entity.HookChanges{OpenPorts: ranges("2"), ClosePorts: ranges("1")}, ""},
		{"the machine's last", machine0(many("wordpress/0", 1, all-1)), entity.HookChanges{OpenPorts: ranges("2")}, ""},
		{"one more on the machine", machine0(many("wordpress/0", 1, all)), entity.HookChanges{OpenPorts: ranges("2")},
			"open port ranges of a machine's units: 10001 ranges"},
		{"the others' are not the unit's", machine0(many("wordpress/0", 1, own)), entity.HookChanges{OpenPorts: ranges("2")}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := modeltest.New(t, c.before)
			err := m.Change(m.Ctx, func(o *modeltxn.Ops) error { return ports.Change(m.Ctx, m.DB, o, mysql, c.hook) })
			if c.err == "" {
				m.OK(err)
			} else {
				m.Refused(err, entity.Invalid, c.err)
			}
		})
	}
}

// The ports of a unit that is removed are closed, and no hook of it opens one meanwhile.
func TestCloseAll(t *testing.T) {
	closeAll := func(m *modeltest.Model, u modeldb.Unit) func(*modeltxn.Ops) error {
		return func(o *modeltxn.Ops) error { return ports.CloseAll(m.Ctx, m.DB, o, u) }
	}
	t.Run("its own only", func(t *testing.T) {
		t.Parallel()
		m := modeltest.New(t, mysql, machine0(open("mysql/0", "80"), open("wordpress/0", "81"), open("logging/0", "82")))
		m.Do(closeAll(m, mysql))
		modeltest.Same(t, "open are", shown(m), "wordpress/0 81/tcp, logging/0 82/tcp")
		m.Do(closeAll(m, logging))
		modeltest.Same(t, "open are", shown(m), "wordpress/0 81/tcp")
		m.Nothing(closeAll(m, modeldb.Unit{Name: "mysql/1"}))
		dead := mysql
		dead.Life = entity.Dead
		m.Nothing(closeAll(m, dead)) // without ports, and it can't open one
	})
	opens := func(m *modeltest.Model) func() {
		return func() { m.Put(modeldb.Ports{ID: "0", Ports: open("mysql/0", "99"), Version: 6}) }
	}
	for name, before := range map[string]any{"none are open": mysql, "others are open": machine0(open("wordpress/0", "81")),
		"one is open": machine0(open("mysql/0", "80"))} {
		t.Run(name+", and a hook opens one", func(t *testing.T) {
			t.Parallel()
			m := modeltest.New(t, mysql, before)
			m.OK(m.RaceOps(opens(m), closeAll(m, mysql)))
			modeltest.Same(t, "open are", shown(m), "")
		})
	}
}

// A change is made to the ports as they are when it is made.
func TestChangesAreOfWhatWasRead(t *testing.T) {
	for name, before := range map[string]any{"none were open": mysql, "some were": machine0(open("wordpress/0", "1"))} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := modeltest.New(t, mysql, before)
			err := m.RaceOps(func() { m.Put(modeldb.Ports{ID: "0", Ports: open("wordpress/0", "80"), Version: 6}) },
				func(o *modeltxn.Ops) error {
					return ports.Change(m.Ctx, m.DB, o, mysql, entity.HookChanges{OpenPorts: ranges("80")})
				})
			m.Refused(err, entity.InUse, "conflict")
		})
	}
}

// When a machine has lost its instance, no port of it is open.
func TestLose(t *testing.T) {
	t.Parallel()
	m := modeltest.New(t, machine0(open("mysql/0", "80"), open("wordpress/0", "81")), modeldb.Ports{ID: "1", Ports: open("riak/0", "1")})
	lose := func(machine string) func(*modeltxn.Ops) error {
		return func(o *modeltxn.Ops) error { return ports.Lose(m.Ctx, m.DB, o, machine) }
	}
	m.OK(m.RaceOps(func() { m.Put(modeldb.Ports{ID: "0", Ports: open("mysql/0", "99"), Version: 6}) }, lose("0")))
	modeltest.Same(t, "open are", shown(m), "riak/0 1/tcp")
	m.Nothing(lose("0"))
	m.Nothing(lose("2"))
}

// What can't be read is told, and nothing is changed.
func TestStoreIsAway(t *testing.T) {
	t.Parallel()
	m := modeltest.New(t, mysql)
	m.Close(errors.New("the store is away"))
	o := &modeltxn.Ops{}
	_, opened := ports.Opened(m.Ctx, m.DB, mysql)
	_, exposure := ports.Exposure(m.Ctx, m.DB)
	_, host := ports.HostExposure(m.Ctx, m.DB, modeldb.Machine{ID: "0"})
	for name, err := range map[string]error{"Opened": opened, "Exposure": exposure, "HostExposure": host,
		"Change":   ports.Change(m.Ctx, m.DB, o, mysql, entity.HookChanges{}),
		"CloseAll": ports.CloseAll(m.Ctx, m.DB, o, mysql), "Lose": ports.Lose(m.Ctx, m.DB, o, "0")} {
		if err == nil || errors.Is(err, mongo.ErrNothing) || entity.IsNotFound(err) || o.Len() > 0 {
			t.Errorf("%s: got %v and %d operations", name, err, o.Len())
		}
	}
}
