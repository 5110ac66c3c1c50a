package apiserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"juju/apiserver/facades"
	"juju/apiserver/params"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/statetest"
)

// mayCall says, for every method ("Facade.*" for all of a facade), which of the callers
// below pass the access check when the request is about machine 0 or the unit mysql/0, which
// is deployed there. It is written by hand: a second opinion on the route table.
//
//	admin    a user, at the model, or at the controller for what is there only
//	m0 m1    the agents of two machines
//	u0 u1    the agents of mysql/0 and mysql/1
//	manager  the controller's own agent, at a model that is not the controller's
var mayCall = map[string]string{
	"Admin.Login":              "stranger wrong admin m0 m1 u0 u1 manager",
	"Admin.Register":           "stranger",
	"Admin.RedirectInfo":       "stranger wrong admin m0 m1 u0 u1 manager consumer",
	"Pinger.Ping":              "admin m0 m1 u0 u1 manager consumer",
	"Pinger.Stop":              "admin m0 m1 u0 u1 manager consumer",
	"AllWatcher.Next":          "admin",
	"AllWatcher.Stop":          "admin",
	"ModelSummaryWatcher.Next": "admin",
	"ModelSummaryWatcher.Stop": "admin",
	"StringsWatcher.Next":      "admin",
	"StringsWatcher.Stop":      "admin",
	"Watcher.Next":             "admin m0 m1 u0 u1 manager consumer",
	"Watcher.Stop":             "admin m0 m1 u0 u1 manager consumer",

	"APIAddresser.APIAddresses":      "m0 m1 u0 u1",
	"APIAddresser.WatchAPIHostPorts": "m0 m1 u0 u1",

	"Action.Actions":                          "admin",
	"Action.ApplicationsCharmsActions":        "admin",
	"Action.Cancel":                           "admin",
	"Action.EnqueueOperation":                 "admin",
	"Action.FindActionTagsByPrefix":           "admin",
	"Action.ListOperations":                   "admin",
	"Action.Operations":                       "admin",
	"Action.Run":                              "admin",
	"Action.RunOnAllMachines":                 "admin",
	"Action.WatchActionsProgress":             "admin",
	"Status.WatchOperation":                   "admin",
	"Annotations.Get":                         "admin",
	"Annotations.Set":                         "admin",
	"Application.AddRelation":                 "admin",
	"Application.AddUnits":                    "admin",
	"Application.ApplicationsInfo":            "admin",
	"Application.CharmConfig":                 "admin",
	"Application.Consume":                     "admin",
	"Application.DestroyConsumedApplications": "admin",
	"Application.SetRelationsSuspended":       "admin",
	"Application.Deploy":                      "admin",
	"Application.DeployFromRepository":        "admin",
	"Application.CharmRelations":              "admin",
	"Application.GetCharmURLOrigin":           "admin",
	"Application.Leader":                      "admin",
	"Application.MergeBindings":               "admin",
	"Application.ScaleApplications":           "admin",
	"Application.DestroyApplication":          "admin",
	"Application.DestroyRelation":             "admin",
	"Application.DestroyUnit":                 "admin",
	"Application.Expose":                      "admin",
	"Application.Get":                         "admin",
	"Application.GetConstraints":              "admin",
	"Application.ResolveUnitErrors":           "admin",
	"Application.ResumeRollout":               "admin",
	"Application.RevertRollout":               "admin",
	"Application.SetCharm":                    "admin",
	"Application.SetConfigs":                  "admin",
	"Application.SetConstraints":              "admin",
	"Application.CheckDeploy":                 "admin",
	"Application.SetMinUnits":                 "admin",
	"Application.Unexpose":                    "admin",
	"Application.UnitsInfo":                   "admin",
	"Application.UnsetApplicationsConfig":     "admin",
	"Application.UpdateApplicationBase":       "admin",
	"Block.List":                              "admin",
	"Secrets.ListSecrets":                     "admin",
	"Secrets.CreateSecrets":                   "admin",
	"Secrets.GrantSecret":                     "admin",
	"Secrets.RemoveSecrets":                   "admin",
	"Secrets.RevokeSecret":                    "admin",
	"Secrets.UpdateSecrets":                   "admin",
	"SecretBackends.ListSecretBackends":       "admin",
	"MetricsDebug.GetMetrics":                 "admin",
	"Backups.Create":                          "admin",
	"Block.SwitchBlockOff":                    "admin",
	"Block.SwitchBlockOn":                     "admin",
	"Bundle.ExportBundle":                     "admin",
	"Bundle.GetChangesMapArgs":                "admin",
	"Spaces.CreateSpaces":                     "admin",
	"Spaces.ListSpaces":                       "admin",
	"Spaces.MoveSubnets":                      "admin",
	"Spaces.ReloadSpaces":                     "admin",
	"Spaces.RemoveSpace":                      "admin",
	"Spaces.RenameSpace":                      "admin",
	"Spaces.ShowSpace":                        "admin",
	"Subnets.AllZones":                        "admin",
	"Subnets.ListSubnets":                     "admin",
	"Subnets.SubnetsByCIDR":                   "admin",
	"Charms.AddCharm":                         "admin",
	"Charms.CharmInfo":                        "admin",
	"Charms.ResolveCharms":                    "admin",
	"Client.FullStatus":                       "admin",
	"Client.StatusHistory":                    "admin",
	"Client.WatchAll":                         "admin",
	"Explain.Explain":                         "admin",
	"Status.WatchStatus":                      "admin",
	"KeyManager.AddKeys":                      "admin",
	"KeyManager.DeleteKeys":                   "admin",
	"KeyManager.ImportKeys":                   "admin",
	"KeyManager.ListKeys":                     "admin",
	"SSHClient.AllAddresses":                  "admin",
	"SSHClient.PrivateAddress":                "admin",
	"SSHClient.Proxy":                         "admin",
	"SSHClient.PublicAddress":                 "admin",
	"SSHClient.PublicKeys":                    "admin",
	"MachineManager.AddMachines":              "admin",
	"MachineManager.DestroyMachineWithParams": "admin",
	"MachineManager.ProvisioningScript":       "admin",
	"MachineManager.RetryProvisioning":        "admin",
	"MachineManager.UpgradeSeriesComplete":    "admin",
	"MachineManager.UpgradeSeriesPrepare":     "admin",
	"ModelConfig.GetModelConstraints":         "admin",
	"ModelConfig.ModelGet":                    "admin",
	"ModelConfig.ModelSet":                    "admin",
	"ModelConfig.ModelUnset":                  "admin",
	"ModelConfig.SetModelConstraints":         "admin",
	"Payloads.List":                           "admin",
	"Plans.DryRun":                            "admin",
	"Plans.IfUnchanged":                       "admin",
	"Resources.AddPendingResources":           "admin",
	"Resources.ClearPendingResources":         "admin",
	"Resources.ListPendingResources":          "admin",
	"Resources.ListResources":                 "admin",
	"Storage.AddToUnit":                       "admin",
	"Storage.Attach":                          "admin",
	"Storage.CreatePool":                      "admin",
	"Storage.DetachStorage":                   "admin",
	"Storage.Import":                          "admin",
	"Storage.ListFilesystems":                 "admin",
	"Storage.ListVolumes":                     "admin",
	"Storage.ListPools":                       "admin",
	"Storage.ListStorageDetails":              "admin",
	"Storage.Remove":                          "admin",
	"Storage.RemovePool":                      "admin",
	"Storage.StorageDetails":                  "admin",
	"Storage.UpdatePool":                      "admin",

	"Cloud.AddCloud":                          "admin",
	"Cloud.AddCredentials":                    "admin",
	"Cloud.Cloud":                             "admin",
	"Cloud.Clouds":                            "admin",
	"Cloud.RemoveClouds":                      "admin",
	"Cloud.ModelConfigSchema":                 "admin",
	"Cloud.CredentialContents":                "admin",
	"Cloud.RevokeCredentialsCheckModels":      "admin",
	"Cloud.UpdateCredentialsCheckModels":      "admin",
	"Cloud.UserCredentials":                   "admin",
	"Controller.AllModels":                    "admin",
	"Controller.DestroyController":            "admin",
	"Controller.GetControllerAccess":          "admin",
	"Controller.ListBlockedModels":            "admin",
	"Controller.RemoveBlocks":                 "admin",
	"Controller.HostedModelConfigs":           "admin",
	"ModelConfig.Sequences":                   "admin",
	"ModelManager.DumpModels":                 "admin",
	"Controller.WatchAllModelSummaries":       "admin",
	"Controller.WatchModelSummaries":          "admin",
	"Controller.ModifyControllerAccess":       "admin",
	"HighAvailability.EnableHA":               "admin",
	"HighAvailability.ControllerDetails":      "admin",
	"Integrity.CheckController":               "admin",
	"Integrity.CheckModel":                    "admin",
	"Integrity.RepairController":              "admin",
	"Integrity.RepairModel":                   "admin",
	"ModelManager.CreateModel":                "admin",
	"ModelManager.DestroyModels":              "admin",
	"ModelManager.DumpModelsDB":               "admin",
	"ModelManager.ListModelSummaries":         "admin",
	"ModelManager.ListModels":                 "admin",
	"ModelManager.ChangeModelCredential":      "admin",
	"ModelManager.ModelDefaultsForClouds":     "admin",
	"ModelManager.SetModelDefaults":           "admin",
	"ModelManager.UnsetModelDefaults":         "admin",
	"Controller.CloudSpec":                    "admin",
	"Controller.ConfigSet":                    "admin",
	"Controller.ControllerConfig":             "admin",
	"ModelManager.ModelInfo":                  "admin",
	"ModelManager.ModelLeftovers":             "admin",
	"ModelManager.ModelStatus":                "admin",
	"ModelManager.ModifyModelAccess":          "admin",
	"Tokens.Create":                           "admin",
	"Tokens.CreateLogin":                      "admin",
	"Tokens.List":                             "admin",
	"Tokens.Revoke":                           "admin",
	"UserManager.AddUser":                     "admin",
	"UserManager.DisableUser":                 "admin",
	"UserManager.EnableUser":                  "admin",
	"UserManager.ModelUserInfo":               "admin",
	"UserManager.RemoveUser":                  "admin",
	"UserManager.ResetPassword":               "admin",
	"UserManager.SetPassword":                 "admin",
	"UserManager.UserInfo":                    "admin",
	"ModelUpgrader.ControllerPrograms":        "admin",
	"ModelUpgrader.UpgradeModel":              "admin",
	"Status.WatchModel":                       "admin",
	"AuditLog.List":                           "admin",
	"Controller.ControllerAPIInfoForModels":   "admin",
	"Controller.ControllerVersion":            "admin",
	"Controller.ModelStatus":                  "admin",
	"ApplicationOffers.ApplicationOffers":     "admin",
	"ApplicationOffers.CheckUsers":            "admin",
	"ApplicationOffers.DestroyOffers":         "admin",
	"ApplicationOffers.FindApplicationOffers": "admin",
	"ApplicationOffers.GetConsumeDetails":     "admin",
	"ApplicationOffers.ListApplicationOffers": "admin",
	"ApplicationOffers.ModifyOfferAccess":     "admin",
	"ApplicationOffers.Offer":                 "admin",

	// All methods of a facade for agents are for the same callers.
	"Agent.*":               "m0",
	"ApplicationScaler.*":   "manager",
	"Rollouts.*":            "manager",
	"CrossModelRelations.*": "consumer",
	"Deployer.*":            "m0",
	"HostFirewaller.*":      "m0",
	"LeadershipService.*":   "u0",
	"MachineActions.*":      "m0",
	"Machiner.*":            "m0",
	"Provisioner.*":         "manager",
	"Firewaller.*":          "manager",
	"InstanceMutater.*":     "manager",
	"StorageProvisioner.*":  "manager",
	"Uniter.*":              "u0",
}

// callersOf returns the callers that mayCall has for a method, and the key that they are under.
func callersOf(r facades.Route) (key, callers string) {
	for _, key := range []string{r.Facade + "." + r.Method, r.Facade + ".*"} {
		if callers, ok := mayCall[key]; ok {
			return key, callers
		}
	}
	return "", ""
}

// aboutNothing are the methods for agents whose requests name no entity.
var aboutNothing = []string{"APIAddresser.APIAddresses", "APIAddresser.WatchAPIHostPorts", "Firewaller.Exposure", "Firewaller.WatchExposure", "InstanceMutater.ProfileWork",
	"InstanceMutater.WatchProfiles", "Provisioner.DropLeftovers", "Provisioner.Machines", "Provisioner.Leftovers",
	"Provisioner.WatchMachines",
	"Provisioner.ModelConfig", "Provisioner.WatchAgents", "Provisioner.WatchForModelConfigChanges", "ApplicationScaler.WatchMinUnits", "Rollouts.WatchRollouts",
	"CrossModelRelations.Connect", "CrossModelRelations.End", "CrossModelRelations.Members", "CrossModelRelations.Mirror", "CrossModelRelations.Secret",
	"CrossModelRelations.OfferStatus", "CrossModelRelations.Relations", "CrossModelRelations.WatchOffer",
	"StorageProvisioner.DropFilesystem", "StorageProvisioner.StorageWork", "StorageProvisioner.WatchStorage"}

// aboutService reports whether an agents' method is about a service.
func aboutService(r facades.Route) bool {
	return r.Facade == "ApplicationScaler" || r.Facade == "Rollouts"
}

// aboutStorage reports whether an agents' method is about storage.
func aboutStorage(r facades.Route) bool { return r.Facade == "StorageProvisioner" }

// aboutMachine reports whether an agents' method is about a machine.
func aboutMachine(r facades.Route) bool {
	return r.Facade == "Machiner" || r.Facade == "MachineActions" || r.Facade == "Agent" || r.Facade == "Provisioner" ||
		r.Facade == "HostFirewaller" || r.Facade == "InstanceMutater" ||
		r.Facade == "Deployer" && (r.Method == "DeployedUnits" || r.Method == "WatchDeployed")
}

// refused reports whether an error says that the caller must not make the call.
func refused(err error) bool {
	return errors.Is(err, entity.Unauthorized) || errors.Is(err, entity.NotSupported) &&
		strings.HasPrefix(err.Error(), "facade ")
}

// Every caller calls every method of the route table. Callers without the right are refused,
// and change nothing.
func TestAccessToMethods(t *testing.T) {
	t.Parallel()
	destroyed := 0
	w := newWorld(t, func(c *Config) {
		c.Limits = DefaultLimits()
		c.Limits.Logins = 100 // the stranger tries Login among other methods
	}).populate()
	w.server.backend.DestroyController = func(context.Context) error { destroyed++; return nil }
	// A new password would end the connections of callers to come.
	for _, facade := range []string{"Deployer", "Provisioner"} {
		w.server.table.Route(facade, 1, "NewPassword").Handler = facades.Do(
			func(context.Context, *facades.Caller, params.Entity) (facades.None, error) {
				return facades.None{}, nil
			})
	}
	u, err := w.st.Unit(t.Context(), "mysql/0")
	if err != nil {
		t.Fatal(err)
	}
	mysql, err := w.st.Service(t.Context(), "mysql")
	w.ok(err)
	w.ok(mysql.SetConfig(t.Context(), map[string]any{"trust": true})) // CloudSpec refuses others
	if u.Machine() != "0" {
		t.Fatalf("mysql/0 is on machine %q; the table above expects it on 0", u.Machine())
	}
	relations, err := u.Relations(t.Context())
	if err != nil || len(relations) != 1 {
		t.Fatalf("mysql/0 has relations %v, %v", relations, err)
	}

	machine := func(id string) *rawConn {
		tag := entity.MachineTag(id)
		return w.raw(w.modelPath()).login(tag, w.passwords[tag], nonce)
	}
	unit := func(name string) *rawConn {
		tag := entity.UnitTag(name)
		return w.raw(w.modelPath()).login(tag, w.passwords[tag], "")
	}
	wrongConn := w.raw(w.modelPath())
	reply := wrongConn.call("Admin", 3, "Login",
		params.LoginRequest{AuthTag: params.TagOf(entity.UnitTag("mysql/0")), Credentials: "guess"})
	if !errors.Is(reply.Err(), entity.Unauthorized) || reply.Err().Error() != "invalid entity name or password" {
		t.Fatalf("a wrong password: %v", reply.Err())
	}
	token, err := w.server.controller.NewConsumer(t.Context(), statetest.Admin, w.st.UUID(), "deadbeef-0000-4000-8000-00000000dead")
	w.ok(err)
	tokenID, err := controller.TokenID(token)
	w.ok(err)
	consumer := w.raw(w.modelPath()).login(entity.ConsumerTag(tokenID), token, "")
	// Callers with the fewest rights come first, so that they find everything in place.
	callers := []struct {
		name string
		conn *rawConn
	}{
		{"stranger", w.raw(w.modelPath())},
		{"wrong", wrongConn},
		{"u1", unit("mysql/1")},
		{"m1", machine("1")},
		{"consumer", consumer},
		{"manager", w.rawMemory(w.modelPath()).login(entity.MachineTag("0"), w.manager, "controller")},
		{"m0", machine("0")},
		{"u0", unit("mysql/0")},
		{"admin", w.raw(w.modelPath()).login(entity.UserTag(statetest.Admin), statetest.Password, "")},
	}
	atTheController := map[string]*rawConn{
		"admin":    w.raw("/api").login(entity.UserTag(statetest.Admin), statetest.Password, ""),
		"stranger": w.raw("/api"),
	}

	seen := map[string]bool{}
	for _, r := range routes() {
		name := r.Facade + "." + r.Method
		key, _ := callersOf(r)
		if key == "" {
			t.Errorf("mayCall does not say who may call %s", name)
		}
		seen[key] = true
		if r.Who&(facades.MachineAgent|facades.UnitAgent|facades.ControllerAgent|facades.Consumer) != 0 && r.Own == nil && r.Who&facades.LoggedIn != facades.LoggedIn {
			t.Errorf("%s is for agents and has no ownCheck", name)
		}
	}
	for name := range mayCall {
		if !seen[name] {
			t.Errorf("mayCall has %s, which is no method", name)
		}
	}

	before, err := w.st.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, caller := range callers {
		for _, r := range routes() {
			name := r.Facade + "." + r.Method
			_, callers := callersOf(r)
			allowed := slices.Contains(strings.Fields(callers), caller.name)
			conn := caller.conn
			if r.At == facades.AtController {
				if other := atTheController[caller.name]; other != nil {
					conn = other
				}
			}
			about := params.Entity{Tag: params.TagOf(entity.UnitTag("mysql/0"))}
			if aboutService(r) {
				about.Tag = params.TagOf(entity.ServiceTag("mysql"))
			} else if aboutStorage(r) {
				about.Tag = params.TagOf(entity.StorageTag("data/0"))
			} else if aboutMachine(r) {
				about.Tag = params.TagOf(entity.MachineTag("0"))
			}
			// One of the unit's relations, for the methods that take one.
			var args any = map[string]any{"tag": about.Tag, "relation": relations[0].ID, "remote": "wordpress/0"}
			switch {
			case name == "Controller.DestroyController":
				args = params.DestroyControllerArgs{DestroyModels: true}
			case r.Who&(facades.MachineAgent|facades.UnitAgent|facades.ControllerAgent) == 0 || r.Who&facades.LoggedIn == facades.LoggedIn:
				args = struct{}{} // methods for users or for everyone
			}
			if name == "Admin.Login" && caller.name != "stranger" && caller.name != "wrong" {
				continue // they have
			}
			err := conn.call(r.Facade, r.Version, r.Method, args).Err()
			if name == "Admin.Login" || name == "Admin.Register" && allowed {
				if !errors.Is(err, entity.Unauthorized) {
					t.Errorf("%s: a login without a credential: %v", caller.name, err)
				}
				continue
			}
			if got := !refused(err); got != allowed {
				t.Errorf("%s calls %s: allowed %v, want %v (%v)", caller.name, name, got, allowed, err)
			}
			if !allowed && (caller.name == "stranger" || caller.name == "wrong") &&
				(err == nil || err.Error() != "not logged in") {
				t.Errorf("%s calls %s and gets %v", caller.name, name, err)
			}
			// An agent must name itself.
			if allowed && r.Own != nil && !slices.Contains(aboutNothing, name) {
				if err := conn.call(r.Facade, r.Version, r.Method, struct{}{}).Err(); !refused(err) {
					t.Errorf("%s calls %s without a tag: %v", caller.name, name, err)
				}
			}
		}
		if caller.name == "m1" {
			after, err := w.st.Status(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			after.At = before.At
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("callers without rights have changed the model: %s", diff)
			}
		}
	}
	if destroyed != 1 {
		t.Errorf("the controller was destroyed %d times", destroyed)
	}
}

// The endpoints of plain HTTP have a list of their own. Every caller uses each of them.
func TestAccessToEndpoints(t *testing.T) {
	t.Parallel()
	mayUse := map[string]string{
		"POST /charms":         "admin",
		"GET /charms":          "admin u0",
		"PUT /charms/{object}": "admin",
		"GET /log":             "admin manager",
		"POST /tools":          "", // only at the controller's own model
		"GET /backups":         "", // as well
		"GET /applications/{service}/resources/{resource}": "admin",
		"PUT /applications/{service}/resources/{resource}": "admin",
		"GET /units/{unit}/resources/{resource}":           "u0",
		"GET /logsink":                                     "m0 u0 manager",
	}
	w := newWorld(t).populate()
	type caller struct {
		tag      entity.Tag
		password string
		nonce    string
	}
	callers := map[string]*caller{
		"stranger": nil,
		"wrong":    {entity.UserTag(statetest.Admin), "guess", ""},
		"unknown":  {entity.UnitTag("mysql/99"), "guess", ""},
		"admin":    {entity.UserTag(statetest.Admin), statetest.Password, ""},
		"m0":       {entity.MachineTag("0"), w.passwords[entity.MachineTag("0")], nonce},
		"m0wrong":  {entity.MachineTag("0"), w.passwords[entity.MachineTag("0")], "another nonce"},
		"u0":       {entity.UnitTag("mysql/0"), w.passwords[entity.UnitTag("mysql/0")], ""},
		"manager":  {entity.MachineTag("0"), w.manager, "controller"},
	}
	hc := &http.Client{Transport: &http.Transport{TLSClientConfig: clientTLS(), DisableKeepAlives: true}}
	for _, e := range endpoints() {
		name := e.method + " " + e.path
		if _, ok := mayUse[name]; !ok {
			t.Errorf("mayUse does not say who may use %s", name)
		}
		for who, c := range callers {
			path := strings.NewReplacer("{service}", "mysql", "{unit}", "unit-mysql-0", "{resource}", "x").Replace(e.path)
			target := "https://" + w.address + "/model/" + w.st.UUID() + path + "?url=" + url.QueryEscape(w.charms["mysql"])
			req, err := http.NewRequest(e.method, target, bytes.NewReader([]byte("no zip")))
			if err != nil {
				t.Fatal(err)
			}
			if c != nil {
				req.SetBasicAuth(params.TagOf(c.tag).String(), c.password)
				req.Header.Set(params.NonceHeader, c.nonce)
			}
			response, err := hc.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			var answer params.CharmsResponse
			_ = json.NewDecoder(response.Body).Decode(&answer) // a charm is no JSON
			response.Body.Close()
			got := response.StatusCode != http.StatusUnauthorized && response.StatusCode != http.StatusForbidden
			if want := slices.Contains(strings.Fields(mayUse[name]), who); got != want {
				t.Errorf("%s uses %s: allowed %v, want %v (%s %s)", who, name, got, want, response.Status, answer.Error)
			}
			if who == "stranger" && response.StatusCode != http.StatusUnauthorized {
				t.Errorf("%s uses %s: %s", who, name, response.Status)
			}
		}
	}
}

// The facades in the reply to a login are those that the caller can use.
func TestLoginListsFacades(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	list := func(r *rawConn, tag entity.Tag, password, nonce string) string {
		t.Helper()
		var result params.LoginResult
		reply := r.call("Admin", 3, "Login",
			params.LoginRequest{AuthTag: params.TagOf(tag), Credentials: password, Nonce: nonce})
		if err := reply.Err(); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(reply.Response, &result); err != nil {
			t.Fatal(err)
		}
		if result.ServerVersion != entity.JujuVersion || result.Release != "1.2.3" || result.ControllerTag.ID != w.controller.UUID() ||
			len(result.Servers) != 1 || result.Servers[0][0].Value != "127.0.0.1" {
			t.Errorf("%s gets %+v", tag, result)
		}
		var names []string
		for _, f := range result.Facades {
			names = append(names, f.Name)
		}
		sort.Strings(names)
		return strings.Join(names, " ")
	}
	u0, m0, admin := entity.UnitTag("mysql/0"), entity.MachineTag("0"), entity.UserTag(statetest.Admin)
	for _, test := range []struct{ who, got, want string }{
		{"unit", list(w.raw(w.modelPath()), u0, w.passwords[u0], ""),
			"APIAddresser Admin Agent Deployer LeadershipService Pinger Uniter Watcher"},
		{"machine", list(w.raw(w.modelPath()), m0, w.passwords[m0], nonce), "APIAddresser Admin Agent Deployer HostFirewaller MachineActions Machiner Pinger Watcher"},
		{"manager", list(w.raw(w.modelPath()), m0, w.manager, "controller"),
			"Admin ApplicationScaler Firewaller InstanceMutater Pinger Provisioner Rollouts StorageProvisioner Watcher"},
		{"user", list(w.raw(w.modelPath()), admin, statetest.Password, ""),
			"Action Admin AllWatcher Annotations Application ApplicationOffers Backups Block Bundle Charms Client Explain KeyManager MachineManager MetricsDebug " +
				"ModelConfig ModelManager Payloads Pinger Plans Resources SSHClient SecretBackends Secrets Spaces Status Storage StringsWatcher Subnets Tokens Watcher"},
		{"user at the controller", list(w.raw("/api"), admin, statetest.Password, ""),
			"Admin ApplicationOffers AuditLog Cloud Controller HighAvailability Integrity ModelManager ModelSummaryWatcher ModelUpgrader Pinger SecretBackends Status Tokens UserManager Watcher"},
		{"manager at home", list(w.raw("/model/"+w.server.controllerModel.UUID()+"/api"), m0, w.manager, "controller"),
			"APIAddresser Admin Agent ApplicationScaler Deployer Firewaller HostFirewaller InstanceMutater MachineActions Machiner Pinger Provisioner Rollouts StorageProvisioner Watcher"},
	} {
		if test.got != test.want {
			t.Errorf("%s: %s\nwant %s", test.who, test.got, test.want)
		}
	}
}
