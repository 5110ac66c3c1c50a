package facades_test

import (
	"errors"
	"slices"
	"testing"

	"juju/apiserver/client"
	"juju/apiserver/facades"
	"juju/apiserver/facades/facadestest"
	"juju/apiserver/params"
	"juju/state/entity"
)

// notPlanned are the methods that change a model and are not planned: a plan has charms itself, is about no host, is not what
// it guards, and does not tell of files that no service has, or of tokens, which are the controller's; ImportKeys always
// refuses. What comes of the upgrade of an operating system depends on the user, who does it.
var notPlanned = []string{"Charms.AddCharm", "KeyManager.ImportKeys", "MachineManager.ProvisioningScript",
	"MachineManager.UpgradeSeriesComplete", "MachineManager.UpgradeSeriesPrepare", "Plans.IfUnchanged", "Resources.ClearPendingResources", "Tokens.Create"}

// A client that only plans reads what it needs, and every change can be planned.
func TestAPlanningClientReads(t *testing.T) {
	t.Parallel()
	for _, r := range facades.Routes() {
		if r.At&facades.AtModel == 0 || !r.ForUsers() {
			continue
		}
		reads := r.Effect == facades.Reads || r.Effect == facades.Checks
		if unplanned := slices.Contains(notPlanned, r.Facade+"."+r.Method); params.IsPlannable(r.Facade, r.Method) == (reads || unplanned) {
			t.Errorf("%s.%s is planned, or reads, or is neither: one of these", r.Facade, r.Method)
		}
		if got := params.IsRead(r.Facade, r.Method); got != reads {
			t.Errorf("%s.%s reads: %v, want %v", r.Facade, r.Method, got, reads)
		}
	}
	w := newWorld(t).populate()
	dry := w.admin().client()
	dry.PlanOnly()
	if _, err := dry.Leader(t.Context(), "mysql"); errors.Is(err, entity.NotSupported) {
		t.Error(err)
	}
}

// What disables commands is no obstacle to a plan of what enables them, nor to that with a token; it is to the others.
func TestBlocksArePlanned(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	ctx := t.Context()
	w.backend.Plans = facadestest.Plans{Controller: w.controller, Model: w.st}
	w.ok(w.st.Blocks().SwitchOn(ctx, entity.BlockChange, ""))
	dry := w.admin().client()
	dry.PlanOnly()
	if _, err := dry.Expose(ctx, "mysql", nil); !errors.Is(err, entity.OperationBlocked) {
		t.Errorf("a plan of what is disabled: %v", err)
	}
	token, err := w.st.Transactions().Token(ctx)
	w.ok(err)
	made := w.admin().client()
	made.OnlyIfUnchanged(token)
	if _, err := made.Expose(ctx, "mysql", nil); !errors.Is(err, entity.OperationBlocked) {
		t.Errorf("what is disabled: %v", err)
	}
	w.ok(made.SwitchBlockOff(ctx, entity.BlockChange))
	w.ok(w.st.Blocks().SwitchOn(ctx, entity.BlockChange, ""))
	if err := dry.SwitchBlockOff(ctx, entity.BlockChange); !errors.Is(err, client.ErrPlanned) || len(dry.Planned().Refused) > 0 {
		t.Errorf("%v, the plan is %+v", err, dry.Planned())
	}
}
