package secrets_test

import (
	"errors"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"juju/apiserver/client"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/clitest"
	"juju/cmd/juju/secrets"
	"juju/state/entity"
)

const someID = "9m4e2mr0ui3e8a215n4g"

// newUser returns a user of the commands of this package, with files of secrets.
func newUser(t *testing.T) *clitest.User {
	t.Helper()
	u := clitest.NewUser(t, func(s *cli.Session) []*cobra.Command {
		return []*cobra.Command{
			secrets.SecretsCommand(s), secrets.ShowSecretCommand(s), secrets.AddSecretCommand(s), secrets.UpdateSecretCommand(s),
			secrets.RemoveSecretCommand(s), secrets.GrantSecretCommand(s), secrets.RevokeSecretCommand(s),
		}
	})
	u.Model.Returns.Secrets = some()
	return u
}

// some are a user's secret, and one that a charm keeps.
func some() []client.Secret {
	at := clitest.SomeTime
	return []client.Secret{
		{SecretInfo: entity.SecretInfo{ID: "a0000000000000000000", Owner: entity.ServiceTag("db"), Label: "login", Latest: 1,
			Rotate: entity.RotateHourly, NextRotate: at.Add(time.Hour), Expire: at.Add(2 * time.Hour), Created: at, Updated: at,
			Revisions: []entity.SecretRevision{{Revision: 1, Created: at, Updated: at, Expire: at.Add(2 * time.Hour)}},
			Access:    []entity.SecretAccess{{Subject: "web", Scope: "web:db db:clients"}, {Subject: "web/0", Scope: "web:db db:clients"}}},
			ContentError: errors.New("the content is lost")},
		{SecretInfo: entity.SecretInfo{ID: someID, Owner: entity.ModelTag("d"), Label: "shop", Latest: 2, Checksum: "c0ffee",
			Description: "of the shop", Created: at, Updated: at, Access: []entity.SecretAccess{{Subject: "web"}}},
			Content: entity.SecretContent{"user": "Ym9i", "raw": "?"}},
	}
}

// The API calls of each command line. What parses as an ID or URI is one, and all else is a name. Secrets cannot be planned.
func TestCommandCalls(t *testing.T) {
	t.Parallel()
	calls := []clitest.Call{
		{Line: "secrets", Asked: []string{"Secrets {  0 } false"}},
		{Line: "secrets --owner application-db", Asked: []string{"Secrets {  0 service-db} false"}},
		{Line: "list-secrets --owner unit-db-0", Asked: []string{"Secrets {  0 unit-db-0} false"}},
		{Line: "show-secret shop --reveal", Asked: []string{"Secrets { shop 0 } true"}},
		{Line: "show-secret secret:" + someID + " -r 2", Asked: []string{"Secrets {" + someID + "  2 } false"}},
		{Line: "add-secret shop user=bob --info words", Asked: []string{"AddSecret shop map[user:Ym9i] about words"}},
		{Line: "update-secret shop user=bob", Asked: []string{"UpdateSecret { shop} map[user:Ym9i]"}},
		{Line: "update-secret " + someID + " --name store --auto-prune=false",
			Asked: []string{"UpdateSecret {" + someID + " } named store pruned: false"}},
		{Line: "remove-secret shop", Asked: []string{"RemoveSecret { shop} []"}},
		{Line: "remove-secret shop --revision 2", Asked: []string{"RemoveSecret { shop} [2]"}},
		{Line: "grant-secret shop web,db", Asked: []string{"GrantSecret { shop} [web db]"}},
		{Line: "revoke-secret shop web", Asked: []string{"RevokeSecret { shop} [web]"}},
	}
	for i := range calls {
		calls[i].Unplanned = true
	}
	clitest.CheckCalls(t, newUser, calls)
}

func TestUsageErrors(t *testing.T) {
	t.Parallel()
	clitest.CheckUsageErrors(t, newUser, map[string]string{
		"secrets --owner db":                           `invalid owner "db"`,
		"secrets --owner user-bob":                     `invalid owner "user-bob"`,
		"secrets --owner application-d_b":              `invalid owner "application-d_b"`,
		"secrets --format xml":                         `unknown format "xml"`,
		"secrets shop":                                 `unrecognized args: ["shop"]`,
		"show-secret":                                  `secret ID is required`,
		"show-secret a b":                              `unrecognized args: ["b"]`,
		"show-secret shop --revisions --reveal":        `specify either --revisions or --reveal but not both`,
		"show-secret shop --revisions --revision 2":    `specify either --revisions or --revision but not both`,
		"show-secret shop --revision -1":               `revision must be a positive integer`,
		"add-secret":                                   `secret name needs to be supplied as the first argument`,
		"add-secret shop":                              `missing secret value or filename`,
		"add-secret shop hush":                         `key value 1 not valid`,
		"add-secret shop k=hush":                       `key "k" not valid`,
		"update-secret":                                `missing secret URI`,
		"update-secret shop":                           `at least one attribute to update must be specified`,
		"remove-secret":                                `missing secret URI`,
		"remove-secret shop --revision 0":              `revision must be a positive integer`,
		"grant-secret shop":                            `missing secret URI or application name`,
		"revoke-secret shop":                           `missing secret URI or application name`,
		"grant-secret shop web db":                     `unrecognized args: ["db"]`,
		"grant-secret shop web_":                       `invalid service name "web_"`,
		"update-secret " + someID + " --auto-prune=no": `invalid value "no" for option --auto-prune: expected true or false`,
	})
}

// A file is read with its last line's end, and what is wrong with it is said before any call.
func TestFiles(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	dir := t.TempDir()
	clitest.Write(t, dir+"/login.yaml", "user: bob\nraw#base64: eA==\n")
	clitest.Write(t, dir+"/token", "x\n")
	u.Types("add-secret", "shop", "token#file="+dir+"/token", "--file", dir+"/login.yaml")
	u.Sees(0, "secret:"+someID+"\n", "")
	u.Asked("AddSecret shop map[raw:eA== token:eAo= user:Ym9i]")
	for _, args := range [][]string{{"key#file=" + dir + "/none"}, {"--file", dir + "/token"}, {"--file", dir + "/none"}} {
		u := newUser(t)
		u.Types(append([]string{"add-secret", "shop"}, args...)...)
		u.Asked()
		if u.Code == 0 || u.Err.Len() == 0 {
			t.Errorf("%v: exit code %d, %q", args, u.Code, u.Err.String())
		}
	}
}

// What a service is refused is said with what was to be done, and an error of each of several services.
func TestRefusals(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Model.Returns.Errs = []error{nil, entity.Errorf(entity.NotFound, `service "db" not found`)}
	u.Types("grant-secret", "shop", "web,db")
	u.Sees(1, "", "ERROR failed to grant secret: service \"db\" not found\nTo see what is in the model: juju status\n")
	u.Types("revoke-secret", "shop", "web,db")
	u.Sees(1, "", "ERROR failed to revoke secret: service \"db\" not found\nTo see what is in the model: juju status\n")
	u.Model.Returns.Secrets = nil
	u.Types("show-secret", "shop")
	u.Sees(1, "", "ERROR secret \"shop\" not found\nTo list the secrets: juju secrets\n")
	u.Types("secrets")
	u.Sees(0, "", "No secrets to display.\n")
	u.Types("secrets", "--format", "json")
	u.Sees(0, "{}\n", "")
}

// The forms are those of Juju: content is below Data in JSON only, and a user's secret has a name instead of a label.
func TestForms(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Types("secrets")
	u.Sees(0, "ID                    Name  Owner    Rotation  Revision  Last updated\n"+
		someID+"  shop  <model>  never            2  2026-03-01\n"+
		"a0000000000000000000  -     db       hourly           1  2026-03-01\n", "")
	u.Model.Returns.Secrets = some()[1:]
	u.Types("show-secret", "shop", "--reveal", "--format", "json")
	u.Sees(0, `{"`+someID+`":{"revision":2,"checksum":"c0ffee","owner":"\u003cmodel\u003e","description":"of the shop","name":"shop",`+
		`"created":"2026-03-01T12:00:00Z","updated":"2026-03-01T12:00:00Z","content":{"Data":{"raw":"?","user":"bob"}},`+
		`"access":[{"target":"application-web","scope":"model-d","role":"view"}]}}`+"\n", "")
	u.Model.Returns.Secrets = some()[:1]
	u.Types("show-secret", "a0000000000000000000", "--revisions")
	u.Sees(0, `a0000000000000000000:
    revision: 1
    expires: 2026-03-01T14:00:00Z
    rotation: hourly
    rotates: 2026-03-01T13:00:00Z
    owner: db
    label: login
    created: 2026-03-01T12:00:00Z
    updated: 2026-03-01T12:00:00Z
    error: the content is lost
    revisions:
        - revision: 1
          backend: internal
          created: 2026-03-01T12:00:00Z
          updated: 2026-03-01T12:00:00Z
          expires: 2026-03-01T14:00:00Z
    access:
        - target: application-web
          scope: relation-web.db#db.clients
          role: view
        - target: unit-web-0
          scope: relation-web.db#db.clients
          role: view
`, "")
}
