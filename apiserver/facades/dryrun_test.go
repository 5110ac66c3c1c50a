package facades_test

import (
	"errors"
	"testing"

	"juju/apiserver/params"
	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// A client asks what would become of storage if a unit, a machine or a service were destroyed, and destroys nothing: what
// lies on the machine's disk goes with it, the rest stays unless it is to be destroyed too. Then it destroys the service.
func TestAServiceIsDestroyedAfterADryRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	url := statetest.Charm(t, w.st, `{name: disk, summary: s, description: d, storage: {data: {type: filesystem}, kept: {type: filesystem}}}`)
	_, err := w.st.AddService(ctx, state.AddServiceParams{Name: "disk", CharmURL: url, Units: 1,
		Storage: map[string]entity.StorageConstraints{"data": {Pool: entity.PoolRootFS, Count: 1}, "kept": {Count: 1}}})
	w.ok(err)
	admin, disk := w.admin(), params.TagOf(entity.ServiceTag("disk"))
	life := func() string {
		t.Helper()
		nosuch := params.TagOf(entity.ServiceTag("nosuch"))
		var infos params.ApplicationInfoResults
		w.ok(admin.do("Application", 19, "ApplicationsInfo", params.Entities{Entities: []params.Entity{{Tag: nosuch}, {Tag: disk}}}, &infos))
		if len(infos.Results) != 2 || infos.Results[1].Result == nil || infos.Results[1].Result.Charm != url {
			t.Fatalf("of two services, one of which does not exist, it is told %+v", infos.Results)
		}
		if err := params.FromError(infos.Results[0].Error); !errors.Is(err, entity.NotFound) {
			t.Errorf("of a service that does not exist it is told %v", err)
		}
		return infos.Results[1].Result.Life
	}
	destroy := func(facade string, version int, method string, args any, want string) {
		t.Helper()
		var reply struct {
			Results []struct {
				Error *params.Error
				Info  params.DestroyInfo
			}
		}
		w.ok(admin.do(facade, version, method, args, &reply))
		r := reply.Results[0]
		got := "destroyed"
		for _, e := range r.Info.DestroyedStorage {
			got += " " + e.Tag.ID
		}
		got += ", detached"
		for _, e := range r.Info.DetachedStorage {
			got += " " + e.Tag.ID
		}
		if r.Error != nil || got != want {
			t.Errorf("%s tells of %q, error %v, want %q", method, got, params.FromError(r.Error), want)
		}
	}
	const kept = "destroyed data/0, detached kept/1"
	before := w.stored()
	destroy("Application", 19, "DestroyUnit", params.DestroyUnitsParams{Units: []params.DestroyUnitParams{
		{UnitTag: params.TagOf(entity.UnitTag("disk/0")), DestroyStorage: true, DryRun: true}}}, "destroyed data/0 kept/1, detached")
	destroy("MachineManager", 10, "DestroyMachineWithParams", params.DestroyMachinesParams{
		MachineTags: []params.Tag{params.TagOf(entity.MachineTag("0"))}, DryRun: true}, kept)
	service := params.DestroyApplicationParams{ApplicationTag: disk, DryRun: true}
	destroy("Application", 19, "DestroyApplication", params.DestroyApplicationsParams{
		Applications: []params.DestroyApplicationParams{service}}, kept)
	if after := w.stored(); after != before || life() != "alive" {
		t.Errorf("dry runs have changed the model:\n%s\nbefore\n%s", after, before)
	}
	service.DryRun = false
	destroy("Application", 19, "DestroyApplication", params.DestroyApplicationsParams{
		Applications: []params.DestroyApplicationParams{service}}, kept)
	if got := life(); got != "dying" {
		t.Errorf("the service is %s", got)
	}
}
