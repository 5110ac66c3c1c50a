// Code generated from apiserver/facades/agentroutes.go by go generate; DO NOT EDIT.

package client

import (
	"context"
	"time"

	"juju/apiserver/params"
	"juju/state/entity"
	"juju/state/limits"
	"juju/state/modelconfig"
)

// AgentFacade makes the requests of facade Agent.
type AgentFacade struct{ Caller }

// Programs calls Caller.agentBinaries.
func (f AgentFacade) Programs(ctx context.Context, tag entity.Tag) (entity.Binaries, error) {
	var result entity.Binaries
	err := call(ctx, f, "Agent", "Programs", params.Entity{Tag: params.TagOf(tag)}, &result)
	return result, err
}

// SetFailures calls Caller.setFailures.
func (f AgentFacade) SetFailures(ctx context.Context, tag entity.Tag, failures []entity.WorkerFailure) error {
	return call(ctx, f, "Agent", "SetFailures", struct {
		Tag      params.Tag             `json:"tag"`
		Failures []entity.WorkerFailure `json:"failures"`
	}{params.TagOf(tag), limits.FitFailures(failures)}, nil)
}

// SetUpgradeError calls Caller.setUpgradeError.
func (f AgentFacade) SetUpgradeError(ctx context.Context, tag entity.Tag, error string) error {
	return call(ctx, f, "Agent", "SetUpgradeError", struct {
		Tag   params.Tag `json:"tag"`
		Error string     `json:"error"`
	}{params.TagOf(tag), error}, nil)
}

// WatchPrograms calls state.Watches.Binaries.
func (f AgentFacade) WatchPrograms(ctx context.Context, tag entity.Tag) (<-chan struct{}, error) {
	return notify(ctx, f, "Agent", "WatchPrograms", params.Entity{Tag: params.TagOf(tag)})
}

// APIAddresserFacade makes the requests of facade APIAddresser.
type APIAddresserFacade struct{ Caller }

// APIAddresses calls Caller.apiAddresses.
func (f APIAddresserFacade) APIAddresses(ctx context.Context) ([]string, error) {
	var reply struct {
		Addresses []string `json:"addresses"`
	}
	err := call(ctx, f, "APIAddresser", "APIAddresses", nil, &reply)
	return reply.Addresses, err
}

// WatchAPIHostPorts calls Caller.watchAPIAddresses.
func (f APIAddresserFacade) WatchAPIHostPorts(ctx context.Context) (<-chan struct{}, error) {
	return notify(ctx, f, "APIAddresser", "WatchAPIHostPorts", nil)
}

// MachinerFacade makes the requests of facade Machiner.
type MachinerFacade struct{ Caller }

// EnsureDead calls state.Machine.EnsureDead.
func (f MachinerFacade) EnsureDead(ctx context.Context, tag entity.Tag) error {
	return call(ctx, f, "Machiner", "EnsureDead", params.Entity{Tag: params.TagOf(tag)}, nil)
}

// Machine calls state.Machine.Info.
func (f MachinerFacade) Machine(ctx context.Context, tag entity.Tag) (entity.MachineInfo, error) {
	var result entity.MachineInfo
	err := call(ctx, f, "Machiner", "Machine", params.Entity{Tag: params.TagOf(tag)}, &result)
	return result, err
}

// ModelConfig calls Caller.agentModelConfig.
func (f MachinerFacade) ModelConfig(ctx context.Context, tag entity.Tag) (modelconfig.Config, error) {
	var reply struct {
		Config params.ModelConfig `json:"config"`
	}
	err := call(ctx, f, "Machiner", "ModelConfig", params.Entity{Tag: params.TagOf(tag)}, &reply)
	return modelconfig.Config(reply.Config), err
}

// SetFullDisk calls Caller.setFullDisk.
func (f MachinerFacade) SetFullDisk(ctx context.Context, tag entity.Tag, disk entity.FullDisk) error {
	return call(ctx, f, "Machiner", "SetFullDisk", struct {
		Tag  params.Tag      `json:"tag"`
		Disk entity.FullDisk `json:"disk"`
	}{params.TagOf(tag), disk}, nil)
}

// SetHostKeys calls Caller.setHostKeys.
func (f MachinerFacade) SetHostKeys(ctx context.Context, tag entity.Tag, keys []string) error {
	return call(ctx, f, "Machiner", "SetHostKeys", struct {
		Tag  params.Tag `json:"tag"`
		Keys []string   `json:"keys"`
	}{params.TagOf(tag), keys}, nil)
}

// SetMachineAddresses calls Caller.setMachineAddresses.
func (f MachinerFacade) SetMachineAddresses(ctx context.Context, tag entity.Tag, addresses []string) error {
	return call(ctx, f, "Machiner", "SetMachineAddresses", struct {
		Tag       params.Tag `json:"tag"`
		Addresses []string   `json:"addresses"`
	}{params.TagOf(tag), addresses}, nil)
}

// SetMachineHardware calls Caller.setMachineHardware.
func (f MachinerFacade) SetMachineHardware(ctx context.Context, tag entity.Tag, hardware entity.Hardware) error {
	return call(ctx, f, "Machiner", "SetMachineHardware", struct {
		Tag      params.Tag      `json:"tag"`
		Hardware entity.Hardware `json:"hardware"`
	}{params.TagOf(tag), hardware}, nil)
}

// SetMachineStatus calls Caller.setMachineStatus.
func (f MachinerFacade) SetMachineStatus(ctx context.Context, tag entity.Tag, status entity.Status) error {
	return call(ctx, f, "Machiner", "SetMachineStatus", struct {
		Tag    params.Tag    `json:"tag"`
		Status entity.Status `json:"status"`
	}{params.TagOf(tag), limits.FitStatus(status)}, nil)
}

// WatchMachine calls state.Watches.Machine.
func (f MachinerFacade) WatchMachine(ctx context.Context, tag entity.Tag) (<-chan struct{}, error) {
	return notify(ctx, f, "Machiner", "WatchMachine", params.Entity{Tag: params.TagOf(tag)})
}

// MachineActionsFacade makes the requests of facade MachineActions.
type MachineActionsFacade struct{ Caller }

// BeginTask calls state.Machine.BeginTask.
func (f MachineActionsFacade) BeginTask(ctx context.Context, tag entity.Tag, id string) (entity.Task, error) {
	var result entity.Task
	err := call(ctx, f, "MachineActions", "BeginTask", struct {
		Tag params.Tag `json:"tag"`
		Id  string     `json:"id"`
	}{params.TagOf(tag), id}, &result)
	return result, err
}

// FinishTask calls state.Machine.FinishTask.
func (f MachineActionsFacade) FinishTask(
	ctx context.Context, tag entity.Tag, id string, outcome entity.TaskOutcome,
) error {
	return call(ctx, f, "MachineActions", "FinishTask", struct {
		Tag     params.Tag         `json:"tag"`
		Id      string             `json:"id"`
		Outcome entity.TaskOutcome `json:"outcome"`
	}{params.TagOf(tag), id, outcome}, nil)
}

// Tasks calls state.Machine.Tasks.
func (f MachineActionsFacade) Tasks(ctx context.Context, tag entity.Tag) ([]entity.MachineTask, error) {
	var reply struct {
		Tasks []entity.MachineTask `json:"tasks"`
	}
	err := call(ctx, f, "MachineActions", "Tasks", params.Entity{Tag: params.TagOf(tag)}, &reply)
	return reply.Tasks, err
}

// WatchTasks calls state.Watches.MachineTasks.
func (f MachineActionsFacade) WatchTasks(ctx context.Context, tag entity.Tag) (<-chan struct{}, error) {
	return notify(ctx, f, "MachineActions", "WatchTasks", params.Entity{Tag: params.TagOf(tag)})
}

// DeployerFacade makes the requests of facade Deployer.
type DeployerFacade struct{ Caller }

// DeployedUnits calls state.Agents.Deployed.
func (f DeployerFacade) DeployedUnits(ctx context.Context, tag entity.Tag) ([]entity.AgentUnit, error) {
	var reply struct {
		Units []entity.AgentUnit `json:"units"`
	}
	err := call(ctx, f, "Deployer", "DeployedUnits", params.Entity{Tag: params.TagOf(tag)}, &reply)
	return reply.Units, err
}

// NewPassword calls Caller.newPassword.
func (f DeployerFacade) NewPassword(ctx context.Context, tag entity.Tag) (string, error) {
	var reply struct {
		Password string `json:"password"`
	}
	err := call(ctx, f, "Deployer", "NewPassword", params.Entity{Tag: params.TagOf(tag)}, &reply)
	return reply.Password, err
}

// RemoveUnit calls state.Unit.Remove.
func (f DeployerFacade) RemoveUnit(ctx context.Context, tag entity.Tag) error {
	return call(ctx, f, "Deployer", "RemoveUnit", params.Entity{Tag: params.TagOf(tag)}, nil)
}

// WatchDeployed calls state.Watches.Deployed.
func (f DeployerFacade) WatchDeployed(ctx context.Context, tag entity.Tag) (<-chan []string, error) {
	return names(ctx, f, "Deployer", "WatchDeployed", params.Entity{Tag: params.TagOf(tag)})
}

// ProvisionerFacade makes the requests of facade Provisioner.
type ProvisionerFacade struct{ Caller }

// CharmProfiles calls state.Machine.CharmProfiles.
func (f ProvisionerFacade) CharmProfiles(ctx context.Context, tag entity.Tag) ([]entity.CharmProfile, error) {
	var reply struct {
		Profiles []entity.CharmProfile `json:"profiles"`
	}
	err := call(ctx, f, "Provisioner", "CharmProfiles", params.Entity{Tag: params.TagOf(tag)}, &reply)
	return reply.Profiles, err
}

// DistributionGroup calls state.Machine.DistributionGroup.
func (f ProvisionerFacade) DistributionGroup(ctx context.Context, tag entity.Tag) ([]string, error) {
	var reply struct {
		Machines []string `json:"machines"`
	}
	err := call(ctx, f, "Provisioner", "DistributionGroup", params.Entity{Tag: params.TagOf(tag)}, &reply)
	return reply.Machines, err
}

// DropLeftovers calls state.Provisioning.DropLeftovers.
func (f ProvisionerFacade) DropLeftovers(ctx context.Context, id string) error {
	return call(ctx, f, "Provisioner", "DropLeftovers", struct {
		Id string `json:"id"`
	}{id}, nil)
}

// EnsureDead calls state.Machine.EnsureDead.
func (f ProvisionerFacade) EnsureDead(ctx context.Context, tag entity.Tag) error {
	return call(ctx, f, "Provisioner", "EnsureDead", params.Entity{Tag: params.TagOf(tag)}, nil)
}

// LoseInstance calls Caller.loseInstance.
func (f ProvisionerFacade) LoseInstance(ctx context.Context, tag entity.Tag, instance entity.Instance) error {
	return call(ctx, f, "Provisioner", "LoseInstance", struct {
		Tag      params.Tag      `json:"tag"`
		Instance entity.Instance `json:"instance"`
	}{params.TagOf(tag), instance}, nil)
}

// Machines calls state.Provisioning.MachineInfos.
func (f ProvisionerFacade) Machines(ctx context.Context, ids ...string) ([]entity.MachineInfo, error) {
	var reply struct {
		Machines []entity.MachineInfo `json:"machines"`
	}
	err := call(ctx, f, "Provisioner", "Machines", struct {
		Ids []string `json:"ids"`
	}{ids}, &reply)
	return reply.Machines, err
}

// ModelConfig calls state.Settings.Config.
func (f ProvisionerFacade) ModelConfig(ctx context.Context) (modelconfig.Config, error) {
	var reply struct {
		Config params.ModelConfig `json:"config"`
	}
	err := call(ctx, f, "Provisioner", "ModelConfig", nil, &reply)
	return modelconfig.Config(reply.Config), err
}

// NewPassword calls Caller.newPassword.
func (f ProvisionerFacade) NewPassword(ctx context.Context, tag entity.Tag) (string, error) {
	var reply struct {
		Password string `json:"password"`
	}
	err := call(ctx, f, "Provisioner", "NewPassword", params.Entity{Tag: params.TagOf(tag)}, &reply)
	return reply.Password, err
}

// RemoveMachine calls Caller.removeMachine.
func (f ProvisionerFacade) RemoveMachine(ctx context.Context, tag entity.Tag) error {
	return call(ctx, f, "Provisioner", "RemoveMachine", params.Entity{Tag: params.TagOf(tag)}, nil)
}

// Observe calls Caller.observe.
func (f ProvisionerFacade) Observe(ctx context.Context, tag entity.Tag, instance entity.Instance, status string) error {
	return call(ctx, f, "Provisioner", "Observe", struct {
		Tag      params.Tag      `json:"tag"`
		Instance entity.Instance `json:"instance"`
		Status   string          `json:"status"`
	}{params.TagOf(tag), instance, status}, nil)
}

// Leftovers calls state.Provisioning.Leftovers.
func (f ProvisionerFacade) Leftovers(ctx context.Context) ([]entity.Leftover, error) {
	var reply struct {
		Leftovers []entity.Leftover `json:"leftovers"`
	}
	err := call(ctx, f, "Provisioner", "Leftovers", nil, &reply)
	return reply.Leftovers, err
}

// MachineSpaces calls state.Machine.Spaces.
func (f ProvisionerFacade) MachineSpaces(ctx context.Context, tag entity.Tag) (entity.MachineSpaces, error) {
	var result entity.MachineSpaces
	err := call(ctx, f, "Provisioner", "MachineSpaces", params.Entity{Tag: params.TagOf(tag)}, &result)
	return result, err
}

// SetInstanceStatus calls Caller.setInstanceStatus.
func (f ProvisionerFacade) SetInstanceStatus(ctx context.Context, tag entity.Tag, status entity.Status) error {
	return call(ctx, f, "Provisioner", "SetInstanceStatus", struct {
		Tag    params.Tag    `json:"tag"`
		Status entity.Status `json:"status"`
	}{params.TagOf(tag), limits.FitStatus(status)}, nil)
}

// SetMachineStatus calls Caller.setMachineStatus.
func (f ProvisionerFacade) SetMachineStatus(ctx context.Context, tag entity.Tag, status entity.Status) error {
	return call(ctx, f, "Provisioner", "SetMachineStatus", struct {
		Tag    params.Tag    `json:"tag"`
		Status entity.Status `json:"status"`
	}{params.TagOf(tag), limits.FitStatus(status)}, nil)
}

// SetProvisioned calls state.Machine.SetProvisioned.
func (f ProvisionerFacade) SetProvisioned(ctx context.Context, tag entity.Tag, instance entity.Instance) error {
	return call(ctx, f, "Provisioner", "SetProvisioned", struct {
		Tag      params.Tag      `json:"tag"`
		Instance entity.Instance `json:"instance"`
	}{params.TagOf(tag), instance}, nil)
}

// WatchAgents calls Caller.watchMachineAgents.
func (f ProvisionerFacade) WatchAgents(ctx context.Context) (<-chan struct{}, error) {
	return notify(ctx, f, "Provisioner", "WatchAgents", nil)
}

// WatchForModelConfigChanges calls state.Watches.ModelConfig.
func (f ProvisionerFacade) WatchForModelConfigChanges(ctx context.Context) (<-chan struct{}, error) {
	return notify(ctx, f, "Provisioner", "WatchForModelConfigChanges", nil)
}

// WatchMachines calls state.Watches.Machines.
func (f ProvisionerFacade) WatchMachines(ctx context.Context) (<-chan []string, error) {
	return names(ctx, f, "Provisioner", "WatchMachines", nil)
}

// StorageProvisionerFacade makes the requests of facade StorageProvisioner.
type StorageProvisionerFacade struct{ Caller }

// DropFilesystem calls state.Provisioning.DropFilesystem.
func (f StorageProvisionerFacade) DropFilesystem(ctx context.Context, filesystem string) error {
	return call(ctx, f, "StorageProvisioner", "DropFilesystem", struct {
		Filesystem string `json:"filesystem"`
	}{filesystem}, nil)
}

// EnsureStorageDead calls state.Storage.EnsureDead.
func (f StorageProvisionerFacade) EnsureStorageDead(ctx context.Context, tag entity.Tag) error {
	return call(ctx, f, "StorageProvisioner", "EnsureStorageDead", params.Entity{Tag: params.TagOf(tag)}, nil)
}

// RemoveAttachment calls state.Storage.RemoveAttachment.
func (f StorageProvisionerFacade) RemoveAttachment(ctx context.Context, tag entity.Tag, unit string) error {
	return call(ctx, f, "StorageProvisioner", "RemoveAttachment", struct {
		Tag  params.Tag `json:"tag"`
		Unit string     `json:"unit"`
	}{params.TagOf(tag), unit}, nil)
}

// RemoveStorage calls state.Storage.Remove.
func (f StorageProvisionerFacade) RemoveStorage(ctx context.Context, tag entity.Tag) error {
	return call(ctx, f, "StorageProvisioner", "RemoveStorage", params.Entity{Tag: params.TagOf(tag)}, nil)
}

// SetAttached calls state.Storage.SetAttached.
func (f StorageProvisionerFacade) SetAttached(
	ctx context.Context, tag entity.Tag, unit string, instance string, location string,
) error {
	return call(ctx, f, "StorageProvisioner", "SetAttached", struct {
		Tag      params.Tag `json:"tag"`
		Unit     string     `json:"unit"`
		Instance string     `json:"instance"`
		Location string     `json:"location"`
	}{params.TagOf(tag), unit, instance, location}, nil)
}

// SetFilesystem calls state.Storage.SetFilesystem.
func (f StorageProvisionerFacade) SetFilesystem(
	ctx context.Context, tag entity.Tag, filesystem entity.Filesystem,
) error {
	return call(ctx, f, "StorageProvisioner", "SetFilesystem", struct {
		Tag        params.Tag        `json:"tag"`
		Filesystem entity.Filesystem `json:"filesystem"`
	}{params.TagOf(tag), filesystem}, nil)
}

// SetStorageStatus calls Caller.setStorageStatus.
func (f StorageProvisionerFacade) SetStorageStatus(ctx context.Context, tag entity.Tag, status entity.Status) error {
	return call(ctx, f, "StorageProvisioner", "SetStorageStatus", struct {
		Tag    params.Tag    `json:"tag"`
		Status entity.Status `json:"status"`
	}{params.TagOf(tag), limits.FitStatus(status)}, nil)
}

// StorageWork calls state.Provisioning.StorageWork.
func (f StorageProvisionerFacade) StorageWork(ctx context.Context) ([]entity.StorageWork, error) {
	var reply struct {
		Work []entity.StorageWork `json:"work"`
	}
	err := call(ctx, f, "StorageProvisioner", "StorageWork", nil, &reply)
	return reply.Work, err
}

// WatchStorage calls state.Provisioning.WatchStorage.
func (f StorageProvisionerFacade) WatchStorage(ctx context.Context) (<-chan struct{}, error) {
	return notify(ctx, f, "StorageProvisioner", "WatchStorage", nil)
}

// FirewallerFacade makes the requests of facade Firewaller.
type FirewallerFacade struct{ Caller }

// Exposure calls state.Provisioning.Exposure.
func (f FirewallerFacade) Exposure(ctx context.Context) (entity.Exposure, error) {
	var result entity.Exposure
	err := call(ctx, f, "Firewaller", "Exposure", nil, &result)
	return result, err
}

// WatchExposure calls state.Provisioning.WatchExposure.
func (f FirewallerFacade) WatchExposure(ctx context.Context) (<-chan struct{}, error) {
	return notify(ctx, f, "Firewaller", "WatchExposure", nil)
}

// InstanceMutaterFacade makes the requests of facade InstanceMutater.
type InstanceMutaterFacade struct{ Caller }

// CharmProfiles calls state.Machine.CharmProfiles.
func (f InstanceMutaterFacade) CharmProfiles(ctx context.Context, tag entity.Tag) ([]entity.CharmProfile, error) {
	var reply struct {
		Profiles []entity.CharmProfile `json:"profiles"`
	}
	err := call(ctx, f, "InstanceMutater", "CharmProfiles", params.Entity{Tag: params.TagOf(tag)}, &reply)
	return reply.Profiles, err
}

// ProfileWork calls state.Provisioning.ProfileWork.
func (f InstanceMutaterFacade) ProfileWork(ctx context.Context) ([]entity.ProfileWork, error) {
	var reply struct {
		Work []entity.ProfileWork `json:"work"`
	}
	err := call(ctx, f, "InstanceMutater", "ProfileWork", nil, &reply)
	return reply.Work, err
}

// SetCharmProfiles calls state.Machine.SetCharmProfiles.
func (f InstanceMutaterFacade) SetCharmProfiles(ctx context.Context, tag entity.Tag, set entity.ProfilesSet) error {
	return call(ctx, f, "InstanceMutater", "SetCharmProfiles", struct {
		Tag params.Tag         `json:"tag"`
		Set entity.ProfilesSet `json:"set"`
	}{params.TagOf(tag), set}, nil)
}

// WatchProfiles calls state.Provisioning.WatchProfiles.
func (f InstanceMutaterFacade) WatchProfiles(ctx context.Context) (<-chan struct{}, error) {
	return notify(ctx, f, "InstanceMutater", "WatchProfiles", nil)
}

// HostFirewallerFacade makes the requests of facade HostFirewaller.
type HostFirewallerFacade struct{ Caller }

// Exposure calls state.Machine.Exposure.
func (f HostFirewallerFacade) Exposure(ctx context.Context, tag entity.Tag) (entity.HostExposure, error) {
	var result entity.HostExposure
	err := call(ctx, f, "HostFirewaller", "Exposure", params.Entity{Tag: params.TagOf(tag)}, &result)
	return result, err
}

// SetFirewallError calls Caller.setFirewallError.
func (f HostFirewallerFacade) SetFirewallError(ctx context.Context, tag entity.Tag, error string) error {
	return call(ctx, f, "HostFirewaller", "SetFirewallError", struct {
		Tag   params.Tag `json:"tag"`
		Error string     `json:"error"`
	}{params.TagOf(tag), error}, nil)
}

// WatchExposure calls state.Watches.HostExposure.
func (f HostFirewallerFacade) WatchExposure(ctx context.Context, tag entity.Tag) (<-chan struct{}, error) {
	return notify(ctx, f, "HostFirewaller", "WatchExposure", params.Entity{Tag: params.TagOf(tag)})
}

// ApplicationScalerFacade makes the requests of facade ApplicationScaler.
type ApplicationScalerFacade struct{ Caller }

// EnsureMinUnits calls state.MinUnits.EnsureMinUnits.
func (f ApplicationScalerFacade) EnsureMinUnits(ctx context.Context, tag entity.Tag) error {
	return call(ctx, f, "ApplicationScaler", "EnsureMinUnits", params.Entity{Tag: params.TagOf(tag)}, nil)
}

// WatchMinUnits calls state.MinUnits.WatchMinUnits.
func (f ApplicationScalerFacade) WatchMinUnits(ctx context.Context) (<-chan []string, error) {
	return names(ctx, f, "ApplicationScaler", "WatchMinUnits", nil)
}

// RolloutsFacade makes the requests of facade Rollouts.
type RolloutsFacade struct{ Caller }

// AdvanceRollout calls Caller.advanceRollout.
func (f RolloutsFacade) AdvanceRollout(ctx context.Context, tag entity.Tag) (time.Duration, error) {
	var reply struct {
		Again time.Duration `json:"again"`
	}
	err := call(ctx, f, "Rollouts", "AdvanceRollout", params.Entity{Tag: params.TagOf(tag)}, &reply)
	return reply.Again, err
}

// WatchRollout calls Caller.watchRollout.
func (f RolloutsFacade) WatchRollout(ctx context.Context, tag entity.Tag) (<-chan struct{}, error) {
	return notify(ctx, f, "Rollouts", "WatchRollout", params.Entity{Tag: params.TagOf(tag)})
}

// WatchRollouts calls state.Watches.Rollouts.
func (f RolloutsFacade) WatchRollouts(ctx context.Context) (<-chan []string, error) {
	return names(ctx, f, "Rollouts", "WatchRollouts", nil)
}

// CrossModelRelationsFacade makes the requests of facade CrossModelRelations.
type CrossModelRelationsFacade struct{ Caller }

// Connect calls Caller.connectConsumer.
func (f CrossModelRelationsFacade) Connect(
	ctx context.Context, model string, relation int, near entity.NearEnd, endpoint string,
) error {
	return call(ctx, f, "CrossModelRelations", "Connect", struct {
		Model    string         `json:"model"`
		Relation int            `json:"relation"`
		Near     entity.NearEnd `json:"near"`
		Endpoint string         `json:"endpoint"`
	}{model, relation, near, endpoint}, nil)
}

// End calls Caller.endConsumed.
func (f CrossModelRelationsFacade) End(ctx context.Context, relation int) error {
	return call(ctx, f, "CrossModelRelations", "End", struct {
		Relation int `json:"relation"`
	}{relation}, nil)
}

// Members calls Caller.offeredMembers.
func (f CrossModelRelationsFacade) Members(ctx context.Context, relation int, first int) (entity.Members, error) {
	var reply struct {
		Members entity.Members `json:"members"`
	}
	err := call(ctx, f, "CrossModelRelations", "Members", struct {
		Relation int `json:"relation"`
		First    int `json:"first"`
	}{relation, first}, &reply)
	return reply.Members, err
}

// Mirror calls Caller.mirrorConsumer.
func (f CrossModelRelationsFacade) Mirror(ctx context.Context, relation int, members entity.Members) error {
	return call(ctx, f, "CrossModelRelations", "Mirror", struct {
		Relation int            `json:"relation"`
		Members  entity.Members `json:"members"`
	}{relation, members}, nil)
}

// OfferStatus calls Caller.offerStatus.
func (f CrossModelRelationsFacade) OfferStatus(ctx context.Context) (entity.Status, error) {
	var reply struct {
		Status entity.Status `json:"status"`
	}
	err := call(ctx, f, "CrossModelRelations", "OfferStatus", nil, &reply)
	return reply.Status, err
}

// Relations calls Caller.consumerRelations.
func (f CrossModelRelationsFacade) Relations(ctx context.Context) ([]entity.Connection, error) {
	var reply struct {
		Relations []entity.Connection `json:"relations"`
	}
	err := call(ctx, f, "CrossModelRelations", "Relations", nil, &reply)
	return reply.Relations, err
}

// Secret calls Caller.sharedSecret.
func (f CrossModelRelationsFacade) Secret(
	ctx context.Context, model string, relation int, id string, revision int,
) (entity.SecretValue, error) {
	var result entity.SecretValue
	err := call(ctx, f, "CrossModelRelations", "Secret", struct {
		Model    string `json:"model"`
		Relation int    `json:"relation"`
		Id       string `json:"id"`
		Revision int    `json:"revision"`
	}{model, relation, id, revision}, &result)
	return result, err
}

// WatchOffer calls Caller.consumerWatch.
func (f CrossModelRelationsFacade) WatchOffer(ctx context.Context) (<-chan struct{}, error) {
	return notify(ctx, f, "CrossModelRelations", "WatchOffer", nil)
}

// LeadershipServiceFacade makes the requests of facade LeadershipService.
type LeadershipServiceFacade struct{ Caller }

// BlockUntilLeadershipReleased calls state.Unit.BlockUntilLeadershipReleased.
func (f LeadershipServiceFacade) BlockUntilLeadershipReleased(ctx context.Context, tag entity.Tag) error {
	return call(ctx, f, "LeadershipService", "BlockUntilLeadershipReleased", params.Entity{Tag: params.TagOf(tag)}, nil)
}

// ClaimLeadership calls state.Unit.ClaimLeadership.
func (f LeadershipServiceFacade) ClaimLeadership(
	ctx context.Context, tag entity.Tag, duration time.Duration,
) (int64, error) {
	var reply struct {
		Epoch int64 `json:"epoch"`
	}
	err := call(ctx, f, "LeadershipService", "ClaimLeadership", struct {
		Tag      params.Tag    `json:"tag"`
		Duration time.Duration `json:"duration"`
	}{params.TagOf(tag), duration}, &reply)
	return reply.Epoch, err
}

// ReleaseLeadership calls state.Unit.ReleaseLeadership.
func (f LeadershipServiceFacade) ReleaseLeadership(ctx context.Context, tag entity.Tag) error {
	return call(ctx, f, "LeadershipService", "ReleaseLeadership", params.Entity{Tag: params.TagOf(tag)}, nil)
}

// UniterFacade makes the requests of facade Uniter.
type UniterFacade struct{ Caller }

// BeginTask calls state.Unit.BeginTask.
func (f UniterFacade) BeginTask(ctx context.Context, tag entity.Tag, id string) (entity.Task, error) {
	var result entity.Task
	err := call(ctx, f, "Uniter", "BeginTask", struct {
		Tag params.Tag `json:"tag"`
		Id  string     `json:"id"`
	}{params.TagOf(tag), id}, &result)
	return result, err
}

// CharmState calls state.Unit.CharmState.
func (f UniterFacade) CharmState(ctx context.Context, tag entity.Tag) (entity.CharmState, error) {
	var reply struct {
		State entity.CharmState `json:"state"`
	}
	err := call(ctx, f, "Uniter", "CharmState", params.Entity{Tag: params.TagOf(tag)}, &reply)
	return reply.State, err
}

// ClearResolved calls state.Unit.ClearResolved.
func (f UniterFacade) ClearResolved(ctx context.Context, tag entity.Tag) error {
	return call(ctx, f, "Uniter", "ClearResolved", params.Entity{Tag: params.TagOf(tag)}, nil)
}

// CloudSpec calls Caller.cloudSpec.
func (f UniterFacade) CloudSpec(ctx context.Context, tag entity.Tag) (entity.CloudSpec, error) {
	var result entity.CloudSpec
	err := call(ctx, f, "Uniter", "CloudSpec", params.Entity{Tag: params.TagOf(tag)}, &result)
	return result, err
}

// CommitHook calls state.Unit.CommitHook.
func (f UniterFacade) CommitHook(ctx context.Context, tag entity.Tag, changes entity.HookChanges) error {
	return call(ctx, f, "Uniter", "CommitHook", struct {
		Tag     params.Tag         `json:"tag"`
		Changes entity.HookChanges `json:"changes"`
	}{params.TagOf(tag), changes}, nil)
}

// Config calls state.Unit.Config.
func (f UniterFacade) Config(ctx context.Context, tag entity.Tag) (map[string]any, error) {
	var reply struct {
		Config params.Values `json:"config"`
	}
	err := call(ctx, f, "Uniter", "Config", params.Entity{Tag: params.TagOf(tag)}, &reply)
	return map[string]any(reply.Config), err
}

// DestroySubordinates calls state.Unit.DestroySubordinates.
func (f UniterFacade) DestroySubordinates(ctx context.Context, tag entity.Tag) error {
	return call(ctx, f, "Uniter", "DestroySubordinates", params.Entity{Tag: params.TagOf(tag)}, nil)
}

// DestroyUnit calls state.Unit.DestroySelf.
func (f UniterFacade) DestroyUnit(ctx context.Context, tag entity.Tag) error {
	return call(ctx, f, "Uniter", "DestroyUnit", params.Entity{Tag: params.TagOf(tag)}, nil)
}

// EnsureDead calls state.Unit.EnsureDead.
func (f UniterFacade) EnsureDead(ctx context.Context, tag entity.Tag) error {
	return call(ctx, f, "Uniter", "EnsureDead", params.Entity{Tag: params.TagOf(tag)}, nil)
}

// DetachStorage calls state.Unit.DetachStorage.
func (f UniterFacade) DetachStorage(ctx context.Context, tag entity.Tag, storage string) error {
	return call(ctx, f, "Uniter", "DetachStorage", struct {
		Tag     params.Tag `json:"tag"`
		Storage string     `json:"storage"`
	}{params.TagOf(tag), storage}, nil)
}

// EnterScope calls state.Unit.EnterScope.
func (f UniterFacade) EnterScope(ctx context.Context, tag entity.Tag, relation int) error {
	return call(ctx, f, "Uniter", "EnterScope", struct {
		Tag      params.Tag `json:"tag"`
		Relation int        `json:"relation"`
	}{params.TagOf(tag), relation}, nil)
}

// FinishTask calls state.Unit.FinishTask.
func (f UniterFacade) FinishTask(ctx context.Context, tag entity.Tag, id string, outcome entity.TaskOutcome) error {
	return call(ctx, f, "Uniter", "FinishTask", struct {
		Tag     params.Tag         `json:"tag"`
		Id      string             `json:"id"`
		Outcome entity.TaskOutcome `json:"outcome"`
	}{params.TagOf(tag), id, outcome}, nil)
}

// FinishUpgradeStep calls state.Unit.FinishUpgradeStep.
func (f UniterFacade) FinishUpgradeStep(ctx context.Context, tag entity.Tag, number int64, completing bool) error {
	return call(ctx, f, "Uniter", "FinishUpgradeStep", struct {
		Tag        params.Tag `json:"tag"`
		Number     int64      `json:"number"`
		Completing bool       `json:"completing"`
	}{params.TagOf(tag), number, completing}, nil)
}

// GoalState calls state.Unit.GoalState.
func (f UniterFacade) GoalState(ctx context.Context, tag entity.Tag) (entity.GoalState, error) {
	var result entity.GoalState
	err := call(ctx, f, "Uniter", "GoalState", params.Entity{Tag: params.TagOf(tag)}, &result)
	return result, err
}

// HookRan calls Caller.hookRan.
func (f UniterFacade) HookRan(ctx context.Context, tag entity.Tag, took time.Duration) error {
	return call(ctx, f, "Uniter", "HookRan", struct {
		Tag  params.Tag    `json:"tag"`
		Took time.Duration `json:"took"`
	}{params.TagOf(tag), took}, nil)
}

// LeaderSettings calls state.Unit.LeaderSettings.
func (f UniterFacade) LeaderSettings(ctx context.Context, tag entity.Tag) (entity.LeaderSettings, error) {
	var reply struct {
		Settings entity.LeaderSettings `json:"settings"`
	}
	err := call(ctx, f, "Uniter", "LeaderSettings", params.Entity{Tag: params.TagOf(tag)}, &reply)
	return reply.Settings, err
}

// LeaveScope calls state.Unit.LeaveScope.
func (f UniterFacade) LeaveScope(ctx context.Context, tag entity.Tag, relation int) error {
	return call(ctx, f, "Uniter", "LeaveScope", struct {
		Tag      params.Tag `json:"tag"`
		Relation int        `json:"relation"`
	}{params.TagOf(tag), relation}, nil)
}

// LogTask calls state.Unit.LogTask.
func (f UniterFacade) LogTask(ctx context.Context, tag entity.Tag, id string, message string) error {
	return call(ctx, f, "Uniter", "LogTask", struct {
		Tag     params.Tag `json:"tag"`
		Id      string     `json:"id"`
		Message string     `json:"message"`
	}{params.TagOf(tag), id, message}, nil)
}

// ModelConfig calls Caller.agentModelConfig.
func (f UniterFacade) ModelConfig(ctx context.Context, tag entity.Tag) (modelconfig.Config, error) {
	var reply struct {
		Config params.ModelConfig `json:"config"`
	}
	err := call(ctx, f, "Uniter", "ModelConfig", params.Entity{Tag: params.TagOf(tag)}, &reply)
	return modelconfig.Config(reply.Config), err
}

// OpenedPorts calls state.Unit.OpenedPorts.
func (f UniterFacade) OpenedPorts(ctx context.Context, tag entity.Tag) (map[string][]entity.EndpointPorts, error) {
	var reply struct {
		Ports map[string][]entity.EndpointPorts `json:"ports"`
	}
	err := call(ctx, f, "Uniter", "OpenedPorts", params.Entity{Tag: params.TagOf(tag)}, &reply)
	return reply.Ports, err
}

// OwnedSecrets calls state.Unit.OwnedSecrets.
func (f UniterFacade) OwnedSecrets(ctx context.Context, tag entity.Tag) ([]entity.SecretInfo, error) {
	var reply struct {
		Secrets []entity.SecretInfo `json:"secrets"`
	}
	err := call(ctx, f, "Uniter", "OwnedSecrets", params.Entity{Tag: params.TagOf(tag)}, &reply)
	return reply.Secrets, err
}

// Payloads calls state.Unit.Payloads.
func (f UniterFacade) Payloads(ctx context.Context, tag entity.Tag) ([]entity.Payload, error) {
	var reply struct {
		Payloads []entity.Payload `json:"payloads"`
	}
	err := call(ctx, f, "Uniter", "Payloads", params.Entity{Tag: params.TagOf(tag)}, &reply)
	return reply.Payloads, err
}

// RelationSettings calls state.Unit.RelationSettings.
func (f UniterFacade) RelationSettings(
	ctx context.Context, tag entity.Tag, relation int, remote string,
) (map[string]string, error) {
	var reply struct {
		Settings map[string]string `json:"settings"`
	}
	err := call(ctx, f, "Uniter", "RelationSettings", struct {
		Tag      params.Tag `json:"tag"`
		Relation int        `json:"relation"`
		Remote   string     `json:"remote"`
	}{params.TagOf(tag), relation, remote}, &reply)
	return reply.Settings, err
}

// Relations calls state.Unit.Relations.
func (f UniterFacade) Relations(ctx context.Context, tag entity.Tag) ([]entity.RelationInfo, error) {
	var reply struct {
		Relations []entity.RelationInfo `json:"relations"`
	}
	err := call(ctx, f, "Uniter", "Relations", params.Entity{Tag: params.TagOf(tag)}, &reply)
	return reply.Relations, err
}

// RequestReboot calls state.Unit.RequestReboot.
func (f UniterFacade) RequestReboot(ctx context.Context, tag entity.Tag, boot string) error {
	return call(ctx, f, "Uniter", "RequestReboot", struct {
		Tag  params.Tag `json:"tag"`
		Boot string     `json:"boot"`
	}{params.TagOf(tag), boot}, nil)
}

// Resource calls state.Unit.Resource.
func (f UniterFacade) Resource(ctx context.Context, tag entity.Tag, name string) (entity.Resource, error) {
	var result entity.Resource
	err := call(ctx, f, "Uniter", "Resource", struct {
		Tag  params.Tag `json:"tag"`
		Name string     `json:"name"`
	}{params.TagOf(tag), name}, &result)
	return result, err
}

// Secret calls Caller.unitSecret.
func (f UniterFacade) Secret(ctx context.Context, tag entity.Tag, query entity.SecretQuery) (entity.SecretRead, error) {
	var result entity.SecretRead
	err := call(ctx, f, "Uniter", "Secret", struct {
		Tag   params.Tag         `json:"tag"`
		Query entity.SecretQuery `json:"query"`
	}{params.TagOf(tag), query}, &result)
	return result, err
}

// ServiceStatus calls state.Unit.ServiceStatus.
func (f UniterFacade) ServiceStatus(ctx context.Context, tag entity.Tag) (entity.StatusesOfService, error) {
	var result entity.StatusesOfService
	err := call(ctx, f, "Uniter", "ServiceStatus", params.Entity{Tag: params.TagOf(tag)}, &result)
	return result, err
}

// SetAgentStatus calls Caller.setAgentStatus.
func (f UniterFacade) SetAgentStatus(ctx context.Context, tag entity.Tag, status entity.Status) error {
	return call(ctx, f, "Uniter", "SetAgentStatus", struct {
		Tag    params.Tag    `json:"tag"`
		Status entity.Status `json:"status"`
	}{params.TagOf(tag), limits.FitStatus(status)}, nil)
}

// SetCharm calls state.Unit.SetCharm.
func (f UniterFacade) SetCharm(ctx context.Context, tag entity.Tag, url string) error {
	return call(ctx, f, "Uniter", "SetCharm", struct {
		Tag params.Tag `json:"tag"`
		Url string     `json:"url"`
	}{params.TagOf(tag), url}, nil)
}

// SetLeaderSettings calls state.Unit.SetLeaderSettings.
func (f UniterFacade) SetLeaderSettings(
	ctx context.Context, tag entity.Tag, epoch int64, settings entity.LeaderSettings,
) error {
	return call(ctx, f, "Uniter", "SetLeaderSettings", struct {
		Tag      params.Tag            `json:"tag"`
		Epoch    int64                 `json:"epoch"`
		Settings entity.LeaderSettings `json:"settings"`
	}{params.TagOf(tag), epoch, settings}, nil)
}

// SetServiceStatus calls Caller.setServiceStatus.
func (f UniterFacade) SetServiceStatus(ctx context.Context, tag entity.Tag, epoch int64, status entity.Status) error {
	return call(ctx, f, "Uniter", "SetServiceStatus", struct {
		Tag    params.Tag    `json:"tag"`
		Epoch  int64         `json:"epoch"`
		Status entity.Status `json:"status"`
	}{params.TagOf(tag), epoch, limits.FitStatus(status)}, nil)
}

// SetUnitStatus calls Caller.setUnitStatus.
func (f UniterFacade) SetUnitStatus(ctx context.Context, tag entity.Tag, status entity.Status) error {
	return call(ctx, f, "Uniter", "SetUnitStatus", struct {
		Tag    params.Tag    `json:"tag"`
		Status entity.Status `json:"status"`
	}{params.TagOf(tag), limits.FitStatus(status)}, nil)
}

// SetWorkloadVersion calls state.Unit.SetWorkloadVersion.
func (f UniterFacade) SetWorkloadVersion(ctx context.Context, tag entity.Tag, version string) error {
	return call(ctx, f, "Uniter", "SetWorkloadVersion", struct {
		Tag     params.Tag `json:"tag"`
		Version string     `json:"version"`
	}{params.TagOf(tag), version}, nil)
}

// Unit calls state.Unit.Info.
func (f UniterFacade) Unit(ctx context.Context, tag entity.Tag) (entity.UnitInfo, error) {
	var result entity.UnitInfo
	err := call(ctx, f, "Uniter", "Unit", params.Entity{Tag: params.TagOf(tag)}, &result)
	return result, err
}

// UnitStatus calls state.Unit.Status.
func (f UniterFacade) UnitStatus(ctx context.Context, tag entity.Tag) (entity.Status, error) {
	var result entity.Status
	err := call(ctx, f, "Uniter", "UnitStatus", params.Entity{Tag: params.TagOf(tag)}, &result)
	return result, err
}

// WatchRelationUnits calls state.Watches.RelationUnits.
func (f UniterFacade) WatchRelationUnits(
	ctx context.Context, tag entity.Tag, relation int,
) (<-chan entity.RelationUnitsChange, error) {
	return relationUnits(ctx, f, "Uniter", "WatchRelationUnits", struct {
		Tag      params.Tag `json:"tag"`
		Relation int        `json:"relation"`
	}{params.TagOf(tag), relation})
}

// WatchRelations calls state.Watches.Relations.
func (f UniterFacade) WatchRelations(ctx context.Context, tag entity.Tag) (<-chan struct{}, error) {
	return notify(ctx, f, "Uniter", "WatchRelations", params.Entity{Tag: params.TagOf(tag)})
}

// WatchUnit calls state.Watches.Unit.
func (f UniterFacade) WatchUnit(ctx context.Context, tag entity.Tag) (<-chan struct{}, error) {
	return notify(ctx, f, "Uniter", "WatchUnit", params.Entity{Tag: params.TagOf(tag)})
}
