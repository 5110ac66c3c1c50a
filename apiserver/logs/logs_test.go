package logs_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"juju/apiserver/debuglog"
	"juju/apiserver/logs"
	"juju/state/entity"
)

const model = "deadbeef-0000-4000-8000-00000000000a"

func open(t *testing.T, dir string, share int64) *logs.Store {
	t.Helper()
	s, err := logs.Open(dir, share)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func add(t *testing.T, s *logs.Store, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		// Each is of another agent, since no agent may fill the whole share.
		m := debuglog.Message{Entity: fmt.Sprintf("unit-mysql-%d", i), Timestamp: time.Unix(int64(i), 0).UTC(),
			Severity: "INFO",
			Module:   "juju.worker.uniter", Message: fmt.Sprint(i)}
		if err := s.Append(model, m); err != nil {
			t.Fatal(err)
		}
	}
}

// read returns the texts of the messages that a query returns without waiting.
func read(t *testing.T, s *logs.Store, q logs.Query) (texts []string) {
	t.Helper()
	q.NoTail = true
	if err := q.Filter.Check(); err != nil {
		t.Fatal(err)
	}
	err := s.Follow(t.Context(), model, q, func(m debuglog.Message) error {
		texts = append(texts, m.Message)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

func TestBacklogReplayAndLimit(t *testing.T) {
	s := open(t, t.TempDir(), 1<<20)
	if got := read(t, s, logs.Query{Backlog: 5}); len(got) != 0 {
		t.Errorf("an empty log has %v", got)
	}
	add(t, s, 0, 20)
	for want, q := range map[string]logs.Query{
		"17 18 19": {Backlog: 3},
		"17 18":    {Backlog: 3, Limit: 2},
		"0 1":      {Replay: true, Limit: 2},
		"":         {},
	} {
		if got := strings.Join(read(t, s, q), " "); got != want {
			t.Errorf("%+v: %q, want %q", q, got, want)
		}
	}
	if got := read(t, s, logs.Query{Backlog: 1000}); len(got) != 20 {
		t.Errorf("a backlog longer than the log has %d", len(got))
	}
}

// The log stays within its share and keeps the newest lines.
func TestLogStaysWithinItsShare(t *testing.T) {
	dir := t.TempDir()
	const share = 40_000
	s := open(t, dir, share)
	add(t, s, 0, 2000)
	var size int64
	files, err := filepath.Glob(filepath.Join(dir, model, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	if size > share || size < share/2 {
		t.Errorf("the log has %d bytes of its share of %d", size, share)
	}
	if got := read(t, s, logs.Query{Backlog: 1}); got[0] != "1999" {
		t.Errorf("the last line is %v", got)
	}
}

// A reader that falls behind by whole segments is told so once, and misses nothing that is
// still there.
func TestSlowReaderLearnsWhatItMissed(t *testing.T) {
	s := open(t, t.TempDir(), 8_000)
	add(t, s, 0, 1)
	at := make(chan struct{})
	var got []string
	var wg sync.WaitGroup
	wg.Go(func() {
		err := s.Follow(t.Context(), model, logs.Query{Replay: true}, func(m debuglog.Message) error {
			if got = append(got, m.Message); len(got) == 1 {
				at <- struct{}{}
				<-at
			}
			if m.Message == "499" {
				return errors.New("enough")
			}
			return nil
		})
		if err == nil || err.Error() != "enough" {
			t.Error(err)
		}
	})
	<-at
	add(t, s, 1, 500)
	close(at)
	wg.Wait()
	told, last := 0, 0
	for _, text := range got[1:] {
		if strings.Contains(text, "skipped") {
			told++
			continue
		}
		var n int
		fmt.Sscan(text, &n)
		if n != last+1 && told == 0 {
			t.Fatalf("after %d comes %d, without an explanation: %v", last, n, got)
		}
		last = n
	}
	if told != 1 || last != 499 {
		t.Errorf("reported %d times, last line %d", told, last)
	}
}

// A tail wakes on each message, and ends with its context.
func TestTail(t *testing.T) {
	s := open(t, t.TempDir(), 1<<20)
	add(t, s, 0, 3)
	ctx, cancel := context.WithCancelCause(t.Context())
	lines := make(chan string)
	done := make(chan error)
	go func() {
		done <- s.Follow(ctx, model, logs.Query{Backlog: 1}, func(m debuglog.Message) error {
			lines <- m.Message
			return nil
		})
	}()
	if got := <-lines; got != "2" {
		t.Errorf("the backlog is %q", got)
	}
	for i := 3; i < 6; i++ {
		add(t, s, i, i+1)
		if got := <-lines; got != fmt.Sprint(i) {
			t.Errorf("after %d comes %q", i, got)
		}
	}
	why := errors.New("the client left")
	cancel(why)
	if err := <-done; err != why {
		t.Errorf("ended with %v", err)
	}
}

// A crash leaves a partial line. After a restart the log continues in the same segment, so
// that restarts don't delete the history.
func TestPartialLineIsSkipped(t *testing.T) {
	dir := t.TempDir()
	for life := range 8 {
		s := open(t, dir, 1<<20)
		add(t, s, life, life+1)
		s.Close()
		file, err := os.OpenFile(filepath.Join(dir, model, "1.log"), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(file, `{"msg":"half`)
		file.Close()
	}
	s := open(t, dir, 1<<20)
	add(t, s, 8, 9)
	if got := strings.Join(read(t, s, logs.Query{Replay: true}), " "); got != "0 1 2 3 4 5 6 7 8" {
		t.Errorf("the log has %q", got)
	}
}

// Removing a model's log ends its followers, and it does not come back.
func TestRemove(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, 1<<20)
	add(t, s, 0, 1)
	seen := make(chan string)
	done := make(chan error)
	go func() {
		done <- s.Follow(t.Context(), model, logs.Query{Replay: true}, func(m debuglog.Message) error {
			seen <- m.Message
			return nil
		})
	}()
	<-seen
	if err := s.Remove(model); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("the follower ended with %v", err)
	}
	if err := s.Append(model, debuglog.Message{}); !errors.Is(err, entity.NotFound) {
		t.Errorf("writing to it: %v", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("it left %v", entries)
	}
	for _, bad := range []string{"..", "", "../" + model} {
		if err := s.Append(bad, debuglog.Message{}); !errors.Is(err, entity.Invalid) {
			t.Errorf("model %q: %v", bad, err)
		}
	}
}

func TestFilter(t *testing.T) {
	s := open(t, t.TempDir(), 1<<20)
	for i, m := range []debuglog.Message{
		{Entity: "unit-mysql-0", Severity: "DEBUG", Module: "juju.worker.uniter"},
		{Entity: "unit-mysql-1", Severity: "ERROR", Module: "juju.worker.uniter"},
		{Entity: "machine-0", Severity: "INFO", Module: "juju.workers"},
		{Entity: "machine-1", Severity: "WARNING", Module: "unit.mysql/1.install"},
	} {
		m.Message = fmt.Sprint(i)
		if err := s.Append(model, m); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		filter logs.Filter
		want   string
	}{
		{logs.Filter{}, "0 1 2 3"},
		{logs.Filter{Level: "warning"}, "1 3"},
		{logs.Filter{Level: "TRACE"}, "0 1 2 3"},
		{logs.Filter{IncludeEntity: []string{"mysql/0", "machine-0"}}, "0 2"},
		{logs.Filter{IncludeEntity: []string{"mysql*"}}, "0 1"},
		{logs.Filter{IncludeEntity: []string{"unit-*"}, ExcludeEntity: []string{"mysql/1"}}, "0"},
		{logs.Filter{IncludeModule: []string{"juju.worker"}}, "0 1"},
		{logs.Filter{ExcludeModule: []string{"juju"}}, "3"},
		{logs.Filter{IncludeEntity: []string{"mysql*"}, IncludeModule: []string{"juju"}, Level: "ERROR"}, "1"},
		{logs.Filter{IncludeEntity: []string{"mysql"}}, ""},
	} {
		if got := strings.Join(read(t, s, logs.Query{Replay: true, Filter: test.filter}), " "); got != test.want {
			t.Errorf("%+v: %q, want %q", test.filter, got, test.want)
		}
	}
	if err := (&logs.Filter{Level: "loud"}).Check(); !errors.Is(err, entity.Invalid) {
		t.Errorf("level loud: %v", err)
	}
}

// A message of any length or content is one line.
func TestLongAndOddMessages(t *testing.T) {
	s := open(t, t.TempDir(), 1<<20)
	for _, text := range []string{"a\nb", strings.Repeat("é", 100_000), "\xff\x00"} {
		if err := s.Append(model, debuglog.Message{Message: text}); err != nil {
			t.Fatal(err)
		}
	}
	got := read(t, s, logs.Query{Replay: true})
	if len(got) != 3 || got[0] != "a\nb" || len(got[1]) > 20_000 || !strings.HasSuffix(got[1], " [183552 bytes cut]") {
		t.Errorf("read back %d messages: %.50q", len(got), got)
	}
}

// Writers of several agents do not mix their lines, and a reader sees all.
func TestConcurrentWriters(t *testing.T) {
	s := open(t, t.TempDir(), 1<<22)
	const writers, each = 8, 100
	counts := map[string]int{}
	done := make(chan error)
	go func() {
		seen := 0
		done <- s.Follow(t.Context(), model, logs.Query{Replay: true, Limit: writers * each},
			func(m debuglog.Message) error {
				counts[m.Entity]++
				seen++
				return nil
			})
	}()
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				m := debuglog.Message{Entity: fmt.Sprint("machine-", w), Message: strings.Repeat(fmt.Sprint(i), 50)}
				if err := s.Append(model, m); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for w := range writers {
		if got := counts[fmt.Sprint("machine-", w)]; got != each {
			t.Errorf("machine %d wrote %d lines, seen %d", w, each, got)
		}
	}
}
