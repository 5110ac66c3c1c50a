package controllers_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"juju/cmd/juju/clitest"
	"juju/cmd/juju/clouds"
	"juju/state/entity"
)

// An owner is a user who defines clouds.
type owner struct {
	*clitest.User
	cert, key string
}

func newOwner(t *testing.T) *owner {
	o := &owner{User: newUser(t)}
	o.cert, o.key = clitest.NewPair(t)
	o.Env["HOME"] = t.TempDir()
	return o
}

// write writes a file of the user's, and returns its path.
func (o *owner) write(name, text string) string {
	o.T.Helper()
	path := filepath.Join(o.Env["HOME"], name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		o.T.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		o.T.Fatal(err)
	}
	return path
}

// kept returns a file of the client's data, "" if there is none.
func (o *owner) kept(name string) string {
	text, err := os.ReadFile(filepath.Join(o.Env["JUJU_DATA"], name))
	if err != nil && !os.IsNotExist(err) {
		o.T.Fatal(err)
	}
	return string(text)
}

// does types a line that succeeds, and returns what it printed.
func (o *owner) does(line string) string {
	o.T.Helper()
	o.Types(strings.Fields(line)...)
	if o.Code != 0 {
		o.T.Fatalf("juju %s: exit code %d, said\n%s", line, o.Code, o.Err.String())
	}
	return o.Out.String() + o.Err.String()
}

// fails types a line that fails with an error that begins so, and changes no file.
func (o *owner) fails(line, want string) {
	o.T.Helper()
	clouds, credentials := o.kept("clouds.yaml"), o.kept("credentials.yaml")
	o.Types(strings.Fields(line)...)
	if o.Code == 0 || !strings.HasPrefix(o.Err.String(), "ERROR "+want) {
		o.T.Errorf("juju %s: exit code %d, said\n%s", line, o.Code, o.Err.String())
	}
	if strings.Contains(o.Err.String(), "PRIVATE") {
		o.T.Errorf("juju %s tells the key", line)
	}
	if o.kept("clouds.yaml") != clouds || o.kept("credentials.yaml") != credentials {
		o.T.Errorf("juju %s has changed the client's data", line)
	}
}

const rack = "clouds:\n    rack:\n        type: lxd\n        endpoint: https://10.0.0.5:8443\n" +
	"        regions:\n            west: {}\n            east: {endpoint: \"https://10.0.0.6:8443\"}\n        config: {project: p}\n"

func TestUsersDefineClouds(t *testing.T) {
	t.Parallel()
	o := newOwner(t)
	file := o.write("rack.yaml", rack)
	if said := o.does("add-cloud rack " + file); !strings.Contains(said, "juju add-credential rack -f FILE") {
		t.Errorf("said\n%s", said)
	}
	if got := o.does("clouds"); !strings.Contains(got, "\nrack   2        west     lxd    local     -\n") {
		t.Errorf("the clouds are\n%s", got)
	}
	want := "name: rack\nsummary: Client cloud \"rack\"\ndefined: local\ntype: lxd\nauth-types: [certificate]\nendpoint: https://10.0.0.5:8443\n" +
		"regions:\n    west: {}\n    east:\n        endpoint: https://10.0.0.6:8443\nconfig:\n    project: p\n"
	for _, line := range []string{"show-cloud rack", "show-cloud rack --client"} {
		if got := o.does(line); got != want {
			t.Errorf("juju %s:\n%s", line, got)
		}
	}
	if got := o.does("regions rack") + o.does("default-region rack"); got != "Region\nwest\neast\nwest\n" {
		t.Errorf("the regions are\n%s", got)
	}
	o.does("default-region rack east")
	if got := o.does("default-region rack") + o.does("clouds"); !strings.HasPrefix(got, "east\n") || !strings.Contains(got, "\nrack   2        east ") {
		t.Errorf("the default region is in\n%s", got)
	}
	o.does("default-region rack --reset")
	o.fails("default-region rack north", `cloud "rack": region "north" not found`)
	o.does("update-cloud rack -f " + o.write("new.yaml", "clouds:\n    rack: {type: local}\n"))
	if got := o.does("show-cloud rack --format json"); !strings.Contains(got, `"type":"local","auth-types":["empty"],"regions":{"default":{}}`) {
		t.Errorf("the new definition is %s", got)
	}
	o.does("remove-cloud rack")
	if o.kept("clouds.yaml") != "" {
		t.Errorf("left is\n%s", o.kept("clouds.yaml"))
	}
}

func TestCloudsThatCannotBe(t *testing.T) {
	t.Parallel()
	o := newOwner(t)
	file := o.write("rack.yaml", rack)
	o.does("add-cloud rack -f " + file)
	o.fails("add-cloud rack -f "+file, `cloud "rack" already exists`)
	o.fails("add-cloud other -f "+file, `cloud "other" not found in `)
	o.fails("update-cloud other -f "+file, `cloud "other" not found in `)
	o.fails("add-cloud x", `no file with the definition of cloud "x" specified`)
	o.fails("add-cloud x -f /none", `cannot read the definition: open /none: `)
	o.fails("remove-cloud x", `cloud "x" not found`)
	o.fails("remove-cloud lxd", `cannot remove cloud "lxd": it is built in`)
	for text, want := range map[string]string{
		"":                                        "it is empty",
		"cloud: {}":                               `line 1: unknown key "cloud"`,
		"clouds: {x: {}}":                         "line 1: the cloud has no type",
		"clouds: {x: {type: ec2}}":                `cloud "x": clouds of type "ec2" are not supported`,
		"clouds: {x: {type: lxd, ep: 1}}":         `line 1: unknown key "ep"`,
		"clouds: {x: {type: [lxd]}}":              "line 1: expected a text",
		"clouds: {x: {type: lxd}":                 "line 1: ",
		"clouds: {x/y: {type: lxd}}":              `cloud name "x/y" not valid`,
		"clouds: {x: {type: local, endpoint: h}}": `cloud "x": a cloud of type local has neither`,
		"clouds: {x: {type: lxd, endpoint: 'http://h'}}":                           `cloud "x": "http://h" is neither a socket path`,
		"clouds: {x: {type: lxd, endpoint: 'https://127.0.0.1:8443'}}":             `cloud "x": the controller, in a container, can't reach`,
		"clouds: {x: {type: lxd, endpoint: 'https://h', auth-types: [oauth]}}":     `cloud "x": auth-type "oauth" is not supported`,
		"clouds: {x: {type: lxd, config: {endpoint: /x}}}":                         `cloud "x": unknown key "endpoint" in config`,
		"clouds: {x: {type: lxd, regions: {r: {endpoint: 'ftp://h'}}}}":            `cloud "x": "ftp://h" is neither`,
		"clouds: {x: {type: lxd, regions: {r: {identity-endpoint: 'https://h'}}}}": `line 1: unknown key "identity-endpoint"`,
	} {
		o.fails("add-cloud x -f "+o.write("bad.yaml", text), "cannot use "+filepath.Join(o.Env["HOME"], "bad.yaml")+": "+want)
	}
	o.fails("add-cloud lxd -f "+o.write("bad.yaml", "clouds: {lxd: {type: lxd}}"), "cannot use "+filepath.Join(o.Env["HOME"], "bad.yaml")+`: cloud "lxd": cloud "lxd" is built in`)
	// A file that another program has damaged is named, and not replaced.
	path := filepath.Join(o.Env["JUJU_DATA"], "clouds.yaml")
	if err := os.WriteFile(path, []byte("clouds: {x: {typ: lxd}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	o.fails("clouds", "cannot read "+path+`: line 1: unknown key "typ"`)
	o.fails("add-cloud rack -f "+file, "cannot read "+path+`: line 1: unknown key "typ"`)
}

// credential returns a file with a credential of the cloud rack.
func (o *owner) credential(name, cert, key string) string {
	return o.write(name+".yaml", fmt.Sprintf("credentials:\n    rack:\n        %s:\n            auth-type: certificate\n"+
		"            client-cert: %q\n            client-key: %q\n            server-cert: %q\n", name, cert, key, o.cert))
}

func TestUsersAddCredentials(t *testing.T) {
	t.Parallel()
	o := newOwner(t)
	o.does("add-cloud rack -f " + o.write("rack.yaml", rack))
	o.fails("default-credential rack", `there is no credential of cloud "rack"`)
	// Values can be the paths of files, whose contents are kept.
	o.does("add-credential rack -f " + o.credential("ops", o.write("c.crt", o.cert), o.write("c.key", o.key)))
	o.does("add-credential rack --file " + o.credential("dev", o.cert, o.key))
	path := filepath.Join(o.Env["JUJU_DATA"], "credentials.yaml")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 || strings.Contains(o.kept("credentials.yaml"), "c.key") {
		t.Errorf("%v, %v:\n%s", info, err, o.kept("credentials.yaml"))
	}
	if got := o.does("credentials --client"); got != "Cloud  Credential  Type         Source\nrack   dev         certificate  client\n"+
		"rack   ops         certificate  client\n" {
		t.Errorf("the credentials are\n%s", got)
	}
	o.fails("default-credential rack", `cloud "rack" has 2 credentials, and none is the default`)
	o.fails("default-credential rack nosuch", `credential "nosuch" of cloud "rack" not found`)
	o.does("default-credential rack ops")
	if got := o.does("default-credential rack") + o.does("credentials rack"); !strings.HasPrefix(got, "ops\n") || !strings.Contains(got, "ops* ") {
		t.Errorf("the default is in\n%s", got)
	}
	if got := o.does("show-credential rack ops"); strings.Contains(got, "PRIVATE") || !strings.HasPrefix(got, "client-credentials:\n    rack:\n        ops:\n") {
		t.Errorf("shown is\n%s", got)
	}
	if got := o.does("show-credential rack ops --show-secrets --client"); !strings.Contains(got, "PRIVATE") {
		t.Errorf("shown with its secrets is\n%s", got)
	}
	o.fails("show-credential rack nosuch", `credential "nosuch" of cloud "rack" not found`)
	o.fails("show-credential rack nosuch --client", `credential "nosuch" of cloud "rack" not found`)
	o.does("remove-credential rack ops")
	if got := o.does("default-credential rack"); got != "dev\n" {
		t.Errorf("after a removal the default is %s", got)
	}
	o.does("remove-credential rack dev")
	if o.kept("credentials.yaml") != "" {
		t.Errorf("left is\n%s", o.kept("credentials.yaml"))
	}
}

func TestCredentialsThatCannotBe(t *testing.T) {
	t.Parallel()
	o := newOwner(t)
	o.does("add-cloud rack -f " + o.write("rack.yaml", rack))
	ops := o.credential("ops", o.cert, o.key)
	o.does("add-credential rack -f " + ops)
	o.fails("add-credential rack -f "+ops, `credential "ops" of cloud "rack" already exists`)
	o.fails("add-credential rack", `no file with the credential of cloud "rack" specified`)
	o.fails("add-credential other -f "+ops, `cloud "other" not found`)
	o.fails("add-credential lxd -f "+o.write("of.yaml", "credentials: {lxd: {a: {auth-type: certificate}}}"), "cannot use "+
		filepath.Join(o.Env["HOME"], "of.yaml")+`: credential "a": cloud "lxd" takes no credential of auth-type "certificate"`)
	o.fails("update-credential rack dev -f "+ops, ops+` has no credential "dev"`)
	o.fails("remove-credential rack dev", `credential "dev" of cloud "rack" not found`)
	other, _ := clitest.NewPair(t)
	bad := o.credential("bad", other, o.key) // another certificate's key
	o.fails("add-credential rack -f "+bad, "cannot use "+bad+`: credential "bad": invalid client certificate or key: `)
	for text, want := range map[string]string{
		"{rack: {a: {client-cert: x}}}":                                            `line 1: credential "a" has no auth-type`,
		"{rack: {a: {auth-type: oauth}}}":                                          `credential "a": cloud "rack" takes no credential of auth-type "oauth"`,
		"{rack: {a: {auth-type: certificate}}}":                                    `credential "a": the credential has no client-cert`,
		"{rack: {a: {auth-type: certificate, token: x}}}":                          `credential "a": unknown key "token"`,
		"{rack: {a: {auth-type: certificate, client-cert: /none, client-key: x}}}": `credential "a": client-`,
		"{rack: {a: [x]}}":                                                         "line 1: expected a map",
		"{rack: {a_b: {auth-type: certificate}}}":                                  `credential name "a_b" not valid`,
	} {
		o.fails("add-credential rack -f "+o.write("bad.yaml", "credentials: "+text), "cannot use "+filepath.Join(o.Env["HOME"], "bad.yaml")+": "+want)
	}
}

// What lxc knows about the endpoint of a cloud is its credential.
func TestCredentialsOfLXC(t *testing.T) {
	t.Parallel()
	o := newOwner(t)
	o.fails("autoload-credentials", "no credentials of clouds that you have defined found")
	o.does("add-cloud rack -f " + o.write("rack.yaml", rack))
	o.fails("autoload-credentials rack", "no credentials of rack found")
	o.write(".config/lxc/config.yml", "remotes:\n    here: {addr: 'https://10.0.0.5:8443', protocol: lxd}\n"+
		"    elsewhere: {addr: 'https://10.9.9.9:8443'}\n    local: {addr: 'unix://'}\n")
	o.write(".config/lxc/client.crt", o.cert)
	o.fails("autoload-credentials", "cannot use what lxc has in ")
	o.write(".config/lxc/client.key", o.key)
	o.write(".config/lxc/servercerts/here.crt", o.cert)
	o.does("autoload-credentials")
	if got := o.does("show-credential rack here --client --show-secrets"); strings.Count(got, "BEGIN") != 3 {
		t.Errorf("found was\n%s", got)
	}
	if got := o.does("credentials --client"); strings.Count(got, "\n") != 2 {
		t.Errorf("found was\n%s", got)
	}
}

// A controller gets what the file has, or what the client has; the client's own data changes only if asked for.
func TestControllersGetCredentials(t *testing.T) {
	t.Parallel()
	o := newOwner(t)
	o.does("add-cloud rack -f " + o.write("rack.yaml", rack))
	o.does("add-credential rack -f " + o.credential("ops", o.cert, o.key))
	o.does("update-credential rack ops -c prod")
	before := o.kept("credentials.yaml")
	cert, key := clitest.NewPair(t)
	file := o.credential("ops", cert, key)
	o.does("update-credential rack ops -c prod --force -f " + file)
	if o.kept("credentials.yaml") != before {
		t.Error("the client's credential has changed, too")
	}
	o.does("update-credential rack ops -c prod --client -f " + file)
	if o.kept("credentials.yaml") == before {
		t.Error("the client's credential has not changed")
	}
	o.fails("update-credential rack dev -c prod -f "+o.credential("dev", cert, key), `credential "dev" of cloud "rack" not found on controller "prod"`)
	o.fails("add-credential rack -c prod", `controller "prod" already has all credentials of cloud "rack" that this client has`)
	before = o.kept("credentials.yaml")
	o.does("add-credential rack -c prod -f " + o.credential("dev", cert, key))
	if o.kept("credentials.yaml") != before {
		t.Error("the client has the credential, too")
	}
	o.does("add-credential rack -c prod --client -f " + o.credential("dev", cert, key))
	if o.kept("credentials.yaml") == before {
		t.Error("the client does not have the credential")
	}
	o.does("add-credential rack -c prod")
	o.does("remove-credential rack ops -c prod --force")
	o.Controller.ModelInfos = []entity.ModelInfo{{ModelDescription: entity.ModelDescription{Name: "default", UUID: "d", OwnerTag: entity.UserTag("admin")}}}
	o.does("set-credential rack ops")
	want := "[UpdateCredential rack ops 3 false UpdateCredential rack ops 3 true UpdateCredential rack ops 3 false " +
		"AddCredential rack dev 3 AddCredential rack dev 3 AddCredential rack dev 3 " +
		"RevokeCredential rack ops true SetModelCredential d rack ops]"
	if got := fmt.Sprint(o.Controller.Calls); got != want {
		t.Errorf("the controller was asked\n%s\nwant\n%s", got, want)
	}
}

// A controller on a cloud that a user has defined gets its endpoint, credential and names.
func TestBootstrapChoosesADefinedCloud(t *testing.T) {
	t.Parallel()
	o := newOwner(t)
	st := o.Store()
	o.does("add-cloud rack -f " + o.write("rack.yaml", rack))
	choose := func(at, credential string) (clouds.BootstrapParams, error) {
		var p clouds.BootstrapParams
		err := p.Choose(st, at, credential)
		return p, err
	}
	if _, err := choose("rack", ""); err == nil || !strings.Contains(err.Error(), `there is no credential of cloud "rack"`) {
		t.Errorf("without a credential: %v", err)
	}
	o.does("add-credential rack -f " + o.credential("ops", o.cert, o.key))
	p, err := choose("rack", "")
	if err != nil || p.Cloud != "lxd" || p.CloudName != "rack" || p.Region != "west" || p.CredentialName != "ops" ||
		p.Definition.Region.Endpoint != "https://10.0.0.5:8443" {
		t.Errorf("chosen was %+v, %v", p, err)
	}
	p, err = choose("rack/east", "ops")
	if err != nil || p.Region != "east" || p.Definition.Region.Endpoint != "https://10.0.0.6:8443" ||
		p.Definition.Credential.Attributes["server-cert"] != o.cert {
		t.Errorf("chosen was %+v, %v", p, err)
	}
	o.does("default-region rack east")
	if p, err = choose("rack", ""); err != nil || p.Region != "east" {
		t.Errorf("chosen was %+v, %v", p, err)
	}
	for at, want := range map[string]string{"rack/north": `region "north" not found`, "other": `cloud "other" not found`} {
		if _, err := choose(at, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("on %s: %v", at, err)
		}
	}
	if _, err := choose("rack", "dev"); err == nil || !strings.Contains(err.Error(), `credential "dev" of cloud "rack" not found`) {
		t.Errorf("with another credential: %v", err)
	}
	o.Types("bootstrap", "rack", "--cloud-config", "x")
	if o.Code == 0 || !strings.HasPrefix(o.Err.String(), `ERROR cannot use --cloud-config on cloud "rack"`) {
		t.Errorf("said %s", o.Err.String())
	}
}

// On a terminal, add-cloud and add-credential ask for what no file says. What is wrong is asked again, a few times, and
// nothing is kept of what is not finished.
func TestUsersAreAskedForClouds(t *testing.T) {
	t.Parallel()
	o := newOwner(t)
	o.Session.InTerminal = true
	answers := func(lines ...string) { o.Session.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n") }
	answers("lxd", "lxd", "rack", "http://10.0.0.5", "https://10.0.0.5:8443", "west", "", "y", "west", "east", "https://10.0.0.6:8443", "n")
	said := o.does("add-cloud")
	for _, want := range []string{"Select cloud type: ", `cloud "lxd" is built in`, `Cloud "rack" is defined.`, `region "west" is already there`} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not said in\n%s", want, said)
		}
	}
	const want = "clouds:\n    rack:\n        type: lxd\n        endpoint: https://10.0.0.5:8443\n" +
		"        regions:\n            west: {}\n            east:\n                endpoint: https://10.0.0.6:8443\n"
	if got := o.kept("clouds.yaml"); got != want {
		t.Errorf("it is kept as\n%s", got)
	}
	o.fails("add-cloud rack", `cloud "rack" already exists`)
	cert, key := o.write("c.crt", o.cert), o.write("c.key", o.key)
	answers("ops", "/none", key, "", cert, key, "")
	said = o.does("add-credential rack")
	if strings.Count(said, "Enter the path of the client's certificate") != 2 || !strings.Contains(said, `Credential "ops" of cloud "rack" is added.`) {
		t.Errorf("add-credential said\n%s", said)
	}
	if kept := o.kept("credentials.yaml"); !strings.Contains(kept, "auth-type: certificate") || !strings.Contains(kept, "PRIVATE") {
		t.Errorf("it is kept as\n%s", kept)
	}
	answers("ops", "default-region", "ops")
	if o.Types("add-credential", "rack"); !strings.HasSuffix(o.Err.String(), "ERROR credential \"ops\" of cloud \"rack\" already exists\n"+
		"To replace it: juju update-credential rack ops -f FILE\n") || o.Code != 1 {
		t.Errorf("three wrong names: exit code %d, said\n%s", o.Code, o.Err.String())
	}
	o.fails("add-credential local", `cannot add a credential: cloud "local" needs none`)
	before := o.kept("clouds.yaml")
	answers()
	if o.Types("add-cloud"); o.Code != 1 || o.kept("clouds.yaml") != before {
		t.Errorf("without an answer: exit code %d, said\n%s", o.Code, o.Err.String())
	}
}
