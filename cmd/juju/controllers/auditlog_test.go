package controllers_test

import (
	"testing"
)

func TestAuditLog(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Controller.Add("admin", "default")
	u.Types("audit-log", "--utc", "--since", "2026-11-26", "--until", "2026-11-26 12:30:00", "--user", "bob", "-m", "bob/m", "-n", "7")
	u.Sees(0, `Time                  User  From        Model     Call                        Result    Arguments
2026-11-26T10:00:00Z  bob   10.0.0.1:5  bob/m,u2  ModelManager.DestroyModels  not\nnow  {"models":["a"]}
2026-11-26T10:00:00Z  bob   10.0.0.1:5  -         UserManager.AddUser         ok
`, "")
	want := `AuditLog 7 "bob" "bob/m" 2026-11-26 00:00:00 +0000 UTC 2026-11-26 12:30:00 +0000 UTC`
	if got := u.Controller.Calls[len(u.Controller.Calls)-1]; got != want {
		t.Errorf("it asks %s, want %s", got, want)
	}
	u.Types("audit-log", "--utc", "--format", "json", "--since", "36h")
	u.Sees(0, `[{"time":"2026-11-26T10:00:00Z","user":"bob","from":"10.0.0.1:5","models":[{"name":"bob/m","uuid":"u1"},`+
		`{"name":"u2","uuid":"u2"}],"call":"ModelManager.DestroyModels","facade-version":10,"arguments":{"models":["a"]},`+
		`"result":"error","error":"not\nnow"},{"time":"2026-11-26T10:00:00Z","user":"bob","from":"10.0.0.1:5",`+
		`"call":"UserManager.AddUser","facade-version":3,"result":"ok"}]`+"\n", "")
	u.Types("audit-log", "--user", "nobody")
	u.Sees(0, "", "no calls found\n")
	u.Types("audit-log", "-n", "0")
	u.Sees(2, "", "ERROR --limit must be a positive integer\nFor usage: juju help audit-log\n")
	u.Types("audit-log", "--until", "-1h")
	u.Sees(2, "", "ERROR --until: \"-1h\" is not a time such as 2026-11-26, 2026-11-26T10:00:00Z or 36h\nFor usage: juju help audit-log\n")
}
