package main

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"juju/apiserver/debuglog"
	"juju/apiserver/display"
	"juju/state/entity"
)

func TestDebugLog(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.fake.logs = []debuglog.Message{
		{Entity: "unit-web-0", Timestamp: time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC), Severity: "INFO",
			Module: "unit.web/0", Location: "f.go:1", Message: "hello"},
	}
	u.types("debug-log", "--utc")
	u.sees(0, "unit-web-0: 03:04:05 INFO unit.web/0 hello\n", "")
	u.types("debug-log", "--utc", "--date", "--ms", "--location")
	u.sees(0, "unit-web-0: 2026-01-02 03:04:05.678 INFO unit.web/0 f.go:1 hello\n", "")

	u.types("debug-log", "--format", "json")
	u.sees(0, `{"timestamp":"2026-01-02T03:04:05.678Z","entity":"unit-web-0","level":"INFO","module":"unit.web/0",`+
		`"location":"f.go:1","message":"hello"}`+"\n", "")
	u.types("debug-log", "--format", "yaml")
	u.sees(2, "", "ERROR unknown format \"yaml\"\nValid formats: text, json\n")

	// On a terminal it has colors, which the text of the log can't change.
	u.fake.logs[0].Message, u.fake.logs[0].Severity = "\x1b[31mhello", "ERROR"
	plain := "unit-web-0: 03:04:05 ERROR unit.web/0 \\x1b[31mhello\n"
	colored := "\x1b[36munit-web-0\x1b[0m: 03:04:05 \x1b[31mERROR\x1b[0m unit.web/0 \\x1b[31mhello\n"
	for _, c := range []struct {
		terminal bool
		env      string
		flags    []string
		want     string
	}{{false, "", nil, plain}, {true, "", nil, colored}, {true, "1", nil, plain}, {true, "", []string{"--no-color"}, plain},
		{false, "1", []string{"--color"}, colored}} {
		u.session.OutTerminal, u.env["NO_COLOR"] = c.terminal, c.env
		u.types(append([]string{"debug-log", "--utc", "--no-tail"}, c.flags...)...)
		u.sees(0, c.want, "")
	}
	u.types("debug-log", "--color", "--no-color")
	u.sees(2, "", "ERROR --color and --no-color are mutually exclusive\nFor usage: juju help debug-log\n")
	u.env["NO_COLOR"] = ""
	u.fake.logs[0].Message, u.fake.logs[0].Severity = "hello", "INFO"

	// On a terminal it follows the log until interrupted, which is not a failure.
	u.session.OutTerminal = true
	ctx, cancel := context.WithCancel(t.Context())
	u.session.Stdout = display.NewWriter(&interrupter{cancel: cancel})
	u.typesUntil(ctx, "debug-log", "--utc")
	u.asked("DebugLog " + query(`"Backlog":10`))
	u.sees(0, "", "")
	u.session.Stdout = display.NewWriter(&u.out)
	u.types("debug-log", "--utc", "--limit", "1")
	u.asked("DebugLog " + query(`"Backlog":10,"Limit":1,"NoTail":true`))
	u.session.OutTerminal = false
	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	u.typesUntil(ctx, "debug-log", "--tail")
	u.asked("DebugLog " + query(`"Backlog":10`))
}

// An interrupter presses ^C at the first output.
type interrupter struct{ cancel func() }

func (i *interrupter) Write(b []byte) (int, error) {
	i.cancel()
	return len(b), nil
}

// With --retry, debug-log reconnects when the connection is lost, and does not repeat what it
// has shown.
func TestDebugLogRetries(t *testing.T) { synctest.Test(t, testDebugLogRetries) }

func testDebugLogRetries(t *testing.T) {
	u := newUser(t)
	lost := entity.Errorf(entity.Unavailable, "the connection to the controller is lost")
	u.fake.err = lost
	u.types("debug-log")
	u.sees(1, "", "ERROR the connection to the controller is lost\n")
	connect := u.session.Connect
	u.session.Connect = func(ctx context.Context) (io.Closer, error) {
		if u.fake.opened > 1 {
			u.fake.err = nil
		}
		return connect(ctx)
	}
	u.types("debug-log", "--retry", "--replay")
	u.asked("DebugLog "+query(`"Replay":true,"Backlog":10,"NoTail":true`), "DebugLog "+query(`"NoTail":true`))
	u.sees(0, "", "the connection to the controller is lost; reconnecting\n")
	u.session.Connect = connect

	// A refusal would be the same after reconnecting, so it ends the command.
	for _, kind := range []entity.Kind{entity.Unauthorized, entity.NotFound, entity.Invalid} {
		u.fake.err = entity.Errorf(kind, "no")
		u.types("debug-log", "--retry")
		if u.code != 1 || !strings.HasPrefix(u.err.String(), "ERROR no\n") {
			t.Errorf("%s: exit code %d, said %q", kind, u.code, u.err.String())
		}
	}
}
