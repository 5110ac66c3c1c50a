package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/store"
	"juju/state/entity"
)

// What is no host, or can't go with one, is refused before anything is asked.
func TestHostsThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		line, want, hint string
	}{
		{"add-machine ssh:", `invalid placement "ssh:": expected ssh:[USER@]HOST[:PORT]`, "For usage: "},
		{"add-machine ssh:-oProxyCommand=x", `"-oProxyCommand=x" is neither an IP address nor a host name`, "For usage: "},
		{"add-machine ssh:root@db:x", `invalid placement "ssh:root@db:x": "db:x" is not a valid host and port`, "For usage: "},
		{"add-machine ssh:a$(b)@db", `"a$(b)" is not a valid user name`, "For usage: "},
		{"add-machine ssh:db -n 2", "cannot use -n when specifying a placement directive", "For usage: "},
		{"add-machine ssh:db --constraints mem=1G", "cannot use --constraints with ssh:", "For usage: "},
		{"add-machine --private-key x", "--private-key is for ssh:[USER@]HOST[:PORT]", "For usage: "},
		{"add-machine zone=a --private-key x", "--private-key is for ssh:[USER@]HOST[:PORT]", "For usage: "},
	} {
		u := newUser(t)
		u.Types(strings.Fields(test.line)...)
		lines := strings.Split(u.Err.String(), "\n")
		if u.Code != 2 || !strings.HasSuffix(lines[0], test.want) || len(lines) < 2 || !strings.HasPrefix(lines[1], test.hint) {
			t.Errorf("juju %s: exit code %d, %s", test.line, u.Code, u.Err.String())
		}
		u.Asked()
	}
}

// A controller on the local cloud is reached from its own host only.
func TestHostsOfTheLocalCloud(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Note(func(c *store.Contents) { c.Controllers["prod"].Cloud = "local" })
	u.Types("add-machine", "ssh:root@db:2222")
	u.Sees(1, "", `ERROR cannot add a host: this controller listens only on loopback addresses, which other hosts cannot reach
Hosts can join a controller on a cloud with a network: juju bootstrap lxd
`)
	u.Asked()
}

// A host that cannot be reached is rejected before the model is contacted.
func TestHostsThatCannotBeReached(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Env["HOME"] = t.TempDir()
	u.Types("add-machine", "ssh:root@127.0.0.1:1")
	u.Sees(1, "", `ERROR cannot connect to root@127.0.0.1:1: you have no SSH key
Create one with ssh-keygen, or specify one: --private-key FILE
`)
	u.Types("add-machine", "ssh:root@127.0.0.1:1", "--private-key", u.Env["HOME"]+"/none")
	if !strings.HasPrefix(u.Err.String(), "ERROR cannot connect to root@127.0.0.1:1: cannot read the key ") {
		t.Errorf("it says %s", u.Err.String())
	}
	u.Asked()
}

// A host that a user has added is reached as by that user, with the own keys and known hosts.
func TestSSHToManualMachines(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Env["HOME"] = t.TempDir()
	u.Model.Returns.Statuses = []*entity.ModelStatus{{
		Model: entity.ModelHeader{Cloud: "lxd"},
		Machines: []entity.MachineStatus{
			{ID: "1", InstanceID: "juju-1", Addresses: []string{"10.0.0.1"}},
			{ID: "3", InstanceID: "manual:db", Addresses: []string{"10.0.0.7"}, SSH: "admin@db"},
			{ID: "4", InstanceID: "manual:10.0.0.8", Addresses: []string{"10.0.0.9"}, SSH: "root@10.0.0.8:2222"},
			{ID: "5", InstanceID: "manual:fd42::5", Addresses: []string{"fd42::5"}, SSH: "root@fd42::5"},
			{ID: "6", InstanceID: "manual:old"}, {ID: "7", InstanceID: "manual:x", SSH: "root@-oProxyCommand=x"},
		},
		Services: []entity.ServiceStatus{{Name: "web", Units: []entity.UnitStatus{{Name: "web/0", Machine: "3"}}}},
	}}
	u.Model.Returns.Keys = []string{bobKey}
	dir := filepath.Join(u.Store().Dir(), "ssh", "prod")
	ssh := filepath.Join(u.Env["HOME"], ".ssh")
	for _, file := range []string{filepath.Join(filepath.Dir(dir), "juju_id_rsa"), filepath.Join(ssh, "id_rsa")} {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	u.Session.Exec = func(r cli.Replacement) error {
		got = r.Argv
		return nil
	}
	for _, test := range []struct{ line, options, args, known string }{
		{"ssh web/0 ls", "-i HOME/id_rsa ", "-T admin@db export JUJU_UNIT_NAME=web/0; ls", "db "},
		{"ssh bob@3", "-i HOME/id_rsa ", "-T bob@db", "db "},
		{"ssh 4", "-i HOME/id_rsa ", "-T ssh://root@10.0.0.9:2222", "[10.0.0.9]:2222 "},
		{"ssh 6", "-i HOME/id_rsa ", "-T old", "old "},
		{"scp 3:x y", "-i HOME/id_rsa ", "-- admin@db:x y", "db "},
		{"scp -r y 4:/z%", "-i HOME/id_rsa ", "-r -- y scp://root@10.0.0.9:2222//z%25", "[10.0.0.9]:2222 "},
		{"scp 5:x y", "-i HOME/id_rsa ", "-- root@[fd42::5]:x y", "fd42::5 "},
		{"scp 3:x 1:y", "-i KEYS/juju_id_rsa -i HOME/id_rsa ", "-- admin@db:x ubuntu@10.0.0.1:y", "db "},
	} {
		got = nil
		u.Types(strings.Fields(test.line)...)
		text := strings.NewReplacer(dir, "DIR", filepath.Dir(dir), "KEYS", ssh, "HOME").Replace(strings.Join(got, " "))
		_, known, _ := strings.Cut(text, "UserKnownHostsFile=")
		known, rest, ok := strings.Cut(known, " -o GlobalKnownHostsFile=/dev/null ")
		if u.Code != 0 || !ok || rest != test.options+test.args {
			t.Errorf("juju %s: code %d, %s\n%s", test.line, u.Code, u.Err.String(), text)
		}
		first, others, _ := strings.Cut(strings.ReplaceAll(known, `"`, ""), " ")
		if others != "HOME/known_hosts HOME/known_hosts2 /etc/ssh/ssh_known_hosts" {
			t.Errorf("juju %s: known hosts are in %s", test.line, known)
		}
		lines, err := os.ReadFile(strings.Replace(first, "DIR", dir, 1))
		if err != nil || !strings.HasPrefix(string(lines), test.known+bobKey) {
			t.Errorf("juju %s: known are %q (%v), want %s", test.line, lines, err, test.known)
		}
	}
	u.Types("ssh", "7")
	u.Sees(1, "", "ERROR cannot reach machine 7: \"-oProxyCommand=x\" is neither an IP address nor a host name\n")
	// An agent that has not started has reported no keys.
	u.Model.Returns.Keys, got = nil, nil
	if u.Types("ssh", "3"); u.Code != 0 || len(got) == 0 {
		t.Errorf("code %d, %s", u.Code, u.Err.String())
	}
}
