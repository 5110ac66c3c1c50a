package clitest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"juju/cmd/juju/cli"
	"juju/state/entity"
)

// A CheckedController has findings about itself, and about its models by UUID.
type CheckedController struct {
	*FakeController
	Findings map[string][]entity.Finding
	Denied   map[string]bool
	Goes     string // the model that is removed while it is checked
	Breaks   string // the model that can't be checked
}

func (f *CheckedController) CheckController(ctx context.Context, repair bool) ([]entity.Finding, error) {
	return f.CheckModel(ctx, "", repair)
}

func (f *CheckedController) CheckModel(_ context.Context, model string, repair bool) ([]entity.Finding, error) {
	f.Calls = append(f.Calls, fmt.Sprint(model, repair))
	if model != "" && model == f.Goes {
		f.ModelInfos = slices.DeleteFunc(f.ModelInfos, func(m entity.ModelInfo) bool { return m.UUID == model })
	}
	if model != "" && (model == f.Goes || model == f.Breaks) {
		return nil, errors.New("the store is closed")
	}
	if f.Denied[model] {
		return nil, entity.Errorf(entity.Unauthorized, "permission denied")
	}
	found := append([]entity.Finding{}, f.Findings[model]...)
	for i := range found {
		found[i].Done = repair && found[i].Repair != "" && found[i].Failed == ""
		if !repair {
			found[i].Failed = ""
		}
	}
	return found, nil
}

func NewCheckedController(u *User) *CheckedController {
	f := &CheckedController{FakeController: u.Controller, Findings: map[string][]entity.Finding{}, Denied: map[string]bool{}}
	u.Controller.Add("admin", "controller")
	u.Controller.Add("admin", "default")
	u.Session.ConnectController = func(context.Context, cli.Target) (io.Closer, error) { return f, nil }
	return f
}
