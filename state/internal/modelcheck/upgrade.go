package modelcheck

import (
	"fmt"

	"gopkg.in/mgo.v2/bson"

	"juju/state/check"
	"juju/state/internal/modeldb"
)

// judgeUpgrade finds a unit that the upgrade of a machine's operating system waits for, but that is not on the machine.
func judgeUpgrade(v *view, id string) *check.Wrong {
	m := v.Get(modeldb.MachinesC, id)
	if m == nil || m.Doc("upgrade") == nil {
		return nil
	}
	for _, name := range m.Doc("upgrade").Texts("waiting") {
		u := v.Get(modeldb.UnitsC, name)
		if principal := u.Text("principal"); principal != "" {
			u = v.Get(modeldb.UnitsC, principal)
		}
		if u.Text("machine") == id || v.hasCleanup(modeldb.CleanupUpgrade, name) {
			continue
		}
		return check.Update(check.DocID{modeldb.MachinesC, id}, fmt.Sprintf("its upgrade waits for a unit that it lacks: %s", name),
			"wait for it no longer", bson.D{{"$pull", bson.D{{"upgrade.waiting", name}}}, {"$inc", bson.D{{"upgrade.version", 1}}}})
	}
	return nil
}
