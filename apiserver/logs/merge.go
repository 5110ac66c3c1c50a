package logs

import (
	"context"
	"fmt"
	"sync"
	"time"

	"juju/apiserver/debuglog"
)

// A Source is one controller's part of a model's log.
type Source struct {
	Name string // in the message that says that it failed
	// Follow is Store.Follow for the model.
	Follow func(ctx context.Context, q Query, send func(debuglog.Message) error) error
}

const (
	// quiet is for how long a source without messages holds up later ones of the others.
	quiet = 300 * time.Millisecond
	// gathering limits the time in which the last messages of all sources are gathered.
	gathering = 2 * time.Second
	// ahead is how many messages of one source are kept while it is ahead of the others.
	ahead = 64
)

// Merge is Follow for several sources: messages are sent in the order of their timestamps, as far as they arrive within
// a moment. A source that fails is reported by a message, and the others go on.
func Merge(ctx context.Context, sources []Source, q Query, send func(debuglog.Message) error) error {
	ctx, cancel := context.WithCancel(ctx)
	m := &merge{query: q, send: send, arrivals: make(chan arrival), gathers: !q.Replay, gathered: time.Now().Add(gathering)}
	defer m.running.Wait()
	defer cancel()
	for _, s := range sources {
		m.add(ctx, s)
	}
	for {
		again, err := m.step(ctx)
		if !again || err != nil {
			return err
		}
	}
}

// A merge is a Merge in progress. Its loop owns the fields.
type merge struct {
	query    Query
	send     func(debuglog.Message) error
	sent     int
	inputs   []*input
	arrivals chan arrival
	running  sync.WaitGroup

	gathers  bool // the last messages of all sources are being gathered, until then
	gathered time.Time
	last     []debuglog.Message
	kept     int64
}

// An input is a source, and what it has sent that is not passed on yet.
type input struct {
	queue []debuglog.Message
	turns chan struct{} // limits the queue
	ended bool
	idle  time.Time // when it no longer holds up the others
}

// An arrival is a message of a source, or its end.
type arrival struct {
	in      *input
	message debuglog.Message
	ended   bool
}

func (m *merge) add(ctx context.Context, s Source) {
	in := &input{turns: make(chan struct{}, ahead), idle: time.Now().Add(quiet)}
	m.inputs = append(m.inputs, in)
	arrive := func(a arrival) error {
		select {
		case in.turns <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		select {
		case m.arrivals <- a:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	m.running.Go(func() {
		pass := func(one debuglog.Message) error { return arrive(arrival{in: in, message: one}) }
		if err := s.Follow(ctx, m.query, pass); err != nil && ctx.Err() == nil {
			_ = pass(debuglog.Message{Timestamp: time.Now(), Severity: "WARNING", Module: "juju.apiserver.logs",
				Message: fmt.Sprintf("the log of %s cannot be read: %v", s.Name, err)})
		}
		_ = arrive(arrival{in: in, ended: true})
	})
}

// step passes on the oldest message, or waits for one. It returns false when all sources have ended, or the limit is
// reached.
func (m *merge) step(ctx context.Context) (again bool, err error) {
	for {
		select {
		case a := <-m.arrivals:
			a.take()
			continue
		case <-ctx.Done():
			return false, context.Cause(ctx)
		default:
		}
		break
	}
	next, wait, ended := m.look()
	if m.gathers && (ended || next == nil && wait <= 0 || time.Now().After(m.gathered)) {
		m.gathers = false
		for _, one := range m.last {
			if done, err := m.pass(one); done || err != nil {
				return false, err
			}
		}
		m.last = nil
		return true, m.keep(-m.kept)
	}
	switch {
	case next == nil && ended:
		return false, nil
	case next != nil && wait <= 0:
		one := next.queue[0]
		next.queue = next.queue[1:]
		<-next.turns
		if m.gathers {
			return true, m.gather(one)
		}
		done, err := m.pass(one)
		return !done, err
	}
	var timer <-chan time.Time
	if wait > 0 && (m.gathers || next != nil) {
		timer = time.After(wait)
	}
	select {
	case a := <-m.arrivals:
		a.take()
	case <-timer:
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	return true, nil
}

func (a arrival) take() {
	if a.in.ended = a.ended; !a.ended {
		a.in.queue, a.in.idle = append(a.in.queue, a.message), time.Now().Add(quiet)
	}
}

// look returns the input with the oldest message, or nil; how long others still hold it up; and whether all have ended.
func (m *merge) look() (next *input, wait time.Duration, ended bool) {
	ended = true
	for _, in := range m.inputs {
		switch {
		case len(in.queue) > 0:
			if next == nil || in.queue[0].Timestamp.Before(next.queue[0].Timestamp) {
				next = in
			}
		case !in.ended:
			wait = max(wait, time.Until(in.idle))
		}
		ended = ended && in.ended && len(in.queue) == 0
	}
	return next, wait, ended
}

// gather keeps a message if it is one of the last.
func (m *merge) gather(one debuglog.Message) error {
	if m.query.Backlog <= 0 {
		return nil
	}
	size := sizeOf(one)
	m.last = append(m.last, one)
	if len(m.last) > m.query.Backlog {
		size -= sizeOf(m.last[0])
		m.last = m.last[1:]
	}
	return m.keep(size)
}

func (m *merge) keep(bytes int64) error {
	m.kept += bytes
	if m.query.Keep == nil {
		return nil
	}
	return m.query.Keep(bytes)
}

func (m *merge) pass(one debuglog.Message) (done bool, err error) {
	if err := m.send(one); err != nil {
		return true, err
	}
	m.sent++
	return m.query.Limit > 0 && m.sent >= m.query.Limit, nil
}
