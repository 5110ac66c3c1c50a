package apiserver

// routes lists every method there is. Dispatch, the facades that a login lists
// and the walk of the access test come from it; a method that is not here does
// not exist.
func routes() []route {
	return []route{
		// For everybody.
		{"Admin", 3, "Login", atController | atModel, stranger | anybody, free, nil, do(adminLogin)},
		{"Admin", 3, "Register", atController, stranger, free, nil, act(adminRegister)},
		{"Admin", 3, "RedirectInfo", atController | atModel, stranger | anybody, free, nil, do(adminRedirectInfo)},
		{"Pinger", 1, "Ping", atController | atModel, anybody, free, nil, act(pingerPing)},
		{"Pinger", 1, "Stop", atController | atModel, anybody, free, nil, act(pingerStop)},
		// A watcher is the connection's own: its id means nothing on another.
		{"Watcher", 1, "Next", atController | atModel, anybody, free, nil, do(watcherNext)},
		{"Watcher", 1, "Stop", atController | atModel, anybody, free, nil, act(watcherStop)},

		// For users, at a model. Blocks themselves can be switched whatever is blocked.
		{"Annotations", 2, "Get", atModel, reader, reads, nil, do(annotationsGet)},
		{"Annotations", 2, "Set", atModel, writer, changes, nil, do(annotationsSet)},
		{"Application", 19, "AddRelation", atModel, writer, changes, nil, do(applicationAddRelation)},
		{"Application", 19, "AddUnits", atModel, writer, changes, nil, do(applicationAddUnits)},
		{"Application", 19, "ApplicationsInfo", atModel, reader, reads, nil, do(applicationApplicationsInfo)},
		{"Application", 19, "CharmConfig", atModel, reader, reads, nil, do(applicationCharmConfig)},
		{"Application", 19, "CheckDeploy", atModel, writer, changes, nil, do(applicationCheckDeploy)},
		{"Application", 19, "Deploy", atModel, writer, changes, nil, do(applicationDeploy)},
		{"Application", 19, "DestroyApplication", atModel, writer, removes, nil, do(applicationDestroyApplication)},
		{"Application", 19, "DestroyRelation", atModel, writer, removes, nil, act(applicationDestroyRelation)},
		{"Application", 19, "DestroyUnit", atModel, writer, removes, nil, do(applicationDestroyUnit)},
		{"Application", 19, "Expose", atModel, writer, changes, nil, act(applicationExpose)},
		{"Application", 19, "Get", atModel, reader, reads, nil, do(applicationGet)},
		{"Application", 19, "GetConstraints", atModel, reader, reads, nil, do(applicationGetConstraints)},
		{"Application", 19, "ResolveUnitErrors", atModel, writer, changes, nil, do(applicationResolveUnitErrors)},
		{"Application", 19, "SetConfigs", atModel, writer, changes, nil, do(applicationSetConfigs)},
		{"Application", 19, "SetConstraints", atModel, writer, changes, nil, do(applicationSetConstraints)},
		{"Application", 19, "SetMinUnits", atModel, writer, changes, nil, act(applicationSetMinUnits)},
		{"Application", 19, "Unexpose", atModel, writer, changes, nil, act(applicationUnexpose)},
		{"Application", 19, "UnsetApplicationsConfig", atModel, writer, changes, nil, do(applicationUnset)},
		{"Block", 2, "List", atModel, reader, reads, nil, do(blockList)},
		{"Block", 2, "SwitchBlockOff", atModel, writer, free, nil, do(blockSwitchOff)},
		{"Block", 2, "SwitchBlockOn", atModel, writer, free, nil, do(blockSwitchOn)},
		{"Charms", 6, "AddCharm", atModel, writer, changes, nil, do(charmsAddCharm)},
		{"Charms", 6, "CharmInfo", atModel, reader, reads, nil, do(charmsCharmInfo)},
		{"Client", 7, "FullStatus", atModel, reader, reads, nil, do(clientFullStatus)},
		{"Client", 7, "StatusHistory", atModel, reader, reads, nil, do(clientStatusHistory)},
		{"Explain", 1, "Explain", atModel, reader, reads, nil, do(explain)},
		{"Status", 1, "WatchStatus", atModel, reader, reads, nil, watch(statusWatch)},
		{"MachineManager", 10, "AddMachines", atModel, writer, changes, nil, do(machineManagerAddMachines)},
		{"MachineManager", 10, "DestroyMachineWithParams", atModel, writer, removes, nil, do(machineManagerDestroyMachines)},
		{"MachineManager", 10, "RetryProvisioning", atModel, writer, changes, nil, do(machineManagerRetryProvisioning)},
		{"ModelConfig", 3, "GetModelConstraints", atModel, reader, reads, nil, do(modelConfigGetConstraints)},
		{"ModelConfig", 3, "ModelGet", atModel, reader, reads, nil, do(modelConfigModelGet)},
		{"ModelConfig", 3, "ModelSet", atModel, writer, changes, nil, act(modelConfigModelSet)},
		{"ModelConfig", 3, "ModelUnset", atModel, writer, changes, nil, act(modelConfigModelUnset)},
		{"ModelConfig", 3, "SetModelConstraints", atModel, writer, changes, nil, do(modelConfigSetConstraints)},

		// For users, at the controller. Of a model they see and may what their access
		// to that model says, of other users nothing, which the methods look up.
		{"Controller", 12, "AllModels", atController, admin, reads, nil, do(controllerAllModels)},
		{"Controller", 12, "DestroyController", atController, admin, destroys, nil, act(controllerDestroy)},
		{"Controller", 12, "GetControllerAccess", atController, reader, reads, nil, do(controllerGetAccess)},
		{"Controller", 12, "ListBlockedModels", atController, admin, reads, nil, do(controllerListBlockedModels)},
		{"Controller", 12, "ModifyControllerAccess", atController, admin, changes, nil, do(controllerModifyAccess)},
		{"Controller", 12, "RemoveBlocks", atController, admin, free, nil, act(controllerRemoveBlocks)},
		{"Integrity", 1, "CheckController", atController, admin, reads, nil, do(integrityCheckController)},
		{"Integrity", 1, "CheckModel", atController, reader, reads, nil, do(integrityCheckModel)},
		{"Integrity", 1, "RepairController", atController, admin, changes, nil, do(integrityRepairController)},
		{"Integrity", 1, "RepairModel", atController, reader, named, nil, do(integrityRepairModel)},
		{"ModelManager", 10, "CreateModel", atController, writer, changes, nil, do(modelManagerCreateModel)},
		{"ModelManager", 10, "DestroyModels", atController, reader, named, nil, do(modelManagerDestroyModels)},
		{"ModelManager", 10, "DumpModelsDB", atController, admin, reads, nil, do(modelManagerDumpModels)},
		{"ModelManager", 10, "ListModelSummaries", atController, reader, reads, nil, do(modelManagerListSummaries)},
		{"ModelManager", 10, "ListModels", atController, reader, reads, nil, do(modelManagerListModels)},
		{"ModelManager", 10, "ModelInfo", atController, reader, reads, nil, do(modelManagerModelInfo)},
		{"ModelManager", 10, "ModelLeftovers", atController, reader, reads, nil, do(modelManagerLeftovers)},
		{"ModelManager", 10, "ModifyModelAccess", atController, reader, named, nil, do(modelManagerModifyAccess)},
		{"UserManager", 3, "AddUser", atController, admin, changes, nil, do(userManagerAddUser)},
		{"UserManager", 3, "DisableUser", atController, admin, changes, nil, do(userManagerDisableUser)},
		{"UserManager", 3, "EnableUser", atController, admin, changes, nil, do(userManagerEnableUser)},
		{"UserManager", 3, "ModelUserInfo", atController, reader, reads, nil, do(userManagerModelUserInfo)},
		{"UserManager", 3, "RemoveUser", atController, admin, changes, nil, do(userManagerRemoveUser)},
		{"UserManager", 3, "ResetPassword", atController, admin, changes, nil, do(userManagerResetPassword)},
		{"UserManager", 3, "SetPassword", atController, reader, changes, nil, do(userManagerSetPassword)},
		{"UserManager", 3, "UserInfo", atController, reader, reads, nil, do(userManagerUserInfo)},

		// For the agent of a machine: itself.
		{"Machiner", 1, "EnsureDead", atModel, machineAgent, free, self, act(machineEnsureDead)},
		{"Machiner", 1, "Machine", atModel, machineAgent, free, self, do(machineInfo)},
		{"Machiner", 1, "SetMachineAddresses", atModel, machineAgent, free, self, act(machineSetAddresses)},
		{"Machiner", 1, "SetMachineStatus", atModel, machineAgent, free, self, act(machineSetStatus)},
		{"Machiner", 1, "WatchMachine", atModel, machineAgent, free, self, watch(machineWatch)},

		// For all agents: themselves.
		{"Agent", 1, "SetTroubles", atModel, machineAgent | unitAgent, free, self, act(agentSetTroubles)},

		// For the agents that deploy units: what is deployed by them.
		{"Deployer", 1, "DeployedUnits", atModel, machineAgent | unitAgent, free, self, do(deployerUnits)},
		{"Deployer", 1, "NewPassword", atModel, machineAgent | unitAgent, free, deployed, do(newPassword)},
		{"Deployer", 1, "RemoveUnit", atModel, machineAgent | unitAgent, free, deployedOrGone, act(deployerRemoveUnit)},
		{"Deployer", 1, "WatchDeployed", atModel, machineAgent | unitAgent, free, self, watch(deployerWatch)},

		// For the controller: all machines of any model.
		{"Provisioner", 1, "DropLeftovers", atModel, controllerAgent, free, everything, act(provisionerDropLeftovers)},
		{"Provisioner", 1, "EnsureDead", atModel, controllerAgent, free, machines, act(machineEnsureDead)},
		{"Provisioner", 1, "LoseInstance", atModel, controllerAgent, free, machines, act(provisionerLoseInstance)},
		{"Provisioner", 1, "Machines", atModel, controllerAgent, free, everything, do(provisionerMachines)},
		{"Provisioner", 1, "ModelConfig", atModel, controllerAgent, free, everything, do(provisionerModelConfig)},
		{"Provisioner", 1, "NewPassword", atModel, controllerAgent, free, machines, do(newPassword)},
		{"Provisioner", 1, "RemoveMachine", atModel, controllerAgent, free, machines, act(provisionerRemoveMachine)},
		{"Provisioner", 1, "Leftovers", atModel, controllerAgent, free, everything, do(provisionerLeftovers)},
		{"Provisioner", 1, "SetInstanceStatus", atModel, controllerAgent, free, machines, act(provisionerSetInstanceStatus)},
		{"Provisioner", 1, "SetMachineStatus", atModel, controllerAgent, free, machines, act(machineSetStatus)},
		{"Provisioner", 1, "SetProvisioned", atModel, controllerAgent, free, machines, act(provisionerSetProvisioned)},
		{"Provisioner", 1, "WatchForModelConfigChanges", atModel, controllerAgent, free, everything, watch(provisionerWatchModelConfig)},
		{"Provisioner", 1, "WatchMachines", atModel, controllerAgent, free, everything, watch(provisionerWatch)},

		// For the controller: the services of any model that keep units.
		{"ApplicationScaler", 1, "EnsureMinUnits", atModel, controllerAgent, free, services, act(scalerEnsureMinUnits)},
		{"ApplicationScaler", 1, "WatchMinUnits", atModel, controllerAgent, free, everything, watch(scalerWatchMinUnits)},

		// For the agent of a unit: itself as the leader of its service.
		{"LeadershipService", 1, "BlockUntilLeadershipReleased", atModel, unitAgent, free, self, act(leadershipBlock)},
		{"LeadershipService", 1, "ClaimLeadership", atModel, unitAgent, free, self, do(leadershipClaim)},
		{"LeadershipService", 1, "ReleaseLeadership", atModel, unitAgent, free, self, act(leadershipRelease)},

		// For the agent of a unit: whether its failed hooks run again by themselves.
		{"RetryStrategy", 1, "RetryStrategy", atModel, unitAgent, free, self, do(retryStrategy)},
		{"RetryStrategy", 1, "WatchRetryStrategy", atModel, unitAgent, free, self, watch(retryStrategyWatch)},

		// For the agent of a unit: itself, and what it shares with its relations.
		{"Uniter", 1, "ClearResolved", atModel, unitAgent, free, self, act(uniterClearResolved)},
		{"Uniter", 1, "CommitHook", atModel, unitAgent, free, self, act(uniterCommitHook)},
		{"Uniter", 1, "Config", atModel, unitAgent, free, self, do(uniterConfig)},
		{"Uniter", 1, "DestroySubordinates", atModel, unitAgent, free, self, act(uniterDestroySubordinates)},
		{"Uniter", 1, "DestroyUnit", atModel, unitAgent, free, self, act(uniterDestroyUnit)},
		{"Uniter", 1, "EnsureDead", atModel, unitAgent, free, self, act(uniterEnsureDead)},
		{"Uniter", 1, "EnterScope", atModel, unitAgent, free, self, act(uniterEnterScope)},
		{"Uniter", 1, "LeaveScope", atModel, unitAgent, free, self, act(uniterLeaveScope)},
		{"Uniter", 1, "OpenedPorts", atModel, unitAgent, free, self, do(uniterOpenedPorts)},
		{"Uniter", 1, "RelationSettings", atModel, unitAgent, free, self, do(uniterRelationSettings)},
		{"Uniter", 1, "Relations", atModel, unitAgent, free, self, do(uniterRelations)},
		{"Uniter", 1, "SetAgentStatus", atModel, unitAgent, free, self, act(uniterSetAgentStatus)},
		{"Uniter", 1, "SetCharm", atModel, unitAgent, free, self, act(uniterSetCharm)},
		{"Uniter", 1, "SetUnitStatus", atModel, unitAgent, free, self, act(uniterSetUnitStatus)},
		{"Uniter", 1, "Unit", atModel, unitAgent, free, self, do(uniterUnit)},
		{"Uniter", 1, "UnitStatus", atModel, unitAgent, free, self, do(uniterUnitStatus)},
		{"Uniter", 1, "WatchRelationUnits", atModel, unitAgent, free, self, watch(uniterWatchRelationUnits)},
		{"Uniter", 1, "WatchRelations", atModel, unitAgent, free, self, watch(uniterWatchRelations)},
		{"Uniter", 1, "WatchUnit", atModel, unitAgent, free, self, watch(uniterWatchUnit)},
	}
}

// endpoints lists what is found at a model beside its API.
func endpoints() []endpoint {
	return []endpoint{
		{"POST", "/charms", writer, changes, serveCharmUpload},
		// A unit's agent may fetch any charm of its model: which one it needs can
		// change between its asking and its fetching, and no charm is a secret
		// within the model that deploys it.
		{"GET", "/charms", reader | unitAgent, reads, serveCharm},
		{"GET", "/log", reader, reads, serveDebugLog},
		{"GET", "/logsink", machineAgent | unitAgent | controllerAgent, free, serveLogSink},
	}
}
