package logs

import (
	"strings"

	"juju/apiserver/debuglog"
	"juju/state/entity"
)

// A Filter selects messages. A message passes if it matches at least one entry of each list.
type Filter struct {
	Level         string   // the minimum; "" for all
	IncludeEntity []string // tags, names ("mysql/0", "0") or, with a trailing *, prefixes of either
	ExcludeEntity []string
	IncludeModule []string // a module or a parent: "juju.worker" includes "juju.worker.uniter"
	ExcludeModule []string
	min           int // Level as a number, once checked
}

// levels are the names of severities, in ascending order.
var levels = []string{"TRACE", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"}

// Check prepares the filter. The error is Invalid for an unknown level.
func (f *Filter) Check() error {
	if f.Level == "" {
		return nil
	}
	if f.min = severity(f.Level); f.min < 0 {
		return entity.Errorf(entity.Invalid, "level value %q is not one of %q", f.Level, levels)
	}
	return nil
}

func severity(word string) int {
	for i, level := range levels {
		if strings.EqualFold(level, word) {
			return i
		}
	}
	return -1
}

// Match reports whether the message passes.
func (f *Filter) Match(m debuglog.Message) bool {
	return (f.Level == "" || severity(m.Severity) >= f.min) &&
		(len(f.IncludeEntity) == 0 || matchAny(f.IncludeEntity, m.Entity, debuglog.MatchTag)) &&
		!matchAny(f.ExcludeEntity, m.Entity, debuglog.MatchTag) &&
		(len(f.IncludeModule) == 0 || matchAny(f.IncludeModule, m.Module, matchModule)) &&
		!matchAny(f.ExcludeModule, m.Module, matchModule)
}

func matchAny(patterns []string, text string, match func(pattern, text string) bool) bool {
	for _, p := range patterns {
		if match(p, text) {
			return true
		}
	}
	return false
}

func matchModule(pattern, module string) bool {
	rest, ok := strings.CutPrefix(module, pattern)
	return ok && (rest == "" || rest[0] == '.')
}
