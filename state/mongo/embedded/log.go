package embedded

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"
)

// maxLog and maxLine limit what is kept of the log: lines, and bytes of each.
const (
	maxLog  = 1024
	maxLine = 4 << 10
)

// A memoryLog forwards messages to the server's Logger, and keeps the latest ones for the command getLog.
type memoryLog struct {
	Logger

	mu    sync.Mutex
	kept  []string // a ring once it is full
	total int
}

// Infof logs a message.
func (l *memoryLog) Infof(format string, args ...any) {
	l.keep("I", format, args)
	l.Logger.Infof(format, args...)
}

// Errorf logs an error.
func (l *memoryLog) Errorf(format string, args ...any) {
	l.keep("E", format, args)
	l.Logger.Errorf(format, args...)
}

func (l *memoryLog) keep(severity, format string, args []any) {
	line := logLine(time.Now(), severity, fmt.Sprintf(format, args...))
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.kept) < maxLog {
		l.kept = append(l.kept, line)
	} else {
		l.kept[l.total%maxLog] = line
	}
	l.total++
}

// lines returns the kept messages, oldest first, and the number of all messages so far.
func (l *memoryLog) lines() (lines []string, total int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.total <= maxLog {
		return append(lines, l.kept...), l.total
	}
	oldest := l.total % maxLog
	return append(append(lines, l.kept[oldest:]...), l.kept[:oldest]...), l.total
}

// logLine returns a message in the form of a MongoDB's log, which is JSON.
func logLine(t time.Time, severity, text string) string {
	line, err := json.Marshal(struct {
		T         map[string]string `json:"t"`
		Severity  string            `json:"s"`
		Component string            `json:"c"`
		Context   string            `json:"ctx"`
		Message   string            `json:"msg"`
	}{map[string]string{"$date": t.UTC().Format("2006-01-02T15:04:05.000Z07:00")}, severity, "STORAGE", "embedded", text[:min(len(text), maxLine)]})
	if err != nil {
		return text // strings can always be encoded
	}
	return string(line)
}
