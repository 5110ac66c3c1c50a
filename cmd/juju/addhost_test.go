package main

import (
	"strings"
	"testing"

	"juju/cmd/juju/store"
	"juju/state/entity"
)

// What is no host, or can't go with one, is refused before anything is asked.
func TestHostsThatAreRefused(t *testing.T) {
	for _, test := range []struct {
		line, want, hint string
	}{
		{"add-machine ssh:", `invalid placement "ssh:": "" is neither an IP address nor the name of a host`, "For usage: "},
		{"add-machine ssh:-oProxyCommand=x", `"-oProxyCommand=x" is neither an IP address nor the name of a host`, "For usage: "},
		{"add-machine ssh:root@db:x", `invalid placement "ssh:root@db:x": "db:x" is no host and port`, "For usage: "},
		{"add-machine ssh:a$(b)@db", `"a$(b)" is no name of a user`, "For usage: "},
		{"add-machine ssh:db -n 2", "cannot use -n when specifying a placement directive", "For usage: "},
		{"add-machine ssh:db --constraints mem=1G", "cannot use --constraints with ssh:: the host is as it is", "For usage: "},
		{"add-machine --private-key x", "--private-key is for ssh:[USER@]HOST[:PORT]", "For usage: "},
		{"add-machine zone=a --private-key x", "--private-key is for ssh:[USER@]HOST[:PORT]", "For usage: "},
	} {
		u := newUser(t)
		u.types(strings.Fields(test.line)...)
		lines := strings.Split(u.err.String(), "\n")
		if u.code != 2 || !strings.HasSuffix(lines[0], test.want) || len(lines) < 2 || !strings.HasPrefix(lines[1], test.hint) {
			t.Errorf("juju %s: exit code %d, %s", test.line, u.code, u.err.String())
		}
		u.asked()
	}
}

// A controller on the local cloud is reached from its own host only.
func TestHostsOfTheLocalCloud(t *testing.T) {
	u := newUser(t)
	u.note(func(c *store.Contents) { c.Controllers["prod"].Cloud = localCloud })
	u.types("add-machine", "ssh:root@db:2222")
	u.sees(1, "", `ERROR cannot add host db:2222: controller "prod", on cloud "local", listens on this host's loopback addresses only, where no other host reaches it
A controller on a cloud with a network can have hosts: juju bootstrap lxd
`)
	u.asked()
}

// Before a host is a machine, the model is not asked.
func TestHostsThatCannotBeReached(t *testing.T) {
	u := newUser(t)
	u.env["HOME"] = t.TempDir()
	u.types("add-machine", "ssh:root@127.0.0.1:1")
	u.sees(1, "", `ERROR cannot connect to root@127.0.0.1:1: you have no SSH key
Make one with ssh-keygen, or name one: --private-key FILE
`)
	u.types("add-machine", "ssh:root@127.0.0.1:1", "--private-key", u.env["HOME"]+"/none")
	if !strings.HasPrefix(u.err.String(), "ERROR cannot connect to root@127.0.0.1:1: cannot read the key ") {
		t.Errorf("it says %s", u.err.String())
	}
	u.asked()
}

// On a host that a user has lent there is no user ubuntu.
func TestNoSSHToManualMachines(t *testing.T) {
	for _, line := range []string{"ssh 3", "ssh root@web/0 ls", "scp 3:x y"} {
		u := newUser(t)
		u.fake.statuses = []*entity.ModelStatus{{
			Model:    entity.ModelHeader{Cloud: lxdCloud},
			Machines: []entity.MachineStatus{{ID: "3", InstanceID: "manual:db", Addresses: []string{"10.0.0.7"}}},
			Services: []entity.ServiceStatus{{Name: "web", Units: []entity.UnitStatus{{Name: "web/0", Machine: "3"}}}},
		}}
		u.types(strings.Fields(line)...)
		u.sees(1, "", `ERROR machine 3 is a host of a user's, on which users and SSH keys are left alone
Use ssh itself: ssh db
`)
	}
}
