package mongo_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/mongo/mongotest"
)

func TestURLs(t *testing.T) {
	for _, test := range []struct {
		text, shown string
		hosts       []string
		user        bool
	}{
		{"mongodb://db", "mongodb://db:27017", []string{"db:27017"}, false},
		{"mongodb://db:28000/", "mongodb://db:28000", []string{"db:28000"}, false},
		{"mongodb://a,b:1,[::1]:2,[fe80::1]/x?replicaSet=rs0", "mongodb://a:27017,b:1,[::1]:2,[fe80::1]:27017",
			[]string{"a:27017", "b:1", "[::1]:2", "[fe80::1]:27017"}, false},
		{"mongodb://me:s%40cr%2Fet@db/admin?tls=true&w=majority&journal=true&retryWrites=true&readPreference=primary&wtimeoutMS=500&appName=x",
			"mongodb://me@db:27017", []string{"db:27017"}, true},
		{"mongodb://m%40e:secret@db?authSource=other&ssl=false&directConnection=true&authMechanism=SCRAM-SHA-1", "mongodb://m@e@db:27017", []string{"db:27017"}, true},
	} {
		u, err := mongo.ParseURL(test.text)
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		if u.String() != test.shown || !slices.Equal(u.Hosts(), test.hosts) || u.HasUser() != test.user {
			t.Errorf("%s is shown as %s, hosts %q, user %v", test.text, u, u.Hosts(), u.HasUser())
		}
	}
}

// TestURLsThatWontDo are rejected, each for its own reason, and errors don't reveal the
// password.
func TestURLsThatWontDo(t *testing.T) {
	self, err := filepath.Abs("url_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"":                                            "does not begin with mongodb://",
		"http://db":                                   "does not begin with mongodb://",
		"mongodb+srv://me:secret@db":                  "list the hosts",
		"mongodb://":                                  "is not a host",
		"mongodb://a,,b":                              "is not a host",
		"mongodb://a:0":                               "is not a host",
		"mongodb://a:b":                               "is not a host",
		"mongodb://%2Ftmp%2Fmongodb.sock":             "is not a host",
		"mongodb://me@db":                             "a user and a password",
		"mongodb://@db":                               "a user and a password",
		"mongodb://:secret@db":                        "a user and a password",
		"mongodb://me:@db":                            "a user and a password",
		"mongodb://me:sec@ret@db":                     "must be escaped",
		"mongodb://me:sec:ret@db":                     "must be escaped",
		"mongodb://me:sec/ret@db":                     "%2F",
		"mongodb://me:secret%zz@db":                   "not escaped correctly",
		"mongodb://me:secret@db/a.b":                  "invalid database name",
		"mongodb://db/?frob=1":                        `unknown option "frob"`,
		"mongodb://db/?w=1":                           "always majority",
		"mongodb://db/?journal=false":                 "always true",
		"mongodb://db/?readPreference=nearest":        "always primary",
		"mongodb://db/?authMechanism=SCRAM-SHA-256":   "always SCRAM-SHA-1",
		"mongodb://db/?tls=maybe":                     "tls=maybe",
		"mongodb://db/?tlsCAFile=/none/there":         "no such file",
		"mongodb://db/?tlsCAFile=url_test.go":         "absolute path",
		"mongodb://db/?tlsCAFile=" + self:             "no certificate",
		"mongodb://db/?tlsCertificateKeyFile=" + self: "tlsCertificateKeyFile",
		"mongodb://db/?wtimeoutMS=0":                  "a positive integer",
		"mongodb://a,b/?directConnection=true":        "a single host",
	} {
		_, err := mongo.ParseURL(text)
		if !errors.Is(err, entity.Invalid) || !strings.Contains(err.Error(), want) || entity.Hint(err) == "" {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
		if err != nil && strings.Contains(err.Error()+entity.Hint(err), "sec") {
			t.Errorf("%q: the password is in %q", text, err)
		}
	}
}

// The user is looked up in the database that the URL names: authSource, else the one after the hosts, else admin.
func TestTheDatabaseOfTheUser(t *testing.T) {
	for options, want := range map[string]string{"/?": "admin", "/accounts?": "accounts", "/?authSource=accounts&": "accounts",
		"/accounts?authSource=other&": "other"} {
		set := mongotest.NewSet(t, 1)
		set.Users = map[string]string{"juju": "secret"}
		var asked atomic.Value
		set.Heard = func(c mongotest.Command) {
			if c.Name == "saslStart" {
				asked.Store(c.Database)
			}
		}
		url := strings.Replace(strings.Replace(set.URL(), "/?", options, 1), "mongodb://", "mongodb://juju:secret@", 1)
		openURL(t, url, mongo.Options{Dial: set.Dial})
		if got := asked.Load(); got != want {
			t.Errorf("%s: the user is looked up in %v, want %s", options, got, want)
		}
	}
}
