package controller

import "juju/state/entity"

// What is destroyed, and the obstacles.
const (
	machine       = "machine"
	principal     = "principal unit"
	viaPrincipal  = "subordinate unit, by its principal"
	viaRelation   = "subordinate unit, by its relation"
	service       = "service"
	global        = "global relation"
	container     = "container relation"
	peer          = "service with peers"
	across        = "relation across models"
	remote        = "service of another model"
	offered       = "relation that uses an offer"
	neverCame     = "agent never came"
	agentGone     = "agent gone"
	machineLost   = "machine lost"
	hookFails     = "hook fails for ever"
	noStart       = "the cloud starts nothing"
	noStop        = "the cloud stops nothing"
	neighbour     = "neighbour dying"
	restarted     = "controller restarted half way"
	unitHeld      = "held by an upgrade in batches"
	rollFailed    = "its upgrade in batches has stopped"
	rollReverts   = "its upgrade in batches is being reverted"
	culpritAgent  = "agent"       // the culprit's agent must act
	culpritUser   = "user"        // the user must resolve the culprit's hook
	culpritMaster = "provisioner" // the provisioner must stop the culprit's instance
)

// kinds and obstacles are the edges of the matrix.
var (
	kinds     = []string{machine, principal, viaPrincipal, viaRelation, service, global, container, peer, across, remote, offered}
	obstacles = []string{neverCame, agentGone, machineLost, hookFails, noStart, noStop, neighbour, restarted, unitHeld, rollFailed, rollReverts}
)

// An outcome is the result of a destruction. The zero value means that it ends, whatever its
// strength.
type outcome struct {
	none    string          // why there is no such cell
	ends    entity.Strength // the weakest strength that ends it
	culprit string          // the unit or machine that causes it
	by      string          // who must act
}

const notRolled = "its service is not upgraded: the others are"

const notTheClouds = "no part of its end is the cloud's: its machine stays"

// outcomes are the cells that differ from the zero value. A culprit is a service's first unit,
// given by the role of the service in the cell's world, or "machine".
var outcomes = map[[2]string]outcome{
	{machine, neverCame}: {ends: entity.Force, culprit: "machine", by: culpritAgent},
	{machine, agentGone}: {ends: entity.Force, culprit: "db", by: culpritAgent},
	{machine, hookFails}: {ends: entity.Lenient, culprit: "db", by: culpritUser},
	{machine, noStop}:    {ends: entity.Force, culprit: "machine", by: culpritMaster},

	{principal, agentGone}: {ends: entity.Force, culprit: "db", by: culpritAgent},
	{principal, hookFails}: {ends: entity.Lenient, culprit: "db", by: culpritUser},
	{principal, noStop}:    {none: notTheClouds},

	{viaPrincipal, agentGone}: {ends: entity.Force, culprit: "sub", by: culpritAgent},
	{viaPrincipal, hookFails}: {ends: entity.Lenient, culprit: "sub", by: culpritUser},
	{viaPrincipal, noStart}:   {none: "there is no subordinate before its principal's machine has come"},
	{viaPrincipal, noStop}:    {none: notTheClouds},
	{viaPrincipal, neighbour}: {ends: entity.Lenient, culprit: "sub", by: culpritUser},

	{viaRelation, agentGone}: {ends: entity.Force, culprit: "sub", by: culpritAgent},
	{viaRelation, hookFails}: {ends: entity.Lenient, culprit: "sub", by: culpritUser},
	{viaRelation, noStart}:   {none: "there is no subordinate before its principal's machine has come"},
	{viaRelation, noStop}:    {none: notTheClouds},

	{service, agentGone}: {ends: entity.Force, culprit: "db", by: culpritAgent},
	{service, hookFails}: {ends: entity.Lenient, culprit: "db", by: culpritUser},
	{service, noStop}:    {none: notTheClouds},
	{service, neighbour}: {ends: entity.Lenient, culprit: "site", by: culpritUser},

	{global, agentGone}: {ends: entity.Force, culprit: "site", by: culpritAgent},
	{global, hookFails}: {ends: entity.Lenient, culprit: "site", by: culpritUser},
	{global, noStop}:    {none: notTheClouds},
	{global, neighbour}: {ends: entity.Lenient, culprit: "site", by: culpritUser},

	{container, agentGone}: {ends: entity.Force, culprit: "db", by: culpritAgent},
	{container, hookFails}: {ends: entity.Lenient, culprit: "sub", by: culpritUser},
	{container, noStop}:    {none: notTheClouds},
	{container, neighbour}: {ends: entity.Lenient, culprit: "sub", by: culpritUser},

	{peer, agentGone}: {ends: entity.Force, culprit: "ring", by: culpritAgent},
	{peer, hookFails}: {ends: entity.Lenient, culprit: "ring", by: culpritUser},
	{peer, noStop}:    {none: notTheClouds},
	{peer, neighbour}: {ends: entity.Lenient, culprit: "ring", by: culpritUser},

	// A neighbour's hook that fails is the other model's affair.
	{across, agentGone}: {ends: entity.Force, culprit: "site", by: culpritAgent},
	{across, hookFails}: {ends: entity.Lenient, culprit: "site", by: culpritUser},
	{across, noStop}:    {none: notTheClouds},

	{remote, agentGone}: {ends: entity.Force, culprit: "site", by: culpritAgent},
	{remote, hookFails}: {ends: entity.Lenient, culprit: "site", by: culpritUser},
	{remote, noStop}:    {none: notTheClouds},

	{offered, agentGone}: {ends: entity.Force, culprit: "db", by: culpritAgent},
	{offered, hookFails}: {ends: entity.Lenient, culprit: "db", by: culpritUser},
	{offered, noStop}:    {none: notTheClouds},
}

func init() {
	for _, kind := range kinds {
		for _, o := range []string{unitHeld, rollFailed, rollReverts} {
			cell, name := [2]string{kind, o}, victim[kind]
			switch kind {
			case machine, principal:
				if o != unitHeld { // nothing is in the way of the unit that is held
					outcomes[cell] = outcome{ends: entity.Lenient, culprit: name, by: culpritUser}
				}
			case service, peer:
				outcomes[cell] = outcome{ends: entity.Lenient, culprit: name, by: culpritUser}
			default:
				outcomes[cell] = outcome{none: notRolled}
				continue
			}
			failing[cell] = [2]string{name, "upgrade-charm"}
		}
	}
}

// victim is the service that has the obstacle, or whose first unit does.
var victim = map[string]string{
	machine: "db", principal: "db", viaPrincipal: "sub", viaRelation: "sub",
	service: "db", global: "site", container: "db", peer: "ring",
	across: "site", remote: "site", offered: "db",
}

// metadata of the charms of a world, by the role of the service.
var metadata = map[string]string{
	"db":   `{name: db, summary: s, description: d, provides: {db: {interface: sql}}}`,
	"site": `{name: site, summary: s, description: d, requires: {db: {interface: sql}}}`,
	"sub": `{name: sub, summary: s, description: d, subordinate: true,
  requires: {info: {interface: juju-info, scope: container}}}`,
	"ring": `{name: ring, summary: s, description: d, peers: {ring: {interface: ring}}}`,
}

// cast has the services of a world with their numbers of units, by the kind of what is
// destroyed in it.
var cast = map[string]map[string]int{
	machine:      {"db": 1, "site": 1},
	principal:    {"db": 1, "site": 1},
	viaPrincipal: {"db": 1, "sub": 0},
	viaRelation:  {"db": 1, "sub": 0},
	service:      {"db": 1, "site": 1},
	global:       {"db": 1, "site": 1},
	container:    {"db": 1, "sub": 0},
	peer:         {"ring": 2},
	across:       {"site": 1},
	remote:       {"site": 1},
	offered:      {"db": 1},
}

// failing is the hook that fails in a world, with its service.
var failing = map[[2]string][2]string{
	{machine, hookFails}: {"db", "stop"}, {machine, neighbour}: {"site", "stop"},
	{principal, hookFails}: {"db", "stop"}, {principal, neighbour}: {"site", "stop"},
	{viaPrincipal, hookFails}: {"sub", "stop"}, {viaPrincipal, neighbour}: {"sub", "stop"},
	{viaRelation, hookFails}: {"sub", "stop"}, {viaRelation, neighbour}: {"db", "stop"},
	{service, hookFails}: {"db", "stop"}, {service, neighbour}: {"site", "db-relation-broken"},
	{global, hookFails}: {"site", "db-relation-broken"}, {global, neighbour}: {"site", "db-relation-broken"},
	{container, hookFails}: {"sub", "info-relation-broken"}, {container, neighbour}: {"sub", "info-relation-broken"},
	{across, hookFails}: {"site", "db-relation-broken"}, {remote, hookFails}: {"site", "db-relation-broken"},
	{offered, hookFails}: {"db", "db-relation-broken"},
	{peer, hookFails}:    {"ring", "ring-relation-broken"}, {peer, neighbour}: {"ring", "ring-relation-broken"},
}

// dying is the unit, or the service, that is destroyed first, in worlds where the obstacle is a
// neighbour's end.
var dying = map[string]string{
	machine: "site", principal: "site", viaPrincipal: "sub", viaRelation: "db/0",
	service: "site", global: "site", container: "sub", peer: "ring/0",
}
