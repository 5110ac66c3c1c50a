package bundles_test

import (
	"strings"
	"testing"

	"juju/cmd/juju/clitest"
	"juju/cmd/juju/clitest/realtest"
)

// An unused machine that is one of the file's is not taken for a unit that may go anywhere.
func TestAMachineThatIsAdoptedIsNotTaken(t *testing.T) {
	u := realtest.NewUser(t, newUser(t))
	file := clitest.Shop(t)
	clitest.Write(t, file, `applications:
  any: {charm: ./web, num_units: 2, options: {title: "", port: 1, ratio: 1.0}}
  fixed: {charm: ./web, num_units: 1, to: ["1"], options: {title: "", port: 1, ratio: 1.0}}
machines:
  "1": {annotations: {rack: b}}
`)
	u.Runs("add-machine")
	u.Runs("apply", file)
	u.Types("diff", file)
	u.Sees(0, "", "No differences.\n")
	for unit, want := range map[string]string{"any/0": "1", "any/1": "2", "fixed/0": "0"} {
		if shown := u.Runs("show-unit", unit, "--format", "json"); !strings.Contains(shown, `"machine":"`+want+`"`) {
			t.Errorf("unit %s is not on machine %s: %s", unit, want, shown)
		}
	}
}
