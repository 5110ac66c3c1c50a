package services_test

import (
	"strings"
	"testing"

	"juju/apiserver/client"
	"juju/cmd/juju/wait/waittest"
	"juju/state/entity"
)

// The charm's URL is as Juju 3 prints it: without the series, which is the machine's there.
func TestShowUnitNamesTheCharmAsClientsExpect(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	for url, want := range map[string]string{"local:bookworm/web-3": "local:web-3", "local:web-3": "local:web-3", "odd url": "odd url"} {
		u.Model.Returns.Unit = client.UnitInfo{Charm: url, Life: "alive"}
		u.Types("show-unit", "web/0", "--format", "json")
		u.Sees(0, `{"web/0":{"opened-ports":[],"charm":"`+want+`","leader":false,"life":"alive"}}`+"\n", "")
	}
}

// The data of a unit's relations can be restricted to an endpoint, to the services' own, or to one unit at the other end.
func TestRelationDataOfAUnit(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Model.Returns.Unit = client.UnitInfo{WorkloadVersion: "8.1", Machine: "3", OpenedPorts: []string{"80/tcp"}, PublicAddress: "10.0.0.7",
		Charm: "local:web-3", Leader: true, Life: "alive", Relations: []entity.RelationData{
			{ID: 4, Endpoint: "store", RelatedEndpoint: "db", Application: map[string]string{"name": "shop"}, Units: map[string]entity.UnitRelationData{
				"web/0": {InScope: true, Settings: map[string]string{"user": "wp"}}, "db/0": {InScope: true, Settings: map[string]string{"host": "h"}},
				"db/1": {}}},
			{ID: 5, Endpoint: "site", RelatedEndpoint: "http", CrossModel: true},
		}}
	u.CheckShown("showunit.txt")
}

func TestPayloadsAreShown(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Model.Returns.Payloads = []entity.UnitPayload{
		{Unit: "web/0", Machine: "3", Payload: entity.Payload{Class: "monitor", Type: "docker", ID: "0fc", Status: "running", Labels: []string{"a", "b"}}},
		{Unit: "web/1", Payload: entity.Payload{Class: "worker", Type: "kvm", ID: "w1", Status: "stopped"}},
	}
	u.CheckShown("payloads.txt")
}

// What the cloud does not honor is said; a unit whose upgrade waits for a failed hook is named when that is resolved.
func TestWhatIsNoted(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	m := waittest.Model("web/0=error store/0=error")
	m.Services[0].Units[0].CharmURL = "local:jammy/web-3" // which it runs, and its service has another
	u.Model.Returns.Statuses = []*entity.ModelStatus{m}
	const waits = "Unit web/0 reruns the failed hook of its old charm, and is upgraded once that succeeds.\n"
	for line, want := range map[string]bool{"resolved web/0": true, "resolved web/0 store/0": true, "resolved store/0": false, "resolved --all": true} {
		u.Types(strings.Fields(line)...)
		if strings.Contains(u.Err.String(), waits) != want || u.Code != 0 {
			t.Errorf("%s: exit code %d, %s", line, u.Code, u.Err.String())
		}
	}
	u.Model.Returns.Warnings = []string{"tags are ignored"}
	for _, line := range []string{"set-constraints web tags=a", "set-model-constraints tags=a", "add-unit web"} {
		u.Types(strings.Fields(line)...)
		if u.Code != 0 || !strings.HasPrefix(u.Err.String(), "WARNING tags are ignored\n") {
			t.Errorf("%s: exit code %d, %s", line, u.Code, u.Err.String())
		}
	}
	for _, line := range []string{"get web", "show-unit web/0", "show-application web", "get-constraints web", "payloads"} {
		u.Types(append(strings.Fields(line), "-m", "admin/default")...)
		if u.Session.Model == "" {
			t.Errorf("%s -m: %s", line, u.Err.String())
		}
	}
}
