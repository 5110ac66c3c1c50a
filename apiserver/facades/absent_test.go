package facades_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"juju/state/entity"
)

// onlyBackend is the list of backends of secrets: the controller's store.
const onlyBackend = `{"results":[{"result":{"name":"internal","backend-type":"controller","config":{}},"id":"internal","num-secrets":0,"status":"active"}]}`

// Clients that show secrets and metrics get empty lists, and whoever makes a backup through the API is told how.
func TestListsOfWhatModelsDoNotHave(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.admin()
	for _, call := range []struct {
		facade  string
		version int
		method  string
		args    any
		want    string
	}{
		{"Secrets", 1, "ListSecrets", map[string]any{"show-secrets": false, "filter": map[string]any{}}, `{"results":[]}`},
		{"Secrets", 2, "ListSecrets", nil, `{"results":[]}`},
		{"SecretBackends", 1, "ListSecretBackends", map[string]any{"names": nil, "reveal": false}, onlyBackend},
		{"MetricsDebug", 2, "GetMetrics", map[string]any{"entities": []map[string]string{{"tag": "unit-mysql-0"}, {"tag": "unit-mysql-1"}}},
			`{"results":[{"metrics":[]},{"metrics":[]}]}`},
	} {
		var got json.RawMessage
		if err := c.do(call.facade, call.version, call.method, call.args, &got); err != nil || string(got) != call.want {
			t.Errorf("%s %d %s: %s, %v", call.facade, call.version, call.method, got, err)
		}
	}
	var backends json.RawMessage // clients list them at the controller too
	err := w.root().do("SecretBackends", 1, "ListSecretBackends", nil, &backends)
	if err != nil || string(backends) != onlyBackend {
		t.Errorf("secret backends of the controller: %s, %v", backends, err)
	}
	err = c.do("Backups", 3, "Create", nil, nil)
	if !errors.Is(err, entity.NotSupported) || !strings.Contains(entity.Hint(err), "juju create-backup FILE") {
		t.Errorf("Backups.Create: %v", err)
	}
}
