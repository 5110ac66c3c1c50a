package state_test

import (
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
