// Package debuglog has the lines of debug-log, as the server stores and sends them and the client
// shows them.
package debuglog

import (
	"strings"
	"time"

	"juju/state/entity"
)

// A Message is one line of debug-log.
type Message struct {
	Entity    string    `json:"tag"` // the tag of the agent that wrote it
	Timestamp time.Time `json:"ts"`
	Severity  string    `json:"sev"` // TRACE, DEBUG, INFO, WARNING, ERROR or CRITICAL
	Module    string    `json:"mod"` // "juju.worker.uniter"
	Location  string    `json:"loc"` // "file.go:123"
	Message   string    `json:"msg"`
}

// MatchTag reports whether a pattern of a log filter matches the agent with this tag. The pattern
// is the tag or the name in it, or, with a * at the end, the beginning of either.
func MatchTag(pattern, tag string) bool {
	name := tag
	if t, err := entity.ParseTag(tag); err == nil {
		name = t.ID
	}
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(tag, prefix) || strings.HasPrefix(name, prefix)
	}
	return pattern == tag || pattern == name
}
