package logs

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"juju/apiserver/debuglog"
)

// A Query selects messages.
type Query struct {
	Filter  Filter
	Replay  bool // from the oldest; else the last Backlog messages that pass the filter
	Backlog int
	Limit   int  // the number of messages, 0 for no limit
	NoTail  bool // end instead of waiting for more
	// Keep, if not nil, is called before memory is allocated for Backlog; its error ends Follow. A negative number
	// releases memory.
	Keep func(bytes int64) error
}

// Follow calls send with each message of a model's log that q selects, in order, until send fails, the limit is
// reached, ctx ends, the log is removed or, with NoTail, the log is exhausted. It returns the error of send or ctx.
func (s *Store) Follow(ctx context.Context, model string, q Query, send func(debuglog.Message) error) error {
	l, err := s.model(model)
	if err != nil {
		return err
	}
	r := &reader{log: l}
	defer r.close()
	sent := 0
	pass := func(m debuglog.Message) (done bool, err error) {
		if err := send(m); err != nil {
			return true, err
		}
		sent++
		return q.Limit > 0 && sent >= q.Limit, nil
	}
	var backlog []debuglog.Message // a ring of the last messages so far, until Follow waits for more
	next, kept := 0, int64(0)
	keep := func(bytes int64) error {
		kept += bytes
		if q.Keep == nil {
			return nil
		}
		return q.Keep(bytes)
	}
	collecting := !q.Replay
	for {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		_, changed, ended := l.look() // before reading, so that nothing is missed
		m, err := r.next()
		switch {
		case err == nil && !q.Filter.Match(m):
		case err == nil && collecting && q.Backlog <= 0:
		case err == nil && collecting && len(backlog) < q.Backlog:
			if err := keep(sizeOf(m)); err != nil {
				return err
			}
			backlog = append(backlog, m)
		case err == nil && collecting:
			if err := keep(sizeOf(m) - sizeOf(backlog[next])); err != nil {
				return err
			}
			backlog[next] = m
			next = (next + 1) % q.Backlog
		case err == nil:
			if done, err := pass(m); done {
				return err
			}
		case !errors.Is(err, io.EOF):
			return err
		default:
			if collecting {
				collecting = false
				for i := range backlog {
					if done, err := pass(backlog[(next+i)%len(backlog)]); done {
						return err
					}
				}
				backlog = nil
				if err := keep(-kept); err != nil {
					return err
				}
			}
			if q.NoTail || ended {
				return nil
			}
			select {
			case <-ctx.Done():
			case <-changed:
			}
		}
	}
}

// sizeOf returns the approximate size of a message in memory.
func sizeOf(m debuglog.Message) int64 {
	return int64(200 + len(m.Entity) + len(m.Severity) + len(m.Module) + len(m.Location) + len(m.Message))
}

// A reader reads a model's segments one after the other.
type reader struct {
	log     *modelLog
	number  int // of the open segment, 0 before the first
	file    *os.File
	lines   *bufio.Reader
	partial []byte // the beginning of a line whose end has not been written
	skipped int    // segments that were deleted before they were read, not yet reported
}

func (r *reader) close() {
	if r.file != nil {
		r.file.Close()
		r.file = nil
	}
}

// next returns the next message, or io.EOF if there is none yet.
func (r *reader) next() (debuglog.Message, error) {
	for {
		if r.skipped > 0 {
			n := r.skipped
			r.skipped = 0
			return debuglog.Message{
				Timestamp: time.Now(), Severity: "WARNING", Module: "juju.apiserver.logs",
				Message: fmt.Sprintf("this reader is too slow for the log: %d segments were skipped", n),
			}, nil
		}
		last, _, _ := r.log.look() // before reading: segments sealed by now won't change
		if r.file != nil {
			part, err := r.lines.ReadBytes('\n')
			r.partial = append(r.partial, part...)
			if err == nil {
				var m debuglog.Message
				line := r.partial
				r.partial = nil
				if json.Unmarshal(line, &m) == nil {
					return m, nil
				}
				continue // a partial line from before a crash
			}
			if !errors.Is(err, io.EOF) {
				return debuglog.Message{}, fmt.Errorf("cannot read logs: %w", err)
			}
		}
		if r.number >= last {
			return debuglog.Message{}, io.EOF
		}
		if err := r.open(last); err != nil {
			return debuglog.Message{}, err
		}
	}
}

// open opens the first segment after the current one that still exists.
func (r *reader) open(last int) error {
	numbers, err := r.log.list()
	if err != nil {
		return err
	}
	for _, n := range numbers {
		if n <= r.number {
			continue
		}
		file, err := os.Open(r.log.path(n))
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted just now
		}
		if err != nil {
			return fmt.Errorf("cannot read logs: %w", err)
		}
		if r.number > 0 {
			r.skipped = n - r.number - 1
		}
		r.close()
		r.number, r.file, r.lines, r.partial = n, file, bufio.NewReader(file), nil
		return nil
	}
	r.number = last // all segments were deleted, and so was the model
	r.close()
	return nil
}
