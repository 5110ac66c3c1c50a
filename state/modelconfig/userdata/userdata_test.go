package userdata

import (
	"strings"
	"testing"

	"juju/state/entity"
	"juju/state/limits"
)

// Juju's script runs between the user's commands, in a process of its own, whatever it holds. What the user has not quoted is
// not quoted for cloud-init either, because it may mean a number or a boolean.
func TestMerge(t *testing.T) {
	const script = "#!/bin/sh\nset -eu\necho 'it: # runs'\n"
	const given = `
package_update: yes
apt: &apt
  conf: |
    Acquire::Retries "5";
also: *apt
preruncmd:
- mkdir -p /srv/first
- [touch, "/srv/first/no", 'a b']
postruncmd:
- "true"
packages: [curl, "7"]
`
	const want = `#cloud-config
also:
  conf: |
    Acquire::Retries "5";
apt:
  conf: |
    Acquire::Retries "5";
package_update: yes
packages: [curl, "7"]
runcmd:
  - mkdir -p /srv/first
  - [touch, /srv/first/no, a b]
  - - sh
    - -c
    - |
      #!/bin/sh
      set -eu
      echo 'it: # runs'
  - "true"
`
	if got, err := Merge(given, script); got != want || err != nil {
		t.Errorf("cloud-init is told (%v)\n%s\nwant\n%s", err, got, want)
	}
	for _, nothing := range []string{"", "\n", "# later\n", "~"} {
		if got, err := Merge(nothing, script); got != script || err != nil {
			t.Errorf("with %q: %q, %v", nothing, got, err)
		}
	}
}

func TestCheck(t *testing.T) {
	for text, want := range map[string]string{
		"users: [a]":               "cloudinit-userdata: users not allowed",
		"runcmd: [a]":              "cloudinit-userdata: runcmd not allowed, use preruncmd or postruncmd instead",
		"bootcmd: []":              "cloudinit-userdata: bootcmd not allowed",
		"packages: [a, 7]":         "cloudinit-userdata: packages must be a list of strings",
		"packages: curl":           "cloudinit-userdata: packages must be a list of strings",
		"\npreruncmd: [a, [b, 7]]": "cloudinit-userdata: line 2: preruncmd must be a list of commands, each a string or a list of strings",
		"postruncmd: a":            "cloudinit-userdata: line 1: postruncmd must be a list of commands, each a string or a list of strings",
		"postruncmd: [[]]":         "cloudinit-userdata: line 1: postruncmd must be a list of commands, each a string or a list of strings",
		"a script":                 "cloudinit-userdata: line 1: expected keys of cloud-init and their values",
		"7: a":                     "cloudinit-userdata: line 1: expected the name of a key of cloud-init",
		"a: 1\na: 2":               `cloudinit-userdata: line 2: mapping key "a" already defined at line 1`,
		strings.Repeat("a", limits.UserData.Max+1): "cloudinit-userdata: 32769 bytes, the limit is 32768",
		"preruncmd: [\"a\", [b, c]]\n":             "",
	} {
		err := Check(text)
		if want == "" && err == nil {
			continue
		}
		if err == nil || err.Error() != want || entity.KindOf(err) != entity.Invalid {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
}
