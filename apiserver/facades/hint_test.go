package facades

import "testing"

func TestForceHint(t *testing.T) {
	for named, want := range map[string]string{
		"unit mysql/0":                       "juju destroy-unit --force mysql/0",
		"machine 0":                          "juju destroy-machine --force 0",
		"relation wordpress:db mysql:server": "juju destroy-relation --force wordpress:db mysql:server",
		"relation riak:ring":                 "juju destroy-service --force riak", // a peer relation is refused
	} {
		if got := forceHint(named); got != want {
			t.Errorf("%s: got %q, want %q", named, got, want)
		}
	}
}
