package facades_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"juju/apiserver/params"
	"juju/state/entity"
)

// The audit log is listed by user, model and time, and never more of it than is asked for.
func TestAuditLogIsListed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for i, user := range []string{"ann", "bob", "ann"} {
		_, err := w.controller.Audit(t.Context(), entity.AuditEntry{Time: noon.Add(time.Duration(i) * time.Hour), User: user, Call: fmt.Sprint("A.M", i)}, "")
		w.ok(err)
	}
	root := w.root()
	for query, want := range map[string]string{
		`{"limit":9}`: "A.M0 A.M1 A.M2", `{"limit":9,"user":"ann"}`: "A.M0 A.M2", `{"limit":1}`: "A.M2",
		`{"limit":9,"since":"2026-03-01T13:00:00Z"}`: "A.M1 A.M2", `{"limit":9,"until":"2026-03-01T13:30:00Z"}`: "A.M0 A.M1", `{"limit":9,"ago":3600000000000}`: "",
	} {
		var list params.AuditEntries
		w.ok(root.do("AuditLog", 1, "List", json.RawMessage(query), &list))
		var got []string
		for _, e := range list.Entries {
			got = append(got, e.Call)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s lists %v, want %s", query, got, want)
		}
	}
	root.says(step{"AuditLog 1 List", `{}`, "limit: 0 is not between 1 and 10000"}, step{"AuditLog 1 List", `{"limit":10001}`, "limit: 10001 is not between 1 and 10000"})
}
