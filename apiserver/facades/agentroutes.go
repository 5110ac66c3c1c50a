package facades

import "juju/state"

// agentFacades lists every method for agents. The routes are derived from it, and so are the methods of package client,
// which go generate ./apiserver/client writes.
//
// All facades have version 1 and are served for models, and blocks do not apply to them. Each row calls a method of
// state, or one of Caller that does more than that.
func agentFacades() []agentFacade {
	return []agentFacade{
		// Programs and WatchPrograms keep their names: agents of earlier builds call them to be upgraded.
		{"Agent", MachineAgent | UnitAgent, []agentRoute{
			{"Programs", self, calls((*Caller).agentBinaries, "tag")},
			{"SetFailures", self, calls((*Caller).setFailures, "tag", "failures")},
			{"SetUpgradeError", self, calls((*Caller).setUpgradeError, "tag", "error")},
			{"WatchPrograms", self, calls(state.Watches.Binaries, "tag")},
		}},

		// For agents: where the controllers are.
		{"APIAddresser", MachineAgent | UnitAgent, []agentRoute{
			{"APIAddresses", everything, calls((*Caller).apiAddresses).returns("addresses")},
			{"WatchAPIHostPorts", everything, calls((*Caller).watchAPIAddresses)},
		}},

		// For a machine's agent: the machine.
		{"Machiner", MachineAgent, []agentRoute{
			{"EnsureDead", self, calls((*state.Machine).EnsureDead).orGone()},
			{"Machine", self, calls((*state.Machine).Info).asWatched()},
			{"ModelConfig", self, calls((*Caller).agentModelConfig, "tag").asWatched().returns("config")},
			{"SetFullDisk", self, calls((*Caller).setFullDisk, "tag", "disk")},
			{"SetHostKeys", self, calls((*Caller).setHostKeys, "tag", "keys")},
			{"SetMachineAddresses", self, calls((*Caller).setMachineAddresses, "tag", "addresses")},
			{"SetMachineHardware", self, calls((*Caller).setMachineHardware, "tag", "hardware")},
			{"SetMachineStatus", self, calls((*Caller).setMachineStatus, "tag", "status")},
			{"WatchMachine", self, calls(state.Watches.Machine, "tag").asWatched()},
		}},

		// For a machine's agent: the commands that users run on the machine.
		{"MachineActions", MachineAgent, []agentRoute{
			{"BeginTask", self, calls((*state.Machine).BeginTask, "id")},
			{"FinishTask", self, calls((*state.Machine).FinishTask, "id", "outcome")},
			{"Tasks", self, calls((*state.Machine).Tasks).asWatched().returns("tasks")},
			{"WatchTasks", self, calls(state.Watches.MachineTasks, "tag")},
		}},

		// For agents that deploy units: the units that they deploy.
		{"Deployer", MachineAgent | UnitAgent, []agentRoute{
			{"DeployedUnits", self, calls(state.Agents.Deployed, "tag").asWatched().returns("units")},
			{"NewPassword", deployed, calls((*Caller).newPassword, "tag").returns("password")},
			{"RemoveUnit", deployedOrGone, calls((*state.Unit).Remove).orGone()},
			{"WatchDeployed", self, calls(state.Watches.Deployed, "tag").asWatched()},
		}},

		// For the controller: the machines of any model.
		{"Provisioner", ControllerAgent, []agentRoute{
			{"CharmProfiles", machines, calls((*state.Machine).CharmProfiles).asWatched().returns("profiles")},
			{"DistributionGroup", machines, calls((*state.Machine).DistributionGroup).returns("machines")},
			{"DropLeftovers", everything, calls(state.Provisioning.DropLeftovers, "id")},
			{"EnsureDead", machines, calls((*state.Machine).EnsureDead).orGone()},
			{"LoseInstance", machines, calls((*Caller).loseInstance, "tag", "instance").orGone()},
			{"Machines", everything, calls(state.Provisioning.MachineInfos, "ids").asWatched().returns("machines")},
			{"ModelConfig", everything, calls(state.Settings.Config).asWatched().returns("config")},
			{"NewPassword", machines, calls((*Caller).newPassword, "tag").returns("password")},
			{"RemoveMachine", machines, calls((*Caller).removeMachine, "tag").orGone()},
			{"Observe", machines, calls((*Caller).observe, "tag", "instance", "status").orGone()},
			{"Leftovers", everything, calls(state.Provisioning.Leftovers).asWatched().returns("leftovers")},
			{"MachineSpaces", machines, calls((*state.Machine).Spaces).asWatched()},
			{"SetInstanceStatus", machines, calls((*Caller).setInstanceStatus, "tag", "status").orGone()},
			{"SetMachineStatus", machines, calls((*Caller).setMachineStatus, "tag", "status")},
			{"SetProvisioned", machines, calls((*state.Machine).SetProvisioned, "instance").ofKnown()},
			{"WatchAgents", everything, calls((*Caller).watchMachineAgents)},
			{"WatchForModelConfigChanges", everything, calls(state.Watches.ModelConfig)},
			{"WatchMachines", everything, calls(state.Watches.Machines).asWatched()},
		}},

		// For the controller: the storage of any model.
		{"StorageProvisioner", ControllerAgent, []agentRoute{
			{"DropFilesystem", everything, calls(state.Provisioning.DropFilesystem, "filesystem")},
			{"EnsureStorageDead", storages, calls((*state.Storage).EnsureDead).orGone()},
			{"RemoveAttachment", storages, calls((*state.Storage).RemoveAttachment, "unit").orGone()},
			{"RemoveStorage", storages, calls((*state.Storage).Remove).orGone()},
			{"SetAttached", storages, calls((*state.Storage).SetAttached, "unit", "instance", "location")},
			{"SetFilesystem", storages, calls((*state.Storage).SetFilesystem, "filesystem")},
			{"SetStorageStatus", storages, calls((*Caller).setStorageStatus, "tag", "status").orGone()},
			{"StorageWork", everything, calls(state.Provisioning.StorageWork).asWatched().returns("work")},
			{"WatchStorage", everything, calls(state.Provisioning.WatchStorage)},
		}},

		// For the controller: the open ports of any model.
		{"Firewaller", ControllerAgent, []agentRoute{
			{"Exposure", everything, calls(state.Provisioning.Exposure).asWatched()},
			{"WatchExposure", everything, calls(state.Provisioning.WatchExposure)},
		}},

		// For the controller: the profiles of the instances of any model.
		{"InstanceMutater", ControllerAgent, []agentRoute{
			{"CharmProfiles", machines, calls((*state.Machine).CharmProfiles).asWatched().returns("profiles")},
			{"ProfileWork", everything, calls(state.Provisioning.ProfileWork).asWatched().returns("work")},
			{"SetCharmProfiles", machines, calls((*state.Machine).SetCharmProfiles, "set").orGone()},
			{"WatchProfiles", everything, calls(state.Provisioning.WatchProfiles)},
		}},

		// For a manual machine's agent: the open ports of the machine.
		{"HostFirewaller", MachineAgent, []agentRoute{
			{"Exposure", self, calls((*state.Machine).Exposure).asWatched()},
			{"SetFirewallError", self, calls((*Caller).setFirewallError, "tag", "error")},
			{"WatchExposure", self, calls(state.Watches.HostExposure, "tag").asWatched()},
		}},

		// For the controller: the services of any model that have a minimum number of units.
		{"ApplicationScaler", ControllerAgent, []agentRoute{
			{"EnsureMinUnits", services, calls(state.MinUnits.EnsureMinUnits, "tag")},
			{"WatchMinUnits", everything, calls(state.MinUnits.WatchMinUnits)},
		}},

		// For the controller: the services of any model that are upgraded in batches.
		{"Rollouts", ControllerAgent, []agentRoute{
			{"AdvanceRollout", services, calls((*Caller).advanceRollout, "tag").returns("again").orGone()},
			{"WatchRollout", services, calls((*Caller).watchRollout, "tag")},
			{"WatchRollouts", everything, calls(state.Watches.Rollouts)},
		}},

		// For a model of another controller that uses an offer of this model.
		{"CrossModelRelations", Consumer, []agentRoute{
			{"Connect", everything, calls((*Caller).connectConsumer, "model", "relation", "near", "endpoint")},
			{"End", everything, calls((*Caller).endConsumed, "relation").orGone()},
			{"Members", everything, calls((*Caller).offeredMembers, "relation", "first").returns("members")},
			{"Mirror", everything, calls((*Caller).mirrorConsumer, "relation", "members").orGone()},
			{"OfferStatus", everything, calls((*Caller).offerStatus).returns("status")},
			{"Relations", everything, calls((*Caller).consumerRelations).returns("relations")},
			{"Secret", everything, calls((*Caller).sharedSecret, "model", "relation", "id", "revision")},
			{"WatchOffer", everything, calls((*Caller).consumerWatch)},
		}},

		// For a unit's agent: whether the unit leads its service.
		{"LeadershipService", UnitAgent, []agentRoute{
			{"BlockUntilLeadershipReleased", self, calls((*state.Unit).BlockUntilLeadershipReleased).ofKnown().waits()},
			{"ClaimLeadership", self, calls((*state.Unit).ClaimLeadership, "duration").ofKnown().returns("epoch")},
			{"ReleaseLeadership", self, calls((*state.Unit).ReleaseLeadership).orGone()},
		}},

		// For a unit's agent: the unit and its relations.
		{"Uniter", UnitAgent, []agentRoute{
			{"BeginTask", self, calls((*state.Unit).BeginTask, "id")},
			{"CharmState", self, calls((*state.Unit).CharmState).returns("state")},
			{"ClearResolved", self, calls((*state.Unit).ClearResolved)},
			{"CloudSpec", self, calls((*Caller).cloudSpec, "tag")},
			{"CommitHook", self, calls((*state.Unit).CommitHook, "changes")},
			{"Config", self, calls((*state.Unit).Config).returns("config")},
			{"DestroySubordinates", self, calls((*state.Unit).DestroySubordinates)},
			{"DestroyUnit", self, calls((*state.Unit).DestroySelf)},
			{"EnsureDead", self, calls((*state.Unit).EnsureDead).orGone()},
			{"DetachStorage", self, calls((*state.Unit).DetachStorage, "storage").orGone()},
			{"EnterScope", self, calls((*state.Unit).EnterScope, "relation")},
			{"FinishTask", self, calls((*state.Unit).FinishTask, "id", "outcome")},
			{"FinishUpgradeStep", self, calls((*state.Unit).FinishUpgradeStep, "number", "completing")},
			{"GoalState", self, calls((*state.Unit).GoalState)},
			{"HookRan", self, calls((*Caller).hookRan, "tag", "took")},
			{"LeaderSettings", self, calls((*state.Unit).LeaderSettings).returns("settings")},
			{"LeaveScope", self, calls((*state.Unit).LeaveScope, "relation")},
			{"LogTask", self, calls((*state.Unit).LogTask, "id", "message")},
			{"ModelConfig", self, calls((*Caller).agentModelConfig, "tag").asWatched().returns("config")},
			{"OpenedPorts", self, calls((*state.Unit).OpenedPorts).returns("ports")},
			{"OwnedSecrets", self, calls((*state.Unit).OwnedSecrets).returns("secrets")},
			{"Payloads", self, calls((*state.Unit).Payloads).returns("payloads")},
			{"RelationSettings", self, calls((*state.Unit).RelationSettings, "relation", "remote").returns("settings")},
			{"Relations", self, calls((*state.Unit).Relations).asWatched().returns("relations")},
			{"RequestReboot", self, calls((*state.Unit).RequestReboot, "boot")},
			{"Resource", self, calls((*state.Unit).Resource, "name")},
			{"Secret", self, calls((*Caller).unitSecret, "tag", "query")},
			{"ServiceStatus", self, calls((*state.Unit).ServiceStatus)},
			{"SetAgentStatus", self, calls((*Caller).setAgentStatus, "tag", "status")},
			{"SetCharm", self, calls((*state.Unit).SetCharm, "url").ofKnown()},
			{"SetLeaderSettings", self, calls((*state.Unit).SetLeaderSettings, "epoch", "settings")},
			{"SetServiceStatus", self, calls((*Caller).setServiceStatus, "tag", "epoch", "status")},
			{"SetUnitStatus", self, calls((*Caller).setUnitStatus, "tag", "status")},
			{"SetWorkloadVersion", self, calls((*state.Unit).SetWorkloadVersion, "version")},
			{"Unit", self, calls((*state.Unit).Info).asWatched()},
			{"UnitStatus", self, calls((*state.Unit).Status)},
			{"WatchRelationUnits", self, calls(state.Watches.RelationUnits, "tag", "relation")},
			{"WatchRelations", self, calls(state.Watches.Relations, "tag").asWatched()},
			{"WatchUnit", self, calls(state.Watches.Unit, "tag").asWatched()},
		}},
	}
}
