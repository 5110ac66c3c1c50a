package services_test

import (
	"testing"

	"juju/apiserver/client"
)

// The charm's URL is as Juju 3 prints it: without the series, which is the machine's there.
func TestShowUnitNamesTheCharmAsClientsExpect(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	for url, want := range map[string]string{"local:bookworm/web-3": "local:web-3", "local:web-3": "local:web-3", "odd url": "odd url"} {
		u.Model.Returns.Unit = client.UnitInfo{Charm: url, Life: "alive"}
		u.Types("show-unit", "web/0", "--format", "json")
		u.Sees(0, `{"web/0":{"opened-ports":null,"charm":"`+want+`","leader":false,"life":"alive"}}`+"\n", "")
	}
}
