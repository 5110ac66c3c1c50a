package admission

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"juju/state/entity"
)

const (
	// FailuresLogged is the maximum number of failed logins from one address that are logged per minute, and
	// failuresLoggedAll that from all addresses together. Beyond that they are only counted.
	FailuresLogged    = 5
	failuresLoggedAll = 100
	// failuresNamed is the maximum number of addresses in the line about those that were counted.
	failuresNamed = 10
)

// Failures logs failed logins, of which unauthenticated clients can cause any number.
type Failures struct {
	Log func(line string)

	mu     sync.Mutex
	timer  *time.Timer    // ends the minute; nil between minutes
	logged int            // in this minute
	from   map[string]int // number of failures, by source
	others int            // failures of sources that are not in from
}

// Add logs or counts a failed login.
func (f *Failures) Add(source, line string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.timer == nil {
		f.timer = time.AfterFunc(time.Minute, f.Flush)
		f.from = map[string]int{}
	}
	if _, known := f.from[source]; !known && len(f.from) >= 10*failuresLoggedAll {
		f.others++
		return
	}
	f.from[source]++
	if f.from[source] <= FailuresLogged && f.logged < failuresLoggedAll {
		f.logged++
		f.Log(line)
	}
}

// Flush ends the minute, and logs the number of failures that were only counted.
func (f *Failures) Flush() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.timer == nil {
		return
	}
	f.timer.Stop()
	f.timer = nil
	all, logged := f.others, f.logged
	for _, n := range f.from {
		all += n
	}
	defer func() { f.logged, f.others = 0, 0 }()
	if all == logged {
		return
	}
	sources := slices.SortedFunc(maps.Keys(f.from), func(a, b string) int {
		if d := f.from[b] - f.from[a]; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	var named []string
	for _, s := range sources[:min(len(sources), failuresNamed)] {
		named = append(named, fmt.Sprintf("%d from %s", f.from[s], entity.Named(s)))
	}
	if len(sources) > failuresNamed || f.others > 0 {
		named = append(named, "the others from elsewhere")
	}
	f.Log(fmt.Sprintf("%d logins failed within a minute, of which %d are logged: %s", all, logged,
		strings.Join(named, ", ")))
}
