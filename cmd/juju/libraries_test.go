package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"juju/doc/tools/verify"
	"juju/hooks"
)

// Charms on the libraries that most charms are written with. Nothing of these is here:
// CHARM_LIBRARIES names a directory with ops and charmhelpers, as in their own repositories.
func TestCharmLibraries(t *testing.T) {
	verify.Only(t, "needs the libraries that charms are written with")
	t.Parallel()
	libraries := os.Getenv("CHARM_LIBRARIES")
	if libraries == "" {
		t.Skip("CHARM_LIBRARIES does not name a directory with ops and charmhelpers")
	}
	for _, name := range []string{"ops", "charmhelpers"} {
		if _, err := os.Stat(filepath.Join(libraries, name)); err != nil {
			t.Skipf("CHARM_LIBRARIES: %v", err)
		}
	}
	if err := exec.Command("env", "PATH="+hooks.SystemPath, "python3", "-c", "import yaml").Run(); err != nil {
		t.Skipf("the libraries need the system's python3 and its module yaml: %v", err)
	}
	set := func(env *testscript.Env) { env.Setenv("LIBRARIES", libraries) }
	runSystem(t, set, "libraries")
	t.Run("today", func(t *testing.T) {
		if _, err := os.Stat(filepath.Join(libraries, "today", "charms")); err != nil {
			t.Skipf("CHARM_LIBRARIES has no directory today with the newest ops, what that needs, and charms with data_interfaces and tls_certificates: %v", err)
		}
		runSystem(t, set, "libraries/today")
	})
}
