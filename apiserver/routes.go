package apiserver

// routes lists every method there is. Dispatch, the facades that a login lists
// and the walk of the access test come from it; a method that is not here does
// not exist.
func routes() []route {
	return []route{
		// For everybody.
		{"Admin", 3, "Login", atController | atModel, stranger | anybody, nil, do(adminLogin)},
		{"Admin", 3, "RedirectInfo", atController | atModel, stranger | anybody, nil, do(adminRedirectInfo)},
		{"Pinger", 1, "Ping", atController | atModel, anybody, nil, act(pingerPing)},
		{"Pinger", 1, "Stop", atController | atModel, anybody, nil, act(pingerStop)},
		// A watcher is the connection's own: its id means nothing on another.
		{"Watcher", 1, "Next", atController | atModel, anybody, nil, do(watcherNext)},
		{"Watcher", 1, "Stop", atController | atModel, anybody, nil, act(watcherStop)},

		// For users, at a model.
		{"Application", 19, "AddRelation", atModel, writer, nil, do(applicationAddRelation)},
		{"Application", 19, "AddUnits", atModel, writer, nil, do(applicationAddUnits)},
		{"Application", 19, "ApplicationsInfo", atModel, reader, nil, do(applicationApplicationsInfo)},
		{"Application", 19, "CharmConfig", atModel, reader, nil, do(applicationCharmConfig)},
		{"Application", 19, "Deploy", atModel, writer, nil, do(applicationDeploy)},
		{"Application", 19, "DestroyApplication", atModel, writer, nil, do(applicationDestroyApplication)},
		{"Application", 19, "DestroyRelation", atModel, writer, nil, act(applicationDestroyRelation)},
		{"Application", 19, "DestroyUnit", atModel, writer, nil, do(applicationDestroyUnit)},
		{"Application", 19, "Expose", atModel, writer, nil, act(applicationExpose)},
		{"Application", 19, "Get", atModel, reader, nil, do(applicationGet)},
		{"Application", 19, "ResolveUnitErrors", atModel, writer, nil, do(applicationResolveUnitErrors)},
		{"Application", 19, "SetConfigs", atModel, writer, nil, do(applicationSetConfigs)},
		{"Application", 19, "Unexpose", atModel, writer, nil, act(applicationUnexpose)},
		{"Application", 19, "UnsetApplicationsConfig", atModel, writer, nil, do(applicationUnset)},
		{"Charms", 6, "AddCharm", atModel, writer, nil, do(charmsAddCharm)},
		{"Charms", 6, "CharmInfo", atModel, reader, nil, do(charmsCharmInfo)},
		{"Client", 7, "FullStatus", atModel, reader, nil, do(clientFullStatus)},
		{"MachineManager", 10, "AddMachines", atModel, writer, nil, do(machineManagerAddMachines)},
		{"MachineManager", 10, "DestroyMachineWithParams", atModel, writer, nil, do(machineManagerDestroyMachines)},

		// For users, at the controller. Of a model they see what their access to
		// that model shows, which the method looks up.
		{"Controller", 12, "AllModels", atController, admin, nil, do(controllerAllModels)},
		{"Controller", 12, "DestroyController", atController, admin, nil, act(controllerDestroy)},
		{"ModelManager", 10, "CreateModel", atController, admin, nil, do(modelManagerCreateModel)},
		{"ModelManager", 10, "DumpModelsDB", atController, admin, nil, do(modelManagerDumpModels)},
		{"ModelManager", 10, "ListModelSummaries", atController, reader, nil, do(modelManagerListSummaries)},
		{"ModelManager", 10, "ListModels", atController, reader, nil, do(modelManagerListModels)},
		{"ModelManager", 10, "ModelInfo", atController, reader, nil, do(modelManagerModelInfo)},

		// For the agent of a machine: itself.
		{"Machiner", 1, "EnsureDead", atModel, machineAgent, self, act(machineEnsureDead)},
		{"Machiner", 1, "Machine", atModel, machineAgent, self, do(machineInfo)},
		{"Machiner", 1, "SetMachineAddresses", atModel, machineAgent, self, act(machineSetAddresses)},
		{"Machiner", 1, "SetMachineStatus", atModel, machineAgent, self, act(machineSetStatus)},
		{"Machiner", 1, "WatchMachine", atModel, machineAgent, self, watch(machineWatch)},

		// For the agents that deploy units: what is deployed by them.
		{"Deployer", 1, "DeployedUnits", atModel, machineAgent | unitAgent, self, do(deployerUnits)},
		{"Deployer", 1, "NewPassword", atModel, machineAgent | unitAgent, deployed, do(newPassword)},
		{"Deployer", 1, "RemoveUnit", atModel, machineAgent | unitAgent, deployedOrGone, act(deployerRemoveUnit)},
		{"Deployer", 1, "WatchDeployed", atModel, machineAgent | unitAgent, self, watch(deployerWatch)},

		// For the controller: all machines of any model.
		{"Provisioner", 1, "EnsureDead", atModel, controllerAgent, machines, act(machineEnsureDead)},
		{"Provisioner", 1, "Machines", atModel, controllerAgent, everything, do(provisionerMachines)},
		{"Provisioner", 1, "NewPassword", atModel, controllerAgent, machines, do(newPassword)},
		{"Provisioner", 1, "RemoveMachine", atModel, controllerAgent, machines, act(provisionerRemoveMachine)},
		{"Provisioner", 1, "SetMachineStatus", atModel, controllerAgent, machines, act(machineSetStatus)},
		{"Provisioner", 1, "SetProvisioned", atModel, controllerAgent, machines, act(provisionerSetProvisioned)},
		{"Provisioner", 1, "WatchMachines", atModel, controllerAgent, everything, watch(provisionerWatch)},

		// For the agent of a unit: itself, and what it shares with its relations.
		{"Uniter", 1, "ClearResolved", atModel, unitAgent, self, act(uniterClearResolved)},
		{"Uniter", 1, "CommitHook", atModel, unitAgent, self, act(uniterCommitHook)},
		{"Uniter", 1, "Config", atModel, unitAgent, self, do(uniterConfig)},
		{"Uniter", 1, "DestroySubordinates", atModel, unitAgent, self, act(uniterDestroySubordinates)},
		{"Uniter", 1, "DestroyUnit", atModel, unitAgent, self, act(uniterDestroyUnit)},
		{"Uniter", 1, "EnsureDead", atModel, unitAgent, self, act(uniterEnsureDead)},
		{"Uniter", 1, "EnterScope", atModel, unitAgent, self, act(uniterEnterScope)},
		{"Uniter", 1, "LeaveScope", atModel, unitAgent, self, act(uniterLeaveScope)},
		{"Uniter", 1, "OpenedPorts", atModel, unitAgent, self, do(uniterOpenedPorts)},
		{"Uniter", 1, "RelationSettings", atModel, unitAgent, self, do(uniterRelationSettings)},
		{"Uniter", 1, "Relations", atModel, unitAgent, self, do(uniterRelations)},
		{"Uniter", 1, "SetAgentStatus", atModel, unitAgent, self, act(uniterSetAgentStatus)},
		{"Uniter", 1, "SetCharm", atModel, unitAgent, self, act(uniterSetCharm)},
		{"Uniter", 1, "SetUnitStatus", atModel, unitAgent, self, act(uniterSetUnitStatus)},
		{"Uniter", 1, "Unit", atModel, unitAgent, self, do(uniterUnit)},
		{"Uniter", 1, "UnitStatus", atModel, unitAgent, self, do(uniterUnitStatus)},
		{"Uniter", 1, "WatchRelationUnits", atModel, unitAgent, self, watch(uniterWatchRelationUnits)},
		{"Uniter", 1, "WatchRelations", atModel, unitAgent, self, watch(uniterWatchRelations)},
		{"Uniter", 1, "WatchUnit", atModel, unitAgent, self, watch(uniterWatchUnit)},
	}
}

// endpoints lists what is found at a model beside its API.
func endpoints() []endpoint {
	return []endpoint{
		{"POST", "/charms", writer, serveCharmUpload},
		// A unit's agent may fetch any charm of its model: which one it needs can
		// change between its asking and its fetching, and no charm is a secret
		// within the model that deploys it.
		{"GET", "/charms", reader | unitAgent, serveCharm},
		{"GET", "/log", reader, serveDebugLog},
		{"GET", "/logsink", machineAgent | unitAgent | controllerAgent, serveLogSink},
	}
}
