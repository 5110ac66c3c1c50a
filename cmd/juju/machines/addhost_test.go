package machines_test

import (
	"strings"
	"testing"

	"juju/cmd/juju/store"
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
