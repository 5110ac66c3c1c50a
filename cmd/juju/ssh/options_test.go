package ssh

import (
	"os/exec"
	"strings"
	"testing"
)

// ssh reads paths as they are, though it replaces what begins with % in them and splits lists at spaces.
func TestPathsInOptions(t *testing.T) {
	ssh, err := exec.LookPath("ssh")
	if err != nil {
		t.Skip("there is no ssh")
	}
	const path = "/home/50%h/a file"
	out, err := exec.Command(ssh, append(identity(path), "-F", "none", "-G", "-o", "UserKnownHostsFile="+quoteOption(path)+" "+quoteOption("/b"), "web")...).Output()
	if err != nil {
		t.Fatal(err)
	}
	// What it prints of keys it has yet to replace.
	for _, want := range []string{"userknownhostsfile " + path + " /b\n", "identityfile " + strings.ReplaceAll(path, "%", "%%") + "\n"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("ssh reads\n%swithout %q", out, want)
		}
	}
}
