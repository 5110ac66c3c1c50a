package main

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"juju/apiserver/client"
	"juju/state/entity"
)

func (f *fakeController) AuditLog(_ context.Context, q client.AuditQuery) ([]entity.AuditEntry, error) {
	f.calls = append(f.calls, fmt.Sprintf("AuditLog %d %q %q %v %v", q.Limit, q.User, q.Model, q.Since.UTC(), q.Until.UTC()))
	if q.User == "nobody" {
		return nil, f.err
	}
	at := time.Date(2026, 11, 26, 10, 0, 0, 0, time.UTC)
	return []entity.AuditEntry{
		{Time: at, User: "bob", From: "10.0.0.1:5", Models: []entity.AuditModel{{UUID: "u1", Name: "m", Owner: "bob"}, {UUID: "u2"}},
			Call: "ModelManager.DestroyModels", Version: 10, Args: json.RawMessage(`{"models":["a"]}`), Error: "not\nnow"},
		{Time: at, User: "bob", From: "10.0.0.1:5", Call: "UserManager.AddUser", Version: 3},
	}, f.err
}

func TestAuditLog(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.ctrl.add("admin", "default")
	u.types("audit-log", "--utc", "--since", "2026-11-26", "--until", "2026-11-26 12:30:00", "--user", "bob", "-m", "bob/m", "-n", "7")
	u.sees(0, `Time                  User  From        Model     Call                        Result    Arguments
2026-11-26T10:00:00Z  bob   10.0.0.1:5  bob/m,u2  ModelManager.DestroyModels  not\nnow  {"models":["a"]}
2026-11-26T10:00:00Z  bob   10.0.0.1:5  -         UserManager.AddUser         ok
`, "")
	want := `AuditLog 7 "bob" "bob/m" 2026-11-26 00:00:00 +0000 UTC 2026-11-26 12:30:00 +0000 UTC`
	if got := u.ctrl.calls[len(u.ctrl.calls)-1]; got != want {
		t.Errorf("it asks %s, want %s", got, want)
	}
	u.types("audit-log", "--utc", "--format", "json", "--since", "36h")
	u.sees(0, `[{"time":"2026-11-26T10:00:00Z","user":"bob","from":"10.0.0.1:5","models":[{"name":"bob/m","uuid":"u1"},`+
		`{"name":"u2","uuid":"u2"}],"call":"ModelManager.DestroyModels","facade-version":10,"arguments":{"models":["a"]},`+
		`"result":"error","error":"not\nnow"},{"time":"2026-11-26T10:00:00Z","user":"bob","from":"10.0.0.1:5",`+
		`"call":"UserManager.AddUser","facade-version":3,"result":"ok"}]`+"\n", "")
	u.types("audit-log", "--user", "nobody")
	u.sees(0, "", "no calls found\n")
	u.types("audit-log", "-n", "0")
	u.sees(2, "", "ERROR --limit must be a positive integer\nFor usage: juju help audit-log\n")
	u.types("audit-log", "--until", "-1h")
	u.sees(2, "", "ERROR --until: \"-1h\" is not a time such as 2026-11-26, 2026-11-26T10:00:00Z or 36h\nFor usage: juju help audit-log\n")
}
