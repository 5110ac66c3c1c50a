package charm_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"juju/charm"
)

const blogConfig = `
options:
  title: {default: My Title, description: The title., type: string}
  subtitle: {default: "", type: string}
  username: {default: admin001, description: untyped}
  outlook: {description: no default, type: string}
  skill-level: {default: 5, type: int}
  agility-ratio: {default: 1.5, type: float}
  weight: {default: 2, type: float}
  reticulate-splines: {default: yes, type: boolean}
  token: {type: secret}
  key: {type: secret, default: ""}
  released: {default: 2012-04-26, type: string}
  nothing:
  quoted-int: {default: "0x10", type: int, description: 42}
  quoted-boolean: {default: "True", type: boolean, description: yes}
  answer: {default: no, type: string}
`

func mustConfig(t testing.TB, yaml string) *charm.Config {
	t.Helper()
	c, err := charm.ParseConfig([]byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestParseConfig(t *testing.T) {
	got := mustConfig(t, blogConfig)
	want := &charm.Config{Options: map[string]charm.Option{
		"title":              {Type: "string", Description: "The title.", Default: "My Title"},
		"subtitle":           {Type: "string", Default: ""},
		"username":           {Type: "string", Description: "untyped", Default: "admin001"},
		"outlook":            {Type: "string", Description: "no default"},
		"skill-level":        {Type: "int", Default: int64(5)},
		"agility-ratio":      {Type: "float", Default: 1.5},
		"weight":             {Type: "float", Default: 2.0},
		"reticulate-splines": {Type: "boolean", Default: true},
		"token":              {Type: "secret"},
		"key":                {Type: "secret", Default: ""},
		"released":           {Type: "string", Default: "2012-04-26"},
		"nothing":            {Type: "string"},
		"quoted-int":         {Type: "int", Description: "42", Default: int64(16)},
		"quoted-boolean":     {Type: "boolean", Description: "yes", Default: true},
		"answer":             {Type: "string", Default: "no"},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	defaults := got.DefaultSettings()
	if len(defaults) != len(want.Options) || defaults["skill-level"] != int64(5) || defaults["outlook"] != nil {
		t.Errorf("defaults %v", defaults)
	}
	if c := mustConfig(t, "options:\n"); len(c.Options) != 0 {
		t.Errorf("got %v", c.Options)
	}
}

func TestParseConfigRejects(t *testing.T) {
	for _, test := range []struct{ about, yaml, want string }{
		{"empty file", "", "config.yaml: invalid config: empty configuration"},
		{"comments only", "# options:\n", "config.yaml: invalid config: empty configuration"},
		{"a list", "options: [a]\n", `config.yaml:1: options: expected map, got ["a"]`},
		{"an option that is text", "options:\n  a: b\n", `config.yaml:2: options.a: expected map, got "b"`},
		{"unknown type", "options:\n  t:\n    type: foobar\n",
			`config.yaml:3: options.t.type: invalid config: option "t" has unknown type "foobar"`},
		{"a name with =", "options:\n  'a=b': {}\n", `config.yaml:2: options.a=b: invalid config: invalid option name "a=b"`},
		{"int is text", "options:\n  t: {type: int, default: foo}\n",
			`config.yaml:2: options.t.default: invalid config default: option "t" expected int, got "foo"`},
		{"int is a fraction", "options:\n  t: {type: int, default: 2.5}\n",
			`config.yaml:2: options.t.default: invalid config default: option "t" expected int, got 2.5`},
		{"int is an empty string", "options:\n  t: {type: int, default: ''}\n",
			`config.yaml:2: options.t.default: invalid config default: option "t" expected int, got ""`},
		{"boolean is text", "options:\n  t: {type: boolean, default: 'yes'}\n",
			`config.yaml:2: options.t.default: invalid config default: option "t" expected boolean, got "yes"`},
		{"float is quoted", "options:\n  t: {type: float, default: '1.5'}\n",
			`config.yaml:2: options.t.default: invalid config default: option "t" expected float, got "1.5"`},
		{"float is text", "options:\n  t: {type: float, default: x}\n",
			`config.yaml:2: options.t.default: invalid config default: option "t" expected float, got "x"`},
		{"float is NaN", "options:\n  t: {type: float, default: .nan}\n",
			`config.yaml:2: options.t.default: invalid config default: option "t" expected float, got NaN`},
		{"secret has a default", "options:\n  t: {type: secret, default: hush}\n",
			`config.yaml:2: options.t.default: invalid config default: option "t": secret URI scheme missing not valid`},
		{"secret has another default", "options:\n  t: {type: secret, default: 'vault:x'}\n",
			`config.yaml:2: options.t.default: invalid config default: option "t": secret URI scheme "vault" not valid`},
		{"default is a list", "options:\n  t: {default: [a]}\n",
			`config.yaml:2: options.t.default: invalid config default: option "t" expected string, got ["a"]`},
	} {
		t.Run(test.about, func(t *testing.T) {
			_, err := charm.ParseConfig([]byte(test.yaml))
			if err == nil {
				t.Fatal("accepted")
			}
			if err.Error() != test.want {
				t.Errorf("got  %s\nwant %s", err, test.want)
			}
			if !errors.Is(err, charm.ErrInvalid) {
				t.Error("not an ErrInvalid")
			}
		})
	}
}

// A string option's default and value are kept as written, even if YAML reads them as another type.
// An unquoted null means no value.
func TestStringsAreAsWritten(t *testing.T) {
	for _, written := range []string{"01182252", "0755", "0o7", "0x1F", "0b1", "1_000", "1:30", "190:20:30.15", "5", "2.50", "1e3", "+12", ".inf", ".nan",
		"yes", "no", "On", "OFF", "y", "true", "False", "2012-04-26", "2001-12-14t21:59:43.10-05:00", "=", "9223372036854775808"} {
		c := mustConfig(t, "options: {t: {type: string, default: "+written+"}, u: {default: '"+written+"'}}")
		if c.Options["t"].Default != written || c.Options["u"].Default != written {
			t.Errorf("default %s: got %q, quoted %q", written, c.Options["t"].Default, c.Options["u"].Default)
		}
		got, err := c.ParseSettingsYAML([]byte("s: {t: "+written+"}"), "s")
		checkSettings(t, got, err, map[string]any{"t": written}, "")
	}
	for _, none := range []string{"", "~", "null"} {
		if c := mustConfig(t, "options: {t: {type: string, default: "+none+"}}"); c.Options["t"].Default != nil {
			t.Errorf("default %q: got %q", none, c.Options["t"].Default)
		}
	}
}

func checkSettings(t *testing.T, got map[string]any, err error, want map[string]any, wantErr string) {
	t.Helper()
	if wantErr != "" {
		if err == nil || err.Error() != wantErr {
			t.Errorf("got error  %v\nwant error %s", err, wantErr)
		}
		if got != nil {
			t.Errorf("got settings %v with an error", got)
		}
		if !errors.Is(err, charm.ErrInvalid) {
			t.Error("not an ErrInvalid")
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestParseSettingsStrings(t *testing.T) {
	c := mustConfig(t, blogConfig)
	for _, test := range []struct {
		about    string
		settings map[string]string
		want     map[string]any
		err      string
	}{
		{about: "each type",
			settings: map[string]string{"title": "5", "skill-level": "-7", "agility-ratio": "1e3",
				"reticulate-splines": "false"},
			want: map[string]any{"title": "5", "skill-level": int64(-7), "agility-ratio": 1000.0, "reticulate-splines": false}},
		{about: "empty text is kept", settings: map[string]string{"title": ""}, want: map[string]any{"title": ""}},
		{about: "empty int", settings: map[string]string{"skill-level": ""},
			err: `option "skill-level" expected int, got ""`},
		{about: "int", settings: map[string]string{"skill-level": "x"}, err: `option "skill-level" expected int, got "x"`},
		{about: "int too large", settings: map[string]string{"skill-level": "9223372036854775808"},
			err: `option "skill-level" expected int, got "9223372036854775808"`},
		{about: "float", settings: map[string]string{"agility-ratio": "NaN"},
			err: `option "agility-ratio" expected float, got "NaN"`},
		{about: "boolean", settings: map[string]string{"reticulate-splines": "maybe"},
			err: `option "reticulate-splines" expected boolean, got "maybe"`},
		{about: "unknown", settings: map[string]string{"nope": ""}, err: `unknown option "nope"`},
		{about: "secret", settings: map[string]string{"token": "secret:9m4e2mr0ui3e8a215n4g"},
			want: map[string]any{"token": "secret:9m4e2mr0ui3e8a215n4g"}},
		{about: "the ID of a secret alone", settings: map[string]string{"token": "9m4e2mr0ui3e8a215n4g"},
			err: `option "token": secret URI scheme missing not valid`},
	} {
		t.Run(test.about, func(t *testing.T) {
			got, err := c.ParseSettingsStrings(test.settings)
			checkSettings(t, got, err, test.want, test.err)
		})
	}
}

func TestParseSettingsYAML(t *testing.T) {
	c := mustConfig(t, blogConfig)
	for _, test := range []struct {
		about, yaml string
		want        map[string]any
		err         string
	}{
		{about: "each type",
			yaml: "blog: {title: x, skill-level: 7, agility-ratio: 2, reticulate-splines: off, outlook: }\nother: {a: b}\n",
			want: map[string]any{"title": "x", "skill-level": int64(7), "agility-ratio": 2.0, "reticulate-splines": false,
				"outlook": nil}},
		{about: "text for each type", yaml: "blog: {skill-level: '7', agility-ratio: '2.5', reticulate-splines: 'true'}\n",
			want: map[string]any{"skill-level": int64(7), "agility-ratio": 2.5, "reticulate-splines": true}},
		{about: "an unquoted no for a string", yaml: "blog: {title: no}\n", want: map[string]any{"title": "no"}},
		{about: "a duplicate setting", yaml: "blog:\n  title: a\n  title: b\n",
			err: `settings:3: mapping key "title" already defined at line 2`},
		{about: "no settings", yaml: "blog: {}\n", want: map[string]any{}},
		{about: "settings of another service", yaml: "other: {title: x}\n", err: `no settings found for "blog"`},
		{about: "empty", yaml: "", err: `no settings found for "blog"`},
		{about: "null", yaml: "blog:\n", err: `no settings found for "blog"`},
		{about: "unknown", yaml: "blog:\n  nope: 1\n", err: `settings:2: blog.nope: unknown option "nope"`},
		{about: "wrong type", yaml: "blog:\n  title: x\n  skill-level: x\n",
			err: `settings:3: blog.skill-level: option "skill-level" expected int, got "x"`},
		{about: "a list for text", yaml: "blog:\n  title: [a]\n",
			err: `settings:2: blog.title: option "title" expected string, got ["a"]`},
		{about: "a map for text", yaml: "blog:\n  title: {a: b}\n",
			err: `settings:2: blog.title: option "title" expected string, got {"a":"b"}`},
		{about: "as juju config prints them", yaml: "application: blog\ncharm: c\nsettings:\n" +
			"  title: {source: user, value: x, default: x}\n  outlook: {source: unset}\n  skill-level: {source: default, default: 5, value: 5}\n" +
			"  username: {source: default, default: admin001, value: root}\n  token: {source: unset, value: 'secret:x'}\n",
			want: map[string]any{"title": "x", "username": "root", "token": "secret:x"}},
		{about: "as juju config prints them, none set", yaml: "application: blog\nsettings: {}\n", want: map[string]any{}},
		{about: "as juju config prints those of another service", yaml: "application: other\nsettings:\n  title: {source: user, value: x}\n",
			err: `no settings found for "blog"`},
		{about: "as juju config prints them, edited badly", yaml: "application: blog\nsettings:\n  skill-level: {source: user, value: x}\n",
			err: `settings:3: settings.skill-level.value: option "skill-level" expected int, got "x"`},
		{about: "a printed setting that is no map", yaml: "application: blog\nsettings: {title: x}\n",
			err: `settings:2: settings.title: expected map, got "x"`},
		{about: "not a map", yaml: "blog: x\n", err: `settings:1: blog: expected map, got "x"`},
	} {
		t.Run(test.about, func(t *testing.T) {
			got, err := c.ParseSettingsYAML([]byte(test.yaml), "blog")
			checkSettings(t, got, err, test.want, test.err)
		})
	}
}
