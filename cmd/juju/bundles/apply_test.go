package bundles_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"juju/cmd/juju/clitest"
	"juju/cmd/juju/clitest/realtest"
	"juju/state/entity"
)

// declaring returns a user of a model that is as a file declares, and the file.
func declaring(t *testing.T) (*realtest.User, string) {
	t.Helper()
	u := realtest.NewUser(t, newUser(t))
	u.Freeze()
	file := clitest.Shop(t)
	u.Types("apply", file, "-q")
	u.Sees(0, "Executing changes:\n"+shopChanges, "")
	return u, file
}

// What differs is shown in both directions, and changed back, except what can be removed only if asked to.
func TestDeclaredModelIsComparedAndApplied(t *testing.T) {
	u, file := declaring(t)
	u.Types("diff", file)
	u.Sees(0, "", "No differences.\n")
	u.Types("diff", file, "--format", "json")
	u.Sees(0, "{}\n", "No differences.\n")
	for _, line := range []string{"config web title= port=7 --reset ratio", "unexpose web", "add-unit web", "set-constraints web mem=2G",
		"destroy-unit store/1", "destroy-relation web store", "add-relation log store", "add-machine"} {
		u.Runs(strings.Fields(line)...)
	}
	u.Runs("deploy", filepath.Join(filepath.Dir(file), "store"), "extra")
	u.Types("diff", file)
	u.Sees(1, `ACTION  KIND      NAME                      DETAIL
remove  service   extra                     charm local:jammy/store-1, 1 unit
change  service   store                     units: 1 -> 2
change  service   web                       units: 5 -> 4
change  service   web                       exposed: false -> true
change  service   web                       setting port: 7 -> the charm's default
change  service   web                       setting ratio: none -> 2
change  service   web                       setting title: "" -> Hello
change  service   web                       constraints: mem=2048M -> mem=1G
remove  machine   4                         jammy mem=1024M
remove  machine   5                         jammy
add     relation  web:store store:db
remove  relation  log:host store:juju-info
`, "")
	u.Types("apply", file)
	u.Sees(0, `Executing changes:
- set application options for web
- reset application options of web to the charm's defaults: port
- set constraints for web to "mem=1G"
- expose all endpoints of web and allow access from CIDRs 0.0.0.0/0 and ::/0
- add unit store/2 to existing machine 1
- add relation web:store - store:db
`, `WARNING application "web": the new constraints are for new machines: web/0, web/1, web/2, web/3, web/4 keep theirs
Apply completed.
Left, as --prune is not given: relation log:host - store:juju-info
Left, as --prune is not given: application extra
Left, as --prune is not given: unit web/4
Left, as --prune is not given: machine 4
Left, as --prune is not given: machine 5
`)
	u.Types("apply", file, "--prune", "-q")
	u.Sees(0, `Executing changes:
- remove relation log:host - store:juju-info
- remove application extra
- remove unit web/4
- remove machine 4
- remove machine 5
`, "")
	u.Types("diff", file)
	u.Sees(0, "", "No differences.\n")
}

// A machine that nothing uses is taken for one that the file declares and the model lacks, if it is like that: an
// interrupted command may have added it.
func TestUnusedMachineIsTakenForADeclaredOne(t *testing.T) {
	u := realtest.NewUser(t, newUser(t))
	u.Freeze()
	file := clitest.Shop(t)
	u.Runs("add-machine", "--constraints", "mem=9G")
	u.Runs("add-machine", "--constraints", "cores=2")
	u.Types("diff", file)
	if out := u.Out.String(); !strings.Contains(out, "remove  machine   0") || strings.Contains(out, "machine   1") ||
		!strings.Contains(out, "add     machine   new 1") || strings.Contains(out, "new 0") {
		t.Errorf("the differences are\n%s", out)
	}
	if out := u.Runs("apply", file); !strings.Contains(out, "- add unit web/0 to existing machine 1\n") {
		t.Errorf("the machine is not used:\n%s", out)
	}
}

// What can't be changed once something is deployed is refused before anything is changed, or named.
func TestWhatADeclaredModelCannotChange(t *testing.T) {
	u, file := declaring(t)
	overlay := filepath.Join(filepath.Dir(file), "o.yaml")
	for text, want := range map[string]string{
		"applications: {web: {series: noble, num_units: 9}}": "ERROR cannot apply: application \"web\" has series \"jammy\", which cannot be changed to \"noble\": first, juju set-application-base web noble\n" +
			"Nothing was changed.\n",
		"applications: {web: {num_units: 9}}\nmachines: {\"0\": {series: noble}, \"1\": {}}": "ERROR cannot apply: machine 0 has series \"jammy\", which cannot be changed to \"noble\"\nNothing was changed.\n",
		"applications: {web: {num_units: 9, trust: true}}": "ERROR Bundle cannot be deployed without trusting applications with your cloud credentials.\n" +
			"  Please repeat the apply command with the --trust argument if you consent to trust the following application(s):\n" +
			"    - web\nNothing was changed.\n",
		"applications: {web: {num_units: 9}, later: {charm: ./later, num_units: 200}}": "Nothing was changed.\n",
	} {
		clitest.Write(t, overlay, text)
		before := modelOf(u)
		u.Types("apply", file, "--overlay", overlay, "--prune")
		if u.Code != 1 || !strings.HasSuffix(u.Err.String(), want) {
			t.Errorf("%s: exit code %d, it says\n%s\nwant\n%s", text, u.Code, u.Err.String(), want)
		}
		if now := modelOf(u); now != before {
			t.Errorf("%s: it has changed\n%s\nto\n%s", text, before, now)
		}
	}
	clitest.Write(t, overlay, `applications:
  web: {constraints: mem=2G}
  store: {storage: {data: 5G}}
machines: {"0": {constraints: cores=9}, "1": {annotations: {rack: c}}}
`)
	u.Types("apply", file, "--overlay", overlay, "--prune")
	const staying = "WARNING machine \"0\": the constraints of machine 0 stay \"cores=2\"\n"
	u.Sees(0, "Executing changes:\n- set storage for new units of store to data=dummy,5120M,1\n- set constraints for web to \"mem=2G\"\n",
		"WARNING application \"store\": the new storage is for new units: store/0, store/1 keep theirs\n"+
			"WARNING application \"web\": the new constraints are for new machines: web/0, web/1, web/2, web/3 keep theirs\n"+
			staying+"Apply completed.\n")

	// Trust is taken away like any setting, and what is trusted already needs no consent.
	u.Runs("trust", "web")
	clitest.Write(t, overlay, "applications: {web: {constraints: mem=2G, trust: true}}")
	u.Types("apply", file, "--overlay", overlay)
	u.Sees(0, "", "No changes to apply.\n")
	clitest.Write(t, overlay, "applications: {web: {constraints: mem=2G}}")
	u.Types("apply", file, "--overlay", overlay)
	u.Sees(0, "Executing changes:\n- reset application options of web to the charm's defaults: trust\n", "Apply completed.\n")
}

// Units below a service's minimum would come back, so they are not removed.
func TestMinimumOfADeclaredService(t *testing.T) {
	u, file := declaring(t)
	u.Runs("set-min-units", "web", "3")
	overlay := filepath.Join(filepath.Dir(file), "o.yaml")
	clitest.Write(t, overlay, "applications: {web: {num_units: 2, to: []}, store: {to: []}}\nmachines: {}\n")
	u.Types("apply", file, "--overlay", overlay, "--prune")
	u.Sees(0, "Executing changes:\n- remove unit web/3\n- remove machine 3\n", "WARNING application \"web\" keeps at least 3 units, "+
		"its minimum; to change that: juju set-min-units web 2\nApply completed.\n")
	u.Types("apply", file, "--overlay", overlay, "--prune", "-q")
	u.Sees(0, "", "")
}

// The exit code of diff says whether something differs; of an error it is another.
func TestExitCodesOfDiff(t *testing.T) {
	u, file := declaring(t)
	for line, code := range map[string]int{"diff " + file: 0, "diff nosuch.yaml": 2, "diff " + file + " --format x": 2, "diff": 2} {
		if u.Types(strings.Fields(line)...); u.Code != code {
			t.Errorf("%s: exit code %d, %s", line, u.Code, u.Err.String())
		}
	}
	u.Runs("expose", "store")
	if u.Types("diff", file, "-q"); u.Code != 1 || u.Err.Len() > 0 {
		t.Errorf("exit code %d, %s", u.Code, u.Err.String())
	}
	u.Model.Returns.Err = entity.Errorf(entity.Unauthorized, "no")
	if err := os.Remove(filepath.Join(filepath.Dir(file), "web", "metadata.yaml")); err != nil {
		t.Fatal(err)
	}
	if u.Types("diff", file); u.Code != 2 || !strings.HasPrefix(u.Err.String(), "ERROR the provided bundle") {
		t.Errorf("exit code %d, %s", u.Code, u.Err.String())
	}
}

// A machine with containers stays until they are gone, and these go with their units.
func TestMachineWithContainersIsNotRemoved(t *testing.T) {
	u := realtest.NewUser(t, newUser(t))
	u.Freeze()
	file := clitest.Shop(t)
	clitest.Write(t, file, "applications: {web: {charm: ./web, num_units: 2, to: ['lxd:0', 'lxd:0']}, store: {charm: ./store, num_units: 1}}\nmachines: {'0': {}}\n")
	u.Runs("apply", file)
	u.Types("diff", file)
	u.Sees(0, "", "No differences.\n")
	clitest.Write(t, file, "applications: {store: {charm: ./store, num_units: 1}}\n")
	u.Types("diff", file)
	u.Sees(1, `ACTION  KIND     NAME  DETAIL
remove  service  web   charm local:jammy/web-0, 2 units
remove  machine  1     jammy
`, "")
	u.Types("apply", file, "--prune")
	u.Sees(0, "Executing changes:\n- remove application web\n",
		"Machine 1 stays for now: machine 1 has containers. To remove it later, repeat the command.\nApply completed.\n")
	if _, _, err := u.State.Cleaner().Cleanup(t.Context()); err != nil {
		t.Fatal(err)
	}
	status, err := u.State.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range status.Machines {
		for _, c := range m.Containers {
			if m.Life != entity.Alive || c.Life == entity.Alive {
				t.Errorf("machine %s is %s, its container %s", m.ID, m.Life, c.Life)
			}
		}
	}
}
