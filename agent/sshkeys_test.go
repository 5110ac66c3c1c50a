package agent

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

const (
	aliceKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINVriTYChZqsDbV/KdI1eMrglPcVX51CdX77Ez+epq0o alice@laptop"
	bobKey   = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAICSGFFbRVhso0UK0uny8QifL916FipVSDrv6VCXl2bTi bob"
	aliceIn  = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINVriTYChZqsDbV/KdI1eMrglPcVX51CdX77Ez+epq0o Juju:alice@laptop\n"
	bobIn    = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAICSGFFbRVhso0UK0uny8QifL916FipVSDrv6VCXl2bTi Juju:bob\n"
)

// The keys of the model are in the user's file, and go when they leave the model. The user's own are
// left alone.
func TestKeysOfTheModelAreWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), ".ssh")
	path := filepath.Join(dir, "authorized_keys")
	is := func(keys, want string) {
		t.Helper()
		if err := writeKeys(dir, keys, os.Getuid(), os.Getgid()); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); string(got) != want {
			t.Errorf("the file holds %q (%v), want %q", got, err, want)
		}
	}
	if err := writeKeys(dir, "", os.Getuid(), os.Getgid()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("without keys there is a directory: %v", err)
	}
	is(aliceKey+"\n"+bobKey, aliceIn+bobIn)
	for _, name := range []string{dir, path} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("others may read %s: %v (%v)", name, info.Mode(), err)
		}
	}
	own := `command="true" ` + bobKey + "\n# mine\n" + aliceKey // without an end of line
	if err := os.WriteFile(path, []byte(aliceIn+own), 0o600); err != nil {
		t.Fatal(err)
	}
	is(bobKey, own+"\n"+bobIn)
	is("", own+"\n")
	if err := writeKeys(dir, "x", os.Getuid(), os.Getgid()); err == nil {
		t.Error("what is no key is written")
	}
	if err := authorize("no-such-user", bobKey); err == nil {
		t.Error("a user who does not exist can log in")
	}
}

func TestHostKeysAreRead(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"ssh_host_rsa_key.pub": bobKey + "\n", "ssh_host_ed25519_key.pub": aliceKey + "\n",
		"ssh_host_rsa_key": "secret"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := readHostKeys(filepath.Join(dir, filepath.Base(hostKeyFiles)))
	if err != nil || !slices.Equal(got, []string{aliceKey, bobKey}) {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := readHostKeys(filepath.Join(dir, "none*")); err != nil || len(got) != 0 {
		t.Errorf("without a server: %q, %v", got, err)
	}
}
