package logs

import (
	"fmt"
	"math"
	"strings"
	"time"

	"juju/apiserver/debuglog"
)

// The limits on what one agent can write to its model's log, as fractions of the model's share: burst at once, and the
// same again in each refill. So no agent can displace the lines of others. Warnings and errors have an allowance of
// their own, a quarter of that, and so have lines from juju-log: neither are lost when a hook has printed too much.
const (
	burst       = 1. / 16
	saidBurst   = burst / 4
	severeBurst = burst / 4
	refill      = 10 * time.Minute
	// resume is the fraction of a burst that must have been refilled before an agent that wrote too much is logged
	// again: consecutive lines are more useful than single ones.
	resume = 1. / 4
	// manyBuckets is the number of buckets above which full ones are deleted.
	manyBuckets = 1000
)

// A source identifies a bucket.
type source struct {
	entity string
	class  class
}

// A class is a class of lines with its own bucket.
type class int

const (
	printed class = iota // output of hooks, and the agent's own lines
	said                 // with juju-log
	severe               // warnings and errors
)

func classOf(m debuglog.Message) class {
	switch {
	case severity(m.Severity) >= severity("WARNING"):
		return severe
	case strings.HasSuffix(m.Module, ".juju-log"):
		return said
	}
	return printed
}

// A bucket is a token bucket: the number of bytes that a source may write now.
type bucket struct {
	max, left float64
	at        time.Time // when left was computed
	dropping  bool
	lines     int   // number of dropped lines
	bytes     int64 // their size
}

// rates has the buckets of one model's log. modelLog.mu guards it.
type rates struct {
	share   int64
	buckets map[source]*bucket
	sweepAt int // the number of buckets at which full ones are deleted
}

// admit reports whether to write a line of size bytes. before, if not nil, must be written first: it reports dropped
// lines.
func (r *rates) admit(m debuglog.Message, size int, now time.Time) (ok bool, before *debuglog.Message) {
	s := source{m.Entity, classOf(m)}
	b := r.buckets[s]
	if b == nil {
		b = r.add(s, now)
	}
	b.left = min(b.max, b.left+b.max*float64(now.Sub(b.at))/float64(refill))
	b.at = now
	tell := func(format string, args ...any) *debuglog.Message {
		return &debuglog.Message{Entity: m.Entity, Timestamp: now, Severity: "WARNING", Module: "juju.apiserver.logs",
			Message: fmt.Sprintf(format, args...)}
	}
	switch {
	case b.dropping && b.left < b.max*resume:
		b.lines++
		b.bytes += int64(size)
		return false, nil
	case b.dropping:
		before = tell("%d lines (%d bytes) were dropped here: the agent exceeded its log rate", b.lines, b.bytes)
		b.dropping, b.lines, b.bytes = false, 0, 0
	case b.left < float64(size) && b.left < b.max:
		b.dropping, b.lines, b.bytes = true, 1, int64(size)
		return false, tell("lines are dropped from here on, for up to %v: the agent exceeds its log rate; "+
			"the agent's own log file contains them", time.Duration(float64(refill)*resume).Round(time.Second))
	}
	b.left = max(0, b.left-float64(size))
	return true, before
}

// add adds a full bucket for a source.
func (r *rates) add(s source, now time.Time) *bucket {
	if len(r.buckets) >= max(manyBuckets, r.sweepAt) {
		for other, b := range r.buckets {
			if !b.dropping && now.Sub(b.at) > refill {
				delete(r.buckets, other)
			}
		}
		r.sweepAt = 2 * len(r.buckets)
	}
	part := map[class]float64{printed: burst, said: saidBurst, severe: severeBurst}[s.class]
	b := &bucket{max: math.Max(1, float64(r.share)*part), at: now}
	b.left = b.max
	r.buckets[s] = b
	return b
}
