package apiserver

import (
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"juju/apiserver/client"
	"juju/apiserver/params"
	"juju/state/entity"
	"juju/state/limits"
	"juju/state/statetest"
)

// request makes a plain HTTP request below the model, as other clients do, and returns the
// status and the body.
func (w *world) request(method, path, as, password, content string, header ...string) (int, string) {
	w.Helper()
	r, err := http.NewRequestWithContext(w.Context(), method, "https://"+w.address+"/model/"+w.st.UUID()+path,
		strings.NewReader(content))
	if err != nil {
		w.Fatal(err)
	}
	r.SetBasicAuth(as, password)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	hc := &http.Client{Transport: &http.Transport{TLSClientConfig: clientTLS(), DisableKeepAlives: true}}
	response, err := hc.Do(r)
	if err != nil {
		w.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		w.Fatal(err)
	}
	return response.StatusCode, string(body)
}

const withResource = "{name: site, summary: s, description: d, resources: {pages: {type: file, filename: pages.tgz}}}"

// A client of Juju's deploys a service with a resource: it asks for an id, uploads the file with its
// fingerprint, and names the id when it deploys. Then it uploads another.
func TestResourcesAsJujusClientsUploadThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limited(func(l *Limits) { l.Resource = 10 })).populate()
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
	user := params.TagOf(entity.UserTag(statetest.Admin)).String()
	put := func(query, content, sum string, want int, says string) {
		t.Helper()
		if sum == "" {
			hash := sha512.Sum384([]byte(content))
			sum = hex.EncodeToString(hash[:])
		}
		status, body := w.request("PUT", "/applications/site/resources/pages"+query, user, statetest.Password, content,
			"Content-Type", "application/octet-stream", params.SHA384Header, sum)
		if status != want || !strings.Contains(body, says) {
			t.Errorf("PUT %s is answered with %d %s, want %d with %s", query, status, body, want, says)
		}
	}
	put("?pendingid="+pending.PendingIDs[0], "one", strings.Repeat("0", 96), 400, "the file has SHA-384")
	put("?pendingid="+pending.PendingIDs[0], strings.Repeat("x", 11), "", 400, "file is larger than 10 bytes")
	put("?pendingid=other", "one", "", 404, "not found")
	put("", "one", "", 404, `service \"site\" not found`)
	put("?pendingid="+pending.PendingIDs[0], "one", "", 200, `"name":"pages"`)
	var deployed params.DeployResults
	call("Application", 19, "Deploy", params.ApplicationsDeploy{Applications: []params.ApplicationDeploy{{
		ApplicationName: "site", CharmURL: charm, NumUnits: 11,
		Resources: map[string]string{"pages": pending.PendingIDs[0]}}}}, &deployed)
	if e := deployed.Results[0]; e.Error != nil || len(e.Warnings) > 0 {
		t.Fatalf("%+v", e)
	}
	put("", "two", "", 200, `"username":"admin"`)

	// The agents of its units fetch it; others' do not.
	get := func(path, as, password string, want int, says string) {
		t.Helper()
		if status, body := w.request("GET", path, as, password, ""); status != want || !strings.Contains(body, says) {
			t.Errorf("%s gets %s: %d %s, want %d with %s", as, path, status, body, want, says)
		}
	}
	password := w.newPassword(w.st, entity.UnitTag("site/0"))
	get("/applications/site/resources/pages", user, statetest.Password, 200, "two")
	get("/units/unit-site-0/resources/pages", "unit-site-0", password, 200, "two")
	get("/units/unit-site-1/resources/pages", "unit-site-0", password, 403,
		`The agent of unit-site-0 can request this only for itself, not for \"unit-site-1\"`)
	get("/units/unit-site-0/resources/none", "unit-site-0", password, 404, `charm \"site\" has no resource \"none\"`)
	mysql := w.passwords[entity.UnitTag("mysql/0")]
	get("/units/unit-site-0/resources/pages", "unit-mysql-0", mysql, 403, "permission denied")

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
	conn := w.dial(w.adminInfo(w.st.UUID()))
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
	eve := w.dial(w.info(entity.UserTag("eve")))
	admin := w.dial(w.adminInfo(w.st.UUID()))
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
