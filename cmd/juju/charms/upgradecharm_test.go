package charms_test

import (
	"strings"
	"testing"

	"juju/cmd/juju/clitest"
	"juju/cmd/juju/wait/waittest"
	"juju/state/entity"
)

// Who upgrades a charm, or resolves a unit, hears that a failed hook holds up the upgrade.
func TestFailedHooksHoldUpAnUpgrade(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	m := waittest.Model("web/0=error web/1=active web/2=error")
	m.Services[0].CharmURL, m.Services[0].Series, u.Model.Uploaded = "local:jammy/webpage-3", "jammy", clitest.EmptyZip(t)
	m.Services[0].Units[0].CharmURL = "local:jammy/webpage-2"
	u.Model.Returns.Statuses = []*entity.ModelStatus{m}
	const atOnce = "To upgrade units in error at once: juju upgrade-charm web --force-units, with the same --path, --switch or " +
		"--revision; the failed hook then runs from the new charm\n"
	for line, want := range map[string]string{
		"resolved web/0 web/2": "Unit web/0 reruns the failed hook of its old charm, and is upgraded once that succeeds.\n" +
			atOnce,
		"resolved web/0 --no-retry": "",
	} {
		u.Types(strings.Fields(line)...)
		u.Sees(0, "", want)
	}
	u.Types("upgrade-charm", "web", "--path", clitest.CharmDir(t, clitest.Metadata))
	if said := u.Err.String(); u.Code != 0 || !strings.HasSuffix(said, "its units are being upgraded.\nIn error, "+
		"and not upgraded until resolved with the old charm: web/0, web/2\n"+atOnce) {
		t.Errorf("%d, said %s", u.Code, said)
	}
	u.Types("upgrade-charm", "web", "--path", clitest.CharmDir(t, clitest.Metadata), "--force-units")
	if said := u.Err.String(); u.Code != 0 || strings.Contains(said, "In error") {
		t.Errorf("%d, said %s", u.Code, said)
	}
}

// An upgrade says what storage units get from now on.
func TestUpgradeCharmWithStorage(t *testing.T) {
	t.Parallel()
	u, dir := newUser(t), clitest.CharmDir(t, clitest.Metadata)
	u.Model.Returns.Statuses = []*entity.ModelStatus{{Services: []entity.ServiceStatus{
		{Name: "front", CharmURL: "local:jammy/webpage-3", Series: "jammy"}}}}
	u.Model.Uploaded = clitest.EmptyZip(t)
	u.Types("upgrade-charm", "front", "--path", dir, "--storage", "data=fast,1G", "-q")
	if calls := strings.Join(u.Model.Calls, "\n"); u.Code != 0 ||
		!strings.Contains(calls, `"Storage":{"data":{"pool":"fast","size":1024,"count":1}}`) {
		t.Errorf("exit code %d, asked %s", u.Code, calls)
	}
	u.Types("upgrade-charm", "front", "--path", dir, "--storage", "data")
	u.Sees(2, "", `ERROR expected "name=constraints" where "constraints" must be specified, got "data"`+
		"\nFor usage: juju help upgrade-charm\n")
}

func TestUpgradeCharm(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Model.Returns.Statuses = []*entity.ModelStatus{{Services: []entity.ServiceStatus{
		{Name: "front", CharmURL: "local:jammy/webpage-3", Series: "jammy"}}}}
	dir := clitest.CharmDir(t, clitest.Metadata)
	u.Model.Uploaded = clitest.EmptyZip(t)
	u.Types("upgrade-charm", "front", "--path", dir, "--config", "port=80", "--force-series")
	u.Asked("Status front", "CharmArchive local:jammy/webpage-3", "UploadCharm jammy",
		`SetCharm {"Service":"front","CharmURL":"local:jammy/web-0","Config":{"port":"80"},"ForceUnits":false,`+
			`"ForceSeries":true}`)
	u.Sees(0, "", "Upgrading service \"front\" to charm \"webpage\"\n"+
		"Service \"front\" is upgraded from charm local:jammy/webpage-3 to local:jammy/web-0; its units are being upgraded.\n")

	u.Types("refresh", "front", "--switch", dir, "--force")
	if !strings.Contains(u.Model.Calls[len(u.Model.Calls)-1], `"ForceUnits":true,"ForceSeries":true`) {
		t.Errorf("--force asks for %s", u.Model.Calls)
	}
	for line, says := range map[string]string{
		"upgrade-charm":       "no service specified",
		"upgrade-charm front": "upgrading a local charm requires either --path or --switch",
		"upgrade-charm front --switch local:web": `cannot upgrade to charm "local:web": it is neither a path nor a charm of the model` +
			"\nSpecify the charm's directory or archive, ",
		"upgrade-charm front --channel edge":          `--channel is of a charm store, and "webpage" is a local charm`,
		"upgrade-charm front --switch x --path y":     "--switch and --path are mutually exclusive",
		"upgrade-charm front --switch x --revision 1": "--switch and --revision are mutually exclusive",
		"upgrade-charm front --path x --revision 1":   "--path and --revision are mutually exclusive",
		"upgrade-charm back --path " + dir:            `service "back" not found`,
		"upgrade-charm front --path " + clitest.CharmDir(t, strings.Replace(clitest.Metadata, "webpage", "other", 1)): `cannot upgrade "webpage" to "other"`,
	} {
		u.Types(strings.Fields(line)...)
		if u.Code == 0 || !strings.HasPrefix(u.Err.String(), "ERROR "+says) {
			t.Errorf("juju %s: code %d, %s, want %s", line, u.Code, u.Err.String(), says)
		}
	}
}

// An upgrade in batches says so, and is resumed and reverted without a charm.
func TestUpgradeCharmInBatches(t *testing.T) {
	t.Parallel()
	u, dir := newUser(t), clitest.CharmDir(t, clitest.Metadata)
	m := &entity.ModelStatus{Services: []entity.ServiceStatus{{Name: "front", CharmURL: "local:jammy/webpage-3", Series: "jammy"}}}
	u.Model.Returns.Statuses, u.Model.Uploaded = []*entity.ModelStatus{m}, clitest.EmptyZip(t)
	u.Types("upgrade-charm", "front", "--path", dir, "--batch", "2")
	u.Asked("Status front", "CharmArchive local:jammy/webpage-3", "UploadCharm jammy",
		`SetCharm {"Service":"front","CharmURL":"local:jammy/web-0","Config":{},"ForceUnits":false,"ForceSeries":false,`+
			`"Batch":2,"HealthTimeout":600000000000}`)
	u.Sees(0, "", "Upgrading service \"front\" to charm \"webpage\"\n"+
		"Service \"front\" is being upgraded from charm local:jammy/webpage-3 to local:jammy/web-0, 2 units at a time. "+
		"To see how far it is: juju status front\n")
	u.Types("refresh", "front", "--resume", "--batch", "3")
	u.Asked("ResumeRollout front 3 0s")
	u.Sees(0, "", "The upgrade of service \"front\" continues. To see how far it is: juju status front\n")
	u.Types("upgrade-charm", "front", "--revert", "--health-timeout", "1m")
	u.Asked("RevertRollout front 0 1m0s")
	u.Sees(0, "", "The upgrade of service \"front\" is being reverted. To see how far that is: juju status front\n")
	for line, says := range map[string]string{
		"--batch 0":                                   "--batch must be 1 to 100 units",
		"--batch 101":                                 "--batch must be 1 to 100 units",
		"--batch 1 --health-timeout 1ms":              "--health-timeout must be at least 1s",
		"--health-timeout 1m":                         "--health-timeout needs --batch: without it all units are upgraded at once",
		"--batch 1 --resource a=b":                    "--resource and --batch are mutually exclusive: a resource is for all units at once",
		"--resume --revert":                           "--resume and --revert are mutually exclusive",
		"--resume --force-units":                      "--resume and --force-units are mutually exclusive",
		"--revert --path ./front --health-timeout 1m": "--revert and --path are mutually exclusive",
	} {
		u.Types(append([]string{"upgrade-charm", "front"}, strings.Fields(line)...)...)
		if u.Code != 2 || !strings.HasPrefix(u.Err.String(), "ERROR "+says+"\n") {
			t.Errorf("upgrade-charm front %s: code %d, %s, want %s", line, u.Code, u.Err.String(), says)
		}
	}
	u.Asked()
}

// What the charm and the status show to be refused is refused before the upload. Whether its series are right is not among
// that: the service's charm may not name the service's series either.
func TestUpgradesThatAreNotUploaded(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Model.Returns.Statuses = []*entity.ModelStatus{{Services: []entity.ServiceStatus{
		{Name: "front", CharmURL: "local:jammy/webpage-3", Series: "jammy"}}}}
	u.Model.Uploaded = clitest.EmptyZip(t)
	focal := clitest.CharmDir(t, clitest.Metadata+"series: [focal]\n")
	for line, says := range map[string]string{
		focal + " --force-series --config port=x": `option "port" expected int, got "x"` +
			"\nThe charm's config.yaml lists its options.\n",
		clitest.CharmDir(t, clitest.Metadata+"subordinate: true\nrequires: {host: {interface: juju-info, scope: container}}\n"): "cannot change " +
			"a service's subordinacy\nDeploy the charm as another service.\n",
	} {
		u.Types(append([]string{"upgrade-charm", "front", "--path"}, strings.Fields(line)...)...)
		u.Asked("Status front", "CharmArchive local:jammy/webpage-3")
		u.Sees(1, "", `ERROR cannot upgrade service "front" to charm "webpage": `+says)
	}
}
