package agent

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/juju/loggo"

	"juju/apiserver/client"
	"juju/apiserver/params"
)

var logger = loggo.GetLogger("juju.agent")

// logBacklog is how many lines wait for a controller that is away; what comes
// after stands in the agent's own log file only.
const logBacklog = 2000

// A logQueue is what stands between loggers, which must not wait, and the
// controller.
type logQueue struct{ lines chan params.LogRecord }

// startLog sends all that this process logs to w, one line each, and to a queue
// for the controller.
func startLog(w io.Writer) *logQueue {
	q := &logQueue{make(chan params.LogRecord, logBacklog)}
	loggo.ResetLogging()
	loggo.GetLogger("").SetLogLevel(loggo.INFO)
	// What charms log is kept whatever its level, so that juju-log --debug is not in vain;
	// debug-log chooses.
	loggo.GetLogger("unit").SetLogLevel(loggo.TRACE)
	_ = loggo.RegisterWriter("file", loggo.NewSimpleWriter(w, formatEntry))
	_ = loggo.RegisterWriter("controller", q)
	return q
}

// formatEntry writes a line of an agent's log file.
func formatEntry(e loggo.Entry) string {
	return fmt.Sprintf("%s %s %s %s:%d %s", e.Timestamp.UTC().Format("2006-01-02 15:04:05.000"), e.Level, e.Module,
		filepath.Base(e.Filename), e.Line, e.Message)
}

// Write queues a line, or drops it when too many wait.
func (q *logQueue) Write(e loggo.Entry) {
	select {
	case q.lines <- params.LogRecord{Time: e.Timestamp, Module: e.Module, Level: e.Level.String(),
		Location: fmt.Sprintf("%s:%d", filepath.Base(e.Filename), e.Line), Message: e.Message}:
	default:
	}
}

// send is the worker that sends the queue. The line that could not be sent is
// not sent again: it stands in the agent's own log file.
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
				if err := sink.Send(line); err != nil {
					return err
				}
			}
		}
	}
}

// retryDelay is the pause before a worker that has failed is started again.
const retryDelay = 3 * time.Second
