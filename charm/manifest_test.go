package charm_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"juju/charm"
	"juju/state/entity"
)

// The manifest that charmcraft writes says what the charm runs on, whatever its metadata says.
func TestBasesOfTheManifest(t *testing.T) {
	on := func(release string, arches ...string) entity.CharmBase {
		return entity.CharmBase{Base: entity.Base{Name: "ubuntu", Channel: release}, Architectures: arches}
	}
	const written = `
charmcraft-version: 3.2.1
charmcraft-started-at: '2026-05-02T10:00:00Z'
bases:
- name: ubuntu
  channel: '22.04'
  architectures: [x86_64, arm64]
- {name: Ubuntu, channel: 24.04/edge, architectures: [all]}
- {name: almalinux, channel: '9'}
- {name: ubuntu, channel: '22.04', architectures: [s390x]}
analysis:
  attributes: [{name: language, result: python}]
`
	bases := []entity.CharmBase{on("22.04/stable", "amd64", "arm64"), on("24.04/edge"),
		{Base: entity.Base{Name: "almalinux", Channel: "9/stable"}}, on("22.04/stable", "s390x")}
	for series, want := range map[string]entity.Platforms{
		"":                  {Series: []string{"jammy", "noble"}, Bases: bases},
		"series: [focal]\n": {Series: []string{"jammy", "noble"}, Bases: bases}, // as of the charm of Kafka
	} {
		c, err := charm.ReadDir(charmOf(t, map[string]string{"metadata.yaml": meta(series), "manifest.yaml": written}))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, c.Meta.Platforms); diff != "" {
			t.Errorf("%s(-want +got)\n%s", series, diff)
		}
		if len(c.Warnings()) > 0 {
			t.Errorf("warnings %q", c.Warnings())
		}
		if a := c.Meta.Architectures("jammy"); !cmp.Equal(a, []string{"amd64", "arm64", "s390x"}) {
			t.Errorf("on jammy its architectures are %q", a)
		}
		if a := c.Meta.Architectures("noble"); a != nil {
			t.Errorf("on noble its architectures are %q", a)
		}
		if c.Meta.Supports("focal") || !c.Meta.Supports("noble") {
			t.Error("it supports another series than its manifest says")
		}
	}
}

func TestManifestsThatAreRejected(t *testing.T) {
	const one = "bases: [{name: ubuntu, channel: '24.04'}]"
	for _, test := range []struct{ meta, manifest, want string }{
		{"min-juju-version: 2.9\n", one, "min-juju-version in metadata v2 not valid"},
		{"deployment: {type: stateful}\n", one, "deployment in metadata v2 not valid"},
		{"assumes: [juju]\n", "", "assumes in metadata v1 not valid"},
		{"assumes: [juju]\nseries: [noble]\n", one, "assumes in metadata v1 not valid"},
		{"", "bases: []", "manifest.yaml: charm does not define any bases, not valid"},
		{"", "bases: [{name: ubuntu}]", `manifest.yaml:1: bases.0.channel: expected the channel of a base, got ""`},
		{"", "bases: [{channel: 9}]", "manifest.yaml:1: bases.0.name: expected string, got nothing"},
		{"", "bases: 24.04", "manifest.yaml:1: bases: expected list"},
		{"", "- bases", "manifest.yaml:1: expected map"},
	} {
		files := map[string]string{"metadata.yaml": meta(test.meta), "manifest.yaml": test.manifest}
		if test.manifest == "" {
			delete(files, "manifest.yaml")
		}
		if _, err := charm.ReadDir(charmOf(t, files)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s%s: got %v, want ... %s", test.meta, test.manifest, err, test.want)
		}
	}
}
