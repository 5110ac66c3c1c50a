package hooks

import (
	"strings"
	"testing"
)

// Libraries for charms look for these words in what a tool prints, or for its exit code. The ops framework turns
// "relation not found" into an exception that charms expect, and reports the refusals as security events; charmhelpers
// takes exit code 2 of relation-get for settings that are not there.
func TestTextsThatLibrariesRead(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ hook, world, command, want string }{
		// A relation that the unit is not in, or that a user has removed by force while the hook runs.
		{"start", "", "relation-get --format=json -r 99 - mysql/0", "relation not found\nexit 2\n"},
		{"start", "", "relation-get --format=json -r 99 --app - mysql", "relation not found\nexit 2\n"},
		{"start", "", "relation-list --format=json -r 99", "relation not found\nexit 2\n"},
		{"start", "", "relation-list --format=json -r 99 --app", "relation not found\nexit 2\n"},
		{"start", "", "echo 'a: b' | relation-set -r 99 --file -", "relation not found\nexit 2\n"},
		{"start", "", "relation-model-get --format=json -r 99", "relation not found\nexit 2\n"},
		{"start", "", "network-get --format=json -r 99 db", "relation not found\nexit 2\n"},
		{"start", "removed", "relation-get --format=json -r 0 - mysql/0", "relation not found\nexit 1\n"},
		{"start", "removed", "relation-get --format=json -r 0 --app - mysql", "relation not found\nexit 1\n"},
		{"relation-changed 0 mysql/0", "removed", "relation-get --format=json -r 0 - wordpress/0", "relation not found\nexit 1\n"},
		// What only the leader may, and others.
		{"start", "deposed", "echo 'a: b' | relation-set -r 0 --app --file -", "cannot write relation settings"},
		{"start", "deposed", "status-set --application=True active -- ready", "not the leader"},
		{"start", "replaced", "status-set --application=True active -- ready", "not the leader"},
		{"start", "deposed", "status-get --application=True --include-data --format=json", "not the leader"},
		{"start", "deposed", "leader-set a=b", "not the leader"},
		{"start", "", "credential-get --format=json", "permission denied"},
		// Secrets: ops and data_interfaces tell what is not there, not granted, and only the leader's.
		{"start", "", "secret-get --format=json secret:e0000000000000000000", `secret "e0000000000000000000" not found`},
		{"start", "", "secret-get --format=json --label none", `consumer label "none" not found`},
		{"start", "", "secret-get --format=json secret:d0000000000000000000 --refresh", "permission denied"},
		{"start", "", "secret-info-get --format=json secret:b0000000000000000000", `secret "b0000000000000000000" not found`},
		{"start", "deposed", "printf x >x && secret-add --owner application token#file=x", "this unit is not the leader"},
		{"start", "deposed", "secret-set --owner application secret:9m4e2mr0ui3e8a215n4g token=x", "this unit is not the leader"},
		// charmhelpers.
		{"start", "", "network-get --primary-address nonsense", "no network config found for binding"},
		{"start", "", "relation-set --help", "--file"},
		// Older versions of ops ask the help for the storage that the hook is about.
		{"storage-attached data/0", "", "storage-get --help", "\n-s  (= data/0)\n"},
	} {
		s := &scriptHook{t: t, dir: t.TempDir()}
		s.begin(strings.Fields(test.hook))
		if test.world != "" {
			s.world(test.world)
		}
		if got := s.run(test.command); !strings.Contains(got, test.want) {
			t.Errorf("%s %s prints %q, want %q", test.world, test.command, got, test.want)
		}
		s.end()
	}
}
