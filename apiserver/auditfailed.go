package apiserver

import (
	"fmt"
	"sync"
	"time"

	"juju/state/entity"
)

// The audit log lists so many of a user's calls that failed and changed nothing, in such a time. More of them would push
// the entries of changes out of the log, which has a limited size; and anyone can make them, without any rights.
const (
	maxFailed  = 500
	failedTime = time.Hour
)

// failedCalls counts the failed calls of users that the audit log lists.
type failedCalls struct {
	mu sync.Mutex
	of map[string]*failedOf // by user
}

type failedOf struct {
	since    time.Time // when listed began
	listed   int
	unlisted int // since the last one that was listed
}

// lists reports whether an entry belongs into the log, which it does not if it is one too many of a failed call. The next
// failed call that is listed says how many were not.
func (f *failedCalls) lists(e *entity.AuditEntry) bool {
	if e.Error == "" {
		return true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of == nil {
		f.of = map[string]*failedOf{}
	}
	u := f.of[e.User]
	if u == nil || e.Time.Sub(u.since) >= failedTime {
		if u == nil {
			u = &failedOf{}
			f.of[e.User] = u
		}
		u.since, u.listed = e.Time, 0
	}
	if u.listed == maxFailed {
		if u.unlisted == 0 {
			logger.Warningf("user %q has made %d calls that failed within %v: the audit log lists no more of them until %s",
				e.User,
				maxFailed, failedTime, u.since.Add(failedTime).UTC().Format(time.RFC3339))
		}
		u.unlisted++
		return false
	}
	u.listed++
	if u.unlisted > 0 {
		e.Error += fmt.Sprintf(" (before it, %d failed calls of the user are not listed)", u.unlisted)
		u.unlisted = 0
	}
	return true
}
