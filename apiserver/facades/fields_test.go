package facades_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"juju/apiserver/facades"
	"juju/apiserver/params"
	"juju/state/entity"
	"juju/state/modelconfig"
	"juju/state/statetest"
)

// Status and ApplicationsInfo say to which space each endpoint is bound, and status since when relations are there.
func TestStatusSaysWhatIsBoundAndSinceWhen(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	c := w.admin()
	svc, err := w.st.Service(t.Context(), "mysql")
	w.ok(err)
	want, err := svc.Bindings(t.Context())
	w.ok(err)
	var info params.ApplicationInfoResults
	w.ok(c.do("Application", 19, "ApplicationsInfo", params.Entities{Entities: []params.Entity{{Tag: params.TagOf(entity.ServiceTag("mysql"))}}}, &info))
	var status params.FullStatus
	w.ok(c.do("Client", 7, "FullStatus", params.StatusParams{}, &status))
	for where, got := range map[string]map[string]string{"ApplicationsInfo": info.Results[0].Result.EndpointBindings,
		"status": status.Applications["mysql"].EndpointBindings} {
		if len(want) != 3 || !maps.Equal(got, want) {
			t.Errorf("%s says %v, want %v", where, got, want)
		}
	}
	if len(status.Relations) != 1 || status.Relations[0].Status.Since == nil {
		t.Errorf("the relations are %+v", status.Relations)
	}
}

// A controller that can have no others describes itself; our own client shows no list of one.
func TestTheOnlyControllerDescribesItself(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *facades.Config) { c.API = func() ([]string, string) { return []string{"a:1", "b:2"}, "CA" } })
	var details params.ControllerDetailsResults
	w.ok(w.root().do("HighAvailability", 2, "ControllerDetails", nil, &details))
	if len(details.Results) != 1 || details.Results[0].Machine != "0" || !slices.Equal(details.Results[0].Addresses, []string{"a:1", "b:2"}) {
		t.Errorf("it says %+v", details)
	}
	if nodes, _, err := w.root().client().ControllerNodes(t.Context()); len(nodes) > 0 || err != nil {
		t.Errorf("our client lists %v, %v", nodes, err)
	}
}

// Clients that set up models ask what can be set, and get every setting with its values. What can't be changed says so.
func TestModelConfigSchema(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.root()
	for _, kind := range []string{"", w.controller.Cloud()} {
		var got params.ModelConfigSchemaResult
		w.ok(c.do("Cloud", 8, "ModelConfigSchema", params.ModelConfigSchemaArgs{ProviderType: kind}, &got))
		for _, s := range modelconfig.Settings {
			if f := got.Schema[s.Key]; f.Description != s.Doc || f.Immutable != s.Fixed || !slices.Equal(f.Values, s.Values) {
				t.Errorf("%s is %+v", s.Key, f)
			}
		}
		if got.Schema["automatically-retry-hooks"].Type != "bool" || got.Schema["update-status-hook-interval"].Type != "string" ||
			!got.Schema["name"].Mandatory || len(got.Schema) != len(modelconfig.Settings)+4 {
			t.Errorf("the settings are %+v", got.Schema)
		}
	}
	var other params.ModelConfigSchemaResult
	w.ok(c.do("Cloud", 7, "ModelConfigSchema", params.ModelConfigSchemaArgs{ProviderType: "ec2"}, &other))
	if other.Error == nil || other.Error.Code != "not found" || other.Schema != nil {
		t.Errorf("of another cloud: %+v", other)
	}
}

// What models can't have is refused by name, with what to do instead.
func TestRefusalsSayWhatToDo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	top := w.root()
	var removed params.ErrorResults
	w.ok(top.do("Cloud", 7, "RemoveClouds", params.CloudTags{Entities: []params.CloudEntity{{Tag: "cloud-" + w.controller.Cloud()}, {Tag: "cloud-moon"}}}, &removed))
	var resolved params.ResolveCharmResults
	w.ok(w.admin().do("Charms", 7, "ResolveCharms", params.ResolveCharms{Resolve: []params.ResolveCharm{{Reference: "ch:postgresql"}}}, &resolved))
	for _, refusal := range []struct {
		err        error
		says, hint string
	}{
		{params.FromError(removed.Results[0].Error), "the controller is on it", "juju destroy-controller"},
		{params.FromError(removed.Results[1].Error), `cloud "moon" not found`, "juju bootstrap"},
		{params.FromError(resolved.Results[0].Error), "cannot reach the charm store at " + statetest.NoStore, "Check charmhub-url"},
	} {
		if refusal.err == nil || !strings.Contains(refusal.err.Error(), refusal.says) || !strings.Contains(entity.Hint(refusal.err), refusal.hint) {
			t.Errorf("%v (%s), want %s (%s)", refusal.err, entity.Hint(refusal.err), refusal.says, refusal.hint)
		}
	}
}

// Lists of models say when the user last connected to them.
func TestListsOfModelsSayWhenTheUserConnected(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ok(w.controller.NoteLogin(t.Context(), statetest.Admin, w.st.UUID()))
	c := w.root()
	for method, facade := range map[string]string{"ListModels": "ModelManager", "AllModels": "Controller"} {
		version := map[string]int{"ModelManager": 9, "Controller": 12}[facade]
		var list params.UserModelList
		w.ok(c.do(facade, version, method, params.Entity{Tag: params.TagOf(entity.UserTag(statetest.Admin))}, &list))
		if len(list.UserModels) != 2 {
			t.Errorf("%s: %v", method, list)
		}
		for _, m := range list.UserModels {
			if connected := m.LastConnection != nil; connected != (m.UUID == w.st.UUID()) {
				t.Errorf("%s: the last connection to %s is %v", method, m.Name, m.LastConnection)
			}
		}
	}
}
