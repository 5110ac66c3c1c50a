package main

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// store keeps values in memory and appends every change to a file. A record in the file is a line
// of checksum, key and value.
type store struct {
	mu     sync.Mutex
	file   *os.File
	size   int64 // of the valid records
	values map[string]string
	broken error // if not nil, why the store can't be written to
}

// openStore opens or creates the file, and locks it until close. A crash can leave the last record
// torn; that record was never acknowledged, and is dropped. Any other damage is an error.
func openStore(path string) (*store, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	s := &store{file: file, values: map[string]string{}}
	if err := s.load(path); err != nil {
		file.Close()
		return nil, fmt.Errorf("cannot open %s: %w", path, err)
	}
	return s, nil
}

func (s *store) load(path string) error {
	if err := syscall.Flock(int(s.file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("in use by another process: %w", err)
	}
	if same, err := isAt(s.file, path); err != nil || !same {
		return errors.Join(errors.New("replaced while it was opened"), err)
	}
	data, err := io.ReadAll(s.file)
	if err != nil {
		return err
	}
	for rest := data; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		key, value, ok := parseRecord(string(line))
		if !ok || !ended {
			if len(after) > 0 {
				return fmt.Errorf("damaged at byte %d", s.size)
			}
			break
		}
		s.values[key] = value
		s.size += int64(len(line) + 1)
		rest = after
	}
	if err := s.compact(path); err != nil {
		return err
	}
	// Always sync: values that were read may not be on disk yet, but will be served as if they
	// were. The same goes for the file's name.
	if err := errors.Join(s.file.Truncate(s.size), s.file.Sync()); err != nil {
		return err
	}
	return syncDir(path)
}

// compact rewrites the file if most of its records are outdated.
func (s *store) compact(path string) error {
	var live bytes.Buffer
	for key, value := range s.values {
		live.WriteString(record(key, value))
	}
	if s.size < 64<<10 || s.size < 4*int64(live.Len()) {
		return nil
	}
	next, err := os.OpenFile(path+".new", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = next.Write(live.Bytes())
	if err == nil {
		err = errors.Join(syscall.Flock(int(next.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), next.Sync())
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		next.Close()
		return err
	}
	s.file.Close()
	s.file, s.size = next, int64(live.Len())
	return nil
}

// isAt reports whether file is the one at path. It is not if compact has replaced it since it was
// opened.
func isAt(file *os.File, path string) (bool, error) {
	opened, err := file.Stat()
	if err != nil {
		return false, err
	}
	current, err := os.Stat(path)
	return err == nil && os.SameFile(opened, current), err
}

func syncDir(path string) error {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

func record(key, value string) string {
	text := strconv.Quote(key) + " " + strconv.Quote(value)
	return fmt.Sprintf("%08x %s\n", crc32.ChecksumIEEE([]byte(text)), text)
}

func parseRecord(line string) (key, value string, ok bool) {
	sum, text, _ := strings.Cut(line, " ")
	if sum != fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(text))) {
		return "", "", false
	}
	quoted, err := strconv.QuotedPrefix(text)
	if err != nil {
		return "", "", false
	}
	key, err1 := strconv.Unquote(quoted)
	value, err2 := strconv.Unquote(strings.TrimPrefix(text[len(quoted):], " "))
	return key, value, err1 == nil && err2 == nil
}

func (s *store) get(key string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	value, ok := s.values[key]
	return value, ok
}

// set returns once the value is on disk.
func (s *store) set(key, value string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.write(key, value)
}

// incr adds one to an integer, which counts as 0 if the key has no value, and returns the result.
func (s *store) incr(key string) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var n int64
	if value, ok := s.values[key]; ok {
		var err error
		if n, err = strconv.ParseInt(value, 10, 64); err != nil || n == math.MaxInt64 {
			return 0, fmt.Errorf("cannot add one to %q", value)
		}
	}
	return n + 1, s.write(key, strconv.FormatInt(n+1, 10))
}

// write requires mu, so at most one record is unsynced, and only that one can be torn.
func (s *store) write(key, value string) error {
	if s.broken != nil {
		return fmt.Errorf("cannot write after an earlier failure: %w", s.broken)
	}
	line := record(key, value)
	if _, err := s.file.WriteAt([]byte(line), s.size); err != nil {
		// The disk may be full: remove the partial record and carry on.
		if undo := s.file.Truncate(s.size); undo != nil {
			s.broken = errors.Join(err, undo)
		}
		return err
	}
	if err := s.file.Sync(); err != nil {
		// Only reopening the file can show what is on disk now.
		s.broken = err
		return err
	}
	s.size += int64(len(line))
	s.values[key] = value
	return nil
}

func (s *store) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = errors.New("store is closed")
	return s.file.Close()
}
