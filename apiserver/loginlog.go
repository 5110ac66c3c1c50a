package apiserver

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
	// failuresLogged is the maximum number of failed logins from one address that are logged per minute, and
	// failuresLoggedAll that from all addresses together. Beyond that they are only counted.
	failuresLogged    = 5
	failuresLoggedAll = 100
	// failuresNamed is the maximum number of addresses in the line about those that were counted.
	failuresNamed = 10
)

// failures logs failed logins, of which unauthenticated clients can cause any number.
type failures struct {
	log func(line string)

	mu     sync.Mutex
	timer  *time.Timer    // ends the minute; nil between minutes
	logged int            // in this minute
	from   map[string]int // number of failures, by source
	others int            // failures of sources that are not in from
}

// add logs or counts a failed login.
func (f *failures) add(source, line string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.timer == nil {
		f.timer = time.AfterFunc(time.Minute, f.flush)
		f.from = map[string]int{}
	}
	if _, known := f.from[source]; !known && len(f.from) >= 10*failuresLoggedAll {
		f.others++
		return
	}
	f.from[source]++
	if f.from[source] <= failuresLogged && f.logged < failuresLoggedAll {
		f.logged++
		f.log(line)
	}
}

// flush ends the minute, and logs the number of failures that were only counted.
func (f *failures) flush() {
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
	f.log(fmt.Sprintf("%d logins failed within a minute, of which %d are logged: %s", all, logged,
		strings.Join(named, ", ")))
}
