package facades_test

import (
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"juju/apiserver/client"
	"juju/apiserver/params"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/limits"
	"juju/state/statetest"
)

const withResource = "{name: site, summary: s, description: d, resources: {pages: {type: file, filename: pages.tgz}}}"

// What a user is about to upload for a service is no other user's to exchange or to take, except an administrator's.
func TestUploadsAreOfWhoAnnouncedThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	ctx := t.Context()
	charm := statetest.Charm(t, w.st, withResource)
	for _, name := range []string{"bob", "eve"} {
		_, err := w.controller.AddUser(ctx, controller.AddUserParams{Name: name, Password: "a long password", Creator: statetest.Admin})
		w.ok(err)
		w.ok(w.controller.GrantModel(ctx, w.st.UUID(), name, controller.AccessWrite, statetest.Admin))
	}
	bob, eve := w.user("bob", w.st.UUID()), w.user("eve", w.st.UUID())
	var pending params.AddPendingResourcesResult
	w.ok(json.Unmarshal(bob.call("Resources", 3, "AddPendingResources", params.AddPendingResources{
		Entity: params.Entity{Tag: params.TagOf(entity.ServiceTag("site"))}, URL: charm,
		Resources: []params.CharmResource{{Name: "pages", Type: "file", Path: "pages.tgz", Origin: "upload"}}}).Response, &pending))
	taken := map[string]string{"pages": pending.PendingIDs[0]}
	put := func(who *caller) error {
		_, err := who.request("PUT", "/applications/site/resources/pages?pendingid="+taken["pages"], "evil")
		return err
	}
	deploy := func(who *caller) error {
		var all params.DeployResults
		w.ok(json.Unmarshal(who.call("Application", 19, "Deploy", params.ApplicationsDeploy{Applications: []params.ApplicationDeploy{{
			ApplicationName: "site", CharmURL: charm, NumUnits: 1, Resources: taken}}}).Response, &all))
		return params.FromError(all.Results[0].Error)
	}
	upgrade := func(who *caller) error {
		return who.call("Application", 19, "SetCharm", params.ApplicationSetCharm{ApplicationName: "site", CharmURL: charm, ResourceIDs: taken}).Err()
	}
	refused := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, entity.Unauthorized) || !strings.Contains(err.Error(), `the upload of resource "pages" of service "site" is user "bob"'s`) {
			t.Errorf("another user's %s: %v", what, err)
		}
	}
	refused("upload", put(eve))
	refused("deployment", deploy(eve))
	refused("upgrade", upgrade(eve))
	w.ok(put(bob))
	w.ok(put(w.admin()))
	if all, err := w.st.Resources().Pending(ctx); err != nil || len(all) != 1 || all[0].User != "bob" {
		t.Errorf("pending after the administrator's upload: %+v, %v", all, err)
	}
	w.ok(deploy(bob))
}

// A client of Juju's deploys a service with a resource: it asks for an id, uploads the file with its
// fingerprint, and names the id when it deploys. Then it uploads another.
func TestResourcesAsJujusClientsUploadThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	w.backend.Limits.Resource = 10
	admin := w.admin()
	charm := statetest.Charm(t, w.st, withResource)
	about := params.Entity{Tag: params.TagOf(entity.ServiceTag("site"))}
	call := func(facade string, version int, method string, args, result any) {
		t.Helper()
		reply := admin.call(facade, version, method, args)
		if err := reply.Err(); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(reply.Response, result); err != nil {
			t.Fatal(err)
		}
	}
	var pending params.AddPendingResourcesResult
	call("Resources", 3, "AddPendingResources", params.AddPendingResources{Entity: about, URL: charm,
		Resources: []params.CharmResource{{Name: "pages", Type: "file", Path: "pages.tgz", Origin: "upload"}}}, &pending)
	put := func(query, content, sum, says string) {
		t.Helper()
		if sum == "" {
			hash := sha512.Sum384([]byte(content))
			sum = hex.EncodeToString(hash[:])
		}
		body, err := admin.request("PUT", "/applications/site/resources/pages"+query, content,
			"Content-Type", "application/octet-stream", params.SHA384Header, sum)
		if text := fmt.Sprint(body, err); !strings.Contains(text, says) {
			t.Errorf("PUT %s is answered with %s, want %s", query, text, says)
		}
	}
	put("?pendingid="+pending.PendingIDs[0], "one", strings.Repeat("0", 96), "the file has SHA-384")
	put("?pendingid="+pending.PendingIDs[0], strings.Repeat("x", 11), "", "file is larger than 10 bytes")
	put("?pendingid=other", "one", "", "not found")
	put("", "one", "", `service "site" not found`)
	put("?pendingid="+pending.PendingIDs[0], "one", "", `"name":"pages"`)
	var deployed params.DeployResults
	call("Application", 19, "Deploy", params.ApplicationsDeploy{Applications: []params.ApplicationDeploy{{
		ApplicationName: "site", CharmURL: charm, NumUnits: 11,
		Resources: map[string]string{"pages": pending.PendingIDs[0]}}}}, &deployed)
	if e := deployed.Results[0]; e.Error != nil || len(e.Warnings) > 0 {
		t.Fatalf("%+v", e)
	}
	put("", "two", "", `"username":"admin"`)

	// The agents of its units fetch it; others' do not.
	get := func(who *caller, path, says, hint string) {
		t.Helper()
		body, err := who.request("GET", path, "")
		if text := body; err != nil && err.Error() != says || err == nil && text != says || entity.Hint(err) != hint {
			t.Errorf("%s gets %s: %q, %v (%s), want %s", who.id.Tag, path, body, err, entity.Hint(err), says)
		}
	}
	mine, other := w.agent(entity.UnitTag("site/0")), w.agent(entity.UnitTag("mysql/0"))
	get(admin, "/applications/site/resources/pages", "two", "")
	get(mine, "/units/unit-site-0/resources/pages", "two", "")
	get(mine, "/units/unit-site-1/resources/pages", "permission denied",
		`The agent of unit-site-0 can request this only for itself, not for "unit-site-1"`)
	get(mine, "/units/unit-site-0/resources/none", `charm "site" has no resource "none"`, "")
	get(other, "/units/unit-site-0/resources/pages", "permission denied",
		`The agent of unit-mysql-0 can request this only for itself, not for "unit-site-0"`)

	var listed params.ResourcesResults
	call("Resources", 3, "ListResources", params.Entities{Entities: []params.Entity{about}}, &listed)
	r := listed.Results[0]
	want := sha512.Sum384([]byte("two"))
	if len(r.Resources) != 1 || string(r.Resources[0].Fingerprint) != string(want[:]) || r.Resources[0].ID != "site/pages" ||
		len(r.UnitResources) != 11 {
		t.Fatalf("%+v", r)
	}
	for i, u := range r.UnitResources {
		fetched := 0
		if i == 0 {
			fetched = 1
		}
		if name := fmt.Sprint("site/", i); u.Tag.Tag != entity.UnitTag(name) || len(u.Resources) != fetched {
			t.Errorf("in place of %s, which has fetched %d, there is %+v", name, fetched, u)
		}
	}
}

// A user is told which resources have no file.
func TestMissingResourcesAreNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	conn := w.admin().client()
	charm := statetest.Charm(t, w.st, withResource)
	warnings, err := conn.Deploy(t.Context(), client.DeployArgs{Service: "site", CharmURL: charm})
	want := `resource "pages" was not uploaded: hooks that ask for it fail until juju attach-resource site pages=FILE`
	if err != nil || len(warnings) != 1 || warnings[0] != want {
		t.Errorf("%q, %v", warnings, err)
	}
	if err := conn.UploadResource(t.Context(), "site", "pages", "", strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
	warnings, err = conn.SetCharm(t.Context(), client.SetCharmArgs{Service: "site", CharmURL: charm, ForceUnits: true})
	if err != nil || len(warnings) > 0 {
		t.Errorf("%q, %v", warnings, err)
	}
}

// One user's pending resources keep no other from uploading. Only an administrator of the model removes those of others.
func TestOnlyAdminsClearOthersPendingResources(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	charm := statetest.Charm(t, w.st, withResource)
	w.addUser("eve")
	w.ok(w.controller.GrantModel(t.Context(), w.st.UUID(), "eve", "write", ""))
	eve := w.user("eve", w.st.UUID()).client()
	admin := w.admin().client()
	for i := range limits.PendingResources.Max {
		if _, err := eve.AddPendingResources(t.Context(), fmt.Sprint("site", i), charm, "pages"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := eve.AddPendingResources(t.Context(), "site", charm, "pages"); !errors.Is(err, entity.Invalid) {
		t.Errorf("one too many: %v", err)
	}
	if _, err := admin.AddPendingResources(t.Context(), "site", charm, "pages"); err != nil {
		t.Errorf("another user: %v", err)
	}
	if _, err := eve.ClearPendingResources(t.Context(), nil, true); !errors.Is(err, entity.Unauthorized) {
		t.Errorf("eve clears everyone's: %v", err)
	}
	all, err := eve.ClearPendingResources(t.Context(), []string{"site3"}, false)
	if err != nil || len(all) != 1 || all[0].Service != "site3" || all[0].User != "eve" {
		t.Errorf("eve clears her own: %+v, %v", all, err)
	}
	if all, err = admin.ClearPendingResources(t.Context(), nil, true); err != nil || len(all) != limits.PendingResources.Max {
		t.Errorf("the administrator clears %d, %v", len(all), err)
	}
	if all, err = admin.PendingResources(t.Context()); err != nil || len(all) > 0 {
		t.Errorf("left are %+v, %v", all, err)
	}
}
