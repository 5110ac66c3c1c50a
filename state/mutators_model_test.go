package state_test

import (
	"time"

	"juju/state"
	"juju/state/constraints"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/statetest"
)

// on returns a mutator of the service, machine or relation that find returns.
func on[T any](name, how string, find func(*scene) T, call func(*scene, T) error, before ...func(*scene)) mutator {
	return mutator{name: name, how: how, before: before, take: func(s *scene) func() error {
		x := find(s)
		return func() error { return call(s, x) }
	}}
}

func theService(name string) func(*scene) *state.Service {
	return func(s *scene) *state.Service { return s.service(name) }
}

func theMachine(id string) func(*scene) *state.Machine {
	return func(s *scene) *state.Machine { return s.machine(id) }
}

func theRelation(names ...string) func(*scene) *state.Relation {
	return func(s *scene) *state.Relation { return s.relation(names...) }
}

func destroyService(how entity.Destruction) func(*scene, *state.Service) error {
	return func(s *scene, x *state.Service) error { return x.Destroy(s.ctx, how) }
}

func addUnits(n int, placement ...string) func(*scene, *state.Service) error {
	return func(s *scene, x *state.Service) error {
		_, err := x.AddUnits(s.ctx, n, statetest.To(placement...))
		return err
	}
}

func configures(a string, reset ...string) func(*scene, *state.Service) error {
	return func(s *scene, x *state.Service) error {
		settings := map[string]any{}
		if a != "" {
			settings["a"] = a
		}
		for _, name := range reset {
			settings[name] = nil
		}
		return x.SetConfig(s.ctx, settings)
	}
}

// twoPeers is a charm like riak with another peer relation.
const twoPeers = `{name: riak, summary: s, description: d, provides: {endpoint: {interface: http}},
  peers: {ring: {interface: riak}, gossip: {interface: talk}}}`

// adds adds another revision of a charm.
func adds(metadata string, files ...string) func(*scene) {
	return func(s *scene) { statetest.Charm(s.T, s.st, metadata, files...) }
}

// otherPeers is a charm like riak whose peer relation has another interface.
const otherPeers = `{name: riak, summary: s, description: d, provides: {endpoint: {interface: http}}, peers: {ring: {interface: talk}}}`

// upgrades changes the charm of a service, and a setting with it.
func upgrades(url string, config map[string]any) func(*scene, *state.Service) error {
	return func(s *scene, x *state.Service) error {
		_, err := x.SetCharm(s.ctx, state.SetCharmParams{URL: url, Config: config})
		return err
	}
}

func rollsOut(s *scene, x *state.Service) error {
	_, err := x.SetCharm(s.ctx, state.SetCharmParams{URL: "local:jammy/mysql-1", Batch: 1, HealthTimeout: time.Minute})
	return err
}

// rolling begins a rollout for mysql/0, and stopped stops it.
func rolling(s *scene) {
	adds(statetest.MySQL, "config.yaml", settable)(s)
	s.ok(s.unit("mysql/0").SetCharm(s.ctx, charmOf("mysql")))
	s.ok(rollsOut(s, s.service("mysql")))
}

func stopped(s *scene) {
	rolling(s)
	advanced(s)
	late(s)
	advanced(s)
}

func advanced(s *scene) { s.ok(advances(s, s.service("mysql"))) }
func late(s *scene)     { s.later.Add(int64(time.Minute)) }

func advances(s *scene, x *state.Service) error {
	_, err := x.AdvanceRollout(s.ctx, noneLost)
	return err
}

func reverts(s *scene, x *state.Service) error {
	_, err := x.RevertRollout(s.ctx, 0, 0)
	return err
}

func keeps(n int) func(*scene, *state.Service) error {
	return func(s *scene, x *state.Service) error { return x.SetMinUnits(s.ctx, n) }
}

func getsSeries(series string) func(*scene, *state.Service) error {
	return func(s *scene, x *state.Service) error { return x.SetSeries(s.ctx, series, false) }
}

func keepsUnits(service string, n int) func(*scene) {
	return func(s *scene) { s.ok(keeps(n)(s, s.service(service))) }
}

func exposed(s *scene) { s.ok(s.service("mysql").Expose(s.ctx, nil)) }

func wantsMemory(service string) func(*scene) {
	return func(s *scene) { s.ok(s.service(service).SetConstraints(s.ctx, statetest.Constraints("mem=2G"))) }
}

// manyRelations adds more relations than one transaction destroys.
func manyRelations(s *scene) {
	hub := statetest.Charm(s.T, s.st, `{name: hub, summary: s, description: d, provides: {x: {interface: i}}}`)
	spoke := statetest.Charm(s.T, s.st, `{name: spoke, summary: s, description: d, requires: {y: {interface: i}}}`)
	_, err := s.st.AddService(s.ctx, state.AddServiceParams{Name: "hub", CharmURL: hub})
	s.ok(err)
	for i := range 31 {
		name := "spoke" + string(rune('a'+i/6)) + string(rune('a'+i%6))
		_, err := s.st.AddService(s.ctx, state.AddServiceParams{Name: name, CharmURL: spoke})
		s.ok(err)
		s.relate("hub", name)
	}
}

var serviceMutators = []mutator{
	on("Service.Destroy", "", theService("mysql"), destroyService(plain)),
	on("Service.Destroy", "with nothing", theService("idle"), destroyService(plain)),
	on("Service.Destroy", "with annotations", theService("idle"), destroyService(plain),
		annotates(entity.ServiceTag("idle"))),
	on("Service.Destroy", "with relations only", theService("logging"), destroyService(plain), withoutLogging,
		func(s *scene) { s.relate("mysql", "logging") }),
	on("Service.Destroy", "by force", theService("mysql"), destroyService(forced)),
	on("Service.Destroy", "by force when Dying", theService("mysql"), destroyService(forced),
		destroysService("mysql", plain)),
	on("Service.Destroy", "by force and sooner", theService("mysql"), destroyService(atLast),
		destroysService("mysql", forced)),
	on("Service.Destroy", "with a Dying relation", theService("mysql"), destroyService(plain),
		destroysRelation(plain, "wordpress", "mysql")),
	slow(on("Service.Destroy", "with very many relations", theService("hub"), destroyService(plain), manyRelations)),
	on("Service.AddUnits", "", theService("mysql"), addUnits(2)),
	on("Service.AddUnits", "to a machine", theService("mysql"), addUnits(1, "0")),
	on("Service.AddUnits", "to a container", theService("mysql"), addUnits(1, "lxd:4")),
	on("Service.AddUnits", "to containers and new machines", theService("mysql"), addUnits(4, "lxd", "zone=a", "lxd:4")),
	on("Service.AddUnits", "on more machines than are clean", theService("riak"), addUnits(3, "1"), func(s *scene) {
		s.ok(s.machine("4").Destroy(s.ctx, plain))
	}),
	on("Service.AddUnits", "on a clean machine that has enough", theService("riak"), addUnits(1), wantsMemory("riak"),
		func(s *scene) {
			s.ok(s.machine("4").SetProvisioned(s.ctx, entity.Instance{ID: "i-4", Nonce: "n",
				Hardware: entity.Hardware{Mem: 4096}}))
		}),
	on("Service.AddUnits", "on a clean machine that was asked to have enough", theService("riak"), addUnits(1),
		destroysMachine("4", plain), wantsMemory("riak"), func(s *scene) {
			m, err := s.st.AddMachine(s.ctx, state.AddMachineParams{Series: "jammy", Constraints: statetest.Constraints("mem=4G")})
			s.ok(err)
			s.ok(m.SetStatus(s.ctx, entity.Status{Status: entity.StatusPending, Message: "starting"}))
		}),
	on("Service.SetConfig", "", theService("mysql"), configures("v")),
	on("Service.SetConfig", "trust", theService("mysql"), func(s *scene, x *state.Service) error {
		return x.SetConfig(s.ctx, map[string]any{"trust": true})
	}),
	on("Service.SetConfig", "reset", theService("mysql"), configures("", "a"), func(s *scene) {
		s.ok(s.service("mysql").SetConfig(s.ctx, map[string]any{"a": "1"}))
	}),
	on("Service.SetCharm", "", theService("mysql"), upgrades("local:jammy/mysql-1", map[string]any{"a": "new"}),
		adds(statetest.MySQL, "config.yaml", settable)),
	on("Service.SetCharm", "with a new peer relation", theService("riak"), upgrades("local:jammy/riak-1", nil),
		adds(twoPeers)),
	on("Service.SetCharm", "with other peers", theService("riak"), upgrades("local:jammy/riak-1", nil), adds(otherPeers)),
	on("Service.SetCharm", "with a limit of relations", theService("mysql"), upgrades("local:jammy/mysql-1", nil),
		adds(`{name: mysql, summary: s, description: d, provides: {server: {interface: mysql, limit: 3}, admin: {interface: mysql-root}}}`)),
	on("Service.SetCharm", "in batches", theService("mysql"), rollsOut, adds(statetest.MySQL, "config.yaml", settable)),
	on("Service.SetCharm", "in place of a rollout that has stopped", theService("mysql"), upgrades("local:jammy/mysql-2", nil),
		stopped, adds(statetest.MySQL, "config.yaml", settable)),
	on("Service.AdvanceRollout", "", theService("mysql"), advances, rolling),
	on("Service.AdvanceRollout", "reverting a unit in error", theService("mysql"), advances, rolling,
		func(s *scene) {
			advanced(s)
			s.ok(s.unit("mysql/0").SetCharm(s.ctx, "local:jammy/mysql-1"))
			s.ok(s.unit("mysql/0").SetStatus(s.ctx, entity.Status{Status: entity.StatusError, Message: "hook failed"}))
			s.ok(reverts(s, s.service("mysql")))
		}),
	on("Service.AdvanceRollout", "that stops", theService("mysql"), advances, rolling, advanced, late),
	on("Service.AdvanceRollout", "that ends", theService("mysql"), advances, rolling, func(s *scene) {
		s.ok(s.unit("mysql/0").SetCharm(s.ctx, "local:jammy/mysql-1"))
	}),
	on("Service.ResumeRollout", "", theService("mysql"), func(s *scene, x *state.Service) error {
		return x.ResumeRollout(s.ctx, 0, 0)
	}, stopped),
	on("Service.RevertRollout", "", theService("mysql"), reverts, rolling),
	on("Service.RevertRollout", "with a new peer relation", theService("riak"), reverts, adds(twoPeers), func(s *scene) {
		_, err := s.service("riak").SetCharm(s.ctx, state.SetCharmParams{URL: "local:jammy/riak-1", Batch: 1, HealthTimeout: time.Minute})
		s.ok(err)
	}),
	on("Service.SetConstraints", "", theService("mysql"),
		func(s *scene, x *state.Service) error {
			return x.SetConstraints(s.ctx, statetest.Constraints("mem=1G"))
		}),
	on("Service.Expose", "", theService("mysql"),
		func(s *scene, x *state.Service) error { return x.Expose(s.ctx, nil) }),
	on("Service.Expose", "an endpoint", theService("mysql"), func(s *scene, x *state.Service) error {
		return x.Expose(s.ctx, entity.ExposedEndpoints{"server": {CIDRs: []string{"10.0.0.0/8"}}})
	}),
	on("Service.Unexpose", "", theService("mysql"),
		func(s *scene, x *state.Service) error { return x.Unexpose(s.ctx) }, exposed),
	on("Service.Bind", "", theService("idle"), bindTo(map[string]string{"server": "db"}), withSpaces),
	on("Service.Bind", "back", theService("idle"), bindTo(map[string]string{"": "alpha"}), withSpaces,
		func(s *scene) { s.ok(binds("idle", "db")(s)) }),
	on("Service.SetSeries", "", theService("wordpress"), getsSeries("noble")),
	on("Service.SetSeries", "with a subordinate's", theService("mysql"), getsSeries("noble")),
	on("Service.SetMinUnits", "", theService("mysql"), keeps(3)),
	on("Service.SetMinUnits", "another number", theService("mysql"), keeps(3), keepsUnits("mysql", 2)),
	on("Service.SetMinUnits", "cleared", theService("mysql"), keeps(0), keepsUnits("mysql", 2)),
	on("Service.Destroy", "that keeps units", theService("mysql"), destroyService(plain), keepsUnits("mysql", 2)),
	on("Service.Destroy", "that keeps units and has none", theService("idle"), destroyService(plain),
		keepsUnits("idle", 2)),
	on("Service.Destroy", "with machines", theService("mysql"), destroyService(cleanly)),
	on("Service.Destroy", "with machines when Dying", theService("mysql"), destroyService(cleanly),
		destroysService("mysql", plain)),
	on("Relation.Destroy", "", theRelation("wordpress", "mysql"), destroyRelation(plain)),
	on("Relation.Destroy", "with an empty scope", theRelation("wordpress", "mysql"), destroyRelation(plain),
		leaves("mysql/0", "wordpress", "mysql"), leaves("wordpress/0", "wordpress", "mysql")),
	on("Relation.Destroy", "of a container", theRelation("mysql", "logging"), destroyRelation(plain)),
	on("Relation.Destroy", "by force", theRelation("wordpress", "mysql"), destroyRelation(forced)),
	on("Relation.Destroy", "by force when Dying", theRelation("mysql", "logging"), destroyRelation(forced),
		destroysRelation(lenient, "mysql", "logging")),
	on("Relation.Destroy", "by force and sooner", theRelation("mysql", "logging"), destroyRelation(atLast),
		destroysRelation(forced, "mysql", "logging")),
}

func destroyRelation(how entity.Destruction) func(*scene, *state.Relation) error {
	return func(s *scene, x *state.Relation) error { return x.Destroy(s.ctx, how) }
}

func destroyMachine(how entity.Destruction) func(*scene, *state.Machine) error {
	return func(s *scene, x *state.Machine) error { return x.Destroy(s.ctx, how) }
}

func destroysMachine(id string, how entity.Destruction) func(*scene) {
	return func(s *scene) { s.ok(s.machine(id).Destroy(s.ctx, how)) }
}

func provisions(id string) func(*scene) {
	return func(s *scene) {
		s.ok(s.machine(id).SetProvisioned(s.ctx, entity.Instance{ID: "i-" + id, Nonce: "n"}))
	}
}

func machineDead(id string) func(*scene) {
	return func(s *scene) { s.ok(s.machine(id).EnsureDead(s.ctx)) }
}

func cloudSays(word entity.StatusWord) func(*scene, *state.Machine) error {
	return func(s *scene, x *state.Machine) error {
		return x.SetInstanceStatus(s.ctx, entity.Status{Status: word, Message: "so says the cloud"})
	}
}

func cloudSaid(id string, word entity.StatusWord) func(*scene) {
	return func(s *scene) { s.ok(cloudSays(word)(s, s.machine(id))) }
}

// managers adds n managers to the model.
func managers(n int) func(*scene) {
	return func(s *scene) {
		for range n {
			_, err := s.st.AddMachine(s.ctx, state.AddMachineParams{Jobs: []string{modeldb.JobHostUnits, modeldb.JobManageModel}})
			s.ok(err)
		}
	}
}

func machineEnsureDead(s *scene, x *state.Machine) error { return x.EnsureDead(s.ctx) }
func loseInstance(s *scene, x *state.Machine) error {
	return x.LoseInstance(s.ctx, entity.Instance{ID: "i-0", Nonce: "n"})
}

func noRoomForMachine4(s *scene) {
	s.ok(s.machine("4").SetStatus(s.ctx, entity.Status{Status: entity.StatusError, Message: "no room"}))
}

func removeMachine(s *scene, x *state.Machine) error { return x.Remove(s.ctx) }

var machineMutators = []mutator{
	on("Machine.Destroy", "", theMachine("4"), destroyMachine(plain), provisions("4")),
	on("Machine.Destroy", "without an instance", theMachine("4"), destroyMachine(plain)),
	on("Machine.Destroy", "a container", theMachine("5/lxd/0"), destroyMachine(plain)),
	on("Machine.Destroy", "by force", theMachine("0"), destroyMachine(forced)),
	on("Machine.Destroy", "leniently", theMachine("4"), destroyMachine(lenient), provisions("4")),
	on("Machine.Destroy", "by force when Dying", theMachine("4"), destroyMachine(forced), provisions("4"),
		destroysMachine("4", plain)),
	on("Machine.Destroy", "by force and sooner", theMachine("0"), destroyMachine(atLast), destroysMachine("0", forced)),
	on("Machine.Destroy", "one of two managers", theMachine("7"), destroyMachine(plain), managers(2)),
	on("Machine.EnsureDead", "", theMachine("4"), machineEnsureDead, provisions("4"), destroysMachine("4", plain)),
	on("Machine.EnsureDead", "by force", theMachine("4"), machineEnsureDead, provisions("4"),
		destroysMachine("4", forced)),
	on("Machine.Remove", "", theMachine("4"), removeMachine, provisions("4"), destroysMachine("4", plain),
		machineDead("4")),
	on("Machine.Remove", "by force", theMachine("4"), removeMachine, provisions("4"), destroysMachine("4", forced),
		machineDead("4"),
		cloudSaid("4", entity.StatusError)),
	on("Machine.Remove", "a container", theMachine("5/lxd/0"), removeMachine, provisions("5/lxd/0"),
		destroysMachine("5/lxd/0", plain), machineDead("5/lxd/0")),
	on("Machine.Remove", "with annotations", theMachine("4"), removeMachine, annotates(entity.MachineTag("4")),
		provisions("4"),
		destroysMachine("4", plain), machineDead("4")),
	on("Machine.SetAddresses", "", theMachine("0"), func(s *scene, x *state.Machine) error {
		return x.SetAddresses(s.ctx, []string{"10.0.0.2"})
	}),
	on("Machine.SetHardware", "", theMachine("0"), func(s *scene, x *state.Machine) error {
		return x.SetHardware(s.ctx, entity.Hardware{Arch: "amd64", Cores: 2})
	}),
	on("Machine.Observe", "", theMachine("0"), func(s *scene, x *state.Machine) error {
		return x.Observe(s.ctx, entity.Instance{ID: "i-0", Nonce: "n", Addresses: []string{"10.0.0.9"},
			Hardware: entity.Hardware{Arch: "amd64"}}, "stopped")
	}),
	on("Machine.SetHostKeys", "", theMachine("0"), func(s *scene, x *state.Machine) error {
		return x.SetHostKeys(s.ctx, []string{aliceKey})
	}),
	on("Machine.SetInstanceStatus", "", theMachine("0"), cloudSays("running")),
	on("Machine.SetInstanceStatus", "another", theMachine("0"), cloudSays("running"), cloudSaid("0", "starting")),
	on("Machine.SetInstanceStatus", "an error of one that is forced", theMachine("0"), cloudSays(entity.StatusError),
		destroysMachine("0", forced)),
	on("Machine.SetProvisioned", "", theMachine("1"), func(s *scene, x *state.Machine) error {
		return x.SetProvisioned(s.ctx, entity.Instance{ID: "i-1", Nonce: "n", Addresses: []string{"10.0.0.3"}})
	}),
	on("Machine.SetProvisioned", "again, when Dying", theMachine("0"), func(s *scene, x *state.Machine) error {
		return x.SetProvisioned(s.ctx, entity.Instance{ID: "i-1", Nonce: "n"})
	}, destroysUnit("mysql/0", plain), destroysMachine("0", plain),
		func(s *scene) { s.ok(loseInstance(s, s.machine("0"))) }),
	on("Machine.SetCharmProfiles", "", theMachine("0"), func(s *scene, x *state.Machine) error {
		return x.SetCharmProfiles(s.ctx, entity.ProfilesSet{Instance: "i-0", Has: []entity.ProfileRef{{Name: "p", Digest: "d"}}})
	}),
	on("Machine.SetCharmProfiles", "failed", theMachine("0"), func(s *scene, x *state.Machine) error {
		return x.SetCharmProfiles(s.ctx, entity.ProfilesSet{Instance: "i-0", Failed: "no room"})
	}),
	on("Machine.SetProvisioned", "with profiles", theMachine("1"), func(s *scene, x *state.Machine) error {
		return x.SetProvisioned(s.ctx, entity.Instance{ID: "i-1", Nonce: "n", Profiles: []entity.ProfileRef{{Name: "p", Digest: "d"}}})
	}),
	on("Machine.LoseInstance", "", theMachine("0"), loseInstance),
	on("Machine.LoseInstance", "of an agent with a password", theMachine("0"), loseInstance,
		hasPassword(entity.MachineTag("0"))),
	on("Machine.RunRestored", "", theMachine("6"), func(s *scene, x *state.Machine) error { return x.RunRestored(s.ctx) }, managers(1)),
	on("Machine.RetryProvisioning", "", theMachine("4"),
		func(s *scene, x *state.Machine) error { return x.RetryProvisioning(s.ctx, nil) }, noRoomForMachine4),
	on("Machine.RetryProvisioning", "with constraints", theMachine("4"), func(s *scene, x *state.Machine) error {
		demand, err := constraints.Parse("mem=1G")
		s.ok(err)
		return x.RetryProvisioning(s.ctx, &demand)
	}, noRoomForMachine4),
	on("Machine.PrepareUpgrade", "", theMachine("0"), prepares),
	on("Machine.CompleteUpgrade", "", theMachine("0"), func(s *scene, x *state.Machine) error { return x.CompleteUpgrade(s.ctx, false) },
		prepared, finished),
	on("Machine.SetStatus", "", theMachine("0"), func(s *scene, x *state.Machine) error {
		return x.SetStatus(s.ctx, entity.Status{Status: entity.StatusStarted})
	}),
}

func prepares(s *scene, m *state.Machine) error { return m.PrepareUpgrade(s.ctx, "focal", true) }

// prepared locks machine 0.
func prepared(s *scene) { s.ok(prepares(s, s.machine("0"))) }

// finished has the units of machine 0 finish preparing.
func finished(s *scene) {
	for _, m := range s.status().AllMachines() {
		if m.ID != "0" {
			continue
		}
		for _, unit := range m.Upgrade.Waiting {
			s.ok(s.unit(unit).FinishUpgradeStep(s.ctx, 1, false))
		}
	}
}
