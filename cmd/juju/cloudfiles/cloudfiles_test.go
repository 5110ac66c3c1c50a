package cloudfiles

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"juju/cmd/juju/store"
	"juju/state/entity"
)

func TestParseClouds(t *testing.T) {
	t.Parallel()
	got, err := ParseClouds([]byte(`clouds:
    rack:
        type: lxd
        description: ours
        auth-types: [certificate]
        endpoint: https://10.0.0.5:8443
        regions:
            west:
            east: {endpoint: "https://10.0.0.6:8443"}
        config: {project: p}
    bare: {type: local}
`))
	want := map[string]Cloud{
		"rack": {Type: "lxd", Description: "ours", AuthTypes: []string{"certificate"}, Endpoint: "https://10.0.0.5:8443",
			Regions: Regions{{"west", ""}, {"east", "https://10.0.0.6:8443"}}, Config: map[string]any{"project": "p"}},
		"bare": {Type: "local"},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	for text, want := range map[string]string{
		"":                                  `it is empty; it should begin with "clouds:"`,
		"cloud: {}":                         `line 1: unknown key "cloud"`,
		"[]":                                "line 1: expected a map",
		"clouds: []":                        "line 1: expected a map",
		"clouds:\n  x: {}":                  "line 2: the cloud has no type",
		"clouds: {x: {type: lxd, ep: 1}}":   `line 1: unknown key "ep"`,
		"clouds: {x: {type: [lxd]}}":        "line 1: expected a text",
		"clouds: {[x]: {type: lxd}}":        "line 1: ",
		"clouds: {x/y: {type: lxd}}":        `cloud name "x/y" not valid`,
		"clouds: {x: {type: lxd}":           "line 1: ",
		"clouds: {x: {auth-types: {}}}":     `line 1: "auth-types" has another type than it should have`,
		"clouds: {x: {regions: {a/b: }}}":   `region name "a/b" not valid`,
		"clouds: {x: {regions: {a: {b: }}}": "line 1: ",
		"clouds: {x: {regions: [a]}}":       "line 1: expected a map",
	} {
		if _, err := ParseClouds([]byte(text)); !errors.Is(err, entity.Invalid) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if _, err := ParseClouds([]byte("clouds: {x: {ep: 1}}")); entity.Hint(err) != "Known keys here: auth-types, config, description, endpoint, regions, type" {
		t.Errorf("hint %q", entity.Hint(err))
	}
	if got, err := ParseClouds([]byte("clouds:")); err != nil || len(got) != 0 {
		t.Errorf("no clouds: %v, %v", got, err)
	}
}

// The first region is the default. A region without an endpoint has the cloud's.
func TestRegionsOfACloud(t *testing.T) {
	t.Parallel()
	c := Cloud{Endpoint: "E", Regions: Regions{{"west", ""}, {"east", "F"}}}
	for _, test := range []struct {
		of   Cloud
		name string
		want Region
		hint string // of the error
	}{
		{c, "", Region{"west", "E"}, ""}, {c, "east", Region{"east", "F"}, ""}, {c, "north", Region{}, "Its regions: west, east"},
		{Cloud{Endpoint: "E"}, "", Region{"default", "E"}, ""}, {Cloud{}, "west", Region{}, "Its regions: default"},
	} {
		got, err := test.of.Region(test.name)
		if got != test.want || entity.Hint(err) != test.hint || (err != nil) != (test.hint != "") || err != nil && !errors.Is(err, entity.NotFound) {
			t.Errorf("%q: %+v, %v", test.name, got, err)
		}
	}
}

func TestParseCredentials(t *testing.T) {
	t.Parallel()
	got, err := ParseCredentials([]byte(`credentials:
    rack:
        default-credential: ops
        default-region: east
        ops: {auth-type: certificate, client-key: PRIVATE}
        dev: {auth-type: empty}
    lxd: {}
`))
	want := map[string]Credentials{"lxd": {Named: map[string]entity.CloudCredential{}},
		"rack": {Default: "ops", Region: "east", Named: map[string]entity.CloudCredential{
			"ops": {AuthType: "certificate", Attributes: map[string]string{"client-key": "PRIVATE"}},
			"dev": {AuthType: "empty", Attributes: map[string]string{}}}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	for text, want := range map[string]string{
		"":                                       `it is empty; it should begin with "credentials:"`,
		"credentials: {a/b: {}}":                 `cloud name "a/b" not valid`,
		"credentials: {x: {a/b: {}}}":            `credential name "a/b" not valid`,
		"credentials: {x: {a: {}}}":              `line 1: credential "a" has no auth-type`,
		"credentials: {x: {a: {k: [PRIVATE]}}}":  "line 1: expected a text",
		"credentials: {x: {a: [PRIVATE]}}":       "line 1: expected a map",
		"credentials: {x: [PRIVATE]}":            "line 1: expected a map",
		"credentials: {x: {default-region: []}}": "line 1: expected a text",
	} {
		if _, err := ParseCredentials([]byte(text)); !errors.Is(err, entity.Invalid) || !strings.HasPrefix(err.Error(), want) ||
			strings.Contains(err.Error(), "PRIVATE") {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	for _, name := range []string{"default-region", "default-credential"} {
		if err := CheckCredentialName(name); err == nil || !strings.Contains(err.Error(), "it has another meaning in the file") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Without a name, the default credential is taken, or the only one.
func TestChoose(t *testing.T) {
	t.Parallel()
	one := map[string]entity.CloudCredential{"a": {AuthType: "A"}}
	two := map[string]entity.CloudCredential{"a": {AuthType: "A"}, "b": {AuthType: "B"}}
	for _, test := range []struct {
		of        Credentials
		name      string
		want, err string
	}{
		{Credentials{}, "", "", `there is no credential of cloud "x"`},
		{Credentials{}, "a", "", `there is no credential of cloud "x"`},
		{Credentials{Named: one}, "", "a A", ""},
		{Credentials{Named: two}, "", "", `cloud "x" has 2 credentials, and none is the default`},
		{Credentials{Named: two, Default: "b"}, "", "b B", ""},
		{Credentials{Named: two, Default: "b"}, "a", "a A", ""},
		{Credentials{Named: one}, "b", "", `credential "b" of cloud "x" not found`},
		{Credentials{Named: one, Default: "b"}, "", "", `credential "b" of cloud "x" not found`},
	} {
		name, c, err := test.of.Choose("x", test.name)
		if got := strings.TrimSpace(name + " " + c.AuthType); got != test.want || err == nil && test.err != "" || err != nil && (err.Error() != test.err ||
			entity.Hint(err) == "" || !errors.Is(err, entity.NotFound)) {
			t.Errorf("%q of %+v: %q, %v (%s)", test.name, test.of, got, err, entity.Hint(err))
		}
	}
}

// What is written is read again, in the order of the regions. A file with nothing in it is removed, and one that can't be read
// is left as it is.
func TestFilesAreUpdated(t *testing.T) {
	t.Parallel()
	st, err := store.New(filepath.Join(t.TempDir(), "juju"))
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	rack := Cloud{Type: "lxd", Regions: Regions{{"z", ""}, {"a", "E"}}}
	must(UpdateClouds(t.Context(), st, func(all map[string]Cloud) error { all["rack"] = rack; return nil }))
	if got, err := ReadClouds(st); err != nil || !reflect.DeepEqual(got, map[string]Cloud{"rack": rack}) {
		t.Errorf("read is %+v, %v", got, err)
	}
	key := entity.CloudCredential{AuthType: "certificate", Attributes: map[string]string{"client-key": "K"}}
	must(UpdateCredentials(t.Context(), st, "rack", func(c *Credentials) error {
		c.Default, c.Region, c.Named = "ops", "a", map[string]entity.CloudCredential{"ops": key}
		return nil
	}))
	must(UpdateCredentials(t.Context(), st, "other", func(c *Credentials) error { return nil }))
	want := map[string]Credentials{"rack": {Default: "ops", Region: "a", Named: map[string]entity.CloudCredential{"ops": key}}}
	if got, err := ReadCredentials(st); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("read is %+v, %v", got, err)
	}
	path := filepath.Join(st.Dir(), "credentials.yaml")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	refused := errors.New("no")
	if err := UpdateCredentials(t.Context(), st, "rack", func(c *Credentials) error { c.Named = nil; return refused }); err != refused {
		t.Errorf("a change that fails: %v", err)
	}
	must(UpdateCredentials(t.Context(), st, "rack", func(c *Credentials) error { *c = Credentials{}; return nil }))
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("an empty file is left: %v", err)
	}
	if got, err := ReadCredentials(st); err != nil || len(got) != 0 {
		t.Errorf("read is %v, %v", got, err)
	}
	must(os.WriteFile(CloudsPath(st), []byte("clouds: {x: {typ: lxd}}"), 0o600))
	err = UpdateClouds(t.Context(), st, func(all map[string]Cloud) error { t.Error("a file that can't be read is changed"); return nil })
	if want := fmt.Sprintf("cannot read %s: line 1: unknown key \"typ\"", CloudsPath(st)); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
