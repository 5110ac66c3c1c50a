package facades_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"juju/apiserver/params"
	"juju/charm/charmstore/storetest"
	"juju/state"
	"juju/state/entity"
	"juju/state/modelconfig"
	"juju/state/statetest"
)

// withStore returns a world whose model gets charms from a store, which is empty.
func withStore(t *testing.T) (*world, *storetest.Store) {
	t.Helper()
	c, _ := statetest.Controller(t)
	store, model := storetest.New(t), statetest.NamedModel("shop")
	model.Config[modelconfig.CharmhubURL] = store.URL
	st, err := c.AddModel(t.Context(), model)
	statetest.OK(t, err)
	w := newWorldOf(t, c, st)
	return w, store
}

const storedCharm = "name: web\nsummary: s\ndescription: d\n"

// Services are deployed with charms of a store, checked like others, and keep where the charm is from.
func TestDeployFromRepository(t *testing.T) {
	t.Parallel()
	w, store := withStore(t)
	store.Publish(storedCharm, []string{"2/stable"}, "config.yaml", "options: {size: {type: int, default: 5}}\n")
	store.Publish(storedCharm, []string{"2/edge"})
	store.Publish("name: log\nsummary: s\ndescription: d\nsubordinate: true\nrequires: {host: {interface: juju-info, scope: container}}\n",
		[]string{"stable"})
	edge, stable, one, three := "2/edge", "2/stable", 1, 3
	for _, test := range []struct {
		arg  params.DeployFromRepositoryArg
		want string // the error, or what is deployed
	}{
		{params.DeployFromRepositoryArg{CharmName: "web", DryRun: true}, "web 1 2/stable ubuntu@22.04 amd64"},
		{params.DeployFromRepositoryArg{CharmName: "web", NumUnits: &three, ConfigYAML: "web: {size: 3}"}, "web 1 2/stable ubuntu@22.04 amd64"},
		{params.DeployFromRepositoryArg{CharmName: "web", DryRun: true}, `service "web" already exists`},
		{params.DeployFromRepositoryArg{CharmName: "ch:web", ApplicationName: "next", Channel: &edge, Trust: true}, "web 2 2/edge ubuntu@22.04 amd64"},
		{params.DeployFromRepositoryArg{CharmName: "web", ApplicationName: "old", Channel: &edge, Revision: &one},
			"web 1 2/edge ubuntu@22.04 amd64"},
		{params.DeployFromRepositoryArg{CharmName: "log", NumUnits: &one}, "log 1 latest/stable ubuntu@22.04 amd64"},
		{params.DeployFromRepositoryArg{CharmName: "web-1"}, "cannot specify revision in a charm or bundle name. Please use --revision."},
		{params.DeployFromRepositoryArg{CharmName: "web", Revision: &one},
			"specifying a revision requires a channel for future upgrades. Please use --channel"},
		{params.DeployFromRepositoryArg{CharmName: "web", ApplicationName: "-", Channel: &stable}, `invalid service name "-"`},
		{params.DeployFromRepositoryArg{CharmName: "web", ApplicationName: "x", ConfigYAML: "x: {size: big}"}, "option"},
		{params.DeployFromRepositoryArg{CharmName: "nothing"}, "No charm or bundle with name"},
	} {
		var got params.DeployFromRepositoryResults
		w.ok(w.admin().do("Application", 19, "DeployFromRepository",
			params.DeployFromRepositoryArgs{Args: []params.DeployFromRepositoryArg{test.arg}}, &got))
		r := got.Results[0]
		text := fmt.Sprintf("%s %d %s %s %s", r.Info.Name, r.Info.Revision, r.Info.Channel, r.Info.Base.Short(), r.Info.Architecture)
		if len(r.Errors) > 0 {
			text = r.Errors[0].Message
		}
		test.want = strings.ReplaceAll(test.want, "amd64", runtime.GOARCH)
		if text != test.want && !(len(r.Errors) > 0 && strings.Contains(text, test.want)) {
			t.Errorf("%+v: %s, want %s", test.arg, text, test.want)
		}
	}
	m, err := w.st.Status(t.Context())
	w.ok(err)
	var all []string
	for _, s := range m.Services {
		all = append(all, fmt.Sprintf("%s %s %s %d", s.Name, s.CharmURL, s.Channel, len(s.Units)))
	}
	if got, want := strings.ReplaceAll(strings.Join(all, "; "), runtime.GOARCH, "amd64"), "log ch:amd64/log-1 latest/stable 0; next ch:amd64/web-2 2/edge 1; old ch:amd64/web-1 2/edge 1; "+
		"web ch:amd64/web-1 2/stable 3"; got != want {
		t.Errorf("there are %s, want %s", got, want)
	}
	var origin params.CharmURLOriginResult
	w.ok(w.admin().do("Application", 19, "GetCharmURLOrigin", params.ApplicationGet{ApplicationName: "old"}, &origin))
	if o := origin.Origin; o.Source != params.FromStore || o.Track != "2" || o.Risk != "edge" || *o.Revision != 1 || len(o.ID) != 32 {
		t.Errorf("the origin is %+v", o)
	}
}

// A client has a charm resolved and added, and changes a service's charm to it, or only the channel that it follows.
func TestTheCharmOfAStoreIsChanged(t *testing.T) {
	t.Parallel()
	w, store := withStore(t)
	store.Publish(storedCharm, []string{"stable", "edge"})
	c := w.admin()
	var deployed params.DeployFromRepositoryResults
	w.ok(c.do("Application", 19, "DeployFromRepository",
		params.DeployFromRepositoryArgs{Args: []params.DeployFromRepositoryArg{{CharmName: "web"}}}, &deployed))
	follow := func(channel string) string {
		t.Helper()
		var resolved params.ResolveCharmResults
		w.ok(c.do("Charms", 7, "ResolveCharms", params.ResolveCharms{Resolve: []params.ResolveCharm{{Reference: "ch:web",
			Origin: params.CharmOrigin{Source: params.FromStore, Risk: channel}}}}, &resolved))
		r := resolved.Results[0]
		w.ok(params.FromError(r.Error))
		var added params.CharmOriginResult
		w.ok(c.do("Charms", 7, "AddCharm", params.AddCharmWithOrigin{URL: r.URL, Origin: r.Origin}, &added))
		w.ok(c.do("Application", 19, "SetCharm", params.ApplicationSetCharm{ApplicationName: "web", CharmURL: r.URL, CharmOrigin: &added.Origin}, nil))
		svc, err := w.st.Service(t.Context(), "web")
		w.ok(err)
		return strings.ReplaceAll(svc.CharmURL(), runtime.GOARCH, "amd64") + " " + svc.Origin().Channel
	}
	if got := follow("edge"); got != "ch:amd64/web-1 latest/edge" {
		t.Error(got)
	}
	store.Publish(storedCharm, []string{"edge"}, "version", "2")
	if got := follow("edge"); got != "ch:amd64/web-2 latest/edge" {
		t.Error(got)
	}
	if got := follow("stable"); got != "ch:amd64/web-1 latest/stable" {
		t.Error(got)
	}
	// By another client, which says nothing of where it is from.
	w.ok(c.do("Application", 19, "SetCharm", params.ApplicationSetCharm{ApplicationName: "web", CharmURL: "ch:web-2"}, nil))
	svc, err := w.st.Service(t.Context(), "web")
	w.ok(err)
	if svc.CharmURL() != "ch:"+runtime.GOARCH+"/web-2" || svc.Origin() == nil || svc.Origin().Channel != "latest/stable" {
		t.Errorf("%s of %v", svc.CharmURL(), svc.Origin())
	}
	local := statetest.Charm(t, w.st, storedCharm)
	w.ok(c.do("Application", 19, "SetCharm", params.ApplicationSetCharm{ApplicationName: "web", CharmURL: local}, nil))
	if svc, err = w.st.Service(t.Context(), "web"); err != nil || svc.Origin() != nil {
		t.Errorf("of a local charm: %v, %v", svc.Origin(), err)
	}
	if err := c.do("Application", 19, "SetCharm", params.ApplicationSetCharm{ApplicationName: "web", CharmURL: "ch:web-9"}, nil); !entity.IsNotFound(err) {
		t.Errorf("a charm that the model does not have: %v", err)
	}
}

// The resources of a release come with the charm, and their new revisions with its next one; a file that a user has uploaded stays, and
// a client may ask for a revision. What the release does not have is warned of.
func TestResourcesOfAStore(t *testing.T) {
	t.Parallel()
	w, store := withStore(t)
	const metadata = storedCharm + "resources: {page: {type: file, filename: page.html}, logo: {type: file, filename: logo.png}, " +
		"none: {type: file, filename: none}, image: {type: oci-image, description: d}}\n"
	store.Publish(metadata, nil)
	store.Publish(metadata, nil, "version", "2")
	for _, content := range []string{"one", "two", "three"} {
		store.Resource("web", "page", content)
		store.Resource("web", "logo", content)
	}
	store.Release("web", 1, "stable", map[string]int{"page": 1, "logo": 1})
	c := w.admin()
	var deployed params.DeployFromRepositoryResults
	w.ok(c.do("Application", 19, "DeployFromRepository",
		params.DeployFromRepositoryArgs{Args: []params.DeployFromRepositoryArg{{CharmName: "web"}}}, &deployed))
	if len(deployed.Results[0].Errors) > 0 {
		t.Fatal(deployed.Results[0].Errors[0].Message)
	}
	has := func(want string) {
		t.Helper()
		var got params.ResourcesResults
		w.ok(c.do("Resources", 3, "ListResources", params.Entities{Entities: []params.Entity{{Tag: params.TagOf(entity.ServiceTag("web"))}}}, &got))
		var all []string
		for _, r := range got.Results[0].Resources {
			all = append(all, fmt.Sprintf("%s %s %d", r.Name, r.Origin, r.Revision))
		}
		if text := strings.Join(all, ", "); text != want {
			t.Errorf("the resources are %s, want %s", text, want)
		}
	}
	has("image upload 0, logo store 1, none upload 0, page store 1")
	svc, err := w.st.Service(t.Context(), "web")
	w.ok(err)
	ids, err := w.st.Resources().AddPending(t.Context(), state.PendingResources{Service: "web", User: "admin", Names: []string{"logo"}})
	w.ok(err)
	w.ok(w.st.Resources().Store(t.Context(), state.Upload{Service: "web", Resource: "logo", ID: ids[0]}, strings.NewReader("mine")))
	w.ok(svc.SetResources(t.Context(), map[string]string{"logo": ids[0]}))
	store.Release("web", 2, "stable", map[string]int{"page": 2, "logo": 2})
	var resolved params.ResolveCharmResults
	w.ok(c.do("Charms", 7, "ResolveCharms", params.ResolveCharms{Resolve: []params.ResolveCharm{{Reference: "ch:web"}}}, &resolved))
	next := resolved.Results[0]
	w.ok(c.do("Charms", 7, "AddCharm", params.AddCharmWithOrigin{URL: next.URL, Origin: next.Origin}, nil))
	w.ok(c.do("Application", 19, "SetCharm", params.ApplicationSetCharm{ApplicationName: "web", CharmURL: next.URL, CharmOrigin: &next.Origin}, nil))
	has("image upload 0, logo upload 0, none upload 0, page store 2")
	asks := func(revision int) (params.AddPendingResourcesResult, error) {
		var pending params.AddPendingResourcesResult
		err := c.do("Resources", 3, "AddPendingResources", params.AddPendingResources{Entity: params.Entity{Tag: params.TagOf(entity.ServiceTag("web"))},
			URL: next.URL, Origin: &next.Origin, Resources: []params.CharmResource{{Name: "logo", Origin: params.OriginStore, Revision: revision}}}, &pending)
		return pending, err
	}
	pending, err := asks(3)
	w.ok(err)
	w.ok(c.do("Application", 19, "SetCharm", params.ApplicationSetCharm{ApplicationName: "web", CharmURL: next.URL, CharmOrigin: &next.Origin,
		ResourceIDs: map[string]string{"logo": pending.PendingIDs[0]}}, nil))
	has("image upload 0, logo store 3, none upload 0, page store 2")
	if _, err := asks(9); !entity.IsNotFound(err) || !strings.Contains(err.Error(), `charm "web" has no revision 9 of resource "logo"`) {
		t.Errorf("a revision that there is not: %v", err)
	}
}
