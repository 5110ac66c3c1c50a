package machines_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	osuser "os/user"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"juju/cmd/juju/clitest"
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

// A host is inspected, added and set up over SSH. It is not added if it is of another series than was asked for, and not left
// in the model if it can't be set up.
func TestAddingAHost(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	h := newHost(t)
	u.Env["HOME"], u.Env["USER"] = h.home, "bob"
	u.Model.Returns.Script, u.Model.Returns.Warnings = "install it", []string{"the cloud says"}
	u.Types("add-machine", "ssh:"+h.address)
	u.Sees(0, "", "WARNING the cloud says\nWARNING there is no systemd\ncreated machine 0\n")
	const added = `AddMachine "jammy" "" "ssh:bob@%s"`
	u.Asked(fmt.Sprintf(added, h.address), "ProvisioningScript 0")
	u.Types("add-machine", "ssh:root@"+h.address, "--series", "jammy", "-q")
	u.Asked(strings.Replace(fmt.Sprintf(added, h.address), "bob", "root", 1), "ProvisioningScript 0")
	u.Types("add-machine", "ssh:"+h.address, "--series", "noble")
	u.Sees(1, "", fmt.Sprintf("ERROR cannot add host %s: its series is \"jammy\", not \"noble\"\n", h.address))
	u.Asked()
	u.Model.Returns.Script, u.Model.Returns.Warnings = "fail", nil
	u.Types("add-machine", "ssh:"+h.address)
	u.Sees(1, "", fmt.Sprintf("ERROR cannot install an agent on %s: no room\n", h.address))
	u.Asked(fmt.Sprintf(added, h.address), "ProvisioningScript 0", "DestroyMachines with force after 0s [0]")
	u.Model.Returns.Errs = []error{errors.New("it is in use")}
	u.Types("add-machine", "ssh:"+h.address)
	u.Sees(1, "", fmt.Sprintf("ERROR cannot install an agent on %s: no room\nMachine 0 was not removed (it is in use). To remove it: "+
		"juju destroy-machine 0 --force\n", h.address))
	u.Types("add-machine", "ssh:"+h.address, "--dry-run")
	u.Sees(2, "", fmt.Sprintf("ERROR --dry-run does not plan what is done to a host: ssh:%s\nFor usage: juju help add-machine\n", h.address))
	if me, err := osuser.Current(); err == nil {
		u.Env["USER"] = ""
		u.Model.Returns.Script, u.Model.Returns.Errs = "install it", nil
		u.Types("add-machine", "ssh:"+h.address, "-q")
		u.Asked(strings.Replace(fmt.Sprintf(added, h.address), "bob", me.Username, 1), "ProvisioningScript 0")
	}
}

// A host is an SSH server that runs no programs: it answers the scripts that juju runs there.
type host struct{ address, home string } // home is of a user who may log in

func newHost(t *testing.T) host {
	t.Helper()
	h := host{home: t.TempDir()}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h.address = l.Addr().String()
	_, own, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	_, users, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(own)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(users, "")
	if err != nil {
		t.Fatal(err)
	}
	clitest.Write(t, filepath.Join(h.home, ".ssh/id_ed25519"), string(pem.EncodeToMemory(block)))
	clitest.Write(t, filepath.Join(h.home, ".ssh/known_hosts"), knownhosts.Line([]string{h.address}, signer.PublicKey())+"\n")
	config := &ssh.ServerConfig{PublicKeyCallback: func(ssh.ConnMetadata, ssh.PublicKey) (*ssh.Permissions, error) { return nil, nil }}
	config.AddHostKey(signer)
	var all sync.WaitGroup
	t.Cleanup(func() { l.Close(); all.Wait() })
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { serveHost(config, conn) })
		}
	})
	return h
}

func serveHost(config *ssh.ServerConfig, conn net.Conn) {
	defer conn.Close()
	_, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for one := range channels {
		channel, requests, err := one.Accept()
		if err != nil {
			return
		}
		for r := range requests {
			if r.Type != "exec" {
				_ = r.Reply(false, nil)
				continue
			}
			_ = r.Reply(true, nil)
			script, _ := io.ReadAll(channel)
			status := uint32(0)
			switch {
			case string(script) == "fail":
				status = 1
				_, _ = io.WriteString(channel.Stderr(), "juju: no room\n")
			case string(script) == "install it":
				_, _ = io.WriteString(channel, "WARNING there is no systemd\n")
			default:
				_, _ = io.WriteString(channel, "root\narch=x86_64\ncores=2\nmem=2097152\nroot-disk=8388608\nVERSION_CODENAME=jammy\n")
			}
			_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{status}))
			channel.Close()
		}
	}
}
