package placement_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"gopkg.in/mgo.v2/bson"

	"juju/state/constraints"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltest"
	"juju/state/internal/modeltxn"
	"juju/state/internal/placement"
	"juju/state/mongo"
)

// A host is a machine that never had a unit, until a test changes that.
func host(id string, changes ...func(*modeldb.Machine)) modeldb.Machine {
	m := modeldb.Machine{ID: id, Series: "jammy", Jobs: []string{modeldb.JobHostUnits}, Clean: true}
	for _, change := range changes {
		change(&m)
	}
	return m
}

func used(m *modeldb.Machine)      { m.Clean = false }
func upgrading(m *modeldb.Machine) { m.Upgrade = &modeldb.SeriesUpgrade{Number: 1, To: "noble"} }
func manager(m *modeldb.Machine)   { m.Jobs = []string{modeldb.JobManageModel} }
func noble(m *modeldb.Machine)     { m.Series = "noble" }
func life(l entity.Life) func(*modeldb.Machine) {
	return func(m *modeldb.Machine) { m.Life = l }
}
func instance(id string) func(*modeldb.Machine) {
	return func(m *modeldb.Machine) { m.InstanceID = id }
}
func hardware(h entity.Hardware) func(*modeldb.Machine) {
	return func(m *modeldb.Machine) { m.InstanceID, m.CloudHardware, m.Hardware = "i-"+m.ID, h, h.String() }
}
func addresses(all ...string) func(*modeldb.Machine) {
	return func(m *modeldb.Machine) { m.Addresses = all }
}

// newHosts returns a model with machines; the number of the next is 10.
func newHosts(t *testing.T, docs ...any) *modeltest.Model {
	t.Helper()
	m := modeltest.New(t, docs...)
	for _, h := range modeltest.All[modeldb.Machine](m) {
		m.Put(modeltest.Counts{Key: modeldb.MachineKey(h.ID), Of: map[string]int{"containers": 0, "units": 0}})
	}
	_, err := m.Next(m.Ctx, modeldb.MachineSequence, 10)
	m.OK(err)
	return m
}

// units are new ones of service mysql, with constraints.
func units(m *modeltest.Model, c string) placement.Units {
	return placement.Units{DB: m.DB, Service: modeldb.Service{Name: "mysql", Series: "jammy"}, Constraints: parse(m, c)}
}

func parse(m *modeltest.Model, c string) constraints.Value {
	v, err := constraints.Parse(c)
	m.OK(err)
	return v
}

// place places n units, and returns their machines.
func place(m *modeltest.Model, u placement.Units, n int, to ...entity.Placement) (on string, err error) {
	var places []placement.Place
	err = m.Change(m.Ctx, func(o *modeltxn.Ops) (err error) {
		if places, err = u.Places(m.Ctx, places, n, to); err != nil {
			return err
		}
		for i := range places {
			if err := places[i].AddTo(m.Ctx, o, u, modeldb.Living{Since: m.DB.Now()}); err != nil {
				return err
			}
		}
		return nil
	})
	return machines(places), err
}

func machines(places []placement.Place) string {
	var ids []string
	for _, p := range places {
		ids = append(ids, p.Machine())
	}
	return strings.Join(ids, " ")
}

func at(m string) entity.Placement { return entity.Placement{Machine: m} }
func lxd(m string) entity.Placement {
	return entity.Placement{Container: "lxd", Machine: m}
}

var isNew = entity.Placement{New: true}

// A unit is refused a machine that can't have it, by whoever asks.
func TestCheck(t *testing.T) {
	t.Parallel()
	m := newHosts(t, host("0", manager, used), host("1", instance("manual:10.0.0.1")), host("2", life(entity.Dying)), host("3", noble),
		host("4", upgrading), host("5"), host("6", life(entity.Dead)))
	for _, c := range []struct {
		to   entity.Placement
		kind entity.Kind
		want string
	}{
		{entity.Placement{}, "", ""},
		{isNew, "", ""},
		{entity.Placement{Directive: "zone=a"}, "", ""},
		{at("5"), "", ""},
		{at("1"), "", ""},
		{lxd(""), "", ""},
		{lxd("5"), "", ""},
		{lxd("3"), "", ""}, // which can have a container of another series
		{at("7"), entity.NotFound, `cannot assign unit of "mysql" to machine 7: machine 7 not found`},
		{at("2"), entity.NotAlive, `cannot assign unit of "mysql" to machine 2: machine is not alive`},
		{at("6"), entity.NotAlive, `machine is not alive`},
		{at("3"), entity.Invalid, `cannot assign unit of "mysql" to machine 3: series does not match`},
		{at("0"), entity.Invalid, `cannot assign unit of "mysql" to machine 0: machine "0" cannot host units`},
		{at("4"), entity.Invalid, `to machine 4: the operating system of machine 4 is being upgraded`},
		{at("4"), entity.Invalid, `juju upgrade-machine 4 complete`},
		{entity.Placement{Manual: "a@db"}, entity.Invalid, `cannot assign unit of "mysql" to ssh:a@db: it is not a machine of the model`},
		{entity.Placement{Manual: "a@db"}, entity.Invalid, `juju add-machine ssh:a@db`},
		{lxd("7"), entity.NotFound, `cannot assign unit of "mysql" to a container: machine 7 not found`},
		{lxd("2"), entity.NotAlive, `to a container: machine 2 is not alive`},
		{lxd("0"), entity.NotSupported, `to a container: machine 0 runs a controller, and cannot host containers`},
		{lxd("1"), entity.NotSupported, `to a container: machine 1 is manual, and cannot host lxd containers`},
		{lxd("1"), entity.NotSupported, `Use the machine itself: --to 1`},
		{lxd("4"), entity.Invalid, `the operating system of machine 4 is being upgraded`},
	} {
		t.Run(c.to.String(), func(t *testing.T) {
			err := placement.Check(m.Ctx, m.DB, c.to, "mysql", "jammy")
			if c.kind == "" {
				m.OK(err)
				return
			}
			modeltest.Refused(t, err, c.kind, c.want)
			_, err = place(m, units(m, ""), 2, c.to)
			modeltest.Refused(t, err, c.kind, c.want)
		})
	}
	modeltest.Same(t, "the machines", m.IDsIn(modeldb.MachinesC), []string{"0", "1", "2", "3", "4", "5", "6"})
}

// Units go where their placements say, and the others to machines that never had one, in order, or to new ones.
func TestPlaces(t *testing.T) {
	for _, c := range []struct {
		name        string
		constraints string
		n           int
		to          []entity.Placement
		want        string
	}{
		{"none", "", 0, nil, ""},
		{"the first clean machine", "", 1, nil, "1"},
		{"more than there are", "", 4, nil, "1 2 10 11"},
		{"more than are good enough", "mem=2G", 2, nil, "2 10"},
		{"a clean machine", "", 1, []entity.Placement{at("2")}, "2"},
		{"one that has units", "", 2, []entity.Placement{at("0"), at("0")}, "0 0"},
		{"one that another unit gets", "", 2, []entity.Placement{at("1")}, "1 2"},
		{"after one that is left to the model", "", 2, []entity.Placement{{}, at("1")}, "2 1"},
		{"the host of another's container", "", 2, []entity.Placement{{}, lxd("1")}, "2 1/lxd/0"},
		{"all new", "", 3, []entity.Placement{isNew, {}, {Directive: "zone=a"}}, "10 1 11"},
		{"new with the others", "mem=8G", 3, []entity.Placement{{}, isNew, {}}, "10 11 12"},
		{"containers", "", 4, []entity.Placement{lxd("0"), lxd(""), lxd("0"), lxd("")}, "0/lxd/0 10/lxd/0 0/lxd/1 11/lxd/0"},
		{"containers of two types", "", 2, []entity.Placement{lxd("0"), {Container: "kvm", Machine: "0"}}, "0/lxd/0 0/kvm/0"},
		{"containers and others", "", 4, []entity.Placement{lxd(""), isNew, at("2")}, "11/lxd/0 10 2 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newHosts(t, host("0", used), host("1"), host("2", hardware(entity.Hardware{Mem: 4096})))
			on, err := place(m, units(m, c.constraints), c.n, c.to...)
			m.OK(err)
			modeltest.Same(t, "the units are on", on, c.want)
			for _, id := range strings.Fields(on) {
				if h := modeltest.Get[modeldb.Machine](m, id); h.Clean {
					t.Errorf("machine %s counts as one that never had a unit", id)
				}
			}
		})
	}
}

// What is added for a unit has its constraints, and goes with it. The host of a container is only its host.
func TestAddTo(t *testing.T) {
	t.Parallel()
	m := newHosts(t, host("0"))
	_, err := place(m, units(m, "mem=1G"), 4, lxd("0"), lxd(""), entity.Placement{Directive: "zone=a"}, isNew)
	m.OK(err)
	jobs := []string{modeldb.JobHostUnits}
	born := modeldb.Birth{Born: m.Time.Local()}
	living := modeldb.Living{Since: m.Time.Local()}
	want := []modeldb.Machine{
		{ID: "0", Series: "jammy", Jobs: jobs},
		{ID: "0/lxd/0", Series: "jammy", Jobs: jobs, Container: "lxd", Host: "0", ForUnits: true, Birth: born, Living: living},
		{ID: "10", Series: "jammy", Jobs: jobs, Placement: "zone=a", ForUnits: true, Birth: born, Living: living},
		{ID: "11", Series: "jammy", Jobs: jobs, ForUnits: true, Birth: born, Living: living},
		{ID: "12", Series: "jammy", Jobs: jobs, Birth: born, Living: living},
		{ID: "12/lxd/0", Series: "jammy", Jobs: jobs, Container: "lxd", Host: "12", ForUnits: true, Birth: born, Living: living},
	}
	modeltest.Same(t, "the machines", modeltest.All[modeldb.Machine](m), want)
	own := map[string]string{}
	for _, c := range modeltest.All[modeldb.Constraints](m) {
		own[c.Key] = c.Value
	}
	modeltest.Same(t, "the constraints", own, map[string]string{"m#0/lxd/0": "mem=1024M", "m#10": "mem=1024M", "m#11": "mem=1024M", "m#12/lxd/0": "mem=1024M"})
	for id, n := range map[string]int{"0": 1, "12": 1, "10": 0} {
		modeltest.Same(t, "the containers of machine "+id, m.CountOf(modeldb.MachineKey(id), "containers"), n)
	}
}

// New machines keep their numbers when the transaction is tried again, as far as they are still needed.
func TestNumbersAreKept(t *testing.T) {
	next := func(m *modeltest.Model) string {
		n, err := m.Next(m.Ctx, modeldb.MachineSequence, 1)
		m.OK(err)
		return strconv.Itoa(n)
	}
	t.Run("as places change", func(t *testing.T) {
		t.Parallel()
		m := newHosts(t)
		u := units(m, "")
		var last []placement.Place
		places := func(n int, want string, to ...entity.Placement) {
			t.Helper()
			all, err := u.Places(m.Ctx, last, n, to)
			m.OK(err)
			modeltest.Same(t, "the places", machines(all), want)
			last = all
		}
		places(3, "10 11 12")
		places(3, "10 11 12")
		m.Put(host("7"))
		places(3, "7 10 11")
		places(4, "7 10 11 13") // 12 was given up
		modeltest.Same(t, "the next number", next(m), "14")
	})
	t.Run("in another attempt", func(t *testing.T) {
		t.Parallel()
		m := newHosts(t, host("0", used), host("7"))
		var on string
		m.OK(m.Race(func() { m.Put(modeldb.Status{ID: modeldb.MachineKey("7"), Status: entity.StatusError}) }, func() (err error) {
			on, err = place(m, units(m, ""), 5, lxd(""), isNew, lxd("0"), entity.Placement{}, lxd(""))
			return err
		}))
		modeltest.Same(t, "the units are on", on, "11/lxd/0 10 0/lxd/0 13 12/lxd/0")
		modeltest.Same(t, "the next number", next(m), "14")
	})
	t.Run("of one machine", func(t *testing.T) {
		t.Parallel()
		m := newHosts(t)
		var id string
		for range 2 {
			got, err := placement.KeptID(m.Ctx, m.DB, &id)
			m.OK(err)
			modeltest.Same(t, "the id", got+" "+id, "10 10")
		}
		got, err := placement.NextID(m.Ctx, m.DB)
		m.OK(err)
		modeltest.Same(t, "the next id", got, "11")
	})
}

// A machine that the user has chosen may change before its unit is added, or the host of a container.
func TestPlacesThatChangeMeanwhile(t *testing.T) {
	for name, to := range map[string]entity.Placement{"a unit": at("0"), "a container": lxd("0")} {
		for change, c := range map[string]struct {
			change func(m *modeltest.Model)
			kind   entity.Kind
			want   string
		}{
			"it ends":     {func(m *modeltest.Model) { m.Kill(modeldb.MachinesC, "0", entity.Dying) }, entity.NotAlive, "is not alive"},
			"it is gone":  {func(m *modeltest.Model) { m.Remove(modeldb.MachinesC, "0") }, entity.NotFound, "machine 0 not found"},
			"it upgrades": {func(m *modeltest.Model) { m.Put(host("0", upgrading)) }, entity.Invalid, "is being upgraded"},
		} {
			t.Run(name+" on a machine, and "+change, func(t *testing.T) {
				t.Parallel()
				m := newHosts(t, host("0"))
				m.Refused(m.Race(func() { c.change(m) }, func() error {
					_, err := place(m, units(m, "mem=1G"), 1, to)
					return err
				}), c.kind, c.want)
			})
		}
		t.Run(name+" on a machine that gets another", func(t *testing.T) {
			t.Parallel()
			m := newHosts(t, host("0"))
			m.Ignores(func() {
				m.Put(host("0", used, addresses("10.0.0.1")), modeldb.Status{ID: modeldb.MachineKey("0"), Status: entity.StatusError})
				m.Put(modeldb.Constraints{Key: modeldb.MachineKey("0"), Value: "mem=512M"})
			}, func() error {
				_, err := place(m, units(m, "mem=1G"), 1, to)
				return err
			})
		})
	}
}

// What can't be read is told, and nothing is changed.
func TestStoreIsAway(t *testing.T) {
	t.Parallel()
	m := newHosts(t, host("0"))
	m.Close(errors.New("the store is away"))
	u := units(m, "")
	var id string
	_, open := u.Places(m.Ctx, nil, 1, nil)
	_, chosen := u.Places(m.Ctx, nil, 1, []entity.Placement{at("0")})
	_, added := u.Places(m.Ctx, nil, 1, []entity.Placement{isNew})
	_, kept := placement.KeptID(m.Ctx, m.DB, &id)
	_, _, beside := placement.Beside(m.Ctx, m.DB, []modeldb.Machine{host("0")})
	for name, err := range map[string]error{"Places": open, "a machine": chosen, "a new machine": added, "KeptID": kept, "Beside": beside,
		"Check":         placement.Check(m.Ctx, m.DB, at("0"), "mysql", "jammy"),
		"Container":     placement.Container(m.Ctx, m.DB, &modeltxn.Ops{}, lxd("0"), &modeldb.Machine{}, &placement.IDs{}),
		"its machine":   placement.Container(m.Ctx, m.DB, &modeltxn.Ops{}, lxd(""), &modeldb.Machine{}, &placement.IDs{}),
		"its host kept": placement.Container(m.Ctx, m.DB, &modeltxn.Ops{}, lxd("0"), &modeldb.Machine{}, &placement.IDs{Host: "0"})} {
		if err == nil || errors.Is(err, mongo.ErrNothing) || entity.IsNotFound(err) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// setStatus changes the status of a machine.
func setStatus(m *modeltest.Model, id string, s entity.StatusWord) {
	m.Put(modeldb.Status{ID: modeldb.MachineKey(id), Status: s})
}

func setMachine(m *modeltest.Model, id, field string, value any) {
	m.Set(modeldb.MachinesC, id, bson.DocElem{Name: field, Value: value})
}
