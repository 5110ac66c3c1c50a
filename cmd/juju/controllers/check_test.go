package controllers_test

import (
	"testing"

	"juju/cmd/juju/clitest"
	"juju/state/entity"
)

// A model that goes while the models are checked ends the check of that model alone.
func TestCheckGoesOnWhenAModelGoes(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	f := clitest.NewCheckedController(u)
	u.Controller.Add("admin", "last")
	f.Goes = "default-uuid"
	u.Types("check")
	u.Sees(0, "No problems found in the controller, model controller and model last.\n", "Model admin/default was removed meanwhile.\n")
	f.Goes, f.Breaks = "", "last-uuid"
	u.Types("check")
	u.Sees(1, "", "ERROR the store is closed\n")
}

func TestCheckReportsProblems(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	f := clitest.NewCheckedController(u)
	u.Types("check")
	u.Sees(0, "No problems found in the controller, model controller and model default.\n", "")
	f.Findings[""] = []entity.Finding{{Where: "database dead", What: "it belongs to no model", Repair: "drop it"}}
	f.Findings["default-uuid"] = []entity.Finding{
		{Model: "default", Where: "counts s#web", What: "it counts 3 units, there are 2",
			Repair: "set it to the right counts", Failed: "no\nluck"},
		{Model: "default", Where: "units web/0", What: "its charm does not exist"},
	}
	const database, counts, charm = "(controller) database dead: it belongs to no model; ", "default counts s#web: it " +
		"counts 3 units, there are 2; ",
		"default units web/0: its charm does not exist; --repair cannot fix this\n"
	u.Types("check")
	u.Sees(1, database+"--repair: drop it\n"+counts+"--repair: set it to the right counts\n"+charm,
		"ERROR 3 problems found\nTo repair the data: juju check --repair\n")
	u.Types("check", "--repair")
	u.Sees(1, database+"done: drop it\n"+counts+"not done: set it to the right counts: no\\nluck\n"+charm,
		"ERROR 2 problems left\n")
	f.Findings["default-uuid"] = nil
	u.Types("check", "--repair")
	u.Sees(0, database+"done: drop it\n", "")
	u.Types("check", "--format", "json")
	u.Sees(1, `[{"where":"database dead","what":"it belongs to no model","repair":"drop it","done":false}]`+"\n",
		"ERROR 1 problem found\nTo repair the data: juju check --repair\n")
	u.Types("check", "--format", "yaml", "--repair")
	u.Sees(0, "- where: database dead\n  what: it belongs to no model\n  repair: drop it\n  done: true\n", "")
}

func TestCheckCoversWhatTheUserAdministers(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	f := clitest.NewCheckedController(u)
	f.Findings[""] = []entity.Finding{{Where: "store", What: "it is broken"}}
	u.Types("check", "-m", "default")
	u.Sees(0, "No problems found in model default.\n", "")
	u.Types("check", "-m", "prod:default")
	u.Sees(0, "No problems found in model default.\n", "")
	f.Denied[""], f.Denied["controller-uuid"] = true, true
	u.Types("check")
	u.Sees(0, "No problems found in model default.\n", "")
	u.Types("check", "-m", "controller")
	u.Sees(1, "", "ERROR permission denied\n")
	u.Types("check", "-m", "nope")
	u.Sees(1, "", "ERROR model \"nope\" not found\nTo list the models: juju models\n")
	f.Denied["default-uuid"] = true
	u.Types("check")
	u.Sees(1, "", "ERROR you have nothing to check\nOnly administrators of a model and superusers can check it.\n")
	u.Types("check", "everything")
	u.Sees(2, "", "ERROR unrecognized args: [\"everything\"]\nFor usage: juju help check\n")
	u.Types("check", "--format", "xml")
	u.Sees(2, "", "ERROR unknown format \"xml\"\nValid formats: tabular, yaml, json\n")
}
