package clouds

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/clitest"
	"juju/cmd/juju/cloudfiles"
	"juju/cmd/juju/store"
	"juju/provider/lxd"
	"juju/state/entity"
)

// says compares an error with how it should begin, "" for none.
func says(t *testing.T, what any, err error, want string) {
	t.Helper()
	if err == nil && want != "" || err != nil && (want == "" || !strings.HasPrefix(err.Error(), want)) {
		t.Errorf("%v: %v, want %q", what, err, want)
	}
}

func TestNamesOfControllers(t *testing.T) {
	t.Parallel()
	const letters = " is not a valid controller name: it may contain only letters, digits, hyphens and dots"
	for name, want := range map[string]string{
		"prod-1.x": "", strings.Repeat("a", 200): "", "": `""` + letters, "-a": `"-a"` + letters, "..": `".."` + letters, "a/b": `"a/b"` + letters,
		strings.Repeat("a", 201): "the controller's name has 201 characters; the maximum is 200",
	} {
		says(t, name, CheckName(name), want)
	}
	for text, want := range map[string]string{"mem=1G": "", "spaces=db": `cannot use the constraint "spaces": `, "spaces=^db": "cannot use the constraint", "mem": "malformed"} {
		_, err := ParseConstraints(text)
		if says(t, text, err, want); err != nil && !cli.IsUsage(err) {
			t.Errorf("%s: %v is not of usage", text, err)
		}
	}
}

// A controller's cloud is the one that this client has noted or, if that failed, the one with a directory for it.
func TestHomeOf(t *testing.T) {
	t.Parallel()
	st, err := store.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	clitest.Write(t, filepath.Join(Dir(st, "lxd", "failed"), "lxd.json"), "{}")
	clitest.Write(t, filepath.Join(st.Dir(), "lxd", "file"), "")
	contents := &store.Contents{Controllers: map[string]*store.Controller{"here": {Cloud: "local"}, "there": {Cloud: "elsewhere"}}}
	for name, want := range map[string]string{
		"here": "local", "failed": "lxd", "there": `controller "there" was not bootstrapped by this client`, "file": `controller "file" not found`,
		"../lxd/failed": `controller "../lxd/failed" not found`, "": "no controller",
	} {
		cloud, err := HomeOf(st, contents, name)
		if err == nil && cloud != want || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %s, %v, want %s", name, cloud, err, want)
		}
	}
}

// What a definition may say depends on its type.
func TestDefinitions(t *testing.T) {
	t.Parallel()
	empty, certificate := []string{entity.AuthEmpty}, []string{entity.AuthCertificate}
	east := cloudfiles.Regions{{Name: "west"}, {Name: "east", Endpoint: "https://10.0.0.6:8443"}}
	for _, test := range []struct {
		name  string
		cloud cloudfiles.Cloud
		types []string
		err   string
	}{
		{"x", cloudfiles.Cloud{Type: "local"}, empty, ""},
		{"x", cloudfiles.Cloud{Type: "local", Endpoint: "h"}, nil, "a cloud of type local has neither an endpoint nor a config"},
		{"x", cloudfiles.Cloud{Type: "local", Config: map[string]any{"a": 1}}, nil, "a cloud of type local has neither"},
		{"x", cloudfiles.Cloud{Type: "local", Regions: cloudfiles.Regions{{"r", "h"}}}, nil, "a cloud of type local has neither"},
		{"x", cloudfiles.Cloud{Type: "local", AuthTypes: certificate}, nil, `auth-type "certificate" is not supported`},
		{"x", cloudfiles.Cloud{Type: "lxd"}, empty, ""},
		{"x", cloudfiles.Cloud{Type: "lxd", Endpoint: "/var/snap/lxd.socket"}, empty, ""},
		{"x", cloudfiles.Cloud{Type: "lxd", Endpoint: "https://10.0.0.5:8443", AuthTypes: certificate}, certificate, ""},
		{"x", cloudfiles.Cloud{Type: "lxd", Regions: east}, []string{entity.AuthEmpty, entity.AuthCertificate}, ""},
		{"x", cloudfiles.Cloud{Type: "lxd", Endpoint: "http://h"}, nil, `"http://h" is neither a socket path`},
		{"x", cloudfiles.Cloud{Type: "lxd", Config: map[string]any{"endpoint": "/x"}}, nil, `unknown key "endpoint" in config`},
		{"x", cloudfiles.Cloud{Type: "ec2"}, nil, `clouds of type "ec2" are not supported`},
		{"lxd", cloudfiles.Cloud{Type: "lxd"}, nil, `cloud "lxd" is built in`},
	} {
		types, err := Check(test.name, test.cloud)
		if says(t, test.cloud, err, test.err); !reflect.DeepEqual(types, test.types) {
			t.Errorf("%+v takes %q", test.cloud, types)
		}
	}
}

// A credential for a certificate has PEM, or the paths of files with it. No error has what is in them.
func TestCredentials(t *testing.T) {
	t.Parallel()
	cert, key := clitest.NewPair(t)
	dir := t.TempDir()
	clitest.Write(t, filepath.Join(dir, "key"), key)
	remote := cloudfiles.Cloud{Type: "lxd", Endpoint: "https://10.0.0.5:8443"}
	for _, test := range []struct {
		cloud      cloudfiles.Cloud
		kind       string
		attributes map[string]string
		err        string
	}{
		{remote, entity.AuthCertificate, map[string]string{lxd.ClientCert: cert, lxd.ClientKey: key}, ""},
		{remote, entity.AuthCertificate, map[string]string{lxd.ClientCert: cert, lxd.ClientKey: filepath.Join(dir, "key")}, ""},
		{remote, entity.AuthCertificate, map[string]string{lxd.ClientCert: cert}, "the credential has no client-key"},
		{remote, entity.AuthCertificate, map[string]string{lxd.ClientKey: key}, "the credential has no client-cert"},
		{remote, entity.AuthCertificate, map[string]string{lxd.ClientCert: cert, lxd.ClientKey: "/none"}, "client-key is neither PEM nor a file: open /none"},
		{remote, entity.AuthCertificate, map[string]string{"password": "p"}, `unknown key "password" in a credential of auth-type "certificate"`},
		{remote, entity.AuthEmpty, nil, `cloud "x" takes no credential of auth-type "empty"`},
		{cloudfiles.Cloud{Type: "local"}, entity.AuthEmpty, nil, ""},
		{cloudfiles.Cloud{Type: "local"}, entity.AuthEmpty, map[string]string{"a": "b"}, `unknown key "a" in a credential of auth-type "empty"`},
		{cloudfiles.Cloud{Type: "lxd"}, entity.AuthEmpty, map[string]string{"a": "b"}, `unknown key "a" in a credential of auth-type "empty"`},
		{cloudfiles.Cloud{Type: "ec2"}, entity.AuthEmpty, nil, `cloud "x": clouds of type "ec2" are not supported`},
	} {
		one := entity.CloudCredential{AuthType: test.kind, Attributes: test.attributes}
		err := CheckCredential("x", test.cloud, &one)
		says(t, test.kind, err, test.err)
		if err == nil && test.kind == entity.AuthCertificate && one.Attributes[lxd.ClientKey] != key {
			t.Errorf("kept is %q", one.Attributes)
		}
		if err != nil && strings.Contains(err.Error(), "PRIVATE") {
			t.Errorf("the error has the key: %v", err)
		}
	}
}

// The path of a file with PEM may begin with the user's home.
func TestCredentialsInTheHome(t *testing.T) {
	cert, key := clitest.NewPair(t)
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	clitest.Write(t, filepath.Join(dir, "own/key"), key)
	one := entity.CloudCredential{AuthType: entity.AuthCertificate, Attributes: map[string]string{lxd.ClientCert: cert, lxd.ClientKey: "~/own/key"}}
	err := CheckCredential("x", cloudfiles.Cloud{Type: "lxd", Endpoint: "https://h:8443"}, &one)
	if err != nil || one.Attributes[lxd.ClientKey] != key {
		t.Errorf("kept is %q, %v", one.Attributes, err)
	}
}

// What a cloud's machines are decides what users can do with them.
func TestKindsOfClouds(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"local": "hosts false, keys false, SSH false, dir /d/machines/m/i, note true",
		"lxd": "hosts true, keys true, SSH true, dir , note false", "elsewhere": "hosts true, keys false, SSH true, dir , note false"} {
		c := Of(name)
		got := fmt.Sprintf("hosts %v, keys %v, SSH %v, dir %s, note %v", c.TakesHosts(), c.TakesKeys(), c.HasSSH(), c.MachineDir("/d", "m", "i"),
			strings.Contains(c.GrantNote("bob"), "bob can deploy"))
		if got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	away := errors.New("away")
	c := Of("elsewhere").Controller(At{Name: "prod"})
	kept, err := c.IsKept()
	down, gone := c.IsDown(t.Context())
	if !kept || err != nil || down || gone || c.LacksSpace() || c.Killed() != "" || c.Lost(away) != away || c.Revive(t.Context(), nil) != nil {
		t.Error("the client knows more than the addresses of a controller elsewhere")
	}
	if err := c.Unreachable(away); !errors.Is(err, away) || !strings.HasSuffix(entity.Hint(err), "juju unregister prod") {
		t.Errorf("%v (%s)", err, entity.Hint(err))
	}
}

// What lxc uses for the LXDs that a cloud has is found.
func TestCredentialsOfLXC(t *testing.T) {
	t.Parallel()
	cert, key := clitest.NewPair(t)
	dir := t.TempDir()
	getenv := func(name string) string { return map[string]string{"LXD_CONF": dir}[name] }
	remote := cloudfiles.Cloud{Type: "lxd", Endpoint: "https://10.0.0.5:8443", Regions: cloudfiles.Regions{{"east", "https://10.0.0.6:8443/"}}}
	find := func() (map[string]entity.CloudCredential, error) { return lxdCloud{}.FindCredentials(remote, getenv) }
	if found, err := find(); err != nil || len(found) != 0 {
		t.Errorf("without lxc: %v, %v", found, err)
	}
	clitest.Write(t, filepath.Join(dir, "config.yml"), "remotes:\n  a: {addr: 'https://10.0.0.5:8443/'}\n  b: {addr: 'https://10.0.0.6:8443'}\n"+
		"  c: {addr: 'https://10.0.0.7:8443'}\n  d: {addr: 'unix://'}\n  'e/f': {addr: 'https://10.0.0.5:8443'}\n")
	if _, err := find(); err == nil || !strings.HasPrefix(err.Error(), "cannot use what lxc has in "+dir+": ") {
		t.Errorf("without a certificate: %v", err)
	}
	clitest.Write(t, filepath.Join(dir, "client.crt"), cert)
	clitest.Write(t, filepath.Join(dir, "client.key"), key)
	clitest.Write(t, filepath.Join(dir, "servercerts", "b.crt"), cert)
	found, err := find()
	if err != nil || len(found) != 2 || found["a"].Attributes[lxd.ServerCert] != "" || found["b"].Attributes[lxd.ServerCert] != cert ||
		found["a"].Attributes[lxd.ClientKey] != key {
		t.Errorf("found are %v, %v", found, err)
	}
	clitest.Write(t, filepath.Join(dir, "config.yml"), "remotes: [")
	_, err = find()
	says(t, "a damaged file", err, "cannot read "+filepath.Join(dir, "config.yml"))
	dirs := lxcDirs(func(name string) string { return map[string]string{"HOME": "/h"}[name] })
	if want := []string{"/h/snap/lxd/common/config", "/h/.config/lxc"}; !reflect.DeepEqual(dirs, want) || lxcDirs(func(string) string { return "" }) != nil {
		t.Errorf("lxc is looked for in %q", dirs)
	}
}

// A controller is created on a built-in cloud, or on one that the user has defined, in a region, with a credential.
func TestChoose(t *testing.T) {
	t.Parallel()
	st, err := store.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cert, key := clitest.NewPair(t)
	clitest.Write(t, cloudfiles.CloudsPath(st), "clouds:\n  rack: {type: lxd, endpoint: 'https://10.0.0.5:8443', regions: {west: , east: }}\n  bare: {type: lxd}\n")
	one := fmt.Sprintf("{auth-type: certificate, client-cert: %q, client-key: %q}", cert, key)
	clitest.Write(t, filepath.Join(st.Dir(), "credentials.yaml"),
		"credentials:\n  rack: {default-region: east, default-credential: ops, ops: "+one+", dev: "+one+"}\n")
	for _, test := range []struct{ at, credential, want, err string }{
		{"local", "", "local   ", ""},
		{"local", entity.CloudCredentialName, "local   ", ""},
		{"lxd", "ops", "", `credential "ops" of cloud "lxd" not found: it needs none`},
		{"lxd/west", "", "", `cloud "lxd": region "west" not found`},
		{"rack", "", "lxd rack east ops", ""},
		{"rack/west", "dev", "lxd rack west dev", ""},
		{"rack/north", "", "", `cloud "rack": region "north" not found`},
		{"rack", "none", "", `credential "none" of cloud "rack" not found`},
		{"bare", "", "lxd bare default ", ""},
		{"bare", "ops", "", `there is no credential of cloud "bare"`},
		{"none", "", "", `cloud "none" not found`},
	} {
		var p BootstrapParams
		err := p.Choose(st, test.at, test.credential)
		says(t, test, err, test.err)
		if got := strings.Join([]string{p.Cloud, p.CloudName, p.Region, p.CredentialName}, " "); err == nil && got != test.want {
			t.Errorf("%+v: %q", test, got)
		}
		if p.Definition != nil && err == nil && p.Definition.Credential.AuthType != map[bool]string{true: entity.AuthEmpty, false: entity.AuthCertificate}[p.CredentialName == ""] {
			t.Errorf("%+v: a credential of type %q", test, p.Definition.Credential.AuthType)
		}
		if test.at == "none" && entity.Hint(err) != "Valid clouds: bare, local, lxd, rack" {
			t.Errorf("hint %q", entity.Hint(err))
		}
	}
	clitest.Write(t, cloudfiles.CloudsPath(st), "clouds: {lxd: {type: lxd}}")
	_, err = Find(st, "rack")
	says(t, "a built-in name", err, fmt.Sprintf("cannot use %s: cloud \"lxd\" is built in", cloudfiles.CloudsPath(st)))
}

// What jujud prints is its description of the controller, or its error, with the hint.
func TestOutputOfJujud(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"controller-uuid":"u","api-addresses":["a:1"],"models":{"m":"v"}}`: "",
		`{"controller-uuid":"u","api-addresses":["a:1"],"models":{}}`:        `cannot use jujud's description of the new controller: it has no model "m"`,
		`{"controller-uuid":"u"}`:   "cannot use jujud's description of the new controller: it has no UUID or no addresses",
		`{"api-addresses":["a:1"]}`: "cannot use jujud's description of the new controller: it has no UUID or no addresses",
		`so`:                        "cannot read jujud's description of the new controller: ",
	} {
		_, err := readBootstrapped([]byte(text), "m")
		says(t, text, err, want)
	}
	failed := errors.New("exit status 1")
	for printed, want := range map[string][2]string{
		"": {"cannot create the controller: jujud: exit status 1\n", ""}, "panic\n": {"cannot create the controller: jujud: exit status 1\npanic", ""},
		"log\nERROR no\n": {"no", ""}, "ERROR no\nDo this\nand that\n": {"no", "Do this\nand that"},
	} {
		if err := jujudError(printed, failed); err.Error() != want[0] || entity.Hint(err) != want[1] {
			t.Errorf("%q: %v (%s)", printed, err, entity.Hint(err))
		}
	}
}

// The URL of a MongoDB is given, or in a file or the environment, which then has it no more.
func TestMongoURL(t *testing.T) {
	dir := t.TempDir()
	file, empty := filepath.Join(dir, "url"), filepath.Join(dir, "empty")
	clitest.Write(t, file, " mongodb://h/\n")
	clitest.Write(t, empty, "\n")
	for _, test := range []struct{ given, environment, want, err string }{
		{"", "", "", ""}, {"mongodb://a/", "mongodb://b/", "mongodb://a/", ""}, {"", "mongodb://b/", "mongodb://b/", ""},
		{"@" + file, "", "mongodb://h/", ""}, {"", "@" + file, "mongodb://h/", ""},
		{"@" + empty, "", "", "cannot read the URL of the MongoDB: " + empty + " is empty"}, {"@/none", "", "", "cannot read the URL of the MongoDB: open /none"},
	} {
		t.Setenv(mongoVariable, test.environment)
		got, err := MongoURL(test.given)
		if says(t, test, err, test.err); got != test.want || os.Getenv(mongoVariable) != "" {
			t.Errorf("%+v: %q", test, got)
		}
	}
}
