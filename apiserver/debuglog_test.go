package apiserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"juju/apiserver/client"
	"juju/apiserver/debuglog"
	"juju/apiserver/facades/facadestest"
	"juju/apiserver/params"
	"juju/state/entity"
)

// An agent's log arrives under the agent's name, and a user can follow it.
func TestLogs(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	u0 := entity.UnitTag("mysql/0")
	agent := w.dial(w.info(u0))
	user := w.dial(w.adminInfo(w.st.UUID()))
	sink, err := agent.LogSink(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	send := func(text string) {
		t.Helper()
		if err := sink.Send(params.LogRecord{Level: "INFO", Module: "juju.test", Message: text,
			Entity: "machine-99"}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 5 {
		send(fmt.Sprint(i))
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	lines, done := make(chan debuglog.Message), make(chan error, 1)
	go func() {
		done <- user.DebugLog(ctx, client.LogQuery{Replay: true, IncludeEntity: []string{"mysql/*"}},
			func(m debuglog.Message) error {
				select {
				case lines <- m:
					return nil
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			})
	}()
	for i := range 5 {
		if m := facadestest.Receive(t, lines); m.Message != fmt.Sprint(i) || m.Entity != "unit-mysql-0" {
			t.Errorf("line %d is %+v", i, m)
		}
	}
	send("live")
	if m := facadestest.Receive(t, lines); m.Message != "live" {
		t.Errorf("then comes %+v", m)
	}
	why := errors.New("seen enough")
	cancel(why)
	if err := facadestest.Receive(t, done); !errors.Is(err, why) {
		t.Errorf("debug-log ends with %v", err)
	}
	var last []string
	err = user.DebugLog(t.Context(), client.LogQuery{Backlog: 2, NoTail: true}, func(m debuglog.Message) error {
		last = append(last, m.Message)
		return nil
	})
	if err != nil || !cmp.Equal(last, []string{"4", "live"}) {
		t.Errorf("the last two: %v, %v", last, err)
	}
	if err := sink.Close(); err != nil {
		t.Error(err)
	}
	// The stream ends with its connection.
	go func() {
		done <- user.DebugLog(t.Context(), client.LogQuery{}, func(debuglog.Message) error { return nil })
	}()
	eventually(t, "the log is not followed", func() bool { return containsFunc(running(), "logs.(*Store).Follow") })
	user.Close()
	if err := facadestest.Receive(t, done); !errors.Is(err, entity.Unavailable) {
		t.Errorf("debug-log of a closed connection: %v", err)
	}
}

// The memory of the last lines is given back once they are sent, even if the user waits for more.
func TestMemoryOfTheLastLines(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const lines = 100
	for i := range lines {
		w.ok(w.logs.Append(w.st.UUID(), debuglog.Message{Entity: "machine-0", Timestamp: time.Now(), Severity: "INFO",
			Message: fmt.Sprint(i)}))
	}
	user := w.dial(w.adminInfo(w.st.UUID()))
	ctx, cancel := context.WithCancel(t.Context())
	got, done := make(chan string, lines), make(chan error, 1)
	go func() {
		done <- user.DebugLog(ctx, client.LogQuery{Backlog: lines}, func(m debuglog.Message) error {
			got <- m.Message
			return nil
		})
	}()
	for i := range lines {
		if text := facadestest.Receive(t, got); text != fmt.Sprint(i) {
			t.Fatalf("line %d is %s", i, text)
		}
	}
	if most := w.server.budget.Peak(); most < 100*lines {
		t.Errorf("%d lines took %d bytes", lines, most)
	}
	eventually(t, "memory is held", func() bool { return w.server.budget.Used() == 0 })
	w.ok(w.logs.Append(w.st.UUID(), debuglog.Message{Entity: "machine-0", Timestamp: time.Now(), Severity: "INFO", Message: "live"}))
	if text := facadestest.Receive(t, got); text != "live" {
		t.Errorf("then comes %s", text)
	}
	cancel()
	facadestest.Receive(t, done)
}

// containsFunc reports whether a function runs in one of the goroutines.
func containsFunc(stacks []string, name string) bool {
	for _, s := range stacks {
		if bytes.Contains([]byte(s), []byte(name)) {
			return true
		}
	}
	return false
}

// A level that there is not selects nothing, and does not select everything.
func TestDebugLogOfAnUnknownLevel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := w.dial(w.adminInfo(w.st.UUID())).DebugLog(t.Context(), client.LogQuery{Level: "loud"}, nil); !errors.Is(err, entity.Invalid) {
		t.Errorf("got %v", err)
	}
}
