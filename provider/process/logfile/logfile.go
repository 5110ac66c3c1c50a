// Package logfile writes logs that stay within a size while the process that
// writes them runs: a file that is full is put aside as FILE.1, in place of the one
// before it, so a log never takes more than twice the size of one file.
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
	// MaxSize is the size of one file, in bytes, where nothing else is asked for.
	MaxSize = 8 << 20
	// MaxLine is how many bytes of one entry are kept.
	MaxLine = 32 << 10
)

// OpenFile opens a log for appending, after it has put aside one that is as long as
// max.
func OpenFile(path string, max int64) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.Size() >= max {
		if err := os.Rename(path, path+".1"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
}

// A Writer appends entries to a log and puts the file aside whenever it is full.
type Writer struct {
	path    string
	max     int64
	follows []int // descriptors that are to lead to the file as well

	mu   sync.Mutex
	file *os.File
}

// Open opens a log whose files have max bytes each; 0 stands for MaxSize.
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

// OfProcess returns the log of a process whose standard output and error lead to the
// file at path; they then lead to the new file whenever one is put aside, so that
// what is printed past the Writer, a panic say, is in the log too. In a process that
// prints elsewhere, because somebody started it by hand, it returns standard error.
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

// Write appends one entry, cut if it is longer than MaxLine.
func (w *Writer) Write(entry []byte) (int, error) {
	text := cut(entry)
	w.mu.Lock()
	defer w.mu.Unlock()
	// Asked for each time: what is printed past the Writer counts too.
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

// rotate begins a new file. Where it can't, because the directory is gone or the
// disk full, the old one is emptied: the bound holds whatever happens.
func (w *Writer) rotate() error {
	file, err := OpenFile(w.path, 1)
	if err != nil {
		return w.file.Truncate(0)
	}
	w.file.Close()
	w.file = file
	return w.redirect()
}

// redirect makes the descriptors that follow lead to the file.
func (w *Writer) redirect() error {
	for _, fd := range w.follows {
		if err := unix.Dup3(int(w.file.Fd()), fd, 0); err != nil {
			return err
		}
	}
	return nil
}

// lines cuts entries for a file that is somebody else's.
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
