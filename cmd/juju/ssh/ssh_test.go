package ssh_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/clitest"
	"juju/cmd/juju/clouds"
	"juju/cmd/juju/store"
	"juju/provider/local"
	"juju/state/entity"
)

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
		{"ssh web/0 ls", `-o IdentityFile="HOME/id_rsa" `, "-T admin@db export JUJU_UNIT_NAME=web/0; ls", "db "},
		{"ssh bob@3", `-o IdentityFile="HOME/id_rsa" `, "-T bob@db", "db "},
		{"ssh 4", `-o IdentityFile="HOME/id_rsa" `, "-T ssh://root@10.0.0.9:2222", "[10.0.0.9]:2222 "},
		{"ssh 6", `-o IdentityFile="HOME/id_rsa" `, "-T old", "old "},
		{"scp 3:x y", `-o IdentityFile="HOME/id_rsa" `, "-- admin@db:x y", "db "},
		{"scp -r y 4:/z%", `-o IdentityFile="HOME/id_rsa" `, "-r -- y scp://root@10.0.0.9:2222//z%25", "[10.0.0.9]:2222 "},
		{"scp 5:x y", `-o IdentityFile="HOME/id_rsa" `, "-- root@[fd42::5]:x y", "fd42::5 "},
		{"scp 3:x 1:y", `-o IdentityFile="KEYS/juju_id_rsa" -o IdentityFile="HOME/id_rsa" `, "-- admin@db:x ubuntu@10.0.0.1:y", "db "},
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

// withMachine gives a user a model on the local cloud with unit web/0 on machine 3. It
// returns the machine's directory.
func withMachine(t *testing.T, u *clitest.User) string {
	t.Helper()
	u.Note(func(c *store.Contents) { c.Controllers["prod"].Cloud = "local" })
	st := u.Store()
	contents, err := st.Read()
	if err != nil {
		t.Fatal(err)
	}
	target, err := u.Session.Target(contents)
	if err != nil {
		t.Fatal(err)
	}
	dir := local.MachineDir(clouds.Dir(st, "local", target.Name), target.Controller.Models[target.Model], "local-3-ab")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	u.Model.Returns.Statuses = []*entity.ModelStatus{{
		Machines: []entity.MachineStatus{{ID: "3", InstanceID: "local-3-ab"}, {ID: "4"}},
		Services: []entity.ServiceStatus{{Name: "empty"}, {Name: "log"}, {Name: "web", Units: []entity.UnitStatus{{Name: "web/1", Machine: "4"},
			{Name: "web/0", Machine: "3", Leader: true, Subordinates: []entity.UnitStatus{{Name: "log/1", Machine: "3", Leader: true}}}}}},
	}}
	u.Model.Returns.Leader = func(service string) (string, error) {
		if unit := map[string]string{"web": "web/0", "log": "log/1"}[service]; unit != "" {
			return unit, nil
		}
		return "", entity.Errorf(entity.NotFound, "could not determine leader for %q", service)
	}
	return dir
}

func TestSSH(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	dir := withMachine(t, u)
	u.Env["SHELL"] = "/bin/zsh"
	u.Env["PATH"] = "/bin"
	var got []string
	var env map[string]string
	u.Session.Exec = func(r cli.Replacement) error {
		got, env = append([]string{r.Dir}, r.Argv...), r.Env
		return nil
	}
	for line, want := range map[string][]string{
		"ssh 3":                   {dir, "/bin/zsh"},
		"ssh web/0":               {dir, "/bin/zsh"},
		"ssh web/0 ls -l tmp":     {dir, "/bin/sh", "-c", "ls -l tmp"},
		"ssh web/0 -- ls -l":      {dir, "/bin/sh", "-c", "ls -l"},
		"ssh web/0 --":            {dir, "/bin/zsh"},
		"ssh web/0 ls -- -l":      {dir, "/bin/sh", "-c", "ls -- -l"},
		"ssh web/leader ls":       {dir, "/bin/sh", "-c", "ls"},
		"ssh web/0 -i k echo -n":  {dir, "/bin/sh", "-c", "echo -n"}, // a key opens nothing here
		"ssh web/0 -4 -oX=y -ik":  {dir, "/bin/zsh"},
		"ssh log/leader":          {dir, "/bin/zsh"},
		"scp web/leader:x /tmp":   {"", "cp", "--", dir + "/x", "/tmp"},
		"scp z 3:x web/leader:y":  {"", "cp", "--", "z", dir + "/x", dir + "/y"},
		"scp web/0:x /tmp":        {"", "cp", "--", dir + "/x", "/tmp"},
		"scp -r a b:c 3:y 3:/etc": {"", "cp", "-R", "--", "a", "b:c", dir + "/y", "/etc"},
		"scp -- -r -i k a 3:y":    {"", "cp", "-R", "--", "a", dir + "/y"},
		"scp -- -Cpo X=3:z a 3:y": {"", "cp", "-p", "--", "a", dir + "/y"},
	} {
		got = nil
		u.Types(strings.Fields(line)...)
		if u.Code != 0 || !slices.Equal(got, want) {
			t.Errorf("juju %s: %q, code %d, %s; want %q", line, got, u.Code, u.Err.String(), want)
		}
	}
	// juju-run is found there, and knows the unit.
	path := dir + "/tools/machine-3:/bin"
	for line, want := range map[string]map[string]string{
		"ssh 3":          {"PATH": path},
		"ssh web/0 ls":   {"PATH": path, "JUJU_UNIT_NAME": "web/0"},
		"ssh log/leader": {"PATH": path, "JUJU_UNIT_NAME": "log/1"},
		"scp 3:x y":      nil,
	} {
		if u.Types(strings.Fields(line)...); !maps.Equal(env, want) {
			t.Errorf("juju %s: %v, want %v", line, env, want)
		}
	}
	// The controller is asked about the targets alone.
	for line, want := range map[string]string{
		"ssh 3": "Status 3", "scp 3:x web/0:y /tmp": "Status 3,web/0", "ssh u@web/0": "Status web/0",
		"ssh log/leader ls": "Leader log; Status log/1", "scp 3:x web/leader:y /tmp": "Leader web; Status 3,web/0",
	} {
		u.Model.Calls = nil
		u.Types(strings.Fields(line)...)
		u.Asked(strings.Split(want, "; ")...)
	}
	for line, says := range map[string]string{
		"ssh":        "no target name specified",
		"ssh web":    `"web" is not a machine or unit`,
		"ssh root@3": "cannot log in as another user on 3: machines of the local cloud have no users of their own",
		"ssh 4":      "machine 4 has no instance yet",
		"ssh 5":      "machine 5 not found",
		"ssh web/0 -L 1:x:2": "cannot use ssh option -L: machines of the local cloud are directories on this host\n" +
			"Units listen on ports of this host. If -L is part of the command, put -- before it.\n",
		"ssh web/0 -i":             "option requires an argument: -i",
		"scp -- -J h 3:x y":        "cannot use scp option -J: machines of the local cloud are directories on this host",
		"scp -- -i 3:x y":          "at least two arguments required",
		"ssh empty/leader":         `could not determine leader for "empty"`,
		"ssh u@web/leader":         "cannot log in as another user on web/0",
		"debug-hooks empty/leader": `could not determine leader for "empty"`,
		"ssh web/7":                `unit "web/7" not found, or not assigned to a machine`,
		"scp 3:x":                  "at least two arguments required",
		"scp x y":                  "neither source nor destination is on a machine; use TARGET:PATH",
		"scp root@3:x y":           "cannot log in as another user on 3",
		"ssh --proxy 3 ls":         "cannot use --proxy: machines of the local cloud are directories on this host",
		"scp --proxy 3:x y":        "cannot use --proxy: machines of the local cloud are directories on this host",
	} {
		u.Types(strings.Fields(line)...)
		if u.Code == 0 || !strings.HasPrefix(u.Err.String(), "ERROR "+says) {
			t.Errorf("juju %s: code %d, %s; want %s", line, u.Code, u.Err.String(), says)
		}
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	u.Types("ssh", "3")
	if u.Code == 0 || !strings.HasPrefix(u.Err.String(), "ERROR machine 3 is not on this host\n") {
		t.Errorf("code %d, %s", u.Code, u.Err.String())
	}
}

// A word that ends with a semicolon is no end of a command for tmux.
func TestDebugHooksInTmux(t *testing.T) {
	bin := t.TempDir()
	clitest.Write(t, filepath.Join(bin, "tmux"), "#!/bin/sh\n")
	if err := os.Chmod(filepath.Join(bin, "tmux"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	t.Setenv("JUJU_MODEL", "a;b;")
	u := newUser(t)
	u.Model.Returns.Statuses = []*entity.ModelStatus{{
		Model:    entity.ModelHeader{Cloud: "lxd"},
		Machines: []entity.MachineStatus{{ID: "3", InstanceID: "i-3", Addresses: []string{"10.0.0.3"}}},
		Services: []entity.ServiceStatus{{Name: "web", Units: []entity.UnitStatus{{Name: "web/0", Machine: "3"}}}},
	}}
	u.Model.Returns.Keys = []string{bobKey}
	u.Session.InTerminal, u.Session.OutTerminal = true, true
	var got []string
	u.Session.Exec = func(r cli.Replacement) error {
		got = r.Argv
		return nil
	}
	u.Types("debug-hooks", "web/0")
	if want := []string{"tmux", "new-session", "-A", "-s", "web/0", "env"}; len(got) < 7 || !slices.Equal(got[:6], want) ||
		!slices.Contains(got, `JUJU_MODEL=a;b\;`) {
		t.Errorf("code %d, %s: %q", u.Code, u.Err.String(), got)
	}
}
