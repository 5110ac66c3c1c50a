package apiserver

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"juju/apiserver/params"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/statetest"
)

// Juju's Go client uploads a charm under its name and hash, and learns its URL from a header too. What does not fit is refused.
func TestUploadOfACharmByNameAndHash(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	archive, err := os.ReadFile(statetest.CharmArchive(t, statetest.MySQL))
	w.ok(err)
	sum := sha256.Sum256(archive)
	good := "mysql-" + hex.EncodeToString(sum[:])[:7]
	hc := &http.Client{Transport: &http.Transport{TLSClientConfig: clientTLS(), DisableKeepAlives: true}}
	put := func(at, object, curl string) (*http.Response, params.CharmsResponse) {
		t.Helper()
		req, err := http.NewRequest("PUT", "https://"+w.address+at+"/charms/"+object, bytes.NewReader(archive))
		w.ok(err)
		req.SetBasicAuth(params.TagOf(entity.UserTag(statetest.Admin)).String(), statetest.Password)
		req.Header.Set("Juju-Curl", curl)
		response, err := hc.Do(req)
		w.ok(err)
		defer response.Body.Close()
		var answer params.CharmsResponse
		_ = json.NewDecoder(response.Body).Decode(&answer) // a path that is not there answers with text
		return response, answer
	}
	model := "/model-" + w.st.UUID()
	response, answer := put(model, good, "local:jammy/mysql-7")
	if response.StatusCode != http.StatusOK || answer.CharmURL != "local:jammy/mysql-0" || response.Header.Get("Juju-Curl") != answer.CharmURL {
		t.Fatalf("%s, %+v, %q", response.Status, answer, response.Header.Get("Juju-Curl"))
	}
	if _, err := w.st.Charms().Get(t.Context(), answer.CharmURL); err != nil {
		t.Errorf("the charm: %v", err)
	}
	for _, bad := range []struct{ at, object, curl, says string }{
		{model, good, "", "header Juju-Curl: expected the charm's URL"},
		{model, good, "ch:mysql-7", "the controller gets it from its store"},
		{model, good, "local:jammy/other-7", `charm "other" is uploaded as "mysql"`},
		{model, "mysql-0000000", "local:jammy/mysql-7", "it has changed on its way"},
		{model, "mysql", "local:jammy/mysql-7", "NAME-HASH"},
		{"/model-11111111-2222-4333-8444-555555555555", good, "local:jammy/mysql-7", "model"},
	} {
		response, answer := put(bad.at, bad.object, bad.curl)
		if response.StatusCode/100 != 4 || !strings.Contains(answer.Error, bad.says) {
			t.Errorf("PUT %s of %q: %s, %+v, want %s", bad.object, bad.curl, response.Status, answer, bad.says)
		}
	}
	if response, _ := put("/other", good, "local:jammy/mysql-7"); response.StatusCode != http.StatusNotFound {
		t.Errorf("at another path: %s", response.Status)
	}
}

// Juju's Go client asks how models use the cloud and what is in them. Keys it can't import, and it is told why.
func TestWhatTheGoClientAsksOfModels(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) {
		c.CloudSpec = entity.CloudSpec{Type: "local", Name: "local", Endpoint: "e", Credential: &entity.CloudCredential{AuthType: "empty"}}
	}).populate()
	(&fuzzWorld{world: w}).give()
	top := w.raw("/api").login(entity.UserTag(statetest.Admin), statetest.Password, "")
	model := params.Entities{Entities: []params.Entity{{Tag: params.TagOf(entity.ModelTag(w.st.UUID()))},
		{Tag: params.TagOf(entity.ModelTag("11111111-2222-4333-8444-555555555555"))}, {Tag: params.TagOf(entity.UnitTag("mysql/0"))}}}
	var specs params.CloudSpecResults
	w.ok(top.do("Controller", 11, "CloudSpec", model, &specs))
	if r := specs.Results[0]; r.Error != nil || r.Result.Endpoint != "e" || r.Result.Credential.AuthType != "empty" {
		t.Errorf("the cloud is %+v", r)
	}
	for _, r := range specs.Results[1:] {
		if r.Error == nil || r.Result != nil {
			t.Errorf("of no model: %+v", r)
		}
	}
	var status params.ModelStatusResults
	w.ok(top.do("ModelManager", 9, "ModelStatus", params.Entities{Entities: model.Entities[:1]}, &status))
	got := status.Results[0]
	if len(got.Applications) != 3 || got.Applications[0].Name != "disk" || len(got.Filesystems) != 4 ||
		got.Filesystems[0].ID != "0" || got.Filesystems[0].ProviderID != "fs-0" || got.Filesystems[0].Status == "" || got.Volumes != nil {
		t.Errorf("the model has %+v", got)
	}
	var hosted params.HostedModelConfigsResults
	w.ok(top.do("Controller", 12, "HostedModelConfigs", nil, &hosted))
	config := hosted.Models[0].Config
	for key, want := range map[string]any{"name": w.st.Name(), "uuid": w.st.UUID(), "type": w.controller.Cloud(), "agent-version": entity.JujuVersion,
		"automatically-retry-hooks": false, "default-series": "jammy"} {
		if config[key] != want {
			t.Errorf("%s is %v, want %v", key, config[key], want)
		}
	}
	var keys params.ErrorResults
	w.ok(w.admin().do("KeyManager", 1, "ImportKeys", params.ModifyUserSSHKeys{User: "admin", Keys: []string{"lp:bob"}}, &keys))
	if err := params.FromError(keys.Results[0].Error); entity.KindOf(err) != entity.NotSupported ||
		!strings.Contains(err.Error(), `cannot import the SSH keys of "lp:bob"`) || !strings.Contains(entity.Hint(err), "juju add-ssh-key") {
		t.Errorf("importing keys: %v (%s)", err, entity.Hint(err))
	}
	w.addUser("bob")
	w.ok(w.controller.GrantModel(t.Context(), w.st.UUID(), "bob", controller.AccessAdmin, ""))
	if err := w.user("bob", "/api").do("Controller", 12, "CloudSpec", model, nil); entity.KindOf(err) != entity.Unauthorized {
		t.Errorf("a model's administrator sees the credential: %v", err)
	}
}
