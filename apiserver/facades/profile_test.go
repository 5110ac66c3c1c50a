package facades_test

import (
	"slices"
	"testing"

	"juju/apiserver/client"
	"juju/provider/dummytest"
	"juju/state/entity"
	"juju/state/statetest"
)

// A charm whose LXD profile has what charms may not have is refused, also as an upgrade, unless it is forced. In a cloud
// without profiles a charm is deployed with a warning.
func TestCharmsWithAProfile(t *testing.T) {
	t.Parallel()
	cloud := dummytest.New(nil)
	w := newWorld(t, onCloud(cloud))
	c := w.admin().client()
	const refused = `invalid lxd-profile.yaml: contains device type "disk"`
	const good, bad = "config: {security.nesting: true}", "devices: {d: {type: disk}}"
	charm := func(profile string) string {
		return statetest.Charm(t, w.st, "{name: web, summary: s, description: d}", "lxd-profile.yaml", profile)
	}
	deploy := func(service, profile string, force bool) ([]string, error) {
		return c.Deploy(t.Context(), client.DeployArgs{Service: service, CharmURL: charm(profile), Force: force})
	}
	warned := func(what string, warnings []string, err error, want ...string) {
		t.Helper()
		if err != nil || !slices.Equal(warnings, want) {
			t.Errorf("%s: got warnings %q, %v, want %q", what, warnings, err, want)
		}
	}

	warnings, err := deploy("web", good, false)
	warned("deploy", warnings, err)
	_, err = deploy("bad", bad, false)
	statetest.Refused(t, err, entity.Invalid, `cannot deploy "bad": `+refused)
	warnings, err = deploy("bad", bad, true)
	const forced = `charm "web": proceeding as --force was specified: ` + refused
	warned("deploy by force", warnings, err, forced)

	upgrade := client.SetCharmArgs{Service: "web", CharmURL: charm(bad)}
	_, err = c.SetCharm(t.Context(), upgrade)
	statetest.Refused(t, err, entity.Invalid, refused)
	upgrade.Force = true
	warnings, err = c.SetCharm(t.Context(), upgrade)
	warned("upgrade by force", warnings, err, forced)

	cloud.SetProfiler(false)
	const vain = `charm "web": lxd-profile.yaml is not applied: the machines of cloud "dummy" are no containers of LXD`
	warnings, err = deploy("local", good, false)
	warned("deploy where there are none", warnings, err, vain)
	warnings, err = deploy("empty", "description: none", false)
	warned("deploy without one", warnings, err)
	upgrade = client.SetCharmArgs{Service: "web", CharmURL: charm(good)}
	warnings, err = c.SetCharm(t.Context(), upgrade)
	warned("upgrade where there are none", warnings, err, vain)
}
