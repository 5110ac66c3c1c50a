package placement_test

import (
	"testing"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltest"
	"juju/state/internal/placement"
)

// A machine that never had a unit is used if nothing keeps it from having one, and it has what the unit demands, as far as
// that is known: by the hardware of those that have started, and by what was asked for.
func TestCleanMachines(t *testing.T) {
	has := entity.Hardware{Arch: "amd64", Cores: 2, Mem: 2048}
	for _, c := range []struct {
		name       string
		machine    modeldb.Machine
		own, wants string
		status     entity.StatusWord
		isUsed     bool
	}{
		{"any", host("0"), "", "", "", true},
		{"had a unit", host("0", used), "", "", "", false},
		{"ends", host("0", life(entity.Dying)), "", "", "", false},
		{"of another series", host("0", noble), "", "", "", false},
		{"a controller", host("0", manager), "", "", "", false},
		{"being upgraded", host("0", upgrading), "", "", "", false},
		{"a container", host("0", func(m *modeldb.Machine) { m.Container, m.Host = "lxd", "9" }), "", "", "", false},
		{"pending", host("0"), "", "", entity.StatusPending, true},
		{"in error", host("0"), "", "", entity.StatusError, false},
		{"enough memory", host("0", hardware(has)), "", "mem=2G cores=2", "", true},
		{"too little memory", host("0", hardware(has)), "", "mem=3G", "", false},
		{"unknown memory", host("0"), "", "mem=2G", "", false},
		{"enough memory requested", host("0"), "mem=8G", "mem=2G", "", true},
		{"too little memory requested", host("0"), "mem=1G", "mem=2G", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newHosts(t, c.machine)
			if c.own != "" {
				m.Put(modeldb.Constraints{Key: modeldb.MachineKey("0"), Value: c.own})
			}
			if c.status != "" {
				setStatus(m, "0", c.status)
			}
			on, err := place(m, units(m, c.wants), 1)
			m.OK(err)
			modeltest.Same(t, "the machine is used", on == "0", c.isUsed)
		})
	}
}

// Constraints that can't be read are no machine's.
func TestConstraintsOfACleanMachineAreDamaged(t *testing.T) {
	t.Parallel()
	m := newHosts(t, host("0"), modeldb.Constraints{Key: modeldb.MachineKey("0"), Value: "mem"})
	_, err := place(m, units(m, ""), 1)
	m.Refused(err, entity.Invalid, "mem")
}

// A service's units are spread over the zones of clean machines as over those of new ones; what other services have there
// does not count, nor does the order of the machines unless zones are equal.
func TestSpread(t *testing.T) {
	zones := func(all string) (docs []any) {
		for i, zone := range all {
			h := entity.Hardware{Arch: "amd64", Zone: string(zone)}
			if zone == '-' {
				h.Zone = ""
			}
			docs = append(docs, host(string(rune('0'+i)), hardware(h)))
		}
		return docs
	}
	on := func(machine, service string) []any {
		return []any{modeldb.Unit{Name: service + "/" + machine, Service: service, Machine: machine}}
	}
	for _, c := range []struct {
		name  string
		zones string // of machines 0, 1, …
		units []any  // that are there, on machines that are clean nevertheless
		n     int
		want  string
	}{
		{"each its own", "aaabab-", nil, 3, "0 3 6"},
		{"then again the first", "aaabab-", nil, 4, "0 3 6 1"},
		{"all", "aab", nil, 3, "0 1 2"},
		{"more than all", "aab", nil, 4, "0 1 2 10"},
		{"one is there", "aab", on("1", "mysql"), 2, "2 0"},
		{"another's is there", "aab", on("1", "riak"), 2, "0 2"},
		{"none is known", "---", nil, 2, "0 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newHosts(t, append(zones(c.zones), c.units...)...)
			got, err := place(m, units(m, ""), c.n)
			m.OK(err)
			modeltest.Same(t, "the units are on", got, c.want)
		})
	}
}

// What a clean machine was chosen for is asserted, whether its status was ever set or not, and nothing else.
func TestCleanMachinesThatChangeMeanwhile(t *testing.T) {
	has := entity.Hardware{Mem: 4096}
	for _, c := range []struct {
		name       string
		machine    modeldb.Machine
		own, wants string
		status     entity.StatusWord
		change     func(m *modeltest.Model)
		want       string // the machine that the unit gets in the end; "" if the change is none of its business
	}{
		{"it fails to start", host("0"), "", "", "", func(m *modeltest.Model) { setStatus(m, "0", entity.StatusError) }, "10"},
		{"it fails to start again", host("0"), "", "", entity.StatusPending, func(m *modeltest.Model) { setStatus(m, "0", entity.StatusError) }, "10"},
		{"it starts", host("0"), "", "", "", func(m *modeltest.Model) { setStatus(m, "0", entity.StatusStarted) }, "0"},
		{"it starts, with a status", host("0"), "", "", entity.StatusPending, func(m *modeltest.Model) { setStatus(m, "0", entity.StatusStarted) }, ""},
		{"it gets a unit", host("0"), "", "", "", func(m *modeltest.Model) { setMachine(m, "0", "clean", false) }, "10"},
		{"it gets a unit, and has enough", host("0", hardware(has)), "", "mem=2G", "", func(m *modeltest.Model) { setMachine(m, "0", "clean", false) }, "10"},
		{"it ends", host("0"), "", "", "", func(m *modeltest.Model) { m.Kill(modeldb.MachinesC, "0", entity.Dying) }, "10"},
		{"it is upgraded", host("0"), "", "", "", func(m *modeltest.Model) { m.Put(host("0", upgrading)) }, "10"},
		{"it gets other constraints", host("0"), "mem=4G", "mem=2G", "", func(m *modeltest.Model) {
			m.Put(modeldb.Constraints{Key: modeldb.MachineKey("0"), Value: "mem=1G"})
		}, "10"},
		{"it gets constraints", host("0", hardware(has)), "", "mem=2G", "", func(m *modeltest.Model) {
			m.Put(modeldb.Constraints{Key: modeldb.MachineKey("0"), Value: "mem=1G"})
		}, "0"},
		{"it gets constraints that do not matter", host("0"), "", "", "", func(m *modeltest.Model) {
			m.Put(modeldb.Constraints{Key: modeldb.MachineKey("0"), Value: "mem=1G"})
		}, ""},
		{"it loses its instance", host("0", hardware(has)), "", "mem=2G", "", func(m *modeltest.Model) { m.Put(host("0")) }, "10"},
		{"it loses its instance, which does not matter", host("0", hardware(has)), "", "", "", func(m *modeltest.Model) { m.Put(host("0")) }, ""},
		{"its hardware becomes known", host("0"), "mem=4G", "mem=2G", "", func(m *modeltest.Model) { m.Put(host("0", hardware(has))) }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newHosts(t, c.machine)
			if c.own != "" {
				m.Put(modeldb.Constraints{Key: modeldb.MachineKey("0"), Value: c.own})
			}
			if c.status != "" {
				setStatus(m, "0", c.status)
			}
			var on string
			call := func() (err error) {
				on, err = place(m, units(m, c.wants), 1)
				return err
			}
			if c.want == "" {
				m.Ignores(func() { c.change(m) }, call)
				return
			}
			m.OK(m.Race(func() { c.change(m) }, call))
			modeltest.Same(t, "the unit is on", on, c.want)
		})
	}
}

// Beside a machine are its constraints and its status; one that was never set is that of its birth.
func TestBeside(t *testing.T) {
	t.Parallel()
	m := newHosts(t, host("0"), host("1"), host("2"), modeldb.Constraints{Key: "m#0", Value: "mem=1G"}, modeldb.Constraints{Key: "m#2", Value: "mem=2G"},
		modeldb.Status{ID: "m#1", Status: entity.StatusStarted}, modeldb.Status{ID: "m#2", Status: entity.StatusError})
	one := host("0")
	one.Born = m.Time
	said, own, err := placement.Beside(m.Ctx, m.DB, []modeldb.Machine{one, host("1")})
	m.OK(err)
	modeltest.Same(t, "the constraints", own, map[string]string{"m#0": "mem=1G"})
	modeltest.Same(t, "how many have a status", len(said), 2)
	modeltest.Same(t, "the first status", said["m#0"], modeldb.FirstStatus("m#0", one.Birth))
	modeltest.Same(t, "the second's", said["m#1"].Status, entity.StatusStarted)
	modeltest.Same(t, "the second has none of its own", said["m#1"].Unset, false)
}
