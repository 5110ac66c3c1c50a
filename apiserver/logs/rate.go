package logs

import (
	"fmt"
	"math"
	"time"

	"juju/state/entity"
)

// What one agent may write of its model's log, as parts of the model's share, so
// that no agent drives the others' lines out of it: burst at once, and then as much
// again in each refill. Warnings and errors have a fourth of that for themselves,
// or the last words of a hook would be lost for all that it printed before.
const (
	burst       = 1. / 16
	severeBurst = burst / 4
	refill      = 10 * time.Minute
	// resume is the part of a burst that must have come back before an agent that
	// wrote too much is listened to again: some lines in a row tell more than one
	// here and there.
	resume = 1. / 4
	// manyBuckets is from how many on those that are full again are forgotten.
	manyBuckets = 1000
)

// A source is whose lines have a bucket.
type source struct {
	entity string
	severe bool
}

// A bucket holds the bytes that a source may write just now.
type bucket struct {
	most, left float64
	at         time.Time // when left was true
	dropping   bool
	lines      int   // dropped since it began
	bytes      int64 // of them
}

// rates are those of one model's log; modelLog.mu guards them.
type rates struct {
	share   int64
	buckets map[source]*bucket
	sweepAt int // the number of buckets at which to look for those that can be forgotten
}

// admit says whether a line of size bytes is written. Before is a line to be written
// first, which tells of those that were not; nil for none.
func (r *rates) admit(m entity.LogMessage, size int, now time.Time) (ok bool, before *entity.LogMessage) {
	s := source{m.Entity, severity(m.Severity) >= severity("WARNING")}
	b := r.buckets[s]
	if b == nil {
		b = r.add(s, now)
	}
	b.left = min(b.most, b.left+b.most*float64(now.Sub(b.at))/float64(refill))
	b.at = now
	tell := func(format string, args ...any) *entity.LogMessage {
		return &entity.LogMessage{Entity: m.Entity, Timestamp: now, Severity: "WARNING", Module: "juju.apiserver.logs",
			Message: fmt.Sprintf(format, args...)}
	}
	switch {
	case b.dropping && b.left < b.most*resume:
		b.lines++
		b.bytes += int64(size)
		return false, nil
	case b.dropping:
		before = tell("%d lines (%d bytes) were dropped here: they came faster than one agent may log", b.lines, b.bytes)
		b.dropping, b.lines, b.bytes = false, 0, 0
	case b.left < float64(size) && b.left < b.most:
		b.dropping, b.lines, b.bytes = true, 1, int64(size)
		return false, tell("lines are dropped from here on, for up to %v: they come faster than one agent may log; "+
			"the agent's own log file has the last of them", time.Duration(float64(refill)*resume).Round(time.Second))
	}
	b.left = max(0, b.left-float64(size))
	return true, before
}

// add makes a source's bucket, full.
func (r *rates) add(s source, now time.Time) *bucket {
	if len(r.buckets) >= max(manyBuckets, r.sweepAt) {
		for other, b := range r.buckets {
			if !b.dropping && now.Sub(b.at) > refill {
				delete(r.buckets, other)
			}
		}
		r.sweepAt = 2 * len(r.buckets)
	}
	part := burst
	if s.severe {
		part = severeBurst
	}
	b := &bucket{most: math.Max(1, float64(r.share)*part), at: now}
	b.left = b.most
	r.buckets[s] = b
	return b
}
