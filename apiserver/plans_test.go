package apiserver

import (
	"errors"
	"testing"

	"juju/apiserver/client"
	"juju/apiserver/facades/facadestest"
	"juju/apiserver/params"
	"juju/state/entity"
)

// A plan is of one of the methods that can be planned, called as the user; a client that only plans makes no other change.
// A change with a token is made while the model is as it was, and is in the audit log as itself.
func TestPlans(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	ctx := t.Context()
	dry := w.dial(w.adminInfo(w.st.UUID()))
	dry.PlanOnly()
	before, err := w.st.Transactions().Token(ctx)
	w.ok(err)
	if _, err := dry.Expose(ctx, "mysql", nil); !errors.Is(err, entity.NotSupported) {
		t.Errorf("without anyone to plan: %v", err)
	}
	if _, err := dry.ClearPendingResources(ctx, nil, false); !errors.Is(err, entity.NotSupported) {
		t.Errorf("what can't be planned: %v", err)
	}
	token, err := w.st.Transactions().Token(ctx)
	if w.ok(err); token != before {
		t.Error("a client that only plans has changed the model")
	}
	w.server.backend.Plans = facadestest.Plans{Controller: w.controller, Model: w.st}
	errs, _, err := dry.DestroyUnits(ctx, entity.Destruction{}, "mysql/77")
	if plan := dry.Planned(); !errors.Is(err, client.ErrPlanned) || len(errs) > 0 || plan == nil || plan.Token != token ||
		len(plan.Refused) != 1 || plan.Refused[0] != `unit "mysql/77" does not exist` {
		t.Errorf("%v, the plan is %+v", err, plan)
	}
	for _, call := range []params.PlannedCall{
		{Facade: "Resources", Version: 3, Method: "ClearPendingResources"}, {Facade: "Plans", Version: 1, Method: "DryRun"},
		{Facade: "Application", Version: 1, Method: "Expose"},
	} {
		if err := w.admin().do("Plans", 1, "DryRun", call, nil); err == nil {
			t.Errorf("%s.%s is planned", call.Facade, call.Method)
		}
	}

	w.expectAudited() // plans are not changes
	made := w.dial(w.adminInfo(w.st.UUID()))
	made.OnlyIfUnchanged(token)
	if _, err := made.Expose(ctx, "mysql", nil); err != nil {
		t.Error(err)
	}
	late := w.dial(w.adminInfo(w.st.UUID()))
	late.OnlyIfUnchanged(token)
	if err := late.Unexpose(ctx, "mysql"); !errors.Is(err, entity.Moved) {
		t.Errorf("after a change: %v", err)
	}
	svc, err := w.st.Service(ctx, "mysql")
	if w.ok(err); svc.ExposedEndpoints() == nil {
		t.Error("the late change was made")
	}
	w.expectAudited(
		`admin [admin/default] Application.Expose {"application":"mysql"}: `,
		`admin [admin/default] Application.Unexpose {"application":"mysql"}: the model has changed since the plan`)
}
