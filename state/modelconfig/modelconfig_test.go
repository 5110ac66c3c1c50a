package modelconfig

import (
	"maps"
	"strings"
	"testing"
	"time"

	"juju/state/entity"
)

// noHost returns the error for an invalid host in a no-proxy setting.
func noHost(key, host string) string {
	return key + ": " + host + " is not a host: expected hosts, domains and networks, separated by commas, such as " +
		"localhost,.example.com,10.0.0.0/8"
}

// The interval of update-status is a Go duration between one second and one hour. Proxies may be empty.
func TestSettingsOfHooks(t *testing.T) {
	const key = UpdateStatus
	for _, test := range []struct{ key, value, err string }{
		{key, "1m", ""},
		{key, "90s", ""},
		{key, "1h", ""},
		{key, "10s", ""}, // as tests of charms set it
		{key, "999ms", "update status hook frequency 999ms cannot be less than 1s"},
		{key, "60m1s", "update status hook frequency 1h0m1s cannot be greater than 60m"},
		{key, "-5m", "update status hook frequency -5m0s cannot be less than 1s"},
		{key, "5", `invalid update status hook interval in model configuration: time: missing unit in duration "5"`},
		{key, "", `invalid update status hook interval in model configuration: time: invalid duration ""`},
		{"http-proxy", "", ""},
		{"juju-no-proxy", "localhost,10.0.0.0/8", ""},
		{"no-proxy", "localhost, 10.0.0.1", ""},
		{"apt-http-proxy", "proxy:3128", ""},
		{"https-proxy", "http://user:word@proxy.example:3128/", ""},
		{"http-proxy", "http://p; rm -rf /", `http-proxy: "http://p; rm -rf /" contains ';', which is not valid in an address`},
		{"no-proxy", "*, .example.com,*.example.com:80, ::1,[fe80::1]:8080,10.0.0.0/255.0.0.0,é", ""},
		{"no-proxy", ",", ""},
		{"apt-no-proxy", "a,b\nc", noHost("apt-no-proxy", `"b\nc"`)},
		{"no-proxy", "localhost 10.0.0.1", noHost("no-proxy", `"localhost 10.0.0.1"`)},
		{"no-proxy", "a//b", noHost("no-proxy", `"a//b"`)},
		{"no-proxy", "10.0.0.0/*", noHost("no-proxy", `"10.0.0.0/*"`)},
		{"juju-no-proxy", "a,#b", noHost("juju-no-proxy", `"#b"`)},
		{"no-proxy", "[a", noHost("no-proxy", `"[a"`)},
		{"no-proxy", "http://a", noHost("no-proxy", `"http://a"`)},
		{"http-proxy", "http://[::1]:80/", ""},
		{"http-proxy", "gopher://p", `http-proxy: "gopher://p" is not a URL: expected one like http://HOST:PORT`},
		{"apt-mirror", "http://mirror.example/debian", ""},
		{"apt-mirror", "http://[::1]/debian", ""},
		{"apt-mirror", "http://m/debian#1", `apt-mirror: "http://m/debian#1" contains '#', which is not valid in an address`},
		{"apt-mirror", "http://m/[x", `apt-mirror: "http://m/[x" has brackets in its path: write them as %5B and %5D`},
		{"apt-mirror", "mirror.example", `apt-mirror: "mirror.example" is not a URL: expected one like http://HOST:PORT`},
		{"machine-lock-exempt", "", ""},
		{"machine-lock-exempt", "web, store,", ""},
		{"machine-lock-exempt", "web,store/0", `machine-lock-exempt: invalid service name "store/0"`},
		{"host-lock", "web, store", ""},
		{"host-lock", "*", `host-lock: invalid service name "*"`},
	} {
		got, err := Parse(map[string]string{test.key: test.value})
		switch {
		case test.err == "" && (err != nil || got[test.key] != test.value):
			t.Errorf("%s=%q became %q, %v", test.key, test.value, got[test.key], err)
		case test.err != "" && (entity.KindOf(err) != entity.Invalid || err.Error() != test.err):
			t.Errorf("%s=%q: %v, want %s", test.key, test.value, err, test.err)
		}
	}
	config := New(nil, "jammy")
	if got := config.UpdateStatusInterval(); got != 5*time.Minute {
		t.Errorf("the default is %v", got)
	}
	config = New(map[string]string{key: "90s", "http-proxy": "p", "machine-lock-exempt": "a, web", "host-lock": "db,a"},
		"jammy")
	if !config.LockExempt("web") || config.LockExempt("we") || config.LockExempt("") || config.LockExempt("db") {
		t.Error("only web and a must be exempt")
	}
	if !config.HostLock("db") || config.HostLock("web") || config.HostLock("") {
		t.Error("only db and a must need the host's lock")
	}
	if got := config.UpdateStatusInterval(); got != 90*time.Second || config.Values()["http-proxy"] != "p" {
		t.Errorf("the interval is %v, the values are %v", got, config.Values())
	}
}

// The settings of Juju that have no effect are kept, with a word unless they say how it is here; unknown ones are left out.
func TestSettingsOfJuju(t *testing.T) {
	given := map[string]string{"test-mode": "1", "enable-os-upgrade": "false", "ssh-allow": "10.0.0.0/8", "extra-info": "a",
		"default-base": "ubuntu@24.04/stable", "nosuch": "x", "num-provision-workers": "4"}
	config, err := Parse(given)
	want := map[string]string{"test-mode": "true", "enable-os-upgrade": "false", "ssh-allow": "10.0.0.0/8", "extra-info": "a",
		"default-series": "noble", "num-provision-workers": "4"}
	if err != nil || !maps.Equal(config, want) {
		t.Errorf("settings are kept as %v (%v), want %v", config, err, want)
	}
	words := Words(given)
	if len(words) != 4 || !strings.HasPrefix(words[0], `key "nosuch" is not defined in the current model configuration`) {
		t.Errorf("words are %q", words)
	}
	for _, bad := range []map[string]string{{"test-mode": "perhaps"}, {"num-provision-workers": "x"}, {"default-base": "x"}, {"default-base": ""},
		{"extra-info": strings.Repeat("a", 1<<16)}} {
		if _, err := Parse(bad); entity.KindOf(err) != entity.Invalid && len(bad["default-base"]) > 0 {
			t.Errorf("%v: %v", bad, err)
		}
	}
	if _, ok := New(nil, "noble")["test-mode"]; ok {
		t.Error("a setting without an effect has a default")
	}
	for _, s := range accepted {
		if _, err := s.Canonical(s.Here); err != nil && s.Here != "" || IsOfController(s.Key) || s.Unused == "" && s.Key != extraInfo {
			t.Errorf("%s: %v", s.Key, err)
		}
	}
}
