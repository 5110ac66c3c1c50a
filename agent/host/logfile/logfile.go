// Package logfile writes logs of bounded size. A full file is renamed to FILE.1, replacing the previous one,
// so a log never takes more than twice the maximum size of a file.
package logfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"juju/state/entity"
)

const (
	// MaxSize is the default maximum size of a file, in bytes.
	MaxSize = 8 << 20
	// MaxLine is the maximum length of an entry in bytes. Longer ones are truncated.
	MaxLine = 32 << 10
)

// OpenFile opens a log for appending. A file that already has max bytes is renamed first.
func OpenFile(path string, max int64) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.Size() >= max {
		if err := os.Rename(path, path+".1"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
}

// A Writer appends entries to a log, and starts a new file when the current one is full.
type Writer struct {
	path    string
	max     int64
	follows []int // descriptors to redirect to each new file

	mu   sync.Mutex
	file *os.File
}

// Open opens a log whose files have at most max bytes each; MaxSize if zero.
func Open(path string, max int64) (*Writer, error) {
	if max == 0 {
		max = MaxSize
	}
	file, err := OpenFile(path, max)
	if err != nil {
		return nil, fmt.Errorf("cannot open the log: %w", err)
	}
	return &Writer{path: path, max: max, file: file}, nil
}

// OfProcess returns the log of this process, whose standard output and error go to the file at path. When a
// new file is started, both are redirected to it, so that output that bypasses the Writer, such as a panic,
// is in the log too. If the process's output goes elsewhere, because it was started by hand, OfProcess
// returns standard error.
func OfProcess(path string, max int64) (io.Writer, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	var follows []int
	for _, std := range []*os.File{os.Stdout, os.Stderr} {
		if leadsTo(std, path) {
			follows = append(follows, int(std.Fd()))
		}
	}
	if len(follows) == 0 {
		return lines{os.Stderr}, nil
	}
	w, err := Open(path, max)
	if err != nil {
		return nil, err
	}
	w.follows = follows
	return w, w.redirect()
}

func leadsTo(file *os.File, path string) bool {
	mine, err := file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(mine, there)
}

// Write appends one entry, truncated to MaxLine bytes.
func (w *Writer) Write(entry []byte) (int, error) {
	text := cut(entry)
	w.mu.Lock()
	defer w.mu.Unlock()
	// The size is read each time, because some output bypasses the Writer.
	info, err := w.file.Stat()
	if err == nil && info.Size() > 0 && info.Size()+int64(len(text)) > w.max {
		err = w.rotate()
	}
	if err == nil {
		_, err = w.file.Write(text)
	}
	if err != nil {
		return 0, fmt.Errorf("cannot write the log: %w", err)
	}
	return len(entry), nil
}

// Close closes the file.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.file.Close()
}

// rotate starts a new file. If it can't, because the directory was removed or the disk is full, it truncates
// the old one, so that the size stays bounded in any case.
func (w *Writer) rotate() error {
	file, err := OpenFile(w.path, 1)
	if err != nil {
		return w.file.Truncate(0)
	}
	w.file.Close()
	w.file = file
	return w.redirect()
}

// redirect redirects the follows descriptors to the file.
func (w *Writer) redirect() error {
	for _, fd := range w.follows {
		if err := unix.Dup3(int(w.file.Fd()), fd, 0); err != nil {
			return err
		}
	}
	return nil
}

// lines truncates entries for a file that this package does not manage.
type lines struct{ io.Writer }

func (l lines) Write(entry []byte) (int, error) {
	if _, err := l.Writer.Write(cut(entry)); err != nil {
		return 0, err
	}
	return len(entry), nil
}

func cut(entry []byte) []byte {
	if len(entry) <= MaxLine {
		return entry
	}
	return append([]byte(entity.Cut(string(entry), MaxLine)), '\n')
}
