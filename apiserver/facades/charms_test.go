package facades_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"juju/apiserver/client"
	"juju/apiserver/params"
	"juju/state/statetest"
)

// A client asks what a charm is. Who deploys it is told which part of it has no effect.
func TestInfoOfACharm(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	url := statetest.Charm(t, w.st, `name: site
summary: s
description: d
devices: {gpu: {type: nvidia.com/gpu}}
provides: {web: {interface: http}}
requires: {db: {interface: mysql}, log: {interface: syslog, scope: container, optional: true}}
peers: {ring: {interface: site}}
`)
	var info params.Charm
	w.ok(w.admin().do("Charms", 6, "CharmInfo", params.CharmURL{URL: url}, &info))
	got := []map[string]params.CharmRelation{info.Meta.Provides, info.Meta.Requires, info.Meta.Peers}
	want := []map[string]params.CharmRelation{
		{"web": {Name: "web", Role: "provider", Interface: "http", Scope: "global"}},
		{"db": {Name: "db", Role: "requirer", Interface: "mysql", Scope: "global"},
			"log": {Name: "log", Role: "requirer", Interface: "syslog", Optional: true, Scope: "container"}},
		{"ring": {Name: "ring", Role: "peer", Interface: "site", Scope: "global"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the relations differ:\n%s", diff)
	}
	warnings, err := w.admin().client().Deploy(t.Context(), client.DeployArgs{Service: "site", CharmURL: url})
	told := `charm "site": metadata.yaml:4: field "devices": devices are not supported`
	if err != nil || !slices.Equal(warnings, []string{told}) {
		t.Errorf("warnings %q (%v), want %q", warnings, err, told)
	}
	warnings, err = w.admin().client().SetCharm(t.Context(), client.SetCharmArgs{Service: "site", CharmURL: url})
	if err != nil || !slices.Equal(warnings, []string{told}) {
		t.Errorf("warnings of an upgrade %q (%v), want %q", warnings, err, told)
	}
}

// Its storage and resources are in what a client is told of a charm.
func TestStorageAndResourcesOfACharm(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	url := statetest.Charm(t, w.st, `name: site
summary: s
description: d
storage: {data: {type: filesystem, description: pages, minimum-size: 1G, location: /srv}}
resources: {image: {type: file, filename: image.png, description: a picture}}
`)
	var info params.Charm
	w.ok(w.admin().do("Charms", 7, "CharmInfo", params.CharmURL{URL: url}, &info))
	stores := map[string]params.CharmStorage{"data": {Name: "data", Description: "pages", Type: "filesystem", CountMin: 1, CountMax: 1,
		MinimumSize: 1024, Location: "/srv"}}
	files := map[string]params.CharmResourceMeta{"image": {Name: "image", Type: "file", Path: "image.png", Description: "a picture"}}
	if diff := cmp.Diff(stores, info.Meta.Storage) + cmp.Diff(files, info.Meta.Resources); diff != "" {
		t.Errorf("storage and resources differ:\n%s", diff)
	}
}

// An upgrade that changes the type of an option says so, and which default is used; what converts is carried over.
func TestAnUpgradeChangesTypes(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	conn := w.admin().client()
	const metadata = "{name: site, summary: s, description: d}"
	options := func(types string) string {
		return statetest.Charm(t, w.st, metadata, "config.yaml", "options: {"+types+"}")
	}
	_, err := conn.Deploy(t.Context(), client.DeployArgs{Service: "site",
		CharmURL: options("a: {type: string}, b: {type: string}, port: {type: string}, old: {type: string}"),
		Config:   map[string]string{"a": "x", "b": "y", "port": "8080", "old": "z"}})
	if err != nil {
		t.Fatal(err)
	}
	warnings, err := conn.SetCharm(t.Context(), client.SetCharmArgs{Service: "site",
		CharmURL: options("a: {type: int, default: 3}, b: {type: int}, port: {type: int, default: 80}")})
	want := []string{`setting "a" is kept, but charm "site" has it as int: its default 3 is used`,
		`setting "b" is kept, but charm "site" has it as int: it is not set there`,
		`setting "old" is kept, but charm "site" does not use it`}
	if err != nil || !slices.Equal(warnings, want) {
		t.Errorf("%q, %v, want %q", warnings, err, want)
	}
	svc, err := w.st.Service(t.Context(), "site")
	if err != nil {
		t.Fatal(err)
	}
	if set, err := svc.ConfigSettings(t.Context()); err != nil || set["port"] != int64(8080) {
		t.Errorf("the settings are %v, %v", set, err)
	}
}
