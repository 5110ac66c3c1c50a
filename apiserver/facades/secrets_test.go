package facades_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"juju/state/entity"
	"juju/state/statetest"
)

// asksSecrets calls a method of the facade and returns its answer as text, or its error.
func (c *caller) asksSecrets(method string, args any) string {
	var got json.RawMessage
	if err := c.do("Secrets", 2, method, args, &got); err != nil {
		return err.Error()
	}
	return string(got)
}

// Users add, change, grant and remove secrets by name or URI; what a request lacks is refused in Juju's words.
func TestSecretsOfUsers(t *testing.T) {
	w := newWorld(t).populate()
	c := w.admin()
	args := func(one map[string]any) map[string]any { return map[string]any{"args": []any{one}} }
	content := map[string]any{"data": map[string]string{"password": "aHVzaA=="}}
	answer := c.asksSecrets("CreateSecrets", args(map[string]any{"owner-tag": "", "label": "login", "content": content}))
	var created struct{ Results []struct{ Result string } }
	if err := json.Unmarshal([]byte(answer), &created); err != nil || !strings.HasPrefix(created.Results[0].Result, "secret:") {
		t.Fatalf("created %s", answer)
	}
	uri := created.Results[0].Result
	for _, test := range []struct {
		method string
		args   any
		want   string
	}{
		{"CreateSecrets", args(map[string]any{"label": "login", "content": content}), `secret with name \"login\" already exists`},
		{"CreateSecrets", args(map[string]any{"label": "empty"}), `empty secret value not valid`},
		{"CreateSecrets", args(map[string]any{"content": content}), `a secret of users needs a name`},
		{"CreateSecrets", args(map[string]any{"label": "other", "owner-tag": "application-mysql", "content": content}), `owner tag \"application-mysql\" not valid`},
		{"UpdateSecrets", args(map[string]any{"existing-label": "login"}), `at least one attribute to update must be specified`},
		{"UpdateSecrets", args(map[string]any{"description": "x"}), `must specify either URI or name`},
		{"UpdateSecrets", args(map[string]any{"uri": uri, "existing-label": "login", "description": "x"}), `must specify either URI or name but not both`},
		{"UpdateSecrets", args(map[string]any{"existing-label": "nothing", "description": "x"}), `secret \"nothing\" not found`},
		{"UpdateSecrets", args(map[string]any{"existing-label": "login", "description": "of bob", "content": map[string]any{"data": map[string]string{"password": "c2VjcmV0"}}}), `{"results":[{}]}`},
		{"UpdateSecrets", args(map[string]any{"existing-label": "login", "description": "of alice", "content": map[string]any{"data": map[string]string{}}}), `{"results":[{}]}`},
		{"GrantSecret", map[string]any{"label": "login", "applications": []string{"mysql", "nothing"}}, `{"results":[{},{"error":`},
		{"ListSecrets", map[string]any{"filter": map[string]any{"label": "login"}}, `"latest-revision":2`},
		{"ListSecrets", map[string]any{"filter": map[string]any{"owner-tag": "application-mysql"}}, `{"results":[]}`},
		{"ListSecrets", map[string]any{"filter": map[string]any{"owner-tag": "machine-0"}}, `owner tag "machine-0" not valid`},
		{"ListSecrets", map[string]any{"filter": map[string]any{"uri": "secret:none"}}, `secret URI "secret:none" not valid`},
		{"ListSecrets", map[string]any{"filter": map[string]any{"uri": uri}}, `"access":[{"target-tag":"application-mysql","scope-tag":"model-`},
		{"ListSecrets", map[string]any{"show-secrets": true, "filter": map[string]any{"revision": 1}}, `"value":{"data":{"password":"aHVzaA=="}}`},
		{"RevokeSecret", map[string]any{"uri": uri, "applications": []string{"mysql"}}, `{"results":[{}]}`},
		{"RemoveSecrets", args(map[string]any{"label": "login", "revisions": []int{1}}), `{"results":[{}]}`},
		{"ListSecrets", map[string]any{"show-secrets": true, "filter": map[string]any{"revision": 1}}, `secret revision 1 of`},
		{"RemoveSecrets", args(map[string]any{"uri": uri}), `{"results":[{}]}`},
		{"RemoveSecrets", args(map[string]any{"uri": uri}), fmt.Sprintf(`secret \"%s\" not found`, strings.TrimPrefix(uri, "secret:"))},
	} {
		if got := c.asksSecrets(test.method, test.args); !strings.Contains(got, test.want) {
			t.Errorf("%s %v: %s, want %s", test.method, test.args, got, test.want)
		}
	}
}

// Content is for admins of the model only, and for none that has logged in with the session of a browser. Readers change nothing.
func TestWhoReadsContent(t *testing.T) {
	w := newWorld(t)
	set := entity.SecretSettings{Content: entity.SecretContent{"password": "aHVzaA=="}}
	w.ok(w.st.Secrets().Add(t.Context(), entity.NewSecretID(), "login", set))
	reveal := map[string]any{"show-secrets": true}
	for who, may := range map[string]bool{"admin": true, "write": false, "read": false} {
		c := w.admin()
		if who != "admin" {
			w.addUser(who)
			w.ok(w.controller.GrantModel(t.Context(), w.st.UUID(), who, who, statetest.Admin))
			c = w.user(who, w.st.UUID())
		}
		if got := c.asksSecrets("ListSecrets", nil); !strings.Contains(got, `"label":"login"`) || strings.Contains(got, "aHVzaA") {
			t.Errorf("%s lists %s", who, got)
		}
		if got := c.asksSecrets("ListSecrets", reveal); strings.Contains(got, "aHVzaA") != may {
			t.Errorf("%s reveals %s", who, got)
		}
		for _, method := range []string{"CreateSecrets", "UpdateSecrets", "RemoveSecrets", "GrantSecret", "RevokeSecret"} {
			if got := c.asksSecrets(method, nil); strings.Contains(got, "permission denied") != (who == "read") {
				t.Errorf("%s asks for %s: %s", who, method, got)
			}
		}
	}
}
