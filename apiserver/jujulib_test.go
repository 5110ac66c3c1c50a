package apiserver

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"juju/doc/tools/verify"
	"juju/state/entity"
	"juju/state/statetest"
)

// The official JavaScript client works unchanged: it finds its facades by their versions, and
// understands their results. It is not in this repository. make verify-jujulib downloads it
// and runs this test.
func TestOfficialJavaScriptClient(t *testing.T) {
	verify.Only(t, "needs a client as it is published")
	t.Parallel()
	dir := os.Getenv("JUJULIB")
	node, err := exec.LookPath("node")
	if dir == "" || err != nil {
		t.Skip("JUJULIB does not name a directory with @canonical/jujulib, or there is no node")
	}
	w := newWorld(t)
	mysql := statetest.Charm(t, w.st, statetest.MySQL, "config.yaml",
		"{options: {size: {type: int, default: 5, description: d}}}")
	wordpress := statetest.Charm(t, w.st, statetest.Wordpress)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, []byte(pki().ca.Cert), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), node, "testdata/jujulib.mjs", dir, w.address, w.st.UUID(), statetest.Password,
		mysql, wordpress)
	cmd.Env = append(os.Environ(), "NODE_EXTRA_CA_CERTS="+ca)
	cmd.Stderr = os.Stderr
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	var got, want map[string]any
	if err := json.Unmarshal(output, &got); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	expected := `{
		"facadesAtController": ["controller", "modelManager", "pinger", "userManager"],
		"facadesAtModel": ["application", "block", "charms", "client", "machineManager", "pinger"],
		"server": "` + entity.JujuVersion + `", "user": "user-admin",
		"models": ["controller", "default"], "allModels": 2, "summaries": ["admin", "admin"],
		"info": ["default", "alive", "not found"],
		"users": ["user-bob", "failed to create user: invalid user name \"b@b\""],
		"grants": [null, "could not grant model access: user already has \"read\" access or greater", null, "unknown action \"sleep\""],
		"modelUsers": ["admin admin", "bob read"], "access": {"user-tag": "user-bob", "access": "superuser"}, "key": 44,
		"disabled": ["admin false", "bob true"],
		"removed": [[null, "failed to delete user \"bob\": user \"bob\" is permanently deleted"]],
		"blocks": [["BlockChange", "locked", true]], "blocked": "locked", "on": "block BlockChange is already ON",
		"deploy": [{}],
		"again": {"message": "cannot add service \"mysql\": service already exists", "code": "already exists",
			"info": {"hint": "Deploy it under another name: juju deploy CHARM NAME"}},
		"relation": "server", "units": ["mysql/1"],
		"size": {"default": 5, "description": "d", "source": "user", "type": "int", "value": 3},
		"set": "option \"size\" expected int, got \"x\"", "config": 5,
		"charm": "mysql", "hub": "cannot reach the charm store at http://127.0.0.1:1/v2/charms/refresh: dial tcp 127.0.0.1:1: connect: connection refused",
		"machines": [{"machine": "2"}],
		"status": {"model": "default", "applications": ["mysql", "wordpress"], "exposed": true,
			"base": {"name": "ubuntu", "channel": "22.04/stable"}, "units": ["mysql/0", "mysql/1"],
			"machines": ["0", "1", "2"], "relations": ["wordpress:db mysql:server"]},
		"info2": "` + mysql + `",
		"resolve": "unit \"mysql/0\" is not in an error state",
		"destroy": [null, "not found"], "destroyMachine": "2",
		"others": {
			"cloud.cloudInfo": "no such request - method Cloud.CloudInfo is not implemented",
			"cloud.listCloudInfo": "no such request - method Cloud.ListCloudInfo is not implemented",
			"cloud.checkCredentialsModels": "no such request - method Cloud.CheckCredentialsModels is not implemented",
			"controller.mongoVersion": "no such request - method Controller.MongoVersion is not implemented",
			"controller.identityProviderURL": "no such request - method Controller.IdentityProviderURL is not implemented"
		},
		"wrong": "Have you been granted permission to a model on this controller?"
	}`
	if err := json.Unmarshal([]byte(expected), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got) %s", diff)
	}
}
