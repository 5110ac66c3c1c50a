package charm_test

import (
	"errors"
	"testing"

	"juju/charm"
)

func TestParseURL(t *testing.T) {
	for _, test := range []struct {
		text string
		want charm.URL
		full string // the formatted URL, if it differs
	}{
		{"local:trusty/mysql-3", charm.URL{Schema: "local", Series: "trusty", Name: "mysql", Revision: 3}, ""},
		{"local:mysql", charm.URL{Schema: "local", Name: "mysql", Revision: -1}, ""},
		{"local:mysql-0", charm.URL{Schema: "local", Name: "mysql", Revision: 0}, ""},
		{"cs:~joe/precise/my-sql-12", charm.URL{Schema: "cs", User: "joe", Series: "precise", Name: "my-sql", Revision: 12},
			""},
		{"cs:precise/wordpress", charm.URL{Schema: "cs", Series: "precise", Name: "wordpress", Revision: -1}, ""},
		{"ch:amd64/jammy/postgresql-14",
			charm.URL{Schema: "ch", Architecture: "amd64", Series: "jammy", Name: "postgresql", Revision: 14}, ""},
		{"ch:arm64/postgresql", charm.URL{Schema: "ch", Architecture: "arm64", Name: "postgresql", Revision: -1}, ""},
		{"ch:jammy/postgresql", charm.URL{Schema: "ch", Series: "jammy", Name: "postgresql", Revision: -1}, ""},
		{"postgresql", charm.URL{Schema: "ch", Name: "postgresql", Revision: -1}, "ch:postgresql"},
		{"a-1b-2", charm.URL{Schema: "ch", Name: "a-1b", Revision: 2}, "ch:a-1b-2"},
	} {
		got, err := charm.ParseURL(test.text)
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		if got != test.want {
			t.Errorf("%s: got %+v, want %+v", test.text, got, test.want)
		}
		full := test.full
		if full == "" {
			full = test.text
		}
		if got.String() != full {
			t.Errorf("%s is formatted as %s, want %s", test.text, got, full)
		}
	}
}

func TestParseURLRejects(t *testing.T) {
	for text, want := range map[string]string{
		"":                            `cannot parse charm URL "": invalid charm name ""`,
		"local:":                      `cannot parse charm URL "local:": invalid charm name ""`,
		"git:mysql":                   `cannot parse charm URL "git:mysql": unknown schema "git"`,
		"local:~joe/mysql":            `local charm or bundle URL with user name: "local:~joe/mysql"`,
		"ch:~joe/mysql":               `cannot parse charm URL "ch:~joe/mysql": "ch" URL with user name`,
		"cs:~/mysql":                  `cannot parse charm URL "cs:~/mysql": invalid user name ""`,
		"cs:~a/b/c/d":                 `cannot parse charm URL "cs:~a/b/c/d": too many parts`,
		"local:Trusty/mysql":          `cannot parse charm URL "local:Trusty/mysql": invalid series "Trusty"`,
		"local:../mysql":              `cannot parse charm URL "local:../mysql": invalid series ".."`,
		"local:trusty/":               `cannot parse charm URL "local:trusty/": invalid charm name ""`,
		"local:trusty/mysql-01":       `cannot parse charm URL "local:trusty/mysql-01": invalid charm name "mysql-01"`,
		"local:trusty/mysql--1":       `cannot parse charm URL "local:trusty/mysql--1": invalid charm name "mysql-"`,
		"local:trusty/mysql-1-2":      `cannot parse charm URL "local:trusty/mysql-1-2": invalid charm name "mysql-1"`,
		"local:trusty/mysql\n":        "cannot parse charm URL \"local:trusty/mysql\\n\": invalid charm name \"mysql\\n\"",
		"ch:amd64/arm64/mysql":        `cannot parse charm URL "ch:amd64/arm64/mysql": invalid series "arm64"`,
		"local:a-9999999999":          `cannot parse charm URL "local:a-9999999999": invalid charm name "a-9999999999"`,
		"http://example.com/mysql-12": `cannot parse charm URL "http://example.com/mysql-12": unknown schema "http"`,
	} {
		u, err := charm.ParseURL(text)
		if err == nil {
			t.Errorf("%s: got %+v, want an error", text, u)
			continue
		}
		if err.Error() != want {
			t.Errorf("got  %s\nwant %s", err, want)
		}
		if !errors.Is(err, charm.ErrInvalid) || u != (charm.URL{}) {
			t.Errorf("%s: got URL %+v with error %#v", text, u, err)
		}
	}
}
