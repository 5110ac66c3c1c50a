package status_test

import (
	"strings"
	"testing"
	"time"

	"juju/state/entity"
)

func TestShowStatusLogCalls(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	for line, want := range map[string]string{
		"web/0":                             "StatusHistory unit unit-web-0 20 0s",
		"web/0 --type workload -n 3":        "StatusHistory workload unit-web-0 3 0s",
		"web/0 --type juju-unit --days 2":   "StatusHistory juju-unit unit-web-0 0 48h0m0s",
		"3":                                 "StatusHistory machine machine-3 20 0s",
		"0/lxd/1 --type juju-machine":       "StatusHistory juju-machine machine-0-lxd-1 20 0s",
		"3 --from-date 2026-11-21 --utc":    "StatusHistory machine machine-3 0 0s 2026-11-21T00:00:00Z",
		"web":                               "StatusHistory application service-web 20 0s",
		"web --type application -n 2":       "StatusHistory application service-web 2 0s",
		"db --type saas":                    "StatusHistory saas service-db 20 0s",
		"web/0 --include-status-updates -q": "StatusHistory unit unit-web-0 20 0s",
	} {
		u.Types(append([]string{"show-status-log"}, strings.Fields(line)...)...)
		u.Asked(want)
		if u.Code != 0 {
			t.Errorf("%s: exit code %d, said %q", line, u.Code, u.Err.String())
		}
	}
	u.Types("status-history", "web/0")
	u.Sees(0, "", "no status history available\n")
	for line, want := range map[string]string{
		"":                              "no unit, machine or service specified",
		"Web":                           "\"Web\" is no unit, machine or service",
		"--type model":                  "a model has no status history: its status follows from its life and is not recorded",
		"web --type unit":               "service web has no status of type \"unit\"",
		"web/0 --type saas":             "unit web/0 has no status of type \"saas\"",
		"web/0 1":                       "unrecognized args: [\"1\"]",
		"web/0 --type machine":          "unit web/0 has no status of type \"machine\"",
		"3 --type workload":             "machine 3 has no status of type \"workload\"",
		"web/0 --type volume":           "unexpected status type \"volume\"",
		"web/0 -n 0":                    "-n must be a positive integer",
		"web/0 --days 0":                "--days must be a positive integer",
		"web/0 --from-date yesterday":   "\"yesterday\" is not a date such as 2026-11-21",
		"web/0 -n 3 --days 1":           "-n, --days and --from-date are mutually exclusive",
		"web/0 --format oneline":        "unknown format \"oneline\"",
		"web/0 --days 1 --from-date 20": "-n, --days and --from-date are mutually exclusive",
	} {
		u.Types(append([]string{"show-status-log"}, strings.Fields(line)...)...)
		u.Asked()
		if u.Code != 2 || !strings.HasPrefix(u.Err.String(), "ERROR "+want+"\n") {
			t.Errorf("%q: exit code %d, said %q, want %q", line, u.Code, u.Err.String(), want)
		}
	}
}

func TestShowStatusLogOutput(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	at := time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)
	u.Model.Returns.History = []entity.PastStatus{
		{Kind: entity.HistoryUnitAgent, Status: entity.Status{Status: entity.StatusAllocating, Since: at}},
		{Kind: entity.HistoryWorkload,
			Status: entity.Status{Status: entity.StatusBlocked, Message: "no\ndisk", Since: at.Add(time.Hour)}},
		{Kind: entity.HistoryWorkload, Status: entity.Status{Status: entity.StatusError, Message: "hook failed",
			Data: map[string]any{"reason": "exit status 7: no disk"}, Since: at.Add(2 * time.Hour)}},
	}
	u.Types("show-status-log", "web/0", "--utc")
	u.Sees(0, `Time                   Type       Status      Message
21 Nov 2026 09:30:00Z  juju-unit  allocating
21 Nov 2026 10:30:00Z  workload   blocked     no\ndisk
21 Nov 2026 11:30:00Z  workload   error       hook failed (exit status 7: no disk)
`, "")
	u.Types("show-status-log", "web/0", "--utc", "--format", "json")
	u.Sees(0, `[{"since":"2026-11-21T09:30:00Z","type":"juju-unit","status":"allocating"},`+
		`{"since":"2026-11-21T10:30:00Z","type":"workload","status":"blocked","message":"no\ndisk"},`+
		`{"since":"2026-11-21T11:30:00Z","type":"workload","status":"error","message":"hook failed",`+
		`"data":{"reason":"exit status 7: no disk"}}]`+"\n", "")
}
