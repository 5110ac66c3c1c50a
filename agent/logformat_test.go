package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/juju/loggo"

	"juju/state/entity"
)

// In JSON an entry is one line, whatever its message.
func TestLogInJSON(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	w := LogWriter(&log, entity.JSONLog, entity.UnitTag("web/0"), "default", formatEntry)
	at := time.Date(2026, 11, 28, 9, 30, 0, 5e6, time.FixedZone("", 3600))
	for _, message := range []string{"two\nlines, \"quoted\" <b>", "not UTF-8: \xff"} {
		w.Write(loggo.Entry{Level: loggo.WARNING, Module: "juju.worker", Filename: "/src/uniter.go", Line: 7, Timestamp: at, Message: message})
	}
	lines := bytes.Split(bytes.TrimSuffix(log.Bytes(), []byte("\n")), []byte("\n"))
	const want = `{"time":"2026-11-28T08:30:00.005Z","level":"WARNING","module":"juju.worker","location":"uniter.go:7",` +
		`"entity":"unit-web-0","model":"default","message":"two\nlines, \"quoted\" <b>"}`
	if len(lines) != 2 || string(lines[0]) != want || !json.Valid(lines[1]) {
		t.Errorf("the log is\n%s\nwant first\n%s", log.Bytes(), want)
	}
}

func TestLogFormatOfAnAgent(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]struct {
		args []string
		says string
	}{
		"none":    {[]string{"/dir"}, ` [/dir] <nil>`},
		"nothing": {nil, ` [] <nil>`},
		"word":    {[]string{"--log-format", "json", "/dir"}, `json [/dir] <nil>`},
		"equals":  {[]string{"--log-format=text", "supervise", "/dir"}, `text [supervise /dir] <nil>`},
		"wrong":   {[]string{"--log-format=xml", "/dir"}, ` [/dir] log format "xml" is not known: it is text or json`},
		"missing": {[]string{"--log-format"}, ` [] --log-format needs text or json`},
	} {
		format, rest, err := logFormatOf(want.args)
		if got := fmt.Sprint(format, " ", rest, " ", err); got != want.says {
			t.Errorf("%s: %s, want %s", line, got, want.says)
		}
	}
}
