package logs_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"juju/apiserver/debuglog"
	"juju/apiserver/logs"
)

// source sends messages at once, then those that later sends.
func source(name string, later <-chan string, texts ...string) logs.Source {
	return logs.Source{Name: name, Follow: func(ctx context.Context, q logs.Query, send func(debuglog.Message) error) error {
		pass := func(text string) error {
			at, err := time.Parse("15:04", text[:5])
			if err != nil {
				return err
			}
			return send(debuglog.Message{Timestamp: at, Message: text})
		}
		if q.Backlog > 0 {
			texts = texts[max(0, len(texts)-q.Backlog):]
		}
		for _, text := range texts {
			if err := pass(text); err != nil {
				return err
			}
		}
		for !q.NoTail {
			select {
			case text, open := <-later:
				if !open {
					return nil
				}
				if err := pass(text); err != nil {
					return err
				}
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		return nil
	}}
}

func merged(t *testing.T, q logs.Query, sources ...logs.Source) string {
	t.Helper()
	var texts []string
	err := logs.Merge(t.Context(), sources, q, func(m debuglog.Message) error {
		texts = append(texts, m.Message)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(texts, ", ")
}

// The parts of a log are one log: in order, with one backlog and one limit.
func TestMergedLogs(t *testing.T) {
	t.Parallel()
	for want, q := range map[string]logs.Query{
		"01:00 a, 02:00 b, 03:00 a, 04:00 b, 05:00 b": {Replay: true, NoTail: true},
		"04:00 b, 05:00 b":                            {Backlog: 2, NoTail: true},
		"01:00 a, 02:00 b, 03:00 a":                   {Replay: true, NoTail: true, Limit: 3},
		"04:00 b":                                     {Backlog: 2, NoTail: true, Limit: 1},
		"":                                            {NoTail: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			if got := merged(t, q, source("a", nil, "01:00 a", "03:00 a"), source("b", nil, "02:00 b", "04:00 b", "05:00 b"),
				source("c", nil)); got != want {
				t.Errorf("%+v: %s, want %s", q, got, want)
			}
		})
	}
}

// A source that is silent, or slow to begin, holds up the others for a moment only. One that fails says so.
func TestMergedTails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, silent := make(chan string), make(chan string)
		failing := logs.Source{Name: "controller 2",
			Follow: func(context.Context, logs.Query, func(debuglog.Message) error) error { return errors.New("it is down") }}
		began := time.Now()
		go func() {
			a <- "03:00 a"
			a <- "04:00 a"
			if waited := time.Since(began); waited > time.Second {
				t.Errorf("two messages took %v", waited)
			}
			close(a)
			time.Sleep(time.Hour)
			close(silent)
		}()
		got := merged(t, logs.Query{Backlog: 10}, source("a", a, "01:00 a"), source("b", silent, "02:00 b"), failing)
		const failed = "the log of controller 2 cannot be read: it is down"
		if !strings.Contains(got, failed) {
			t.Errorf("no word of the source that failed: %s", got)
		}
		parts := slices.DeleteFunc(strings.Split(got, ", "), func(part string) bool { return part == failed })
		if rest := strings.Join(parts, ", "); rest != "01:00 a, 02:00 b, 03:00 a, 04:00 a" {
			t.Errorf("got %s", rest)
		}
	})
}

// The end of the reader ends all sources.
func TestMergeEndsWithItsReader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gone := errors.New("gone")
		later := make(chan string)
		err := logs.Merge(t.Context(), []logs.Source{source("a", later, "01:00 a"), source("b", later)}, logs.Query{Replay: true},
			func(debuglog.Message) error { return gone })
		if !errors.Is(err, gone) {
			t.Error(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		err = logs.Merge(ctx, []logs.Source{source("a", later)}, logs.Query{Replay: true}, func(debuglog.Message) error { return nil })
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}
