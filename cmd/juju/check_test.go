package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/clitest"
	"juju/state/entity"
)

// A checkedController has findings about itself, and about its models by UUID.
type checkedController struct {
	*clitest.FakeController
	findings map[string][]entity.Finding
	denied   map[string]bool
	goes     string // the model that is removed while it is checked
	breaks   string // the model that can't be checked
}

func (f *checkedController) CheckController(ctx context.Context, repair bool) ([]entity.Finding, error) {
	return f.CheckModel(ctx, "", repair)
}

func (f *checkedController) CheckModel(_ context.Context, model string, repair bool) ([]entity.Finding, error) {
	f.Calls = append(f.Calls, fmt.Sprint(model, repair))
	if model != "" && model == f.goes {
		f.ModelInfos = slices.DeleteFunc(f.ModelInfos, func(m entity.ModelInfo) bool { return m.UUID == model })
	}
	if model != "" && (model == f.goes || model == f.breaks) {
		return nil, errors.New("the store is closed")
	}
	if f.denied[model] {
		return nil, entity.Errorf(entity.Unauthorized, "permission denied")
	}
	found := append([]entity.Finding{}, f.findings[model]...)
	for i := range found {
		found[i].Done = repair && found[i].Repair != "" && found[i].Failed == ""
		if !repair {
			found[i].Failed = ""
		}
	}
	return found, nil
}

func newCheckedController(u *clitest.User) *checkedController {
	f := &checkedController{FakeController: u.Controller, findings: map[string][]entity.Finding{}, denied: map[string]bool{}}
	u.Controller.Add("admin", "controller")
	u.Controller.Add("admin", "default")
	u.Session.ConnectController = func(context.Context, cli.Target) (io.Closer, error) { return f, nil }
	return f
}

// A model that goes while the models are checked ends the check of that model alone.
func TestCheckGoesOnWhenAModelGoes(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	f := newCheckedController(u)
	u.Controller.Add("admin", "last")
	f.goes = "default-uuid"
	u.Types("check")
	u.Sees(0, "No problems found in the controller, model controller and model last.\n", "Model admin/default was removed meanwhile.\n")
	f.goes, f.breaks = "", "last-uuid"
	u.Types("check")
	u.Sees(1, "", "ERROR the store is closed\n")
}

func TestCheckReportsProblems(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	f := newCheckedController(u)
	u.Types("check")
	u.Sees(0, "No problems found in the controller, model controller and model default.\n", "")
	f.findings[""] = []entity.Finding{{Where: "database dead", What: "it belongs to no model", Repair: "drop it"}}
	f.findings["default-uuid"] = []entity.Finding{
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
	f.findings["default-uuid"] = nil
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
	f := newCheckedController(u)
	f.findings[""] = []entity.Finding{{Where: "store", What: "it is broken"}}
	u.Types("check", "-m", "default")
	u.Sees(0, "No problems found in model default.\n", "")
	u.Types("check", "-m", "prod:default")
	u.Sees(0, "No problems found in model default.\n", "")
	f.denied[""], f.denied["controller-uuid"] = true, true
	u.Types("check")
	u.Sees(0, "No problems found in model default.\n", "")
	u.Types("check", "-m", "controller")
	u.Sees(1, "", "ERROR permission denied\n")
	u.Types("check", "-m", "nope")
	u.Sees(1, "", "ERROR model \"nope\" not found\nTo list the models: juju models\n")
	f.denied["default-uuid"] = true
	u.Types("check")
	u.Sees(1, "", "ERROR you have nothing to check\nOnly administrators of a model and superusers can check it.\n")
	u.Types("check", "everything")
	u.Sees(2, "", "ERROR unrecognized args: [\"everything\"]\nFor usage: juju help check\n")
	u.Types("check", "--format", "xml")
	u.Sees(2, "", "ERROR unknown format \"xml\"\nValid formats: tabular, yaml, json\n")
}
