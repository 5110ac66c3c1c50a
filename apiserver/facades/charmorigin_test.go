package facades_test

import (
	"errors"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"juju/apiserver/facades"
	"juju/apiserver/params"
	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// Published clients ask where a service's charm came from, for its endpoints and its leader, and how models' controllers
// are reached. What only Kubernetes or several spaces have is refused by its name.
func TestWhatClientsAskOfServices(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *facades.Config) { c.API = func() ([]string, string) { return []string{"a:1", "b:2"}, "CA" } }).populate()
	c := w.admin()
	archive, sum, err := w.st.Charms().Archive(t.Context(), w.charms["mysql"])
	w.ok(err)
	w.ok(archive.Close())
	var origin params.CharmURLOriginResult
	w.ok(c.do("Application", 19, "GetCharmURLOrigin", params.ApplicationGet{ApplicationName: "mysql"}, &origin))
	if o := origin.Origin; origin.URL != w.charms["mysql"] || o.Source != "local" || o.Type != "charm" || *o.Revision != 0 ||
		o.Hash != sum || o.Architecture != runtime.GOARCH ||
		*o.Base != entity.BaseOf("jammy") || origin.Error != nil {
		t.Errorf("the origin is %+v", origin)
	}
	w.ok(c.do("Application", 20, "GetCharmURLOrigin", params.ApplicationGet{ApplicationName: "nothing"}, &origin))
	if origin.Error == nil || origin.Error.Code != "not found" {
		t.Errorf("the origin of nothing is %+v", origin)
	}
	var relations params.CharmRelationsResult
	w.ok(c.do("Application", 19, "CharmRelations", params.ApplicationGet{ApplicationName: "mysql"}, &relations))
	if want := []string{"admin", "server", "juju-info"}; !slices.Equal(relations.CharmRelations, want) {
		t.Errorf("the endpoints are %v, want %v", relations.CharmRelations, want)
	}
	leader := func() (r params.StringResult) {
		w.ok(c.do("Application", 19, "Leader", params.Entity{Tag: params.TagOf(entity.ServiceTag("mysql"))}, &r))
		return r
	}
	if r := leader(); r.Error == nil || r.Error.Code != "not found" {
		t.Errorf("without a leader: %+v", r)
	}
	u, err := w.st.Unit(t.Context(), "mysql/1")
	w.ok(err)
	_, err = u.ClaimLeadership(t.Context(), time.Minute)
	w.ok(err)
	if r := leader(); r.Result != "mysql/1" || r.Error != nil {
		t.Errorf("the leader is %+v", r)
	}
	var outcomes params.ErrorResults
	w.ok(c.do("Application", 19, "ScaleApplications", params.ScaleApplications{
		Applications: []params.ScaleApplication{{ApplicationTag: params.TagOf(entity.ServiceTag("mysql")), Scale: 3}}}, &outcomes))
	if err := outcomes.Results[0].Error; err == nil || err.Message != "scaling applications on a non-container model not supported" {
		t.Errorf("scaling: %v", err)
	}
	bind := func(endpoint, space string) *params.Error {
		outcomes = params.ErrorResults{}
		w.ok(c.do("Application", 19, "MergeBindings", params.ApplicationMergeBindingsArgs{Args: []params.ApplicationMergeBindings{
			{ApplicationTag: params.TagOf(entity.ServiceTag("mysql")), Bindings: map[string]string{endpoint: space}}}}, &outcomes))
		return outcomes.Results[0].Error
	}
	if err := bind("server", entity.AlphaSpace); err != nil {
		t.Errorf("the only space: %v", err)
	}
	if err := bind("server", "dmz"); err == nil || err.Message != `cannot bind service "mysql": space "dmz" not found` {
		t.Errorf("another space: %v", err)
	}
	if err := bind("nothing", entity.AlphaSpace); err == nil || err.Message != `cannot bind service "mysql": endpoint "nothing" not found` {
		t.Errorf("another endpoint: %v", err)
	}

	// An endpoint is exposed to networks and spaces; what status and ApplicationsInfo say of it is the same.
	expose := func(endpoint string, to entity.ExposedTo) error {
		return c.do("Application", 19, "Expose", params.ApplicationExpose{ApplicationName: "mysql",
			ExposedEndpoints: entity.ExposedEndpoints{endpoint: to}}, nil)
	}
	w.ok(expose("", entity.ExposedTo{CIDRs: []string{"0.0.0.0/0", "::/0"}}))
	w.ok(expose("server", entity.ExposedTo{CIDRs: []string{"10.0.0.0/8"}, Spaces: []string{entity.AlphaSpace}}))
	for endpoint, to := range map[string]entity.ExposedTo{"nothing": {}, "server": {Spaces: []string{"dmz"}}} {
		if err := expose(endpoint, to); !errors.Is(err, entity.NotFound) {
			t.Errorf("exposing %q to %v: %v", endpoint, to, err)
		}
	}
	wanted := entity.ExposedEndpoints{"": {CIDRs: []string{"0.0.0.0/0", "::/0"}},
		"server": {CIDRs: []string{"10.0.0.0/8"}, Spaces: []string{entity.AlphaSpace}}}
	exposed := func() (x entity.ExposedEndpoints) {
		t.Helper()
		var status params.FullStatus
		w.ok(c.do("Client", 7, "FullStatus", params.StatusParams{}, &status))
		var info params.ApplicationInfoResults
		w.ok(c.do("Application", 19, "ApplicationsInfo", params.Entities{Entities: []params.Entity{{Tag: params.TagOf(entity.ServiceTag("mysql"))}}}, &info))
		of := status.Applications["mysql"]
		if diff := cmp.Diff(of.ExposedEndpoints, info.Results[0].Result.ExposedEndpoints); diff != "" || of.Exposed != (len(of.ExposedEndpoints) > 0) {
			t.Errorf("exposed is %v; status and ApplicationsInfo differ:\n%s", of.Exposed, diff)
		}
		return of.ExposedEndpoints
	}
	if diff := cmp.Diff(wanted, exposed()); diff != "" {
		t.Errorf("exposed are (-want +got):\n%s", diff)
	}
	w.ok(c.do("Application", 19, "Unexpose", params.ApplicationUnexpose{ApplicationName: "mysql", ExposedEndpoints: []string{""}}, nil))
	delete(wanted, "")
	if diff := cmp.Diff(wanted, exposed()); diff != "" {
		t.Errorf("still exposed are (-want +got):\n%s", diff)
	}
	w.ok(c.do("Application", 19, "Unexpose", params.ApplicationUnexpose{ApplicationName: "mysql"}, nil))
	if left := exposed(); left != nil {
		t.Errorf("exposed are %v", left)
	}

	w.addUser("bob")
	for user, want := range map[string]string{statetest.Admin: "", "bob": "not found"} {
		conn := w.root()
		if user == "bob" {
			conn = w.user("bob", "")
		}
		var info params.ControllerAPIInfoResults
		w.ok(conn.do("Controller", 11, "ControllerAPIInfoForModels",
			params.Entities{Entities: []params.Entity{{Tag: params.TagOf(entity.ModelTag(w.st.UUID()))}}}, &info))
		switch r := info.Results[0]; {
		case want == "" && (r.Error != nil || !slices.Equal(r.Addresses, []string{"a:1", "b:2"}) || r.CACert != "CA"):
			t.Errorf("%s: %+v", user, r)
		case want != "" && (r.Error == nil || r.Error.Code != want || r.CACert != ""):
			t.Errorf("%s: %+v, want %s", user, r, want)
		}
	}
}

// Juju's Go client asks where it can connect to a unit over SSH, and what is in a model before it destroys that.
func TestWhatClientsAskOfMachinesAndModels(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *facades.Config) { c.Commit = "abc" }).populate()
	_, err := w.st.AddService(t.Context(), state.AddServiceParams{Name: "other", CharmURL: w.charms["mysql"], Units: 1})
	w.ok(err)
	c := w.admin()
	m, err := w.st.Machine(t.Context(), "0")
	w.ok(err)
	w.ok(m.SetAddresses(t.Context(), []string{"127.0.1.0", "127.0.1.9"}))
	of := func(tags ...entity.Tag) (p params.Entities) {
		for _, tag := range tags {
			p.Entities = append(p.Entities, params.Entity{Tag: params.TagOf(tag)})
		}
		return p
	}
	asked := of(entity.UnitTag("mysql/0"), entity.MachineTag("1"), entity.UnitTag("other/0"), entity.UnitTag("none/0"),
		entity.ServiceTag("mysql"))
	for _, method := range []string{"PublicAddress", "PrivateAddress"} {
		var got params.SSHAddressResults
		w.ok(c.do("SSHClient", 4, method, asked, &got))
		var told []string
		for _, r := range got.Results {
			if r.Error != nil {
				r.Address = r.Error.Message
			}
			told = append(told, r.Address)
		}
		if want := []string{"127.0.1.0", "127.0.1.1", "no public address(es)", `unit "none/0" not found`,
			"service-mysql has no SSH server"}; !slices.Equal(told, want) {
			t.Errorf("%s says %q, want %q", method, told, want)
		}
	}
	var all params.SSHAddressesResults
	w.ok(c.do("SSHClient", 4, "AllAddresses", asked, &all))
	if got := all.Results[0]; !slices.Equal(got.Addresses, []string{"127.0.1.0", "127.0.1.9"}) {
		t.Errorf("all addresses are %+v", got)
	}
	var proxy params.SSHProxyResult
	w.ok(c.do("SSHClient", 4, "Proxy", nil, &proxy))
	if proxy.UseProxy {
		t.Error("clients are told to connect through the controller")
	}
	w.ok(w.st.Settings().SetConfig(t.Context(), map[string]string{"proxy-ssh": "true"}, nil))
	if w.ok(c.do("SSHClient", 4, "Proxy", nil, &proxy)); !proxy.UseProxy {
		t.Error("clients are told to connect to machines directly")
	}

	admin := w.root()
	w.addUser("bob")
	model := of(entity.ModelTag(w.st.UUID()))
	for facade, version := range map[string]int{"Controller": 12, "ModelManager": 10} {
		var got params.ModelStatusResults
		w.ok(admin.do(facade, version, "ModelStatus", model, &got))
		if r := got.Results[0]; r.Error != nil || r.Life != "alive" || r.Type != "iaas" || r.HostedMachineCount != 5 ||
			r.ApplicationCount != 3 || r.UnitCount != 5 || len(r.Machines) != 5 ||
			r.OwnerTag.Tag != entity.UserTag(statetest.Admin) || r.ModelTag.Tag != entity.ModelTag(w.st.UUID()) {
			t.Errorf("%s: %+v", facade, r)
		}
	}
	var hidden params.ModelStatusResults
	w.ok(w.user("bob", "").do("ModelManager", 10, "ModelStatus", model, &hidden))
	if r := hidden.Results[0]; r.Error == nil || r.Error.Code != "unauthorized access" || r.UnitCount != 0 {
		t.Errorf("a stranger sees %+v", r)
	}
	var version params.ControllerVersionResults
	w.ok(admin.do("Controller", 12, "ControllerVersion", nil, &version))
	if version.Version != entity.JujuVersion || version.GitCommit != "abc" {
		t.Errorf("the controller's version is %+v", version)
	}
	var full params.FullStatus
	w.ok(c.do("Client", 7, "FullStatus", nil, &full))
	if status, err := full.ModelStatus(); err != nil || status.Model.Commit != "abc" {
		t.Errorf("the status says that the controller is built from %q (%v)", status.Model.Commit, err)
	}
	var models params.ModelInfoResults
	w.ok(admin.do("ModelManager", 10, "ModelInfo", model, &models))
	if s := models.Results[0].Result.Status; s.Since == nil || s.Since.IsZero() {
		t.Errorf("the model has the status %+v", s)
	}
	var settings params.ApplicationGetResults
	w.ok(c.do("Application", 19, "Get", params.ApplicationGet{ApplicationName: "mysql"}, &settings))
	if got := settings.EndpointBindings; len(got) != 3 || got[""] != entity.AlphaSpace || got["server"] != entity.AlphaSpace {
		t.Errorf("the endpoints are bound to %v", got)
	}
}

// What a client learns about single units is what the status of the model says of them.
func TestUnitsInfoIsWhatStatusSays(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	ctx := t.Context()
	_, err := w.st.AddService(ctx, state.AddServiceParams{Name: "logging", CharmURL: statetest.Charm(t, w.st, statetest.Logging)})
	w.ok(err)
	rel, err := w.st.AddRelation(ctx, "mysql", "logging")
	w.ok(err)
	u, err := w.st.Unit(ctx, "mysql/1")
	w.ok(err)
	_, err = u.ClaimLeadership(ctx, time.Minute)
	w.ok(err)
	w.ok(u.EnterScope(ctx, rel.ID()))
	w.ok(u.CommitHook(ctx, entity.HookChanges{OpenPorts: []entity.PortRange{{From: 80, To: 80, Protocol: "tcp"}}}))
	status, err := w.st.Status(ctx)
	w.ok(err)
	var want []params.UnitInfoResult
	var tags params.Entities
	for _, s := range status.AllUnits() {
		tag := params.TagOf(entity.UnitTag(s.Name))
		ports := []string{}
		for _, p := range s.OpenedPorts {
			ports = append(ports, p.String())
		}
		svc, err := w.st.Service(ctx, entity.UnitService(s.Name))
		w.ok(err)
		tags.Entities = append(tags.Entities, params.Entity{Tag: tag})
		want = append(want, params.UnitInfoResult{Result: &params.UnitResult{Tag: tag, Machine: s.Machine, OpenedPorts: ports,
			PublicAddress: s.PublicAddress, Charm: svc.CharmURL(), Leader: s.Leader, Life: s.Life.String()}})
	}
	var got params.UnitInfoResults
	w.ok(w.admin().do("Application", 19, "UnitsInfo", tags, &got))
	if len(want) != 5 {
		t.Errorf("the model has %d units", len(want))
	}
	for _, r := range got.Results {
		r.Result.RelationData = nil
	}
	if diff := cmp.Diff(want, got.Results); diff != "" {
		t.Error(diff)
	}
}
