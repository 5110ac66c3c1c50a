package agent

import (
	"context"
	"fmt"
	"maps"
	"sync/atomic"

	"github.com/juju/loggo"

	"juju/apiserver/client"
	"juju/apiserver/params"
	"juju/state/entity"
	"juju/state/modelconfig"
)

var logger = loggo.GetLogger("juju.agent")

// logBacklog is the maximum number of queued lines while the controller is unavailable. Further lines are only in
// the agent's log file.
const logBacklog = 2000

// maxSent is the maximum length in bytes of a message sent to the controller, which would truncate longer ones.
const maxSent = 16 << 10

// A logQueue queues lines for the controller, so that loggers don't block.
type logQueue struct {
	lines   chan params.LogRecord
	dropped atomic.Int64 // lines dropped since the last report
}

// startLog writes this process's log by file, and to a queue for the controller.
func startLog(file loggo.Writer) *logQueue {
	q := &logQueue{lines: make(chan params.LogRecord, logBacklog)}
	loggo.ResetLogging()
	SetLevels(modelconfig.New(nil, "").Logging()) // until the model's levels are known
	_ = loggo.RegisterWriter("file", file)
	_ = loggo.RegisterWriter("controller", q)
	return q
}

// configured applies the model's settings to this process: its logging levels.
func (a *Agent) configured(config modelconfig.Config) {
	if a.logs != nil {
		SetLevels(config.Logging())
	}
}

// SetLevels sets the logging levels of this process's modules. A module without one inherits its parent's.
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
	return fmt.Sprintf("%s %s %s %s %s", e.Timestamp.UTC().Format("2006-01-02 15:04:05.000"), e.Level, e.Module,
		location(e), e.Message)
}

// Write queues a line, or drops it if the queue is full.
func (q *logQueue) Write(e loggo.Entry) {
	select {
	case q.lines <- params.LogRecord{Time: e.Timestamp, Module: e.Module, Level: e.Level.String(),
		Location: location(e), Message: entity.Cut(e.Message, maxSent)}:
	default:
		q.dropped.Add(1)
	}
}

// send returns the worker that sends the queue. Lines that can't be sent are not retried; they are in the agent's
// log file.
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
