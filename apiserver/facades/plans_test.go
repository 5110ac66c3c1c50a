package facades_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"juju/apiserver/client"
	"juju/apiserver/facades"
	"juju/apiserver/facades/facadestest"
	"juju/apiserver/params"
	"juju/state/entity"
	"juju/state/statetest"
)

// notPlanned are the methods that change a model and are not planned: a plan has charms itself (DeployFromRepository has a plan of
// its own), is about no host, is not what
// it guards, and does not tell of files that no service has, or of tokens, which are the controller's; ImportKeys always
// refuses, and no plan tells of secrets. What comes of the upgrade of an operating system depends on the user, who does it.
var notPlanned = []string{"Application.DeployFromRepository", "Charms.AddCharm", "KeyManager.ImportKeys", "MachineManager.ProvisioningScript",
	"MachineManager.UpgradeSeriesComplete", "MachineManager.UpgradeSeriesPrepare", "Plans.IfUnchanged", "Resources.ClearPendingResources", "Secrets.CreateSecrets",
	"Secrets.GrantSecret", "Secrets.RemoveSecrets", "Secrets.RevokeSecret", "Secrets.UpdateSecrets", "Tokens.Create"}

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

// Several changes are planned together: later ones use the charms and machines that earlier ones add, and none is planned
// after one that is refused. A token can be checked before the first change.
func TestPlansOfSeveralChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	ctx := t.Context()
	w.backend.Plans = facadestest.Plans{Controller: w.controller, Model: w.st}
	dry := w.admin().client()
	dry.PlanOnly()
	dry.KeepForPlan()
	planned := func(err error) {
		t.Helper()
		if !errors.Is(err, client.ErrPlanned) {
			t.Fatalf("it is not planned: %v", err)
		}
	}
	for _, name := range []string{"red", "blue"} {
		archive, err := os.Open(statetest.CharmArchive(t, "{name: "+name+", summary: s, description: d}"))
		w.ok(err)
		defer archive.Close()
		url, err := dry.UploadCharm(ctx, archive, "jammy")
		w.ok(err)
		_, err = dry.Deploy(ctx, client.DeployArgs{Service: name, CharmURL: url})
		planned(err)
	}
	_, _, err := dry.AddMachine(ctx, client.MachineArgs{})
	planned(err)
	machine, _ := dry.PlanMachine()
	planned(dry.SetAnnotations(ctx, entity.MachineTag(machine), map[string]string{"a": "b"}))
	_, _, err = dry.AddUnits(ctx, "blue", 1, statetest.To("lxd"))
	planned(err)
	container, host := dry.PlanMachine()
	for _, place := range []string{machine, container, host} {
		_, _, err = dry.AddUnits(ctx, "red", 1, statetest.To(place))
		planned(err)
	}
	_, err = dry.Expose(ctx, "nosuch", nil)
	planned(err)
	_, err = dry.Expose(ctx, "red", nil)
	planned(err)
	token, err := w.st.Transactions().Token(ctx)
	w.ok(err)
	planned(dry.PlanKept(ctx))
	if p := dry.Planned(); p.Token != token || len(p.Refused) != 1 || !strings.Contains(p.Refused[0], "nosuch") ||
		!slices.Equal(p.Hints, []string{"To see what is in the model: juju status"}) {
		t.Errorf("the plan is %+v", p)
	}
	status, err := w.st.Status(ctx)
	w.ok(err)
	on := map[string]string{}
	for _, s := range status.Services {
		for _, u := range s.Units {
			on[u.Name] = u.Machine
		}
		if s.Name == "red" && s.Exposed {
			t.Error("what comes after a refusal is planned")
		}
	}
	outer := entity.MachineHost(on["blue/0"])
	if outer == "" || on["red/0"] == outer || on["red/1"] != on["blue/0"] || on["red/2"] != outer {
		t.Errorf("the units are on %v", on)
	}

	late := w.admin().client()
	w.ok(late.CheckUnchanged(ctx)) // without a token
	late.OnlyIfUnchanged(token)
	if err := late.CheckUnchanged(ctx); !errors.Is(err, entity.Moved) {
		t.Errorf("the token of an earlier state: %v", err)
	}
	now := w.admin().client()
	now.PlanOnly()
	now.KeepForPlan()
	planned(now.PlanKept(ctx))
	if now.Planned().Token == token {
		t.Error("the plan of nothing has the token of an earlier state")
	}
	late.OnlyIfUnchanged(now.Planned().Token)
	w.ok(late.CheckUnchanged(ctx))
}

// A plan has a charm with those actions that the charm has programs for.
func TestAPlanKnowsTheActionsOfACharm(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.backend.Plans = facadestest.Plans{Controller: w.controller, Model: w.st}
	dry := w.admin().client()
	dry.PlanOnly()
	archive, err := os.Open(statetest.CharmArchive(t, "{name: red, summary: s, description: d}",
		"actions.yaml", "go: {}\nstay: {}\n", "actions/go", "#!/bin/sh\n"))
	w.ok(err)
	defer archive.Close()
	url, err := dry.UploadCharm(t.Context(), archive, "jammy")
	w.ok(err)
	if _, err = dry.Deploy(t.Context(), client.DeployArgs{Service: "red", CharmURL: url}); !errors.Is(err, client.ErrPlanned) {
		t.Fatal(err)
	}
	if all := fmt.Sprint(dry.Planned().Warnings); strings.Contains(all, `"go"`) || !strings.Contains(all, `"stay"`) {
		t.Errorf("the plan warns: %s", all)
	}
}

// A plan needs no more of a resource's file than its sum: for a new service, for an upgrade, and for one that has it.
func TestAPlanHasTheFilesOfResources(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	w.backend.Plans = facadestest.Plans{Controller: w.controller, Model: w.st} // the plans are made
	url := statetest.Charm(t, w.st, `{name: site, summary: s, description: d, resources: {pages: {type: file, filename: p}}}`)
	dry := w.admin().client()
	dry.PlanOnly()
	upload := func(text string) map[string]string {
		t.Helper()
		ids, err := dry.AddPendingResources(ctx, "site", url, "pages")
		w.ok(err)
		w.ok(dry.UploadResource(ctx, "site", "pages", ids["pages"], strings.NewReader(text)))
		return ids
	}
	planned := func(err error, has string) {
		t.Helper()
		if !errors.Is(err, client.ErrPlanned) || len(dry.Planned().Refused) > 0 {
			t.Fatalf("%v, the plan is %+v", err, dry.Planned())
		}
		svc, err := w.st.Service(ctx, "site")
		w.ok(err)
		r, err := svc.Resource(ctx, "pages")
		w.ok(err)
		if sum, err := entity.SHA256(strings.NewReader(has)); err != nil || r.File == nil || r.File.SHA256 != sum {
			t.Errorf("the resource is %+v, want %s", r.File, has)
		}
	}
	_, err := dry.Deploy(ctx, client.DeployArgs{Service: "site", CharmURL: url, Resources: upload("one")})
	planned(err, "one")
	_, err = dry.SetCharm(ctx, client.SetCharmArgs{Service: "site", CharmURL: url, Resources: upload("two")})
	planned(err, "two")
	planned(dry.UploadResource(ctx, "site", "pages", "", strings.NewReader("three")), "three")
	token := dry.Planned().Token
	if err := dry.UploadResource(ctx, "site", "logo", "", strings.NewReader("x")); err == nil || errors.Is(err, client.ErrPlanned) {
		t.Errorf("a resource that the charm does not have: %v", err)
	}

	late := w.admin().client()
	late.OnlyIfUnchanged(token) // of the state before the last plan
	if err := late.UploadResource(ctx, "site", "pages", "", strings.NewReader("four")); !errors.Is(err, entity.Moved) {
		t.Errorf("an upload after a change: %v", err)
	}
	now, err := w.st.Transactions().Token(ctx)
	w.ok(err)
	made := w.admin().client()
	made.OnlyIfUnchanged(now)
	w.ok(made.UploadResource(ctx, "site", "pages", "", strings.NewReader("four")))
	made = w.admin().client()
	now, err = w.st.Transactions().Token(ctx)
	w.ok(err)
	made.OnlyIfUnchanged(now)
	ids, err := made.AddPendingResources(ctx, "site", url, "pages")
	w.ok(err)
	w.ok(made.UploadResource(ctx, "site", "pages", ids["pages"], strings.NewReader("five")))
	_, err = made.SetCharm(ctx, client.SetCharmArgs{Service: "site", CharmURL: url, Resources: ids})
	w.ok(err)
}
