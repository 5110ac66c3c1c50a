package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"juju/doc/verify"
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
	python, err := exec.Command("python3", "-c", "import sys, yaml; print(sys.executable)").Output()
	if err != nil {
		t.Skipf("the libraries need python3 and its module yaml: %v", err)
	}
	runSystem(t, func(env *testscript.Env) {
		env.Setenv("LIBRARIES", libraries)
		// The program itself is first: some hosts have a script there that looks for it each time.
		env.Setenv("PATH", filepath.Dir(string(python))+string(filepath.ListSeparator)+env.Getenv("PATH"))
	}, "libraries")
}
