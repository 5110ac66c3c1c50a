package params

import (
	"strings"
	"time"
)

// A LogMessage is one line of debug-log, as the server streams it.
type LogMessage struct {
	Entity    string    `json:"tag"` // the tag of the agent that wrote it
	Timestamp time.Time `json:"ts"`
	Severity  string    `json:"sev"` // TRACE, DEBUG, INFO, WARNING, ERROR or CRITICAL
	Module    string    `json:"mod"` // "juju.worker.uniter"
	Location  string    `json:"loc"` // "file.go:123"
	Message   string    `json:"msg"`
}

// A LogRecord is one line as an agent sends it. Whose it is the server knows
// from the login.
type LogRecord struct {
	Time     time.Time `json:"t"`
	Module   string    `json:"m"`
	Location string    `json:"l"`
	Level    string    `json:"v"`
	Message  string    `json:"x"`
	Entity   string    `json:"e,omitempty"` // ignored
}

// MatchesEntity reports whether a pattern of a filter of logs chooses what wrote with
// this tag: the tag, the name in it, or with a * at the end the beginning of either.
func MatchesEntity(pattern, tag string) bool {
	name := tag
	if t, err := ParseTag(tag); err == nil {
		name = t.ID
	}
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(tag, prefix) || strings.HasPrefix(name, prefix)
	}
	return pattern == tag || pattern == name
}
