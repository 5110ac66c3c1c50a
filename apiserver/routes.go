package apiserver

// routes lists every method: those for users, and those for agents. Dispatch, the list of
// facades in the reply to a login, and the test of access come from it.
func routes() []route { return append(userRoutes(), agentRoutes()...) }

// userRoutes lists every method that is not only for agents.
func userRoutes() []route {
	return []route{
		// For everyone.
		{"Admin", 3, "Login", atController | atModel, stranger | loggedIn, free, nil, do(adminLogin)},
		{"Admin", 3, "Register", atController, stranger, free, nil, act(adminRegister)},
		{"Admin", 3, "RedirectInfo", atController | atModel, stranger | loggedIn, free, nil, do(adminRedirectInfo)},
		{"Pinger", 1, "Ping", atController | atModel, loggedIn, free, nil, act(pingerPing)},
		{"Pinger", 1, "Stop", atController | atModel, loggedIn, free, nil, act(pingerStop)},
		// A watcher's id is valid on its own connection only.
		{"Watcher", 1, "Next", atController | atModel, loggedIn, free, nil, do(watcherNext)},
		{"Watcher", 1, "Stop", atController | atModel, loggedIn, free, nil, act(watcherStop)},

		// For users, at a model. Blocks can be switched whatever is blocked.
		{"Action", 7, "Actions", atModel, reader, reads, nil, do(actionActions)},
		{"Action", 7, "ApplicationsCharmsActions", atModel, reader, reads, nil, do(actionCharmActions)},
		{"Action", 7, "Cancel", atModel, writer, changes, nil, do(actionCancel)},
		{"Action", 7, "EnqueueOperation", atModel, writer, changes, nil, do(actionEnqueue)},
		{"Action", 7, "FindActionTagsByPrefix", atModel, reader, reads, nil, do(actionFindTags)},
		{"Action", 7, "ListOperations", atModel, reader, reads, nil, do(actionListOperations)},
		{"Action", 7, "Operations", atModel, reader, reads, nil, do(actionOperations)},
		{"Action", 7, "Run", atModel, admin, changes, nil, do(actionRun)},
		{"Action", 7, "RunOnAllMachines", atModel, admin, changes, nil, do(actionRunOnAllMachines)},
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
		{"Application", 19, "SetCharm", atModel, writer, changes, nil, do(applicationSetCharm)},
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
		{"Resources", 3, "AddPendingResources", atModel, writer, changes, nil, do(resourcesAddPending)},
		{"Resources", 3, "ListResources", atModel, reader, reads, nil, do(resourcesListResources)},
		{"Status", 1, "WatchOperation", atModel, reader, reads, nil, watch(statusWatchOperation)},
		{"Status", 1, "WatchStatus", atModel, reader, reads, nil, watch(statusWatch)},
		{"KeyManager", 1, "AddKeys", atModel, admin, changes, nil, do(keyManagerAddKeys)},
		{"KeyManager", 1, "DeleteKeys", atModel, admin, removes, nil, do(keyManagerDeleteKeys)},
		{"KeyManager", 1, "ListKeys", atModel, reader, reads, nil, do(keyManagerListKeys)},
		{"SSHClient", 4, "PublicKeys", atModel, reader, reads, nil, do(sshClientPublicKeys)},
		{"MachineManager", 10, "AddMachines", atModel, writer, changes, nil, do(machineManagerAddMachines)},
		{"MachineManager", 10, "DestroyMachineWithParams", atModel, writer, removes, nil, do(machineManagerDestroyMachines)},
		{"MachineManager", 10, "ProvisioningScript", atModel, writer, changes, nil, do(machineManagerProvisioningScript)},
		{"MachineManager", 10, "RetryProvisioning", atModel, writer, changes, nil, do(machineManagerRetryProvisioning)},
		{"ModelConfig", 3, "GetModelConstraints", atModel, reader, reads, nil, do(modelConfigGetConstraints)},
		{"ModelConfig", 3, "ModelGet", atModel, reader, reads, nil, do(modelConfigModelGet)},
		{"ModelConfig", 3, "ModelSet", atModel, writer, changes, nil, act(modelConfigModelSet)},
		{"ModelConfig", 3, "ModelUnset", atModel, writer, changes, nil, act(modelConfigModelUnset)},
		{"ModelConfig", 3, "SetModelConstraints", atModel, writer, changes, nil, do(modelConfigSetConstraints)},
		{"Storage", 6, "AddToUnit", atModel, writer, changes, nil, do(storageAddToUnit)},
		{"Storage", 6, "Attach", atModel, writer, changes, nil, do(storageAttach)},
		{"Storage", 6, "CreatePool", atModel, writer, changes, nil, do(storageCreatePool)},
		{"Storage", 6, "DetachStorage", atModel, writer, changes, nil, do(storageDetachStorage)},
		{"Storage", 6, "ListPools", atModel, reader, reads, nil, do(storageListPools)},
		{"Storage", 6, "ListStorageDetails", atModel, reader, reads, nil, do(storageListStorageDetails)},
		{"Storage", 6, "Remove", atModel, writer, removes, nil, do(storageRemove)},
		{"Storage", 6, "RemovePool", atModel, writer, removes, nil, do(storageRemovePool)},
		{"Storage", 6, "StorageDetails", atModel, reader, reads, nil, do(storageStorageDetails)},
		{"Storage", 6, "UpdatePool", atModel, writer, changes, nil, do(storageUpdatePool)},

		// For users, at the controller. The methods check the caller's access to the models that
		// a request names, and return nothing about other users.
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
		{"Status", 1, "WatchModel", atController, reader, reads, nil, watch(statusWatchModel)},
		{"UserManager", 3, "AddUser", atController, admin, changes, nil, do(userManagerAddUser)},
		{"UserManager", 3, "DisableUser", atController, admin, changes, nil, do(userManagerDisableUser)},
		{"UserManager", 3, "EnableUser", atController, admin, changes, nil, do(userManagerEnableUser)},
		{"UserManager", 3, "ModelUserInfo", atController, reader, reads, nil, do(userManagerModelUserInfo)},
		{"UserManager", 3, "RemoveUser", atController, admin, changes, nil, do(userManagerRemoveUser)},
		{"UserManager", 3, "ResetPassword", atController, admin, changes, nil, do(userManagerResetPassword)},
		{"UserManager", 3, "SetPassword", atController, reader, changes, nil, do(userManagerSetPassword)},
		{"UserManager", 3, "UserInfo", atController, reader, reads, nil, do(userManagerUserInfo)},
	}
}

// endpoints lists what is found at a model beside its API.
func endpoints() []endpoint {
	return []endpoint{
		{"POST", "/charms", writer, changes, serveCharmUpload},
		// A unit's agent may fetch any charm of its model: the charm that it needs may change
		// before it has fetched it, and charms are no secret within their model.
		{"GET", "/charms", reader | unitAgent, reads, serveCharm},
		{"GET", "/applications/{service}/resources/{resource}", reader, reads, serveResource},
		{"PUT", "/applications/{service}/resources/{resource}", writer, changes, serveResourceUpload},
		{"GET", "/units/{unit}/resources/{resource}", unitAgent, reads, serveUnitResource},
		{"GET", "/log", reader, reads, serveDebugLog},
		{"GET", "/logsink", machineAgent | unitAgent | controllerAgent, free, serveLogSink},
	}
}
