package apiserver

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"juju/apiserver/client"
	"juju/apiserver/facades"
	"juju/apiserver/params"
	"juju/doc/tools/verify"
	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/statetest"
)

// audited returns the entries of the audit log since the last call, one line each.
func (w *world) audited() (lines []string) {
	w.Helper()
	all, err := w.controller.AuditLog(w.Context(), entity.AuditFilter{Limit: 10000})
	w.ok(err)
	for _, e := range all[w.auditedBefore:] {
		if time.Since(e.Time) > verify.Patience || !strings.HasPrefix(e.From, "127.0.0.1:") {
			w.Errorf("an entry is of %v, from %q", e.Time, e.From)
		}
		var models []string
		for _, m := range e.Models {
			models = append(models, m.Owner+"/"+m.Name)
		}
		lines = append(lines, fmt.Sprintf("%s %v %s %s: %s", e.User, models, e.Call, e.Args, e.Error))
	}
	w.auditedBefore = len(all)
	return lines
}

func (w *world) expectAudited(want ...string) {
	w.Helper()
	if got := w.audited(); !slices.Equal(got, want) {
		w.Errorf("the audit log has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Every method that changes something leaves one entry, and one that reads leaves none. They are told apart by hand, in
// forUsers.
func TestEveryChangeIsAudited(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	w.addUser("bob")
	w.ok(w.controller.GrantModel(t.Context(), w.st.UUID(), "bob", "read", ""))
	model, controller := w.user("bob", w.modelPath()), w.user("bob", "/api")
	manager := w.raw(w.modelPath()).login(entity.MachineTag("0"), w.passwords[entity.MachineTag("0")], nonce)
	w.audited()
	for _, r := range routes() {
		if r.Method == "Next" { // it waits
			continue
		}
		name, conn := r.Facade+"."+r.Method, model
		_, block, forUsers := strings.Cut(forUsers[name], " ")
		changes := forUsers && name != "Application.CheckDeploy" && name != "Plans.DryRun" && (block != "-" || strings.Contains(r.Method, "SwitchBlock") || r.Method == "RemoveBlocks" || r.Facade == "Tokens" && r.Method != "List")
		if !forUsers && r.Who&facades.Unauthenticated == 0 && r.Facade != "Pinger" && r.Facade != "Watcher" {
			conn = manager // agents' calls are not the users'
		}
		if r.At == facades.AtController {
			conn = controller
		}
		conn.call(r.Facade, r.Version, r.Method, struct{}{})
		got := w.audited()
		if !changes && len(got) > 0 || changes && (len(got) != 1 || !strings.HasPrefix(got[0], "bob ") || !strings.Contains(got[0], " "+name+" ")) {
			t.Errorf("a call of %s leaves %q", name, got)
		}
	}
}

// Entries tell who did what to which model and what came of it, without secrets.
func TestAuditEntries(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	url := statetest.Charm(t, w.st, `{name: app, summary: s, description: d}`,
		"config.yaml", "options: {title: {type: string}, vault: {type: secret}}\n")
	charm := `"charm-url":"` + url + `"`
	w.passwords[entity.UserTag(statetest.Admin)] = statetest.Password
	model, top := w.admin(), w.user(statetest.Admin, "/api")
	w.expectAudited() // logins are no changes
	deploy := func(service string, config map[string]string) params.ApplicationDeploy {
		return params.ApplicationDeploy{ApplicationName: service, CharmURL: url, NumUnits: 1, Config: config}
	}
	model.call("Application", 19, "Deploy", params.ApplicationsDeploy{Applications: []params.ApplicationDeploy{
		deploy("one", map[string]string{"title": "hi", "vault": "no reference"}), deploy("two", map[string]string{"title": "hi"})}})
	model.call("Application", 19, "SetConfigs", params.ConfigSetArgs{Args: []params.ConfigSet{
		{ApplicationName: "two", ConfigYAML: "two: {title: ho, vault: 'secret:9m4e2mr0ui3e8a215n4g'}"}}})
	model.call("Application", 19, "AddUnits", []int{1})
	w.expectAudited(
		`admin [admin/default] Application.Deploy {"applications":[{"application":"one",`+charm+`,"config":{"title":"hi",`+
			`"vault":"(withheld)"},"num-units":1},{"application":"two",`+charm+`,"config":{"title":"hi"},"num-units":1}]}: `+
			`option "vault": secret URI scheme missing not valid`,
		`admin [admin/default] Application.SetConfigs {"Args":[{"application":"two","config-yaml":{"two":{"title":"ho",`+
			`"vault":"(withheld)"}}}]}: `,
		`admin [admin/default] Application.AddUnits [1]: cannot read the request: it can't be an array`)

	// What is refused is listed too.
	w.addUser("bob")
	w.ok(w.controller.GrantModel(t.Context(), w.st.UUID(), "bob", "read", ""))
	add := params.AddApplicationUnits{ApplicationName: "two", NumUnits: 1}
	w.user("bob", w.modelPath()).call("Application", 19, "AddUnits", add)
	model.call("Block", 2, "SwitchBlockOn", params.BlockSwitchParams{Type: "BlockChange", Message: "not now"})
	model.call("Application", 19, "AddUnits", add)
	if r, _, err := w.post(t.Context(), statetest.Admin, strings.NewReader("no zip")); err != nil || r.StatusCode == 200 {
		t.Fatal(r, err)
	}
	w.ok(w.st.Blocks().SwitchOff(t.Context(), entity.BlockChange))
	w.expectAudited(
		`bob [admin/default] Application.AddUnits {"application":"two","num-units":1}: permission denied`,
		`admin [admin/default] Block.SwitchBlockOn {"message":"not now","type":"BlockChange"}: `,
		`admin [admin/default] Application.AddUnits {"application":"two","num-units":1}: not now`,
		`admin [admin/default] POST /charms : not now`)
	charmFile, err := os.ReadFile(statetest.CharmArchive(t, `{name: other, summary: s, description: d}`))
	w.ok(err)
	if r, _, err := w.post(t.Context(), statetest.Admin, bytes.NewReader(charmFile)); err != nil || r.StatusCode != 200 {
		t.Fatal(r, err)
	}
	w.expectAudited(`admin [admin/default] POST /charms : `)

	// At the controller, the models are those that a call names.
	var created params.ModelInfo
	w.ok(top.do("ModelManager", 10, "CreateModel", params.ModelCreateArgs{Name: "new",
		OwnerTag: params.TagOf(entity.UserTag(statetest.Admin))}, &created))
	tag := params.TagOf(entity.ModelTag(created.UUID))
	w.ok(top.do("ModelManager", 10, "DestroyModels", params.DestroyModelsParams{Models: []params.DestroyModelParams{{ModelTag: tag}}}, nil))
	w.expectAudited(
		`admin [admin/new] ModelManager.CreateModel {"name":"new","owner-tag":"user-admin"}: `,
		`admin [admin/new] ModelManager.DestroyModels {"models":[{"model-tag":"`+tag.String()+`"}]}: `)

	// Passwords and keys are not in it, and strangers can't fill it.
	var added params.AddUserResults
	w.ok(top.do("UserManager", 3, "AddUser", params.AddUsers{Users: []params.AddUser{{Username: "eve"}, {Username: "kim", Password: "kimkimkim"}}}, &added))
	eve := params.RegisterRequest{User: params.TagOf(entity.UserTag("eve")), Key: []byte("guess"), Password: "eveeveeve"}
	stranger := w.raw("/api")
	stranger.call("Admin", 3, "Register", eve)
	eve.Key = added.Results[0].SecretKey
	w.ok(stranger.do("Admin", 3, "Register", eve, nil))
	w.expectAudited(
		`admin [] UserManager.AddUser {"users":[{"username":"eve"},{"password":"(withheld)","username":"kim"}]}: `,
		`eve [] Admin.Register {"password":"(withheld)","secret-key":"(withheld)","user":"user-eve"}: `)
}

// Changes that agents make are not in the log: they make them all the time, on behalf of users.
func TestChangesOfAgentsAreNotAudited(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	unit := entity.UnitTag("mysql/0")
	w.ok(w.uniter(unit).CommitHook(t.Context(), unit, entity.HookChanges{OpenPorts: []entity.PortRange{{From: 80, To: 80, Protocol: "tcp"}}}))
	w.expectAudited()
}

// Superusers read the log.
func TestAuditLogIsRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	model := w.dial(w.adminInfo(w.st.UUID()))
	top := w.dial(w.adminInfo(""))
	for _, service := range []string{"mysql", "nosuch"} {
		_ = model.SetMinUnits(t.Context(), service, 1)
	}
	list := func(q client.AuditQuery) (said string) {
		t.Helper()
		entries, err := top.AuditLog(t.Context(), q)
		w.ok(err)
		for _, e := range entries {
			said += fmt.Sprintf("%s %s;", e.Args, e.Error)
		}
		return said
	}
	all := `{"application":"mysql","min-units":1} ;{"application":"nosuch","min-units":1} ` +
		`service "nosuch" not found;`
	query := func(limit int, ago time.Duration) client.AuditQuery {
		return client.AuditQuery{AuditFilter: entity.AuditFilter{Limit: limit}, Ago: ago}
	}
	if got := list(query(2, 0)); got != all {
		t.Errorf("the log is %s", got)
	}
	if got := list(query(1, time.Hour)); !strings.HasSuffix(all, got) || got == "" {
		t.Errorf("the last entry is %s", got)
	}
	future := query(9, 0)
	future.Since = time.Now().Add(time.Hour)
	if got := list(future); got != "" {
		t.Errorf("in future there is %s", got)
	}
	if _, err := top.AuditLog(t.Context(), query(0, 0)); err == nil || err.Error() != "limit: 0 is not between 1 and 10000" {
		t.Errorf("without a limit: %v", err)
	}
}

// When a method's change is on disk, its entry is too, so no other sync is needed.
func TestAuditEntryIsWrittenBeforeTheBarrier(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	written := 0
	w.server.table.Route("Application", 19, "Unexpose").Handler = facades.Act(
		func(ctx context.Context, c *facades.Caller, p params.ApplicationUnexpose) error {
			svc, err := c.Model.Service(ctx, p.ApplicationName)
			if err == nil {
				err = svc.SetMinUnits(ctx, 1)
				written = len(w.audited())
			}
			return err
		})
	w.ok(w.admin().do("Application", 19, "Unexpose", params.ApplicationUnexpose{ApplicationName: "mysql"}, nil))
	if after := len(w.audited()); written != 1 || after != 0 {
		t.Errorf("%d entries are written with the change, and %d after it", written, after)
	}
}

// A change that can't be written into the log is not acknowledged.
func TestAChangeThatIsNotInTheLogFails(t *testing.T) {
	t.Parallel()
	sizes := state.DefaultSizes
	sizes.Audit = 1 // no entry fits
	c, st := statetest.ControllerWith(t, controller.Options{Sizes: sizes})
	w := newWorldOf(t, c, st).populate()
	for _, min := range []int{1, 1} { // the second time, nothing changes
		err := w.dial(w.adminInfo(st.UUID())).SetMinUnits(t.Context(), "mysql", min)
		if err == nil || err.Error() != params.Internal {
			t.Errorf("the change returns %v", err)
		}
	}
}

// A change whose entry could not be written with it is in the log when it is acknowledged.
func TestAnEntryIsWrittenAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := &conn{server: w.server, ctx: t.Context(), remote: "127.0.0.1:1"}
	who := &facades.Caller{Identity: facades.Identity{Tag: entity.UserTag("admin"), Roles: facades.Writer}, Model: w.st}
	entry := c.auditing(who, w.server.table.Route("Application", 19, "Unexpose"),
		&params.Request{Params: []byte(`{"application":"mysql"}`)}, time.Now())
	entry.failed = entity.Errorf(entity.Unavailable, "the store is away")
	w.ok(entry.end(struct{}{}, nil))
	w.expectAudited(`admin [admin/default] Application.Unexpose {"application":"mysql"}: `)
}

// A user whose calls fail, for lack of rights or otherwise, can't push the entries of changes out of the log: of more than
// so many in an hour only the number is kept.
func TestFailedCallsDoNotFillTheAuditLog(t *testing.T) {
	t.Parallel()
	var f failedCalls
	entry := func(user, failure string, at time.Duration) entity.AuditEntry {
		return entity.AuditEntry{User: user, Time: time.Unix(0, 0).Add(at), Error: failure}
	}
	lists := func(e entity.AuditEntry, wanted string) {
		t.Helper()
		if listed := f.lists(&e); listed != (wanted != "-") || listed && e.Error != wanted {
			t.Errorf("%s after %v: listed %v, %q, want %q", e.User, e.Time.UTC(), listed, e.Error, wanted)
		}
	}
	for range maxFailed {
		lists(entry("bob", "permission denied", 0), "permission denied")
	}
	lists(entry("bob", "permission denied", failedTime-1), "-")
	lists(entry("bob", "not found", failedTime-1), "-")
	lists(entry("bob", "", failedTime-1), "") // a change
	lists(entry("eve", "permission denied", failedTime-1), "permission denied")
	lists(entry("bob", "not found", failedTime), "not found (before it, 2 failed calls of the user are not listed)")
	lists(entry("bob", "not found", failedTime), "not found")

	w := newWorld(t)
	w.addUser("bob")
	w.ok(w.controller.GrantModel(t.Context(), w.st.UUID(), "bob", "read", ""))
	bob := w.user("bob", w.modelPath())
	w.audited()
	for range maxFailed + 5 {
		bob.call("Application", 19, "AddUnits", params.AddApplicationUnits{ApplicationName: "two", NumUnits: 1})
	}
	if got := len(w.audited()); got != maxFailed {
		t.Errorf("the log has %d entries of failed calls, want %d", got, maxFailed)
	}
	w.ok(w.controller.GrantModel(t.Context(), w.st.UUID(), "bob", "admin", ""))
	bob = w.user("bob", w.modelPath())
	bob.call("Block", 2, "SwitchBlockOn", params.BlockSwitchParams{Type: "BlockChange"})
	w.expectAudited(`bob [admin/default] Block.SwitchBlockOn {"type":"BlockChange"}: `)
}
