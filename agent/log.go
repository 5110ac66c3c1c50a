package agent

import (
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"sync/atomic"

	"github.com/juju/loggo"

	"juju/apiserver/client"
	"juju/apiserver/params"
	"juju/state/entity"
	"juju/state/modelconfig"
)

var logger = loggo.GetLogger("juju.agent")

// logBacklog is how many lines wait while the controller is away. Later lines are only in the
// agent's own log file.
const logBacklog = 2000

// maxSent is how many bytes of a message are sent to the controller, which keeps no more.
const maxSent = 16 << 10

// A logQueue is between loggers, which must not wait, and the controller.
type logQueue struct {
	lines   chan params.LogRecord
	dropped atomic.Int64 // lines dropped since that was last reported
}

// startLog sends all that this process logs to w, and to a queue for the controller.
func startLog(w io.Writer) *logQueue {
	q := &logQueue{lines: make(chan params.LogRecord, logBacklog)}
	loggo.ResetLogging()
	SetLevels(modelconfig.New(nil, "").Logging()) // until the model's are known
	_ = loggo.RegisterWriter("file", loggo.NewSimpleWriter(w, formatEntry))
	_ = loggo.RegisterWriter("controller", q)
	return q
}

// configured applies those of the model's settings that concern this process: which lines it logs.
func (a *Agent) configured(config modelconfig.Config) {
	if a.logs != nil {
		SetLevels(config.Logging())
	}
}

// SetLevels sets the lowest level that each module of this process logs. A module that has none logs what the
// module above it does.
func SetLevels(levels loggo.Config) {
	all := loggo.Config{}
	for module := range loggo.DefaultContext().Config() {
		all[module] = loggo.UNSPECIFIED
	}
	all[""] = loggo.WARNING
	maps.Copy(all, levels)
	loggo.DefaultContext().ApplyConfig(all)
}

// formatEntry formats a line of an agent's log file.
func formatEntry(e loggo.Entry) string {
	return fmt.Sprintf("%s %s %s %s:%d %s", e.Timestamp.UTC().Format("2006-01-02 15:04:05.000"), e.Level, e.Module,
		filepath.Base(e.Filename), e.Line, e.Message)
}

// Write queues a line, or drops it if the queue is full.
func (q *logQueue) Write(e loggo.Entry) {
	select {
	case q.lines <- params.LogRecord{Time: e.Timestamp, Module: e.Module, Level: e.Level.String(),
		Location: fmt.Sprintf("%s:%d", filepath.Base(e.Filename), e.Line), Message: entity.Cut(e.Message, maxSent)}:
	default:
		q.dropped.Add(1)
	}
}

// send is the worker that sends the queue. A line that can't be sent is not sent again: it is
// in the agent's own log file.
func (q *logQueue) send(conn *client.Conn) func(context.Context) error {
	return func(ctx context.Context) error {
		sink, err := conn.LogSink(ctx)
		if err != nil {
			return err
		}
		defer sink.Close()
		for {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case line := <-q.lines:
				if n := q.dropped.Swap(0); n > 0 {
					err = sink.Send(params.LogRecord{Time: line.Time, Module: "juju.agent", Level: loggo.WARNING.String(),
						Message: fmt.Sprintf("%d lines were not sent to the controller; "+
							"the last of them are in the agent's own log file", n)})
				}
				if err == nil {
					err = sink.Send(line)
				}
				if err != nil {
					return err
				}
			}
		}
	}
}
