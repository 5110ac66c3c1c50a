package ssh_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/ssh"
	"juju/cmd/juju/store"
	"juju/state/entity"
	"juju/state/entity/sshkey"
	"juju/state/modelconfig"
)

const (
	aliceKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINVriTYChZqsDbV/KdI1eMrglPcVX51CdX77Ez+epq0o alice@laptop"
	bobKey   = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAICSGFFbRVhso0UK0uny8QifL916FipVSDrv6VCXl2bTi bob"
)

func TestSSHKeyCommands(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Types("ssh-keys")
	u.Sees(0, "", "No keys to display.\n")
	u.Model.Returns.Fingerprints, u.Model.Returns.Keys = []string{"aa:bb (alice@laptop)"}, []string{aliceKey}
	u.Model.Returns.Statuses = []*entity.ModelStatus{{Model: entity.ModelHeader{Name: "default"}}}
	u.Types("ssh-keys")
	u.Sees(0, "Keys used in model: default\naa:bb (alice@laptop)\n", "")
	u.Types("list-ssh-keys", "--full")
	u.Sees(0, "Keys used in model: default\n"+aliceKey+"\n", "")
	for _, c := range []struct {
		args []string
		call string
	}{
		{[]string{"add-ssh-key", aliceKey, bobKey}, "AddSSHKeys " + aliceKey + "; " + bobKey},
		{[]string{"import-ssh-key", "../testdata/alice.pub"}, "AddSSHKeys " + aliceKey},
		{[]string{"remove-ssh-key", "bob", "aa:bb"}, "RemoveSSHKeys [bob aa:bb]"},
	} {
		u.Types(c.args...)
		u.Sees(0, "", "")
		if !slices.Equal(u.Model.Calls, []string{c.call}) {
			t.Errorf("calls %q, want %q", u.Model.Calls, c.call)
		}
	}
	u.Model.Returns.Errs = []error{nil, errors.New("key not found: aa:bb")}
	u.Types("remove-ssh-key", "bob", "aa:bb")
	u.Sees(1, "", "ERROR cannot remove key id \"aa:bb\": key not found: aa:bb\n")
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, []byte("# none\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for line, says := range map[string]string{
		"ssh-keys x":              `unrecognized args: ["x"]`,
		"add-ssh-key":             "no ssh key specified",
		"add-ssh-key ssh-rsa":     "invalid ssh key: ssh-rsa",
		"remove-ssh-key":          "no ssh key id specified",
		"import-ssh-key":          "no file specified",
		"import-ssh-key gh:bob":   "cannot import keys of gh:bob: keys of other sites are not fetched",
		"import-ssh-key /none":    "cannot import keys: open /none: no such file or directory",
		"import-ssh-key doc.go":   "cannot import keys of doc.go: invalid ssh key: ",
		"import-ssh-key " + empty: "cannot import keys: " + empty + " has none",
	} {
		u.Types(strings.Fields(line)...)
		if u.Code == 0 || !strings.HasPrefix(u.Err.String(), "ERROR "+says) {
			t.Errorf("juju %s: code %d, %s; want %s", line, u.Code, u.Err.String(), says)
		}
	}
}

// Machines on other clouds than local are reached by ssh and scp, as ubuntu, and only if they have the
// keys that the controller knows.
func TestSSHToOtherClouds(t *testing.T) {
	u := newUser(t)
	const evil = "3;reboot" // is what a controller of someone else's may say
	u.Model.Returns.Statuses = []*entity.ModelStatus{{
		Model: entity.ModelHeader{Cloud: "lxd"},
		Machines: []entity.MachineStatus{{ID: "3", InstanceID: "i-3", Addresses: []string{"10.0.0.3", "fd42::3"}},
			{ID: "4", InstanceID: "i-4", Addresses: []string{"fd42::4"}}, {ID: "5", InstanceID: "i-5"},
			{ID: "6", InstanceID: "i-6", Addresses: []string{"-oProxyCommand=x"}},
			{ID: evil, InstanceID: "i-7", Addresses: []string{"10.0.0.7"}}},
		Services: []entity.ServiceStatus{{Name: "web", Units: []entity.UnitStatus{{Name: "web/0", Machine: "3"},
			{Name: "web/1", Machine: evil}}}},
	}}
	u.Model.Returns.Keys = []string{bobKey}
	st := u.Store()
	dir := filepath.Join(st.Dir(), "ssh", "prod")
	var got []string
	u.Session.Exec = func(r cli.Replacement) error {
		got = r.Argv
		return nil
	}
	runs := func(line, want, known string) {
		t.Helper()
		got = nil
		u.Types(strings.Fields(line)...)
		text := strings.NewReplacer(dir, "DIR", filepath.Dir(dir), "KEYS").Replace(strings.Join(got, " "))
		if u.Code != 0 || text != want {
			t.Errorf("juju %s: code %d, %s\n%s, want\n%s", line, u.Code, u.Err.String(), text, want)
		}
		for _, arg := range got {
			if file, ok := strings.CutPrefix(arg, "UserKnownHostsFile="); ok && known != "" {
				if text, err := os.ReadFile(strings.Trim(file, `"`)); string(text) != known {
					t.Errorf("juju %s: known are %q (%v), want %q", line, text, err, known)
				}
			}
		}
	}
	const common = "-o PasswordAuthentication=no -o ServerAliveInterval=30 "
	checked := func(targets string) string {
		return common + `-o StrictHostKeyChecking=yes -o UserKnownHostsFile="DIR/known_hosts-d-` + targets +
			`" -o GlobalKnownHostsFile=/dev/null `
	}
	of3 := "10.0.0.3 " + bobKey + "\n"
	u.Note(func(c *store.Contents) {
		c.Controllers["prod"].Model, c.Controllers["prod"].Models = "admin/default", map[string]string{"admin/default": "d"}
	})
	runs("ssh 3", "ssh "+checked("3")+"-T ubuntu@10.0.0.3", of3)
	// In the session of a unit juju-run knows the unit. What ssh does without a command and without a shell stays.
	const shell, sets = "exec env JUJU_UNIT_NAME=web/0 $SHELL -l", "export JUJU_UNIT_NAME=web/0; "
	for words, does := range map[string]string{
		"": " " + shell, " ls -l": " " + sets + "ls -l", " -- ls -l": " -- " + sets + "ls -l",
		" -4vL 8080:x:80 -p22 ls -L": " -4vL 8080:x:80 -p22 " + sets + "ls -L",
		" -L8080:x:80":               " -L8080:x:80 " + shell, " -L": " -L", " -N -D 1080": " -N -D 1080",
		" -W x:22": " -W x:22", " -s sftp": " -s sftp", " -o A=N": " -o A=N " + shell,
	} {
		runs("ssh web/0"+words, "ssh "+checked("web-0")+"-T ubuntu@10.0.0.3"+does, of3)
	}
	runs("ssh 3 ls", "ssh "+checked("3")+"-T ubuntu@10.0.0.3 ls", of3)
	runs("ssh --pty root@4", "ssh "+checked("root-4")+"-t root@fd42::4", "fd42::4 "+bobKey+"\n")
	runs("ssh --no-host-key-checks 3", "ssh "+common+
		"-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -T ubuntu@10.0.0.3", "")
	runs("scp -- -i k -r x 3:y", "scp "+checked("3")+"-i k -r -- x ubuntu@10.0.0.3:y", of3)
	runs("scp -r x root@web/0:y 4:/z", "scp "+checked("root-web-0-4")+"-r -- x root@10.0.0.3:y ubuntu@[fd42::4]:/z",
		of3+"fd42::4 "+bobKey+"\n")
	const asRoot = `exec /bin/sh -c 'run="p=\$(readlink -f /var/lib/juju/tools/machine-3/jujud) && ` +
		`exec \"\${p%/*}/unit-agent\" WORDS"; if [ "$(id -u)" = 0 ]; then exec /bin/sh -c "$run"; ` +
		`else exec sudo -n /bin/sh -c "$run"; fi'`
	words := func(words string) string { return strings.Replace(asRoot, "WORDS", words, 1) }
	runs("debug-hooks web/0 install x", "ssh "+checked("web-0")+"-tt ubuntu@10.0.0.3 "+
		words("debug-hooks /var/lib/juju web/0 install x"), of3)
	if _, err := ssh.WithKeys(t.Context(), u.Session, st, "lxd", nil); err != nil {
		t.Fatal(err)
	}
	runs("ssh 3", "ssh "+checked("3")+`-o IdentityFile="KEYS/juju_id_rsa" -T ubuntu@10.0.0.3`, of3)
	// Through the controller's machine, which the model's setting says unless the flag does. Its host key is checked too.
	proxied := func(targets string) string {
		options := strings.TrimSuffix(checked(targets+"-proxy"), " ") + ` -o IdentityFile="KEYS/juju_id_rsa"`
		inner := strings.NewReplacer(`UserKnownHostsFile="DIR/known_hosts-d-`+targets+`-proxy"`,
			`'UserKnownHostsFile="DIR/known_hosts-d-`+targets+`-proxy"'`,
			`IdentityFile="KEYS/juju_id_rsa"`, `'IdentityFile="KEYS/juju_id_rsa"'`).Replace(options)
		return options + " -o ProxyCommand=ssh " + inner + " -T -W '[%h]:%p' ubuntu@10.0.0.3 "
	}
	runs("ssh --proxy 4", "ssh "+proxied("4")+"-T ubuntu@fd42::4", "fd42::4 "+bobKey+"\n"+of3)
	u.Model.Returns.ProxiesSSH = true
	runs("scp 4:x y", "scp "+proxied("4")+"-- ubuntu@[fd42::4]:x y", "fd42::4 "+bobKey+"\n"+of3)
	runs("ssh --proxy=false 3", "ssh "+checked("3")+`-o IdentityFile="KEYS/juju_id_rsa" -T ubuntu@10.0.0.3`, of3)
	u.Model.Returns.ProxiesSSH = false
	for line, says := range map[string]string{
		"ssh 5":                       "machine 5 has no address\n",
		"ssh 6":                       "machine 6 has no address\n",
		"ssh 7":                       "machine 7 not found",
		"scp x y":                     "neither source nor destination is on a machine",
		"debug-hooks web/1":           "the controller returned the invalid machine id \"3;reboot\" for web/1\n",
		"debug-hooks web/0 $(reboot)": "unit \"web/0\" does not contain hook \"$(reboot)\"\n",
	} {
		u.Types(strings.Fields(line)...)
		if u.Code == 0 || !strings.HasPrefix(u.Err.String(), "ERROR "+says) {
			t.Errorf("juju %s: code %d, %s; want %s", line, u.Code, u.Err.String(), says)
		}
	}
	bin := t.TempDir()
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	ssh := func(script string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(bin, "ssh"), []byte("#!/bin/sh\necho \"$@\" >>"+bin+"/asked\n"+script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	ssh(`echo '[{"ID":"0123456789","Message":"install","Changes":[{"How":65,"Path":"new"}]}]'`)
	u.Types("charm-history", "web/0", "--format", "json")
	u.Sees(0, `[{"commit":"0123456789","time":"0001-01-01T00:00:00Z","message":"install","added":["new"]}]`+"\n", "")
	asked, err := os.ReadFile(filepath.Join(bin, "asked"))
	if err != nil || !strings.HasSuffix(string(asked), "-T ubuntu@10.0.0.3 "+words("charm-history /var/lib/juju web/0 20")+"\n") {
		t.Errorf("ssh runs with %s (%v)", asked, err)
	}
	ssh("echo 'ERROR unit \"web/0\" has no charm directory yet' >&2; exit 1")
	u.Types("charm-history", "web/0")
	u.Sees(1, "", "ERROR cannot read the history on the unit's machine: unit \"web/0\" has no charm directory yet\n")
	// What a controller says cannot add lines to the file.
	u.Model.Returns.Keys = []string{bobKey + "\n* " + aliceKey}
	u.Types("ssh", "3")
	if u.Code == 0 || !strings.HasPrefix(u.Err.String(), "ERROR cannot use the host keys of machine 3: invalid ssh key: ") {
		t.Errorf("code %d, %s", u.Code, u.Err.String())
	}
}

// The creator of a model on a cloud whose machines have users gets a key made, and brings the own ones.
func TestKeysOfTheCreator(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	home := t.TempDir()
	u.Env["HOME"] = home
	if err := os.Mkdir(filepath.Join(home, ".ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"id_ed25519.pub": aliceKey + "\n", "id_rsa.pub": "not mine\n", "other.pub": bobKey} {
		if err := os.WriteFile(filepath.Join(home, ".ssh", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	st := u.Store()
	comments := func(given string) string {
		t.Helper()
		config, err := ssh.WithKeys(t.Context(), u.Session, st, "lxd", map[string]string{modelconfig.AuthorizedKeys: given})
		if err != nil {
			t.Fatal(err)
		}
		all, err := sshkey.ParseAll(config[modelconfig.AuthorizedKeys])
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, key := range all {
			names = append(names, key.Comment)
		}
		return strings.Join(names, " ")
	}
	if got := comments(""); got != "juju-client-key alice@laptop" {
		t.Errorf("got the keys %s", got)
	}
	if got := comments(bobKey + "\n" + aliceKey); got != "bob alice@laptop juju-client-key" {
		t.Errorf("with others: %s", got)
	}
	for name, mode := range map[string]os.FileMode{"": 0o700, "juju_id_rsa": 0o600} {
		if info, err := os.Stat(filepath.Join(st.Dir(), "ssh", name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%q is %v (%v)", name, info.Mode(), err)
		}
	}
	private, err := os.ReadFile(filepath.Join(st.Dir(), "ssh", "juju_id_rsa"))
	if err != nil || !strings.HasPrefix(string(private), "-----BEGIN RSA PRIVATE KEY-----\n") { // libjuju reads no other
		t.Errorf("the private key is %.40q (%v)", private, err)
	}
	public, err := ssh.MakeKey(t.Context(), st)
	if err != nil || !strings.HasPrefix(public, "ssh-rsa ") {
		t.Errorf("the public key is %q (%v)", public, err)
	}
	// After a crash there is no public key; then it is made of the private one.
	if err := os.Remove(filepath.Join(st.Dir(), "ssh", "juju_id_rsa.pub")); err != nil {
		t.Fatal(err)
	}
	if again, err := ssh.MakeKey(t.Context(), st); err != nil || again != public {
		t.Errorf("after a crash the public key is %q (%v)", again, err)
	}
	if config, err := ssh.WithKeys(t.Context(), u.Session, st, "local", nil); err != nil || len(config) != 0 {
		t.Errorf("on cloud local: %v, %v", config, err)
	}
	if _, err := ssh.WithKeys(t.Context(), u.Session, st, "lxd", map[string]string{modelconfig.AuthorizedKeys: "x"}); err == nil {
		t.Error("what is no key is taken")
	}
	u.Types("unregister", "prod", "-y")
	if _, err := os.Stat(filepath.Join(st.Dir(), "ssh")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a key is left: %v", err)
	}
}
