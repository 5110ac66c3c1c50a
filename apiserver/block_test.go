package apiserver

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"juju/apiserver/facades"
	"juju/apiserver/params"
	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/mongo/mongotest"
	"juju/state/statetest"
)

// forUsers says by hand, for every method that only users can call, the access that it needs,
// and the first block, from the narrowest to the widest, that refuses it: "-" for none,
// "named" if that depends on the models that it names.
var forUsers = map[string]string{
	"AllWatcher.Next":                         "read -",
	"AllWatcher.Stop":                         "read -",
	"ModelSummaryWatcher.Next":                "login -",
	"ModelSummaryWatcher.Stop":                "login -",
	"Annotations.Get":                         "read -",
	"Action.Actions":                          "read -",
	"Action.ApplicationsCharmsActions":        "read -",
	"Action.Cancel":                           "write change",
	"Action.EnqueueOperation":                 "write change",
	"Action.FindActionTagsByPrefix":           "read -",
	"Action.ListOperations":                   "read -",
	"Action.Operations":                       "read -",
	"Action.Run":                              "admin change",
	"Action.RunOnAllMachines":                 "admin change",
	"Status.WatchOperation":                   "read -",
	"Spaces.CreateSpaces":                     "admin change",
	"Spaces.ListSpaces":                       "read -",
	"Spaces.MoveSubnets":                      "admin change",
	"Spaces.ReloadSpaces":                     "admin change",
	"Spaces.RemoveSpace":                      "admin remove",
	"Spaces.RenameSpace":                      "admin change",
	"Spaces.ShowSpace":                        "read -",
	"Subnets.AllZones":                        "read -",
	"Subnets.ListSubnets":                     "read -",
	"Subnets.SubnetsByCIDR":                   "read -",
	"Annotations.Set":                         "write change",
	"Application.AddRelation":                 "write change",
	"Application.AddUnits":                    "write change",
	"Application.ApplicationsInfo":            "read -",
	"Application.CharmConfig":                 "read -",
	"Application.Consume":                     "write change",
	"Application.DestroyConsumedApplications": "write remove",
	"Application.SetRelationsSuspended":       "write change",
	"Application.Deploy":                      "write change",
	"Application.DeployFromRepository":        "write change",
	"Application.CharmRelations":              "read -",
	"Application.GetCharmURLOrigin":           "read -",
	"Application.Leader":                      "read -",
	"Application.MergeBindings":               "write change",
	"Application.ScaleApplications":           "write change",
	"Application.DestroyApplication":          "write remove",
	"Application.DestroyRelation":             "write remove",
	"Application.DestroyUnit":                 "write remove",
	"Application.Expose":                      "write change",
	"Application.Get":                         "read -",
	"Application.GetConstraints":              "read -",
	"Application.ResolveUnitErrors":           "write change",
	"Application.ResumeRollout":               "write change",
	"Application.RevertRollout":               "write change",
	"Application.SetCharm":                    "write change",
	"Application.SetConfigs":                  "write change",
	"Application.SetConstraints":              "write change",
	"Application.CheckDeploy":                 "write change",
	"Application.SetMinUnits":                 "write change",
	"Application.Unexpose":                    "write change",
	"Application.UnitsInfo":                   "read -",
	"Application.UnsetApplicationsConfig":     "write change",
	"Application.UpdateApplicationBase":       "write change",
	"Block.List":                              "read -",
	"Secrets.ListSecrets":                     "read -",
	"Secrets.CreateSecrets":                   "write change",
	"Secrets.GrantSecret":                     "write change",
	"Secrets.RemoveSecrets":                   "write remove",
	"Secrets.RevokeSecret":                    "write change",
	"Secrets.UpdateSecrets":                   "write change",
	"SecretBackends.ListSecretBackends":       "login -",
	"MetricsDebug.GetMetrics":                 "read -",
	"Backups.Create":                          "admin -",
	"Block.SwitchBlockOff":                    "write -",
	"Block.SwitchBlockOn":                     "write -",
	"Bundle.ExportBundle":                     "read -",
	"Bundle.GetChangesMapArgs":                "read -",
	"Charms.AddCharm":                         "write change",
	"Charms.CharmInfo":                        "read -",
	"Charms.ResolveCharms":                    "read -",
	"Client.FullStatus":                       "read -",
	"Client.StatusHistory":                    "read -",
	"Client.WatchAll":                         "read -",
	"Explain.Explain":                         "read -",
	"Status.WatchStatus":                      "read -",
	"KeyManager.AddKeys":                      "admin change",
	"KeyManager.DeleteKeys":                   "admin remove",
	"KeyManager.ImportKeys":                   "admin change",
	"KeyManager.ListKeys":                     "read -",
	"SSHClient.AllAddresses":                  "read -",
	"SSHClient.PrivateAddress":                "read -",
	"SSHClient.Proxy":                         "read -",
	"SSHClient.PublicAddress":                 "read -",
	"SSHClient.PublicKeys":                    "read -",
	"MachineManager.AddMachines":              "write change",
	"MachineManager.DestroyMachineWithParams": "write remove",
	"MachineManager.ProvisioningScript":       "write change",
	"MachineManager.RetryProvisioning":        "write change",
	"MachineManager.UpgradeSeriesComplete":    "write change",
	"MachineManager.UpgradeSeriesPrepare":     "write change",
	"ModelConfig.GetModelConstraints":         "read -",
	"ModelConfig.ModelGet":                    "read -",
	"ModelConfig.ModelSet":                    "write change",
	"ModelConfig.ModelUnset":                  "write change",
	"ModelConfig.SetModelConstraints":         "write change",
	"Payloads.List":                           "read -",
	"Plans.DryRun":                            "write -",
	"Plans.IfUnchanged":                       "write named",
	"Resources.AddPendingResources":           "write change",
	"Resources.ClearPendingResources":         "write change",
	"Resources.ListPendingResources":          "read -",
	"Resources.ListResources":                 "read -",
	"Storage.AddToUnit":                       "write change",
	"Storage.Attach":                          "write change",
	"Storage.CreatePool":                      "write change",
	"Storage.DetachStorage":                   "write change",
	"Storage.Import":                          "write change",
	"Storage.ListFilesystems":                 "read -",
	"Storage.ListVolumes":                     "read -",
	"Storage.ListPools":                       "read -",
	"Storage.ListStorageDetails":              "read -",
	"Storage.Remove":                          "write remove",
	"Storage.RemovePool":                      "write remove",
	"Storage.StorageDetails":                  "read -",
	"Storage.UpdatePool":                      "write change",
	"Cloud.AddCloud":                          "superuser change",
	"Cloud.AddCredentials":                    "superuser change",
	"Cloud.Cloud":                             "login -",
	"Cloud.Clouds":                            "login -",
	"Cloud.RemoveClouds":                      "superuser change",
	"Cloud.ModelConfigSchema":                 "login -",
	"Cloud.CredentialContents":                "login -",
	"Cloud.RevokeCredentialsCheckModels":      "superuser change",
	"Cloud.UpdateCredentialsCheckModels":      "superuser change",
	"Cloud.UserCredentials":                   "login -",
	"AuditLog.List":                           "superuser -",
	"Controller.AllModels":                    "superuser -",
	"Controller.DestroyController":            "superuser destroy",
	"Controller.ControllerAPIInfoForModels":   "login -",
	"Controller.ControllerVersion":            "login -",
	"Controller.ModelStatus":                  "login -",
	"Controller.GetControllerAccess":          "login -",
	"Controller.ListBlockedModels":            "superuser -",
	"Controller.RemoveBlocks":                 "superuser -",
	"Controller.HostedModelConfigs":           "superuser -",
	"ModelConfig.Sequences":                   "read -",
	"ModelManager.DumpModels":                 "superuser -",
	"Action.WatchActionsProgress":             "read -",
	"StringsWatcher.Next":                     "read -",
	"StringsWatcher.Stop":                     "read -",
	"Controller.WatchAllModelSummaries":       "superuser -",
	"Controller.WatchModelSummaries":          "login -",
	"Controller.ModifyControllerAccess":       "superuser change",
	"HighAvailability.EnableHA":               "superuser change",
	"HighAvailability.ControllerDetails":      "login -",
	"Integrity.CheckController":               "superuser -",
	"Integrity.CheckModel":                    "login -",
	"Integrity.RepairController":              "superuser change",
	"Integrity.RepairModel":                   "login named",
	"ModelManager.CreateModel":                "add-model change",
	"ApplicationOffers.ApplicationOffers":     "login -",
	"ApplicationOffers.CheckUsers":            "admin -",
	"ApplicationOffers.DestroyOffers":         "login named",
	"ApplicationOffers.FindApplicationOffers": "login -",
	"ApplicationOffers.GetConsumeDetails":     "login -",
	"ApplicationOffers.ListApplicationOffers": "login -",
	"ApplicationOffers.ModifyOfferAccess":     "login named",
	"ApplicationOffers.Offer":                 "login named",
	"ModelManager.DestroyModels":              "login named",
	"ModelManager.DumpModelsDB":               "superuser -",
	"ModelManager.ListModelSummaries":         "login -",
	"ModelManager.ListModels":                 "login -",
	"ModelManager.ChangeModelCredential":      "login named",
	"ModelManager.ModelDefaultsForClouds":     "login -",
	"ModelManager.SetModelDefaults":           "superuser change",
	"ModelManager.UnsetModelDefaults":         "superuser change",
	"Controller.CloudSpec":                    "superuser -",
	"Controller.ConfigSet":                    "superuser change",
	"Controller.ControllerConfig":             "login -",
	"ModelManager.ModelInfo":                  "login -",
	"ModelManager.ModelLeftovers":             "login -",
	"ModelUpgrader.ControllerPrograms":        "superuser -",
	"ModelUpgrader.UpgradeModel":              "login named",
	"Status.WatchModel":                       "login -",
	"ModelManager.ModelStatus":                "login -",
	"ModelManager.ModifyModelAccess":          "login named",
	"Tokens.Create":                           "read -",
	"Tokens.CreateLogin":                      "login -",
	"Tokens.List":                             "login -",
	"Tokens.Revoke":                           "login -",
	"UserManager.AddUser":                     "superuser change",
	"UserManager.DisableUser":                 "superuser change",
	"UserManager.EnableUser":                  "superuser change",
	"UserManager.ModelUserInfo":               "login -",
	"UserManager.RemoveUser":                  "superuser change",
	"UserManager.ResetPassword":               "superuser change",
	"UserManager.SetPassword":                 "login change",
	"UserManager.UserInfo":                    "login -",
}

// Every method is called while each block is on. The right blocks refuse it, and no others.
func TestBlocks(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	model := w.admin()
	controller := w.raw("/api").login(entity.UserTag(statetest.Admin), statetest.Password, "")
	widest := map[string]int{"destroy": 0, "remove": 1, "change": 2}
	seen := map[string]bool{}
	for i, block := range entity.BlockTypes() {
		for _, st := range []*state.State{w.st, w.server.controllerModel} {
			if err := st.Blocks().SwitchOn(t.Context(), block, "by "+string(block)); err != nil {
				t.Fatal(err)
			}
		}
		for _, r := range routes() {
			name := r.Facade + "." + r.Method
			if r.Effect == 0 {
				t.Errorf("%s has no effect", name)
			}
			if !r.ForUsers() {
				if r.Effect != facades.Free {
					t.Errorf("%s is for agents, but its effect is not free", name)
				}
				continue
			}
			_, first, said := strings.Cut(forUsers[name], " ")
			if !said {
				t.Errorf("forUsers does not say who may call %s, and which blocks refuse it", name)
				continue
			}
			seen[name] = true
			if first == "-" && r.Who&facades.Reader == 0 && r.Effect != facades.Reads && !strings.Contains(name, "Block") {
				t.Errorf("%s is for writers, and no block refuses it", name)
			}
			conn := model
			if r.At == facades.AtController {
				conn = controller
			}
			if (r.Effect == facades.Named) != (first == "named") {
				t.Errorf("%s names models: %v, and forUsers says %s", name, r.Effect == facades.Named, first)
			}
			if r.Effect == facades.Free {
				continue // it would switch the blocks
			}
			err := conn.call(r.Facade, r.Version, r.Method, struct{}{}).Err()
			lowest, barred := widest[first]
			want := barred && i >= lowest
			if got := errors.Is(err, entity.OperationBlocked); got != want {
				t.Errorf("%s with %s on: refused %v, want %v (%v)", name, block, got, want, err)
			}
			if want && (err.Error() != "by "+string(block) || !strings.Contains(entity.Hint(err), "juju enable-command ")) {
				t.Errorf("%s with %s on: error %v (%s)", name, block, err, entity.Hint(err))
			}
		}
		for _, st := range []*state.State{w.st, w.server.controllerModel} {
			if err := st.Blocks().SwitchOff(t.Context(), block); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name := range forUsers {
		if !seen[name] {
			t.Errorf("forUsers has %s, which is not a method for users", name)
		}
	}
}

// Blocks do not affect agents, and can always be switched off.
func TestBlocksDoNotAffectAgents(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	user := w.admin()
	for _, block := range entity.BlockTypes() {
		reply := user.call("Block", 2, "SwitchBlockOn", params.BlockSwitchParams{Type: string(block)})
		if err := reply.Err(); err != nil || strings.Contains(string(reply.Response), "error") {
			t.Fatalf("%v %s", err, reply.Response)
		}
	}
	// Force does not get around a block.
	force := params.DestroyMachinesParams{MachineTags: []params.Tag{params.TagOf(entity.MachineTag("0"))},
		Destruction: params.Destruction{Force: true}}
	if err := user.call("MachineManager", 10, "DestroyMachineWithParams", force).Err(); !errors.Is(err,
		entity.OperationBlocked) {
		t.Errorf("with force: %v", err)
	}
	err := user.call("Application", 19, "DestroyUnit", struct{}{}).Err()
	if !errors.Is(err, entity.OperationBlocked) || err.Error() != "the operation has been blocked" {
		t.Errorf("with all blocks on: %v", err)
	}
	again := user.call("Block", 2, "SwitchBlockOn", params.BlockSwitchParams{Type: "BlockChange"})
	if !strings.Contains(string(again.Response), "block BlockChange is already ON") {
		t.Errorf("again: %s", again.Response)
	}
	request, err := http.NewRequest("POST", "https://"+w.address+"/model/"+w.st.UUID()+"/charms", strings.NewReader("zip"))
	if err != nil {
		t.Fatal(err)
	}
	request.SetBasicAuth(params.TagOf(entity.UserTag(statetest.Admin)).String(), statetest.Password)
	hc := &http.Client{Transport: &http.Transport{TLSClientConfig: clientTLS(), DisableKeepAlives: true}}
	response, err := hc.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusBadRequest {
		t.Errorf("an upload is answered with %s", response.Status)
	}
	u1, m0 := entity.UnitTag("mysql/1"), entity.MachineTag("0")
	about := func(tag entity.Tag) params.Entity { return params.Entity{Tag: params.TagOf(tag)} }
	unit := w.raw(w.modelPath()).login(u1, w.passwords[u1], "")
	if err := unit.call("Uniter", 1, "DestroyUnit", about(u1)).Err(); err != nil {
		t.Errorf("a unit's agent is refused: %v", err)
	}
	machine := w.raw(w.modelPath()).login(m0, w.passwords[m0], nonce)
	if err := machine.call("Machiner", 1, "Machine", about(m0)).Err(); err != nil {
		t.Errorf("a machine's agent is refused: %v", err)
	}
	if err := user.call("Application", 19, "Get", params.ApplicationGet{ApplicationName: "mysql"}).Err(); err != nil {
		t.Errorf("reading is blocked: %v", err)
	}
	root := w.dial(w.adminInfo(""))
	blocked, err := root.BlockedModels(t.Context())
	w.ok(err)
	if len(blocked) != 1 || blocked[0].UUID != w.st.UUID() || len(blocked[0].Blocks) != 3 {
		t.Errorf("blocked are %+v", blocked)
	}
	w.ok(root.RemoveBlocks(t.Context()))
	if blocked, err = root.BlockedModels(t.Context()); err != nil || len(blocked) > 0 {
		t.Errorf("blocked are %+v, %v", blocked, err)
	}
	for _, block := range entity.BlockTypes() {
		if reply := user.call("Block", 2, "SwitchBlockOff",
			params.BlockSwitchParams{Type: string(block)}); reply.Err() != nil {
			t.Fatal(reply.Err())
		}
	}
	if err := user.call("Application", 19, "Expose",
		params.ApplicationExpose{ApplicationName: "mysql"}).Err(); err != nil {
		t.Errorf("with all blocks off: %v", err)
	}
}

// One who disables all blocks is told if the store refuses it, and does not mind if another disables some of them at
// the same time.
func TestRemoveBlocks(t *testing.T) {
	t.Parallel()
	store := statetest.Store(t, mongo.Options{Patience: time.Millisecond})
	ctrl, st := statetest.ControllerOn(t, store, controller.Options{})
	w := newWorld(t, func(c *Config) { c.Controller = ctrl })
	w.controller, w.st = ctrl, st
	ctx := t.Context()
	for _, block := range entity.BlockTypes() {
		w.ok(w.st.Blocks().SwitchOn(ctx, block, ""))
	}
	root := w.dial(w.adminInfo(""))
	db := store.Open(w.st.UUID())
	defer db.Close(errors.New("the test has ended"))
	hooks := mongotest.HooksOf(db)
	hooks.RefuseAll()
	if err := root.RemoveBlocks(ctx); err == nil || !strings.Contains(err.Error(), "changing too quickly") {
		t.Errorf("the store has refused to remove the blocks, and the user is told %v", err)
	}
	hooks.RewriteOps(nil)
	others := 0
	hooks.Set(mongotest.TestHook{After: func() { // the first block is off
		blocks, err := w.st.Blocks().All(ctx)
		for _, b := range blocks {
			others++
			err = errors.Join(err, w.st.Blocks().SwitchOff(ctx, b.Type))
		}
		if err != nil {
			t.Error(err)
		}
	}})
	w.ok(root.RemoveBlocks(ctx))
	if blocked, err := root.BlockedModels(ctx); others != 2 || err != nil || len(blocked) > 0 {
		t.Errorf("another has disabled %d blocks; those left are %+v, %v", others, blocked, err)
	}
}
