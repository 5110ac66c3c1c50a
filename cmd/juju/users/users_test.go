package users_test

import (
	"encoding/asn1"
	"encoding/base64"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"juju/cmd/juju/clouds"
	"juju/cmd/juju/store"
	"juju/state/entity"
)

// A fakeController also records calls about users.

// bobsShell is the note when bob gets write access.
var bobsShell = clouds.Of("local").GrantNote("bob")

func TestUserCommandCalls(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		line   string
		stdin  string
		asked  string
		stdout string
		stderr string
	}{
		{line: "enable-user bob", asked: "EnableUser bob", stderr: "User \"bob\" enabled\n"},
		{line: "disable-user bob", asked: "DisableUser bob", stderr: "User \"bob\" disabled\n"},
		{line: "remove-user bob -y", asked: "RemoveUser bob", stdout: "User \"bob\" removed\n"},
		{line: "grant bob superuser", asked: "grant bob superuser"},
		{line: "grant bob write default", asked: "grant bob write [default-uuid]", stderr: bobsShell},
		{line: "grant bob consume default.store eve/shared.db", asked: "grant bob consume [admin/default.store eve/shared.db]"},
		{line: "remove-offer eve/shared.db --force", asked: "RemoveOffers with force after 1m0s [eve/shared.db]"},
		{line: "revoke bob add-model", asked: "revoke bob add-model"},
		{line: "grant bob read default", asked: "grant bob read [default-uuid]"},
		{line: "revoke bob write eve/shared admin/default", asked: "revoke bob write [shared-uuid default-uuid]"},
		{line: "grant bob admin prod:default", asked: "grant bob admin [default-uuid]", stderr: bobsShell},
		{line: "change-user-password bob", stdin: "x y\nx y\n", asked: "SetPassword bob x y",
			stderr: "new password: \ntype new password again: \nPassword for \"bob\" has been changed.\n"},
		{line: "change-user-password bob --no-prompt", stdin: "secret", asked: "SetPassword bob secret",
			stderr: "Password for \"bob\" has been changed.\n"},
		{line: "change-user-password", stdin: "p\np\n", asked: "SetPassword admin p",
			stderr: "new password: \ntype new password again: \nYour password has been changed.\n"},
		{line: "show-user", asked: "User admin",
			stdout: "user-name: admin\naccess: login\ndate-created: just now\nlast-connection: never connected\n"},
		{line: "show-user bob --format json --exact-time", asked: "User bob",
			stdout: `{"user-name":"bob","access":"login","date-created":"2026-03-01T12:00:00Z",` +
				`"last-connection":"never connected"}` + "\n"},
		{line: "users", asked: "Users false", stdout: "Controller: prod\n\n" +
			"Name    Display name  Access     Date created  Last connection\n" +
			"admin*                superuser  2026-02-27    3 hours ago\n" +
			"bob     Bob Dobbs     login      1 minute ago  never connected\n"},
		{line: "users --all --format json", asked: "Users true",
			stdout: `[{"user-name":"admin","access":"superuser","date-created":"2026-02-27T12:00:00Z","last-connection":"2026-03-01T09:00:00Z"},` +
				`{"user-name":"bob","display-name":"Bob Dobbs","access":"login","date-created":"2026-03-01T11:59:00Z",` +
				`"last-connection":"never connected"},` +
				`{"user-name":"eve","access":"","date-created":"2026-03-01T12:00:00Z","last-connection":"never connected","disabled":true}]` +
				"\n"},
		{line: "list-users default", asked: "ModelUsers default-uuid",
			stdout: "Name    Display name  Access  Last connection\n" +
				"admin*                admin   20 seconds ago\nbob                   read    never connected\n"},
		{line: "users default --format json --exact-time", asked: "ModelUsers default-uuid",
			stdout: `{"admin":{"access":"admin","last-connection":"2026-03-01T11:59:40Z"},"bob":{"access":"read","last-connection":"never connected"}}` + "\n"},
		{line: "users --exact-time", asked: "Users false", stdout: "Controller: prod\n\n" +
			"Name    Display name  Access     Date created                   Last connection\n" +
			"admin*                superuser  2026-02-27 12:00:00 +0000 UTC  2026-03-01 09:00:00 +0000 UTC\n" +
			"bob     Bob Dobbs     login      2026-03-01 11:59:00 +0000 UTC  never connected\n"},
		{line: "whoami", stdout: "Controller:  prod\nModel:       default\nUser:        admin\n"},
		{line: "whoami --format yaml", stdout: "controller: prod\nmodel: default\nuser: admin\n"},
	} {
		t.Run(test.line, func(t *testing.T) {
			u := newUser(t).WithModels()
			u.Session.Stdin = strings.NewReader(test.stdin)
			u.Types(strings.Fields(test.line)...)
			u.Sees(0, test.stdout, test.stderr)
			if got := strings.Join(u.Controller.Calls, "\n"); got != test.asked {
				t.Errorf("asked %q, want %q", got, test.asked)
			}
			if name := strings.Fields(test.line)[0]; name != "remove-offer" { // which has -m
				u.Types(name, "-c", "nowhere", "bob")
				if u.Session.Controller != "nowhere" {
					t.Errorf("with -c it says %q", u.Err.String())
				}
			}
		})
	}
}

func TestUserCommandRefusals(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"add-user":                      "no username supplied",
		"add-user b@d":                  `invalid user name "b@d"`,
		"add-user a b c":                `unrecognized args: ["c"]`,
		"users a b":                     `unrecognized args: ["b"]`,
		"users --format x":              `unknown format "x"`,
		"show-user a b":                 `unrecognized args: ["b"]`,
		"enable-user":                   "no username supplied",
		"disable-user a b":              `unrecognized args: ["b"]`,
		"remove-user":                   "no username supplied",
		"change-user-password a b":      `unrecognized args: ["b"]`,
		"whoami now":                    `unrecognized args: ["now"]`,
		"login bob":                     `unrecognized args: ["bob"]`,
		"login -u b@d":                  `invalid user name "b@d"`,
		"logout now":                    `unrecognized args: ["now"]`,
		"register a b":                  `unrecognized args: ["b"]`,
		"register !":                    "cannot read the registration string: it is incomplete or invalid",
		"register AAAA":                 "cannot read the registration string: it is incomplete or invalid",
		"unregister":                    "no controller specified",
		"grant":                         "no user specified",
		"grant bob":                     "no permission level specified",
		"grant b@d read default":        `invalid user name "b@d"`,
		"grant bob read":                `You have specified a model access permission "read".`,
		"grant bob login default":       `You have specified a controller access permission "login".`,
		"revoke bob all":                `"all" controller access not valid`,
		"revoke bob all default":        `"all" model access not valid`,
		"grant -c x bob read y:default": `--controller x does not match "y:default"`,
	} {
		t.Run(line, func(t *testing.T) {
			u := newUser(t).WithModels()
			u.Types(strings.Fields(line)...)
			first, hint, _ := strings.Cut(u.Err.String(), "\n")
			if u.Code != 2 || first != "ERROR "+want || strings.Count(hint, "\n") != 1 {
				t.Errorf("exit code %d, %q, want %q; it hints at %q", u.Code, first, want, hint)
			}
			if len(u.Controller.Calls) > 0 {
				t.Errorf("asked %q", u.Controller.Calls)
			}
		})
	}
}

// A registration can be encoded and decoded.
func TestRegistrationStrings(t *testing.T) {
	t.Parallel()
	u := newUser(t).WithModels()
	text, err := os.ReadFile("../testdata/ca.pem")
	if err != nil {
		t.Fatal(err)
	}
	ca := string(text)
	u.Note(func(c *store.Contents) {
		c.Controllers["prod"].CACert, c.Controllers["prod"].Addresses = ca, []string{"127.0.0.1:1", "[::1]:2"}
	})
	u.Types("add-user", "bob", "Bob Dobbs")
	lines := strings.Split(u.Out.String(), "\n")
	if u.Code != 0 || len(lines) != 6 || lines[0] != `User "Bob Dobbs (bob)" added` ||
		lines[1] != "Please send this command to bob:" || lines[3] != "" ||
		lines[4] != `"Bob Dobbs (bob)" has not been granted access to any models. You can use "juju grant" to grant access.` {
		t.Fatalf("%d\n%s%s", u.Code, u.Out.String(), u.Err.String())
	}
	token, ok := strings.CutPrefix(lines[2], "    juju register ")
	var r struct {
		User       string
		Addresses  []string
		Key        []byte
		Controller string
		CA         []byte
	}
	der, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil {
		_, err = asn1.Unmarshal(der, &r)
	}
	if !ok || err != nil || r.User != "bob" || string(r.Key) != "key" || r.Controller != "prod" || len(r.Addresses) != 2 ||
		string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.CA})) != ca {
		t.Errorf("%q is read as %+v, %v", lines[2], r, err)
	}
	file := filepath.Join(t.TempDir(), "string")
	u.Types("add-user", "bob", "-o", file)
	u.Sees(0, "", "")
	if written, err := os.ReadFile(file); err != nil || !strings.Contains(string(written), "juju register "+token) {
		t.Errorf("written is %q, %v", written, err)
	}
	u.Types("change-user-password", "bob", "--reset")
	u.Sees(0, "Ask the user to run:\n     juju register "+token+"\n", "Password for \"bob\" has been reset.\n")
	u.Types("register", token) // by who knows the controller
	u.Sees(1, "", "ERROR this controller has already been registered on this client as \"prod\"\n"+
		"To replace it: juju register --replace; to forget it first: juju unregister prod; or use another JUJU_DATA\n")
}

func TestInvalidPasswords(t *testing.T) {
	t.Parallel()
	for stdin, want := range map[string]string{
		"":       "you must specify a non-empty password",
		"a\nb\n": "passwords do not match",
	} {
		u := newUser(t).WithModels()
		u.Session.Stdin = strings.NewReader(stdin)
		u.Types("change-user-password", "-q")
		if u.Code != 1 || !strings.HasSuffix(u.Err.String(), "ERROR "+want+"\n") || len(u.Controller.Calls) > 0 {
			t.Errorf("%q: %d %q %q", stdin, u.Code, u.Err.String(), u.Controller.Calls)
		}
	}
	u := newUser(t).WithModels()
	u.Types("change-user-password", "--reset")
	u.Sees(1, "", "ERROR you cannot reset your own password\nTo change it: juju change-user-password\n")
}

func TestRemoveUserAsks(t *testing.T) {
	t.Parallel()
	u := newUser(t).WithModels()
	for _, answer := range []string{"", "n\n", "yesterday\n"} {
		u.Session.Stdin = strings.NewReader(answer)
		u.Types("remove-user", "bob")
		if u.Code != 1 || !strings.HasSuffix(u.Err.String(), "ERROR user deletion aborted\n") || len(u.Controller.Calls) > 0 {
			t.Errorf("%q: %d %q", answer, u.Code, u.Err.String())
		}
	}
	u.Session.Stdin = strings.NewReader("Y\n")
	u.Types("remove-user", "bob")
	if u.Code != 0 || len(u.Controller.Calls) != 1 {
		t.Errorf("%d %q %q", u.Code, u.Err.String(), u.Controller.Calls)
	}
}

// Logging out forgets the user, but not a generated password that no one knows.
func TestLogout(t *testing.T) {
	t.Parallel()
	u := newUser(t).WithModels()
	u.Note(func(c *store.Contents) { c.Controllers["prod"].Password, c.Controllers["prod"].Generated = "p", true })
	u.Types("logout")
	if u.Code != 1 || !strings.Contains(u.Err.String(), "preventing account loss") ||
		!strings.Contains(u.Err.String(), "juju change-user-password") {
		t.Errorf("%d %s", u.Code, u.Err.String())
	}
	u.Session.Stdin = strings.NewReader("mine\nmine\n")
	u.Types("change-user-password", "-q")
	u.Types("logout")
	u.Sees(0, "", "Logged out. You are no longer logged into any controllers.\n")
	contents, err := u.Store().Read()
	if err != nil {
		t.Fatal(err)
	}
	if c := contents.Controllers["prod"]; c == nil || c.User != "" || c.Password != "" || c.Model != "" {
		t.Errorf("what is remembered: %+v", c)
	}
	u.Types("whoami")
	u.Sees(1, "", "ERROR you are logged out of controller \"prod\"\nTo log in: juju login -c prod -u USER\n")
	u.Note(func(c *store.Contents) { c.Controllers["prod"].User = "admin" })
	u.Types("login", "-u", "bob")
	u.Sees(1, "", "ERROR already logged in as admin\nRun \"juju logout\" first before attempting to log in as a "+
		"different user.\n")
}

func TestUnregister(t *testing.T) {
	t.Parallel()
	u := newUser(t).WithModels()
	u.Types("destroy-environment", "prod", "-y")
	u.Sees(1, "", "ERROR controller \"prod\" was not bootstrapped by this client\n"+
		"Destroy it where it was bootstrapped; to forget it: juju unregister prod\n")
	u.Types("unregister", "prod")
	if u.Code != 1 || !strings.HasSuffix(u.Err.String(), "ERROR unregistering controller: aborted\n") {
		t.Errorf("%d %s", u.Code, u.Err.String())
	}
	u.Note(func(c *store.Contents) { c.Controllers["here"] = &store.Controller{User: "admin", Cloud: "local"} })
	u.Types("unregister", "here", "-y")
	u.Sees(1, "", "ERROR controller \"here\" was bootstrapped by this client, and would be lost\n"+
		"To destroy it and everything in it: juju destroy-environment here\n")
	u.Types("unregister", "prod", "-y")
	u.Sees(0, "", "")
	if contents, err := u.Store().Read(); err != nil || len(contents.Controllers) != 1 {
		t.Errorf("what is remembered: %+v, %v", contents, err)
	}
}

// With several models, some can fail.
func TestGrantSeveralModels(t *testing.T) {
	t.Parallel()
	u := newUser(t).WithModels()
	u.Controller.Err = entity.Errorf(entity.AlreadyExists, `user already has "read" access or greater`)
	u.Types("grant", "bob", "read", "default", "eve/shared")
	u.Sees(1, "", "ERROR some models were not granted: user already has \"read\" access or greater\n")
	u.Types("grant", "bob", "read", "default")
	u.Sees(1, "", "ERROR user already has \"read\" access or greater\n")
	u.Types("grant", "bob", "read", "nope")
	u.Sees(1, "", "ERROR model \"prod:nope\" not found\nAvailable models: default, eve/shared\n")
}
