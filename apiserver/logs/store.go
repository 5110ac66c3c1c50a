package logs

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"juju/apiserver/debuglog"
	"juju/state/entity"
)

const (
	// segments is the number of files that a model's share is divided into. When the share is full, one of them is
	// deleted.
	segments = 4
	// maxMessage is the number of bytes that are kept of a message's text: 16 KiB, plus the mark of a sender that has
	// truncated it to that. maxField is that of each of its other fields.
	maxMessage = 16<<10 + 64
	maxField   = 256
	suffix     = ".log"
)

// A Store stores the logs of all models in one directory. Its methods may be called concurrently.
type Store struct {
	dir   string
	share int64

	mu     sync.Mutex
	models map[string]*modelLog // nil for a removed one: late messages must not bring it back
	closed bool
}

// Open opens the store in dir, which it creates if needed. share is the maximum size of one model's log in bytes.
func Open(dir string, share int64) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot open the log store: %w", err)
	}
	return &Store{dir: dir, share: share, models: map[string]*modelLog{}}, nil
}

// Append appends messages to a model's log, in order. If an agent exceeds its rate, its messages are dropped, and a
// line is added that says so.
func (s *Store) Append(model string, messages ...debuglog.Message) error {
	l, err := s.model(model)
	if err != nil {
		return err
	}
	if err := l.append(messages); err != nil {
		return fmt.Errorf("cannot log: %w", err)
	}
	return nil
}

// encode returns a message's line.
func encode(m debuglog.Message) ([]byte, error) {
	m.Message = entity.Cut(m.Message, maxMessage)
	for _, field := range []*string{&m.Entity, &m.Severity, &m.Module, &m.Location} {
		*field = entity.Cut(*field, maxField)
	}
	line, err := json.Marshal(m)
	return append(line, '\n'), err
}

// Remove deletes a model's log and ends its followers.
func (s *Store) Remove(model string) error {
	if !entity.IsValidUUID(model) {
		return entity.Errorf(entity.Invalid, "%q is not a model", model)
	}
	s.mu.Lock()
	l := s.models[model]
	s.models[model] = nil
	s.mu.Unlock()
	if l != nil {
		l.close()
	}
	return os.RemoveAll(filepath.Join(s.dir, model))
}

// Close closes all logs and ends their followers.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, l := range s.models {
		if l != nil {
			l.close()
		}
	}
	clear(s.models)
	return nil
}

// model returns the open log of a model.
func (s *Store) model(uuid string) (*modelLog, error) {
	if !entity.IsValidUUID(uuid) {
		return nil, entity.Errorf(entity.Invalid, "%q is not a model", uuid) // it becomes a directory name
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, entity.Errorf(entity.Unavailable, "the controller is stopping")
	}
	if l, known := s.models[uuid]; known && l == nil {
		return nil, entity.Errorf(entity.NotFound, "the model was removed")
	} else if known {
		return l, nil
	}
	l := &modelLog{dir: filepath.Join(s.dir, uuid), segment: max(1, s.share/segments), changed: make(chan struct{}),
		rates: rates{share: s.share, buckets: map[source]*bucket{}}}
	numbers, err := l.list()
	if err != nil {
		return nil, err
	}
	if len(numbers) > 0 {
		l.last = numbers[len(numbers)-1]
	}
	s.models[uuid] = l
	return l, nil
}

// A modelLog is one model's segments. Only the last is written to.
type modelLog struct {
	dir     string
	segment int64 // size at which the next segment begins

	mu      sync.Mutex
	last    int      // number of the last segment, 0 for none
	file    *os.File // the last segment, nil until this process writes to it
	size    int64
	changed chan struct{} // closed at the next append, and on close
	ended   bool
	rates   rates
}

func (l *modelLog) path(number int) string {
	return filepath.Join(l.dir, strconv.Itoa(number)+suffix)
}

// list returns the numbers of the existing segments, in order.
func (l *modelLog) list() (numbers []int, err error) {
	entries, err := os.ReadDir(l.dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("cannot read logs: %w", err)
	}
	for _, e := range entries {
		if n, err := strconv.Atoi(strings.TrimSuffix(e.Name(), suffix)); err == nil {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

func (l *modelLog) append(messages []debuglog.Message) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return entity.Errorf(entity.NotFound, "the model was removed")
	}
	var lines []byte
	for _, m := range messages {
		line, err := encode(m)
		if err != nil {
			return err
		}
		ok, before := l.rates.admit(m, len(line), time.Now())
		if before != nil {
			told, err := encode(*before)
			if err != nil {
				return err
			}
			lines = append(lines, told...)
		}
		if ok {
			lines = append(lines, line...)
		}
	}
	if len(lines) == 0 {
		return nil
	}
	if l.file == nil && l.last > 0 {
		if err := l.resume(); err != nil {
			return err
		}
	}
	if l.file == nil || l.size+int64(len(lines)) > l.segment && l.size > 0 {
		if err := l.begin(); err != nil {
			return err
		}
	}
	n, err := l.file.Write(lines)
	l.size += int64(n)
	l.wake()
	return err
}

// resume opens the last segment of an earlier process. A crash may have left a partial line at its end. The newline
// terminates that line; readers skip it, as they do empty lines.
func (l *modelLog) resume() error {
	file, err := os.OpenFile(l.path(l.last), os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if _, err := file.Write([]byte{'\n'}); err != nil {
		file.Close()
		return err
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return err
	}
	l.file, l.size = file, info.Size()
	return nil
}

// begin starts the next segment and deletes segments beyond the share.
func (l *modelLog) begin() error {
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(l.path(l.last+1), os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if l.file != nil {
		l.file.Close()
	}
	l.last, l.file, l.size = l.last+1, file, 0
	numbers, err := l.list()
	if err != nil {
		return err
	}
	for _, n := range numbers {
		if n <= l.last-segments {
			if err := os.Remove(l.path(n)); err != nil {
				return err
			}
		}
	}
	return nil
}

// wake wakes the followers. l.mu must be held.
func (l *modelLog) wake() {
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *modelLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return
	}
	l.ended = true
	if l.file != nil {
		l.file.Close()
	}
	close(l.changed)
}

// look returns the last segment's number, and a channel that is closed when there is more to read.
func (l *modelLog) look() (last int, changed <-chan struct{}, ended bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last, l.changed, l.ended
}
