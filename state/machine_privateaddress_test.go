package state_test

import (
	"maps"
	"testing"

	"juju/state/entity"
	"juju/state/statetest"
)

// Units tell those related to them the address of their machine, also when that has changed, or when
// the machine has another instance after its own was lost. An address that the charm has set stays.
func TestUnitsPublishTheirNewAddress(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	w.deploy("wordpress", statetest.Wordpress, 1)
	w.deploy("logging", statetest.Logging, 0)
	info, db := w.relate("mysql", "logging"), w.relate("mysql", "wordpress")
	my, m := w.started("mysql/0"), w.provisioned("0")
	w.ok(m.SetAddresses(w.ctx, []string{"10.0.0.1", "fd00::1"}))
	w.ok(my.EnterScope(w.ctx, info.ID()))
	w.ok(my.EnterScope(w.ctx, db.ID()))
	w.ok(w.started("logging/0").EnterScope(w.ctx, info.ID()))
	w.ok(w.started("wordpress/0").EnterScope(w.ctx, db.ID()))
	tells := func(unit string, relation int, want string) {
		t.Helper()
		settings, err := w.unit(unit).RelationSettings(w.ctx, relation, unit)
		w.ok(err)
		if got := settings["private-address"]; got != want {
			t.Errorf("%s tells %q in relation %d, want %q", unit, got, relation, want)
		}
		// What Juju tells besides moves with it, even if the charm has set another private-address.
		address := settings["ingress-address"]
		if want != "db.example" && address != want {
			t.Errorf("%s tells the ingress-address %q in relation %d, want %q", unit, address, relation, want)
		}
		if subnets, want := settings["egress-subnets"], entity.HostSubnet(address); subnets != want {
			t.Errorf("%s tells the egress-subnets %q in relation %d, want %q", unit, subnets, relation, want)
		}
	}
	all := func(want string) {
		t.Helper()
		tells("mysql/0", db.ID(), want)
		tells("mysql/0", info.ID(), want)
		tells("logging/0", info.ID(), want)
	}
	all("10.0.0.1")
	tells("wordpress/0", db.ID(), "")
	events, first := w.hears("wordpress/0", db)
	w.names(first, "mysql/0")
	w.ok(m.SetAddresses(w.ctx, []string{"10.0.0.2"}))
	all("10.0.0.2")
	w.names(next(t, events), "mysql/0") // its peers' hooks learn of it
	another := func(lost, id string, addresses ...string) {
		t.Helper()
		w.ok(m.LoseInstance(w.ctx, entity.Instance{ID: lost, Nonce: "n"}))
		w.ok(m.SetProvisioned(w.ctx, entity.Instance{ID: id, Nonce: "n", Addresses: addresses}))
	}
	another("i-0", "i-1", "10.0.0.3")
	all("10.0.0.3")
	// The next two have no address, or none at first.
	another("i-1", "i-2")
	another("i-2", "i-3")
	all("10.0.0.3")
	w.ok(m.SetAddresses(w.ctx, []string{"10.0.0.4"}))
	all("10.0.0.4")
	w.ok(w.unit("mysql/0").CommitHook(w.ctx, entity.HookChanges{Relations: map[int]map[string]string{
		db.ID(): {"private-address": "db.example"}}}))
	// Meanwhile the charm changes another setting, and a unit leaves.
	w.st.Before(func() {
		w.ok(w.unit("mysql/0").CommitHook(w.ctx, entity.HookChanges{Relations: map[int]map[string]string{
			info.ID(): {"x": "y"}}}))
	})
	w.ok(m.SetAddresses(w.ctx, []string{"10.0.0.5"}))
	tells("mysql/0", db.ID(), "db.example")
	tells("mysql/0", info.ID(), "10.0.0.5")
	tells("logging/0", info.ID(), "10.0.0.5")
	w.ok(w.unit("logging/0").LeaveScope(w.ctx, info.ID()))
	w.ok(m.SetAddresses(w.ctx, []string{"10.0.0.6"}))
	tells("mysql/0", info.ID(), "10.0.0.6")
	tells("wordpress/0", db.ID(), "")
	settings, err := w.unit("mysql/0").RelationSettings(w.ctx, db.ID(), "mysql/0")
	w.ok(err)
	if got := settings["ingress-address"]; got != "10.0.0.6" {
		t.Errorf("mysql/0 tells the ingress-address %q, want 10.0.0.6", got)
	}
	// The name of a host is in no subnet.
	w.ok(m.SetAddresses(w.ctx, []string{"zero.example"}))
	tells("mysql/0", info.ID(), "zero.example")
}

// A unit publishes what is true when it has entered, whatever changes between its reads and its writes, or between those of
// who changes it.
func TestUnitsEnterWithWhatHasChangedMeanwhile(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	w.deploy("wordpress", statetest.Wordpress, 1)
	db := w.relate("mysql", "wordpress")
	my, m := w.started("mysql/0"), w.provisioned("0")
	enters := func() { w.ok(my.EnterScope(w.ctx, db.ID())) }
	moves := func(addresses ...string) func() {
		return func() {
			m, err := w.st.Machine(w.ctx, "0")
			w.ok(err)
			w.ok(m.SetAddresses(w.ctx, addresses))
		}
	}
	says := func(subnets string) func() {
		return func() {
			w.ok(w.st.Settings().SetConfig(w.ctx, map[string]string{"egress-subnets": subnets}, nil))
			w.clean()
		}
	}
	w.ok(m.SetAddresses(w.ctx, nil))
	for _, c := range []struct {
		name            string
		does, before    func()
		address, egress string
	}{
		{"gets its first address after it entered", moves("10.0.0.1"), enters, "10.0.0.1", "10.0.0.1/32"},
		{"enters while its machine moves", enters, moves("10.0.0.2"), "10.0.0.2", "10.0.0.2/32"},
		{"enters before its machine has moved", moves("10.0.0.3"), enters, "10.0.0.3", "10.0.0.3/32"},
		{"enters while the model's subnets change", enters, says("10.1.0.0/16"), "10.0.0.3", "10.1.0.0/16"},
		{"enters while they change again", enters, says("10.2.0.0/16"), "10.0.0.3", "10.2.0.0/16"},
	} {
		w.st.Before(c.before)
		c.does()
		settings, err := my.RelationSettings(w.ctx, db.ID(), "mysql/0")
		w.ok(err)
		want := map[string]string{"private-address": c.address, "ingress-address": c.address, "egress-subnets": c.egress}
		if !maps.Equal(settings, want) {
			t.Errorf("a unit that %s publishes %v, want %v", c.name, settings, want)
		}
		w.ok(my.LeaveScope(w.ctx, db.ID()))
	}
}

// A unit that enters a relation and leaves another one while its machine gets another address tells that in the new one.
func TestAUnitEntersWhileItsAddressChanges(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	w.deploy("wordpress", statetest.Wordpress, 0)
	w.deploy("blog", statetest.Wordpress, 0)
	old, now := w.relate("mysql", "wordpress"), w.relate("mysql", "blog")
	u, m := w.started("mysql/0"), w.provisioned("0")
	w.ok(m.SetAddresses(w.ctx, []string{"10.0.0.1"}))
	w.ok(u.EnterScope(w.ctx, old.ID()))
	w.st.Before(func() {
		w.ok(u.LeaveScope(w.ctx, old.ID()))
		w.ok(u.EnterScope(w.ctx, now.ID()))
	})
	w.ok(m.SetAddresses(w.ctx, []string{"10.0.0.2"}))
	settings, err := w.unit("mysql/0").RelationSettings(w.ctx, now.ID(), "mysql/0")
	w.ok(err)
	if got := settings["private-address"]; got != "10.0.0.2" {
		t.Errorf("it tells %q", got)
	}
}
