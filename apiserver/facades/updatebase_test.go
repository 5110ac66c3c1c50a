package facades_test

import (
	"testing"

	"juju/apiserver/params"
	"juju/provider/dummytest"
	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// A service gets a base by its channel, which is of the system that the service has, as from Juju's clients, or by its whole
// name. The cloud and the charm must have it, unless it is forced.
func TestUpdateApplicationBase(t *testing.T) {
	t.Parallel()
	cloud := dummytest.New(nil)
	w := newWorld(t, onCloud(cloud))
	cloud.SetSeries("jammy", "noble", "bookworm")
	c := w.admin()
	_, err := w.st.AddService(t.Context(), state.AddServiceParams{Name: "web", CharmURL: statetest.Charm(t, w.st,
		`{name: web, summary: s, description: d, series: [jammy, noble, xenial]}`)})
	w.ok(err)
	for _, one := range []struct {
		tag     entity.Tag
		channel string
		force   bool
		want    string // the error
		series  string
	}{
		{entity.ServiceTag("web"), "24.04", false, "", "noble"},
		{entity.ServiceTag("web"), "22.04/stable", false, "", "jammy"},
		{entity.ServiceTag("web"), "ubuntu@24.04/stable", false, "", "noble"},
		{entity.ServiceTag("web"), "", false, "base missing from args", "noble"},
		{entity.ServiceTag("web"), "12", false, `unknown base "ubuntu@12"`, "noble"},
		{entity.ServiceTag("web"), "16.04", false, `cannot set the base of service "web": series "xenial" is not available: ` +
			`the cloud has jammy, noble, bookworm`, "noble"},
		{entity.ServiceTag("web"), "debian@12", false, `cannot set the base of service "web": base "debian@12" not supported by ` +
			`charm "web", supported bases are: ubuntu@22.04, ubuntu@24.04, ubuntu@16.04`, "noble"},
		{entity.ServiceTag("web"), "16.04", true, "", "xenial"},
		{entity.ServiceTag("web"), "debian@12", true, "", "bookworm"},
		{entity.ServiceTag("mysql"), "12", true, `service "mysql" not found`, "bookworm"},
		{entity.UnitTag("web/0"), "12", true, `"unit-web-0" is not a valid service tag`, "bookworm"},
	} {
		var result params.ErrorResults
		w.ok(c.do("Application", 19, "UpdateApplicationBase", params.UpdateChannelArgs{Args: []params.UpdateChannelArg{
			{Entity: params.Entity{Tag: params.TagOf(one.tag)}, Channel: one.channel, Force: one.force}}}, &result))
		got := ""
		if e := result.Results[0].Error; e != nil {
			got = e.Message
		}
		svc, err := w.st.Service(t.Context(), "web")
		w.ok(err)
		if got != one.want || svc.Series() != one.series {
			t.Errorf("%s: got error %q and series %s, want %q and %s", one.channel, got, svc.Series(), one.want, one.series)
		}
	}
}
