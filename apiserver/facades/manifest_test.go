package facades_test

import (
	"slices"
	"strings"
	"testing"

	"juju/apiserver/client"
	"juju/provider/dummytest"
	"juju/state/entity"
	"juju/state/statetest"
)

// A charm of charmcraft gets a base that it was built for, on machines of an architecture that it was built for.
func TestCharmsWithAManifest(t *testing.T) {
	t.Parallel()
	cloud := dummytest.New(nil)
	cloud.SetSeries("jammy", "noble")
	w := newWorld(t, onCloud(cloud))
	c := w.admin().client()
	deploy := func(name, bases string, args client.DeployArgs) ([]string, error) {
		args.CharmURL = statetest.Charm(t, w.st, "{name: "+name+", summary: s, description: d, assumes: ["+args.Config["assumes"]+"]}",
			"manifest.yaml", "bases: ["+bases+"]")
		args.Service, args.Units, args.Config = name, 1, nil
		return c.Deploy(t.Context(), args)
	}
	const both = "{name: ubuntu, channel: '22.04', architectures: [arm64]}, {name: ubuntu, channel: '24.04', architectures: [amd64]}"
	const s390x = "{name: ubuntu, channel: '22.04', architectures: [s390x]}"
	arm := statetest.Constraints("arch=arm64")
	for _, one := range []struct {
		name, bases string
		args        client.DeployArgs
		want        string // the series, or a part of the error
	}{
		{"lts", both, client.DeployArgs{}, "noble"},
		{"asked", both, client.DeployArgs{Series: "jammy"}, "jammy"},
		{"other", both, client.DeployArgs{Series: "focal"}, `base "ubuntu@20.04/stable" is not supported, supported bases are: ubuntu@22.04, ubuntu@24.04`},
		{"mainframe", s390x, client.DeployArgs{}, "the charm was built for architecture s390x, and the machines have amd64, arm64"},
		{"arm", both, client.DeployArgs{Constraints: arm}, "the charm was built for architecture amd64, and the machines have arm64"},
		{"arm-too", both, client.DeployArgs{Constraints: arm, Series: "jammy"}, "jammy"},
		{"k8s", both, client.DeployArgs{Config: map[string]string{"assumes": "k8s-api"}},
			"Charm cannot be deployed because:\n  - charm must be deployed on a Kubernetes cloud"},
		{"k8s-forced", both, client.DeployArgs{Config: map[string]string{"assumes": "k8s-api"}, Force: true}, "noble"},
	} {
		warnings, err := deploy(one.name, one.bases, one.args)
		if err != nil {
			if !strings.Contains(err.Error(), one.want) || entity.KindOf(err) == "" {
				t.Errorf("%s: got error %v (%s), want %s", one.name, err, entity.KindOf(err), one.want)
			}
			continue
		}
		svc, err := w.st.Service(t.Context(), one.name)
		w.ok(err)
		if svc.Series() != one.want {
			t.Errorf("%s: got %s, want %s", one.name, svc.Series(), one.want)
		}
		forced := slices.ContainsFunc(warnings, func(text string) bool { return strings.HasPrefix(text, "proceeding with deployment of") })
		if forced != one.args.Force {
			t.Errorf("%s: warnings %q", one.name, warnings)
		}
	}
	// So does an upgrade.
	upgrade := client.SetCharmArgs{Service: "lts"}
	for _, one := range []struct{ assumes, bases, want string }{
		{"k8s-api", both, "Charm cannot be deployed because:\n  - charm must be deployed on a Kubernetes cloud"},
		{"", "{name: ubuntu, channel: '22.04'}", `cannot upgrade from single base "ubuntu@24.04" charm to a charm supporting ["ubuntu@22.04"]. Use --force-series to override.`},
	} {
		upgrade.CharmURL = statetest.Charm(t, w.st, "{name: lts, summary: s, description: d, assumes: ["+one.assumes+"]}",
			"manifest.yaml", "bases: ["+one.bases+"]")
		if _, err := c.SetCharm(t.Context(), upgrade); err == nil || !strings.Contains(err.Error(), one.want) {
			t.Errorf("an upgrade: got error %v, want %s", err, one.want)
		}
	}
}

// A subordinate service, which has no constraints of its own, is upgraded as others are.
func TestUpgradeOfASubordinateWithAManifest(t *testing.T) {
	t.Parallel()
	cloud := dummytest.New(nil)
	cloud.SetSeries("noble")
	w := newWorld(t, onCloud(cloud))
	c := w.admin().client()
	charm := func(arch string) string {
		return statetest.Charm(t, w.st, `{name: agent, summary: s, description: d, subordinate: true,
requires: {beside: {interface: juju-info, scope: container}}}`,
			"manifest.yaml", "bases: [{name: ubuntu, channel: '24.04', architectures: ["+arch+"]}]")
	}
	_, err := c.Deploy(t.Context(), client.DeployArgs{Service: "agent", CharmURL: charm("amd64")})
	w.ok(err)
	both, other := charm("amd64, arm64"), charm("s390x")
	_, err = c.SetCharm(t.Context(), client.SetCharmArgs{Service: "agent", CharmURL: both})
	w.ok(err)
	const want = "the charm was built for architecture s390x, and the machines have amd64, arm64"
	if _, err = c.SetCharm(t.Context(), client.SetCharmArgs{Service: "agent", CharmURL: other}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got error %v, want %s", err, want)
	}
	svc, err := w.st.Service(t.Context(), "agent")
	w.ok(err)
	if svc.CharmURL() != both {
		t.Errorf("the charm is %s, not %s", svc.CharmURL(), both)
	}
}
