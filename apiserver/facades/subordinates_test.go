package facades_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"juju/apiserver/client"
	"juju/apiserver/facades/facadestest"
	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// A principal's agent does for its subordinates what a machine's agent does for principals.
func TestPrincipalsAgentDeploysAndRemovesItsSubordinates(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	ctx := t.Context()
	principal, other := entity.UnitTag("mysql/0"), entity.UnitTag("mysql/1")
	_, err := w.st.AddService(ctx, state.AddServiceParams{Name: "logging",
		CharmURL: statetest.Charm(t, w.st, statetest.Logging)})
	w.ok(err)
	rel, err := w.st.AddRelation(ctx, "mysql", "logging")
	w.ok(err)
	conn := w.agent(principal).client()
	deployer, uniter := client.DeployerFacade{Caller: conn}, client.UniterFacade{Caller: conn}
	deployed, err := deployer.WatchDeployed(ctx, principal)
	w.ok(err)
	if got := facadestest.Receive(t, deployed); len(got) > 0 {
		t.Errorf("at first it has %q", got)
	}
	w.ok(uniter.EnterScope(ctx, principal, rel.ID()))
	if got := facadestest.Receive(t, deployed); !cmp.Equal(got, []string{"logging/0"}) {
		t.Errorf("when the principal has entered, it has %q", got)
	}
	sub := entity.UnitTag("logging/0")
	if _, err = deployer.NewPassword(ctx, sub); err != nil {
		t.Fatal(err)
	}
	strange := client.DeployerFacade{Caller: w.agent(other).client()}
	if _, err := strange.NewPassword(ctx, sub); !errors.Is(err, entity.Unauthorized) {
		t.Errorf("a password for another principal's subordinate: %v", err)
	}
	agent := w.uniter(sub)
	w.ok(agent.SetAgentStatus(ctx, sub, entity.Status{Status: entity.StatusIdle}))
	if err := deployer.RemoveUnit(ctx, sub); err == nil {
		t.Error("an Alive subordinate is removed")
	}
	w.ok(rel.Destroy(ctx, entity.Destruction{}))
	w.ok(agent.DestroyUnit(ctx, sub))
	w.ok(agent.EnsureDead(ctx, sub))
	if err := strange.RemoveUnit(ctx, sub); !errors.Is(err, entity.Unauthorized) {
		t.Errorf("another principal's agent removes it: %v", err)
	}
	w.ok(deployer.RemoveUnit(ctx, sub))
	if _, err := w.st.Unit(ctx, sub.ID); !errors.Is(err, entity.NotFound) {
		t.Errorf("the subordinate is still there: %v", err)
	}
}
