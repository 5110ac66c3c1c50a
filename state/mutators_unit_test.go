package state_test

import (
	"juju/state"
	"juju/state/entity"
)

// onUnit returns a mutator of a unit; before runs first.
func onUnit(name, how, unit string, call func(*scene, *state.Unit) error, before ...func(*scene)) mutator {
	return mutator{name: "Unit." + name, how: how, before: before, take: func(s *scene) func() error {
		u := s.unit(unit)
		return func() error { return call(s, u) }
	}}
}

var (
	plain   = entity.Destruction{}
	lenient = entity.Destruction{Strength: entity.Lenient}
	forced  = entity.Forced()
	atLast  = entity.Destruction{Strength: entity.Force} // with no time for agents
	// with their machines
	cleanly       = entity.Destruction{Machines: true}
	atLastCleanly = entity.Destruction{Strength: entity.Force, Machines: true}
)

// destroysUnit destroys a unit before the call; the functions below do the same
// to other entities.
func destroysUnit(name string, how entity.Destruction) func(*scene) {
	return func(s *scene) { s.ok(s.unit(name).Destroy(s.ctx, how)) }
}

func destroysService(name string, how entity.Destruction) func(*scene) {
	return func(s *scene) { s.ok(s.service(name).Destroy(s.ctx, how)) }
}

func destroysRelation(how entity.Destruction, names ...string) func(*scene) {
	return func(s *scene) { s.ok(s.relation(names...).Destroy(s.ctx, how)) }
}

func leaves(unit string, names ...string) func(*scene) {
	return func(s *scene) { s.ok(s.unit(unit).LeaveScope(s.ctx, s.relation(names...).ID())) }
}

func removes(unit string) func(*scene) {
	return func(s *scene) { s.ok(s.unit(unit).Remove(s.ctx)) }
}

func kills(unit string) func(*scene) {
	return func(s *scene) { s.ok(s.unit(unit).EnsureDead(s.ctx)) }
}

// withoutLogging removes the subordinate of mysql/0.
func withoutLogging(s *scene) {
	log := s.relation("mysql", "logging")
	s.ok(log.Destroy(s.ctx, plain))
	lg := s.unit("logging/0")
	s.ok(lg.DestroySelf(s.ctx))
	s.ok(lg.LeaveScope(s.ctx, log.ID()))
	s.ok(lg.EnsureDead(s.ctx))
	s.ok(lg.Remove(s.ctx))
	s.ok(s.unit("mysql/0").LeaveScope(s.ctx, log.ID()))
}

func errs(unit string) func(*scene) {
	return func(s *scene) {
		s.ok(s.unit(unit).SetStatus(s.ctx, entity.Status{Status: entity.StatusError, Message: "hook failed"}))
	}
}

func starts(unit string) func(*scene) {
	return func(s *scene) { s.started(unit) }
}

func destroyUnit(how entity.Destruction) func(*scene, *state.Unit) error {
	return func(s *scene, u *state.Unit) error { return u.Destroy(s.ctx, how) }
}

func ensureDead(s *scene, u *state.Unit) error          { return u.EnsureDead(s.ctx) }
func removeUnit(s *scene, u *state.Unit) error          { return u.Remove(s.ctx) }
func destroySubordinates(s *scene, u *state.Unit) error { return u.DestroySubordinates(s.ctx) }
func destroySelf(s *scene, u *state.Unit) error         { return u.DestroySelf(s.ctx) }

func enter(relation int) func(*scene, *state.Unit) error {
	return func(s *scene, u *state.Unit) error { return u.EnterScope(s.ctx, relation) }
}

func leave(relation int) func(*scene, *state.Unit) error {
	return func(s *scene, u *state.Unit) error { return u.LeaveScope(s.ctx, relation) }
}

// The ids of the relations on the stage: riak's peer relation, wordpress with
// mysql, mysql with logging.
const ring, web, logs = 0, 1, 2

func commits(changes func(*scene) entity.HookChanges) func(*scene, *state.Unit) error {
	return func(s *scene, u *state.Unit) error { return u.CommitHook(s.ctx, changes(s)) }
}

// says is a hook that changes the unit's settings in the relation of wordpress
// and mysql.
func says(*scene) entity.HookChanges {
	return entity.HookChanges{Relations: map[int]map[string]string{web: {"host": "h"}}}
}

// saysForAll is a hook that changes the settings of the unit's service too.
func saysForAll(s *scene) entity.HookChanges {
	changes := says(s)
	changes.Applications, changes.Epoch = map[int]map[string]string{web: {"host": "all", "old": ""}}, 1
	return changes
}

func opens(n int) func(*scene) entity.HookChanges {
	return func(*scene) entity.HookChanges { return entity.HookChanges{OpenPorts: []entity.PortRange{port(n)}} }
}

func closes80(*scene) entity.HookChanges {
	return entity.HookChanges{ClosePorts: []entity.PortRange{port(80)}}
}

// keepsState is a hook that changes what the charm keeps.
func keepsState(*scene) entity.HookChanges {
	return entity.HookChanges{CharmState: entity.CharmState{"schema": "3"}, DropState: []string{"old"}}
}

// runs is a hook that registers a payload and drops another.
func runs(*scene) entity.HookChanges {
	return entity.HookChanges{Payloads: []entity.Payload{{Class: "web", Type: "docker", ID: "w2", Status: "starting"}},
		DropPayloads: []string{"old"}}
}

func reports(s *scene, u *state.Unit) error {
	return u.SetAgentStatus(s.ctx, entity.Status{Status: entity.StatusIdle})
}

func hasCharm(name string) func(*scene, *state.Unit) error {
	return func(s *scene, u *state.Unit) error { return u.SetCharm(s.ctx, charmOf(name)) }
}

// charmOf returns the URL of a charm on the stage.
func charmOf(name string) string { return "local:jammy/" + name + "-0" }

func resolve(retry bool) func(*scene, *state.Unit) error {
	return func(s *scene, u *state.Unit) error { return u.Resolve(s.ctx, retry) }
}

func claim(s *scene, u *state.Unit) error {
	_, err := u.ClaimLeadership(s.ctx, state.MinLease)
	return err
}

func tellsUnits(s *scene, u *state.Unit) error {
	return u.SetLeaderSettings(s.ctx, 1, entity.LeaderSettings{"primary": "mysql/0", "old": ""})
}

func inSteps(m mutator) mutator { m.steps = true; return m }

func release(s *scene, u *state.Unit) error { return u.ReleaseLeadership(s.ctx) }

func leads(unit string) func(*scene)       { return func(s *scene) { s.ok(claim(s, s.unit(unit))) } }
func leadsNoMore(unit string) func(*scene) { return func(s *scene) { s.ok(release(s, s.unit(unit))) } }

var unitMutators = []mutator{
	onUnit("Destroy", "", "mysql/0", destroyUnit(plain)),
	onUnit("Destroy", "without subordinates", "wordpress/0", destroyUnit(plain)),
	onUnit("Destroy", "leniently", "mysql/0", destroyUnit(lenient)),
	onUnit("Destroy", "by force", "mysql/0", destroyUnit(forced)),
	onUnit("Destroy", "by force when Dying", "mysql/0", destroyUnit(forced), destroysUnit("mysql/0", lenient)),
	onUnit("Destroy", "by force and sooner", "mysql/0", destroyUnit(atLast), destroysUnit("mysql/0", forced)),
	onUnit("Destroy", "never started", "mysql/1", destroyUnit(plain)),
	onUnit("Destroy", "the last of a Dying service", "riak/0", destroyUnit(plain), destroysService("riak", plain)),
	onUnit("Destroy", "of a service that keeps units", "mysql/0", destroyUnit(plain), keepsUnits("mysql", 2)),
	onUnit("Destroy", "never started, of a service that keeps units", "mysql/1", destroyUnit(plain),
		keepsUnits("mysql", 2)),
	onUnit("Destroy", "with its machine", "mysql/0", destroyUnit(cleanly)),
	onUnit("Destroy", "with its machine when Dying", "mysql/0", destroyUnit(cleanly), destroysUnit("mysql/0", plain)),
	onUnit("Destroy", "never started, with its machine", "mysql/1", destroyUnit(cleanly)),
	onUnit("DestroySelf", "", "mysql/0", destroySelf, destroysService("mysql", plain)),
	onUnit("DestroySelf", "a subordinate", "logging/0", destroySelf, destroysService("logging", plain)),
	onUnit("DestroySelf", "an orphan", "logging/0", destroySelf, destroysRelation(plain, "mysql", "logging")),
	onUnit("DestroySelf", "an orphan that was counted on", "logging/0", destroySelf, func(s *scene) {
		s.ok(s.unit("mysql/0").LeaveScope(s.ctx, logs))
		s.ok(s.unit("mysql/0").EnterScope(s.ctx, logs))
	}, destroysRelation(plain, "mysql", "logging")),
	onUnit("DestroySubordinates", "", "mysql/0", destroySubordinates, destroysUnit("mysql/0", plain)),
	onUnit("EnsureDead", "", "mysql/0", ensureDead, destroysUnit("mysql/0", plain), withoutLogging,
		leaves("mysql/0", "wordpress", "mysql")),
	onUnit("EnsureDead", "a subordinate", "logging/0", ensureDead, destroysRelation(plain, "mysql", "logging"),
		func(s *scene) {
			s.ok(s.unit("logging/0").DestroySelf(s.ctx))
			s.ok(s.unit("logging/0").LeaveScope(s.ctx, logs))
		}),
	onUnit("EnsureDead", "by force", "riak/0", ensureDead, starts("riak/0"), destroysUnit("riak/0", forced)),
	onUnit("EnterScope", "", "mysql/1", enter(web)),
	onUnit("EnterScope", "again", "mysql/0", enter(web), leaves("mysql/0", "wordpress", "mysql")),
	onUnit("EnterScope", "with a new subordinate", "mysql/1", enter(logs)),
	onUnit("EnterScope", "with its subordinate there", "mysql/0", enter(logs), leaves("mysql/0", "mysql", "logging")),
	onUnit("EnterScope", "of peers", "riak/0", enter(ring)),
	onUnit("LeaveScope", "", "mysql/0", leave(web)),
	onUnit("LeaveScope", "a Dying relation", "mysql/0", leave(web), destroysRelation(plain, "wordpress", "mysql")),
	onUnit("LeaveScope", "the last", "mysql/0", leave(web), destroysRelation(plain, "wordpress", "mysql"),
		leaves("wordpress/0", "wordpress", "mysql")),
	onUnit("LeaveScope", "the last of a forced one", "mysql/0", leave(web), destroysRelation(forced, "wordpress", "mysql"),
		leaves("wordpress/0", "wordpress", "mysql")),
	onUnit("LeaveScope", "the last, of two Dying services", "wordpress/0", leave(web), func(s *scene) {
		s.ok(s.service("mysql").Destroy(s.ctx, plain))
		s.ok(s.service("wordpress").Destroy(s.ctx, plain))
		s.ok(s.unit("wordpress/0").DestroySelf(s.ctx))
		s.ok(s.unit("mysql/0").LeaveScope(s.ctx, web))
	}),
	onUnit("LeaveScope", "the last, and another service goes", "riak/0", leave(ring), func(s *scene) {
		s.ok(s.unit("riak/0").EnterScope(s.ctx, ring))
		s.started("riak/0")
		s.ok(s.service("riak").Destroy(s.ctx, plain))
	}),
	onUnit("Remove", "", "mysql/0", removeUnit, destroysUnit("mysql/0", plain), withoutLogging,
		leaves("mysql/0", "wordpress", "mysql"), kills("mysql/0")),
	onUnit("Remove", "a subordinate", "logging/0", removeUnit, destroysRelation(plain, "mysql", "logging"),
		func(s *scene) {
			s.ok(s.unit("logging/0").DestroySelf(s.ctx))
			s.ok(s.unit("logging/0").LeaveScope(s.ctx, logs))
			s.ok(s.unit("logging/0").EnsureDead(s.ctx))
		}),
	onUnit("Remove", "the last of a Dying service", "riak/0", removeUnit, starts("riak/0"), destroysService("riak", plain),
		destroysUnit("riak/0", plain), kills("riak/0")),
	onUnit("Remove", "the last of a service that had a leader", "riak/0", removeUnit, leads("riak/0"), starts("riak/0"),
		destroysService("riak", plain), destroysUnit("riak/0", plain), kills("riak/0")),
	onUnit("Remove", "with annotations", "riak/0", removeUnit, annotates(entity.UnitTag("riak/0")), starts("riak/0"),
		destroysUnit("riak/0", plain), kills("riak/0")),
	onUnit("Remove", "the last of a service that is forced", "riak/0", removeUnit, starts("riak/0"),
		destroysService("riak", forced),
		destroysUnit("riak/0", forced), kills("riak/0")),
	onUnit("Remove", "with its machine", "riak/0", removeUnit, starts("riak/0"), destroysUnit("riak/0", cleanly),
		kills("riak/0")),
	onUnit("Remove", "with its machine, for its service goes so", "mysql/1", removeUnit, starts("mysql/1"),
		destroysUnit("mysql/1", plain),
		destroysService("mysql", cleanly), kills("mysql/1")),
	onUnit("Remove", "one of a Dying service", "mysql/1", removeUnit, starts("mysql/1"), destroysService("mysql", plain),
		destroysUnit("mysql/1", plain), kills("mysql/1")),
	onUnit("CommitHook", "settings", "mysql/0", commits(says)),
	onUnit("CommitHook", "settings of the service", "mysql/0", commits(saysForAll), leads("mysql/0")),
	onUnit("CommitHook", "settings of the service again", "mysql/0", commits(saysForAll), leads("mysql/0"),
		func(s *scene) {
			before := saysForAll(s)
			before.Applications[web]["host"] = "other"
			s.ok(s.unit("mysql/0").CommitHook(s.ctx, before))
		}),
	onUnit("CommitHook", "charm state", "mysql/0", commits(keepsState)),
	onUnit("CommitHook", "charm state again", "mysql/0", commits(keepsState), func(s *scene) {
		s.ok(s.unit("mysql/0").CommitHook(s.ctx, entity.HookChanges{CharmState: entity.CharmState{"old": "1"}}))
	}),
	onUnit("CommitHook", "payloads", "mysql/0", commits(runs)),
	onUnit("CommitHook", "payloads again", "mysql/0", commits(runs), func(s *scene) {
		s.ok(s.unit("mysql/0").CommitHook(s.ctx, entity.HookChanges{Payloads: []entity.Payload{
			{Class: "web", Type: "docker", ID: "w", Status: "running"}, {Class: "old", Type: "kvm", ID: "o", Status: "running"}}}))
	}),
	onUnit("CommitHook", "opens a port", "mysql/0", commits(opens(81))),
	onUnit("CommitHook", "closes a port", "mysql/0", commits(closes80)),
	onUnit("CommitHook", "a port beside another's", "logging/0", commits(opens(82))),
	onUnit("CommitHook", "a machine's first port", "wordpress/0", commits(opens(80))),
	onUnit("SetStatus", "", "mysql/0", func(s *scene, u *state.Unit) error {
		return u.SetStatus(s.ctx, entity.Status{Status: entity.StatusActive})
	}),
	onUnit("SetAgentStatus", "the first", "mysql/1", reports),
	onUnit("SetAgentStatus", "", "mysql/0", reports),
	onUnit("SetCharm", "", "mysql/0", hasCharm("mysql")),
	onUnit("Resolve", "", "mysql/0", resolve(true), errs("mysql/0")),
	onUnit("Resolve", "without hooks", "mysql/0", resolve(false), errs("mysql/0")),
	inSteps(onUnit("ClaimLeadership", "", "mysql/0", claim)),
	inSteps(onUnit("ClaimLeadership", "after another", "mysql/0", claim, leads("mysql/1"), leadsNoMore("mysql/1"))),
	inSteps(onUnit("ReleaseLeadership", "", "mysql/0", release, leads("mysql/0"))),
	onUnit("SetLeaderSettings", "", "mysql/0", tellsUnits, leads("mysql/0")),
	onUnit("SetLeaderSettings", "again", "mysql/0", tellsUnits, leads("mysql/0"), func(s *scene) {
		s.ok(s.unit("mysql/0").SetLeaderSettings(s.ctx, 1, entity.LeaderSettings{"primary": "none", "old": "x"}))
	}),
	onUnit("SetServiceStatus", "", "mysql/0", func(s *scene, u *state.Unit) error {
		return u.SetServiceStatus(s.ctx, 1, entity.Status{Status: entity.StatusActive})
	}, leads("mysql/0")),
	onUnit("SetWorkloadVersion", "", "mysql/0", func(s *scene, u *state.Unit) error {
		return u.SetWorkloadVersion(s.ctx, "8.0")
	}),
	onUnit("FinishUpgradeStep", "", "mysql/0", func(s *scene, u *state.Unit) error {
		return u.FinishUpgradeStep(s.ctx, 1, false)
	}, prepared),
	onUnit("RequestReboot", "", "mysql/0", func(s *scene, u *state.Unit) error {
		return u.RequestReboot(s.ctx, "a boot")
	}),
	onUnit("ClearResolved", "", "mysql/0", func(s *scene, u *state.Unit) error { return u.ClearResolved(s.ctx) },
		errs("mysql/0"), func(s *scene) { s.ok(s.unit("mysql/0").Resolve(s.ctx, true)) }),
}
