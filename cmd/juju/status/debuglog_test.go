package status_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"juju/apiserver/debuglog"
	"juju/apiserver/display"
	"juju/cmd/juju/clitest"
	"juju/state/entity"
)

func TestDebugLog(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Model.Returns.Logs = []debuglog.Message{
		{Entity: "unit-web-0", Timestamp: time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC), Severity: "INFO",
			Module: "unit.web/0", Location: "f.go:1", Message: "hello"},
	}
	u.Types("debug-log", "--utc")
	u.Sees(0, "unit-web-0: 03:04:05 INFO unit.web/0 hello\n", "")
	u.Types("debug-log", "--utc", "--date", "--ms", "--location")
	u.Sees(0, "unit-web-0: 2026-01-02 03:04:05.678 INFO unit.web/0 f.go:1 hello\n", "")

	u.Types("debug-log", "--format", "json")
	u.Sees(0, `{"timestamp":"2026-01-02T03:04:05.678Z","entity":"unit-web-0","level":"INFO","module":"unit.web/0",`+
		`"location":"f.go:1","message":"hello"}`+"\n", "")
	u.Types("debug-log", "--format", "yaml")
	u.Sees(2, "", "ERROR unknown format \"yaml\"\nValid formats: text, json\n")

	// On a terminal it has colors, which the text of the log can't change.
	u.Model.Returns.Logs[0].Message, u.Model.Returns.Logs[0].Severity = "\x1b[31mhello", "ERROR"
	plain := "unit-web-0: 03:04:05 ERROR unit.web/0 \\x1b[31mhello\n"
	colored := "\x1b[36munit-web-0\x1b[0m: 03:04:05 \x1b[31mERROR\x1b[0m unit.web/0 \\x1b[31mhello\n"
	for _, c := range []struct {
		terminal bool
		env      string
		flags    []string
		want     string
	}{{false, "", nil, plain}, {true, "", nil, colored}, {true, "1", nil, plain}, {true, "", []string{"--no-color"}, plain},
		{false, "1", []string{"--color"}, colored}} {
		u.Session.OutTerminal, u.Env["NO_COLOR"] = c.terminal, c.env
		u.Types(append([]string{"debug-log", "--utc", "--no-tail"}, c.flags...)...)
		u.Sees(0, c.want, "")
	}
	u.Types("debug-log", "--color", "--no-color")
	u.Sees(2, "", "ERROR --color and --no-color are mutually exclusive\nFor usage: juju help debug-log\n")
	u.Env["NO_COLOR"] = ""
	u.Model.Returns.Logs[0].Message, u.Model.Returns.Logs[0].Severity = "hello", "INFO"

	// On a terminal it follows the log until interrupted, which is not a failure.
	u.Session.OutTerminal = true
	ctx, cancel := context.WithCancel(t.Context())
	u.Session.Stdout = display.NewWriter(&clitest.Interrupter{Press: cancel})
	u.TypesUntil(ctx, "debug-log", "--utc")
	u.Asked("DebugLog " + query(`"Backlog":10`))
	u.Sees(0, "", "")
	u.Session.Stdout = display.NewWriter(&u.Out)
	u.Types("debug-log", "--utc", "--limit", "1")
	u.Asked("DebugLog " + query(`"Backlog":10,"Limit":1,"NoTail":true`))
	u.Session.OutTerminal = false
	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	u.TypesUntil(ctx, "debug-log", "--tail")
	u.Asked("DebugLog " + query(`"Backlog":10`))
}

// With --retry, debug-log reconnects when the connection is lost, and does not repeat what it
// has shown.
func TestDebugLogRetries(t *testing.T) { synctest.Test(t, testDebugLogRetries) }

func testDebugLogRetries(t *testing.T) {
	u := newUser(t)
	lost := entity.Errorf(entity.Unavailable, "the connection to the controller is lost")
	u.Model.Returns.Err = lost
	u.Types("debug-log")
	u.Sees(1, "", "ERROR the connection to the controller is lost\n")
	connect := u.Session.Connect
	u.Session.Connect = func(ctx context.Context) (io.Closer, error) {
		if u.Model.Opened > 1 {
			u.Model.Returns.Err = nil
		}
		return connect(ctx)
	}
	u.Types("debug-log", "--retry", "--replay")
	u.Asked("DebugLog "+query(`"Replay":true,"Backlog":10,"NoTail":true`), "DebugLog "+query(`"NoTail":true`))
	u.Sees(0, "", "the connection to the controller is lost; reconnecting\n")
	u.Session.Connect = connect

	// A refusal would be the same after reconnecting, so it ends the command.
	for _, kind := range []entity.Kind{entity.Unauthorized, entity.NotFound, entity.Invalid} {
		u.Model.Returns.Err = entity.Errorf(kind, "no")
		u.Types("debug-log", "--retry")
		if u.Code != 1 || !strings.HasPrefix(u.Err.String(), "ERROR no\n") {
			t.Errorf("%s: exit code %d, said %q", kind, u.Code, u.Err.String())
		}
	}
}

// A log entry of several lines can't pass for several entries.
func TestDebugLogContinuationLines(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Model.Returns.Logs = []debuglog.Message{{Entity: "unit-web-0", Severity: "INFO", Module: "unit.web/0",
		Message: "one\r\nmachine-0: 00:00:00 ERROR juju forged\n\tthree\x1b[A\n"}}
	u.Types("debug-log", "--utc")
	u.Sees(0, "unit-web-0: 00:00:00 INFO unit.web/0 one\n    | machine-0: 00:00:00 ERROR juju forged\n"+
		"    | \tthree\\x1b[A\n", "")
}

// debug-log notes the entities in its flags that are not in the model, by any of their names,
// and shows the rest.
func TestDebugLogNotesAbsentEntities(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Model.Returns.Statuses = []*entity.ModelStatus{{Model: entity.ModelHeader{Name: "default"},
		Services: []entity.ServiceStatus{{Name: "web",
			Units: []entity.UnitStatus{{Name: "web/0", Subordinates: []entity.UnitStatus{{Name: "log/3"}}}}}},
		Machines: []entity.MachineStatus{{ID: "1", Containers: []entity.MachineStatus{{ID: "1/lxd/0"}}}}}}
	for _, there := range []string{"web/0", "unit-web-0", "web*", "unit-w*", "log/3", "1", "machine-1", "machine-1-lxd-0",
		"1/lxd*", "*"} {
		u.Types("debug-log", "-i", there)
		u.Sees(0, "", "")
	}
	for _, absent := range []string{"nope/0", "web", "unit-nope-0", "nope*", "2", "machine-2", "web/1"} {
		u.Types("debug-log", "-x", absent)
		u.Sees(0, "", "Model \"default\" has no unit or machine \""+absent+"\". To see what is in the model: juju "+
			"status\n")
	}
	u.Types("debug-log", "-q", "-i", "nope/0")
	u.Sees(1, "", "ERROR the log has no lines of nope/0\nTo see what is in the model: juju status\n")
	u.Types("debug-log", "-q", "-i", "nope/*")
	u.Sees(0, "", "")
	u.Types("debug-log", "-q", "-i", "nope/0", "-i", "web/0")
	u.Sees(0, "", "")
}
