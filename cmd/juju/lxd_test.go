package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
	"github.com/rogpeppe/go-internal/testscript"

	"juju/doc/tools/verify"
)

// The whole system on a real LXD, whose socket is named as in the tests of package provider/lxd.
func TestOnLXD(t *testing.T) {
	verify.Only(t, "needs an LXD")
	t.Parallel()
	socket := os.Getenv("JUJU_LXD")
	if dir := os.Getenv("LXD_DIR"); socket == "" && dir != "" {
		socket = filepath.Join(dir, "unix.socket")
	}
	if socket == "" {
		if os.Getenv("JUJU_NEED_LXD") != "" {
			t.Fatal("JUJU_NEED_LXD is set, and neither JUJU_LXD nor LXD_DIR says where LXD is")
		}
		t.Skip("no LXD: neither JUJU_LXD nor LXD_DIR is set; make verify-lxd sets one up")
	}
	hosts, err := filepath.Abs(filepath.Join("testdata", "lxd", "hosts")) // scripts that look at hosts
	if err != nil {
		t.Fatal(err)
	}
	// With more at once, LXD on two cores takes minutes to start a container, and gives up.
	few := make(chan struct{}, 2)
	runSystem(t, func(env *testscript.Env) {
		few <- struct{}{}
		env.Defer(func() { <-few })
		env.Setenv("LXD_SOCKET", socket)
		env.Setenv("LXD_DIR", filepath.Dir(socket)) // for lxc
		host := "juju-host-" + uuid.NewString()[:8]
		env.Setenv("HOST", host) // the name of a container that a script may make; others are $HOST-0 to $HOST-2
		env.Setenv("HOSTS", hosts)
		env.Defer(func() {
			for _, name := range []string{host, host + "-0", host + "-1", host + "-2"} {
				cmd := exec.Command("lxc", "delete", "-f", name)
				cmd.Env = append(os.Environ(), "LXD_DIR="+filepath.Dir(socket))
				_ = cmd.Run() // it fails if there is none
			}
		})
	}, "lxd")
}
