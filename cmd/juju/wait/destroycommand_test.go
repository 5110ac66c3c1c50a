package wait_test

import (
	"strings"
	"testing"

	"juju/state/entity"
)

func TestDestroyFlags(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ line, asked, refused string }{
		{"destroy-unit web/0", "DestroyUnits [web/0]", ""},
		{"destroy-unit web/0 --lenient", "DestroyUnits leniently [web/0]", ""},
		{"destroy-service web --force", "DestroyServices with force after 1m0s [web]", ""},
		{"destroy-machine 3 --force --timeout 5s", "DestroyMachines with force after 5s [3]", ""},
		{"destroy-relation web store --force --no-wait", "DestroyRelation with force after 0s [web store]", ""},
		{"destroy-relation 4 --lenient", "DestroyRelationByID leniently 4", ""},
		{"destroy-unit web/0 --force --lenient", "", "--force and --lenient are mutually exclusive: --force skips all hooks"},
		{"destroy-unit web/0 --timeout 1s", "", "--timeout is only used with --force"},
		{"destroy-unit web/0 --no-wait", "", "--no-wait without --force not valid"},
		{"destroy-unit web/0 --force --timeout=-1s", "", "--timeout must not be negative, got -1s"},
		{"destroy-unit web/0 --force --timeout=2562047h47m16s", "",
			"--timeout must not be more than 8760h0m0s, got 2562047h47m16s"},
	} {
		u := newUser(t)
		u.Types(strings.Fields(test.line)...)
		if test.refused != "" {
			u.Sees(2, "", "ERROR "+test.refused+"\nFor usage: juju help "+strings.Fields(test.line)[0]+"\n")
			u.Asked()
			continue
		}
		// What is removed by force is waited for.
		u.Sees(0, "", map[string]string{"destroy-service web --force": "Removed: web\n", "destroy-machine 3 --force --timeout 5s": "Removed: machine 3\n",
			"destroy-relation web store --force --no-wait": "Removed: relation web store\n"}[test.line])
		asked := []string{test.asked}
		if strings.Contains(test.asked, "Machines with force") { // what goes with them
			asked = append([]string{"Status"}, asked...)
		}
		u.Asked(asked...)
	}
}

// Commands that destroy units say what becomes of their storage.
func TestStorageOfWhatIsDestroyed(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Model.Returns.Left = entity.DestroyInfo{DetachedStorage: []string{"data/0", "data/1"}, DestroyedStorage: []string{"cache/2"}}
	for _, line := range []string{"destroy-unit web/0", "destroy-service web"} {
		u.Types(strings.Fields(line)...)
		u.Sees(0, "", "- will remove storage cache/2\n- will detach storage data/0\n- will detach storage data/1\n")
	}
	u.Types("destroy-machine", "0", "--force")
	u.Sees(0, "", "- will remove storage cache/2\nRemoved: machine 0\n")
}

// Commands that destroy units name the machines that are left without units.
func TestMachinesLeftWithoutUnits(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	for line, want := range map[string]string{
		"destroy-unit web/0": "Machines 3, 10 are left without units. To destroy them: juju " +
			"destroy-machine 3 10; next time: juju destroy-unit --destroy-machines\n",
		"destroy-service web --destroy-machines": "Machines 3, 10 are left without units. To destroy them: juju " +
			"destroy-machine 3 10\n",
		"destroy-service web --destroy-machines -q": "",
	} {
		u.Model.Returns.Left.MachinesLeft = entity.MachinesLeft{Machines: []string{"10", "3", "3"}}
		u.Types(strings.Fields(line)...)
		u.Sees(0, "", want)
	}
	u.Model.Returns.Left.MachinesLeft = entity.MachinesLeft{Machines: []string{"7"}}
	u.Types("destroy-service", "web")
	u.Sees(0, "", "Machine 7 is left without units. To destroy it: juju destroy-machine 7; next time: juju "+
		"destroy-service --destroy-machines\n")
	u.Model.Returns.Left.MachinesLeft = entity.MachinesLeft{Uncounted: true}
	u.Types("destroy-service", "web")
	u.Sees(0, "", "Some machines will be left without units. To destroy them too: juju destroy-service "+
		"--destroy-machines\n")
}
