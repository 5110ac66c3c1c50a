package services_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"juju/apiserver/client"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/clitest"
	"juju/cmd/juju/clitest/realtest"
	"juju/state/entity"
)

func TestOptionFiles(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	dir := t.TempDir()
	big := filepath.Join(dir, "big")
	clitest.Write(t, big, strings.Repeat("x", cli.MaxOptionFile+1))
	binary := filepath.Join(dir, "binary")
	clitest.Write(t, binary, "\xff")
	empty := filepath.Join(dir, "empty")
	clitest.Write(t, empty, "\n")
	for _, test := range [][]string{
		{"size of option file is larger than 5M: " + big, "set", "web", "motd=@" + big},
		{"size of option file is larger than 5M: " + big, "set", "web", "--config", big},
		{"size of option file is larger than 5M: " + big, "config", "web", "--file", big},
		{"option file " + binary + " is not UTF-8", "set", "web", "motd=@" + binary},
		{"cannot read option file: open " + dir + "/none: no such file or directory", "set", "web", "--config",
			dir + "/none"},
		{"the option file is empty", "set", "web", "--config", empty},
	} {
		u.Types(test[1:]...)
		u.Asked()
		u.Sees(1, "", "ERROR "+test[0]+"\n")
	}
}

func TestGet(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Model.Returns.Config = client.ServiceConfig{Service: "web", Charm: "webpage", Settings: map[string]entity.ConfigSetting{
		"port":  {Description: "a port", Type: "int", Value: int64(80), Default: int64(8080), Source: "user"},
		"title": {Type: "string", Source: "unset"},
	}, Own: map[string]entity.ConfigSetting{
		"trust": {Type: "boolean", Source: "user", Value: true, Default: false},
	}}
	want := `application: web
application-config:
    trust:
        default: false
        source: user
        type: boolean
        value: true
charm: webpage
settings:
    port:
        default: 8080
        description: a port
        source: user
        type: int
        value: 80
    title:
        source: unset
        type: string
`
	u.Types("get", "web")
	u.Sees(0, want, "")
	u.Types("config", "web")
	u.Sees(0, want, "")
	u.Types("get", "web", "--format", "json")
	u.Sees(0, `{"application":"web","application-config":{"trust":{"default":false,"source":"user","type":"boolean",`+
		`"value":true}},"charm":"webpage","settings":{"port":{"default":8080,"description":"a port",`+
		`"source":"user","type":"int","value":80},`+
		`"title":{"source":"unset","type":"string"}}}`+"\n", "")
	u.Types("config", "web", "trust")
	u.Sees(0, "true\n", "")
	u.Types("get-config", "web", "port")
	u.Sees(0, "80\n", "")
	u.Types("config", "web", "title")
	u.Sees(0, "\n", "")
	u.Types("get", "web", "x")
	u.Sees(1, "", "ERROR key \"x\" not found in \"web\" settings.\nTo list the options: juju get web\n")
	path := filepath.Join(t.TempDir(), "out")
	u.Types("get", "web", "port", "-o", path)
	u.Sees(0, "", "")
	if text, err := os.ReadFile(path); err != nil || string(text) != "80\n" {
		t.Errorf("%q, %v", text, err)
	}
	u.Types("get", "web", "-o", "/no/such/file")
	u.Sees(1, "", "ERROR cannot write the result: open /no/such/file: no such file or directory\n")
}

func TestSettingsFromStandardInput(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	for line, want := range map[string]string{
		"config web --file -": `SetServiceConfig web map[] "web: {title: x}\n"`,
		"set web --config -":  `SetServiceConfig web map[] "web: {title: x}\n"`,
	} {
		u.Session.Stdin = strings.NewReader("web: {title: x}\n")
		u.Types(strings.Fields(line)...)
		u.Asked(want)
		u.Sees(0, "", "")
	}
	u.Session.Stdin = strings.NewReader("\xff")
	u.Types("config", "web", "--file", "-")
	u.Sees(1, "", "ERROR the settings on standard input are not UTF-8\n")
}

// The value of one option is printed with its line breaks, but otherwise escaped; JSON and
// YAML decode to the same value.
func TestGetEscapesValues(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Model.Returns.Config.Settings = map[string]entity.ConfigSetting{"motd": {Value: "two\nlines\t\x1b[2J\u202e"}}
	u.Types("get", "web", "motd")
	u.Sees(0, "two\nlines\t\\x1b[2J\\u202e\n", "")
}

// What commands print of settings, they read again: it changes nothing, and a value that has been edited there counts.
func TestPrintedSettingsAreRead(t *testing.T) {
	u, file := realtest.NewUser(t, newUser(t)), clitest.Shop(t)
	web, value := filepath.Join(filepath.Dir(file), "web"), filepath.Join(t.TempDir(), "value")
	u.Runs("deploy", web, "-q")
	printed := func(args ...string) string {
		path := filepath.Join(t.TempDir(), "printed")
		clitest.Write(t, path, u.Runs(args...))
		return path
	}
	for _, title := range []string{"a: b", "", "=", "<<", "~", "on", "0o7", "1_000", "1:30", ".5", "1e+22", "2001-02-30", " a ", "a\u0085b", "\ufeff", "😀\U000e0041", "@/etc/passwd",
		"include-file:///etc/passwd", "!!binary x", "a\n b\n", "'", "settings:\n  x: {}"} {
		for _, format := range []string{"yaml", "json"} {
			clitest.Write(t, value, title)
			u.Runs("config", "web", "title=@"+value, "ratio=1e22", "debug=true")
			want := printed("config", "web", "--format", format)
			u.Runs("unset", "web", "title", "ratio", "debug")
			u.Runs("config", "web", "--file", want)
			got := printed("get", "web", "--format", format)
			if a, b := clitest.Read(t, want), clitest.Read(t, got); a != b {
				t.Errorf("%q in %s: printed\n%sand then\n%s", title, format, a, b)
			}
			u.Runs("set", "web", "--config", got)
		}
	}
	plain := filepath.Join(t.TempDir(), "plain.yaml")
	clitest.Write(t, plain, "web: {title: plain}\n")
	u.Runs("config", "web", "--file", plain)
	edited := printed("config", "web")
	clitest.Write(t, edited, strings.Replace(clitest.Read(t, edited), "value: 80", "value: 81", 1))
	u.Runs("config", "web", "--file", edited)
	if got := u.Runs("config", "web", "port") + u.Runs("config", "web", "title"); got != "81\nplain\n" {
		t.Errorf("got %s", got)
	}
	u.Runs("trust", "web")
	trusted := printed("config", "web")
	u.NewModel("next")
	u.Runs("deploy", web, "-q", "--config", trusted)
	if again := printed("config", "web"); clitest.Read(t, again) != clitest.Read(t, trusted) {
		t.Errorf("deployed with\n%sit has\n%s", clitest.Read(t, trusted), clitest.Read(t, again))
	}
	u.Runs("deploy", web, "other", "-q")
	u.Types("config", "other", "--file", trusted)
	u.Sees(1, "", "ERROR no settings found for \"other\"\n")
}
