package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"juju/state/entity"
)

// OpenFile opens a file given by the user. It accepts only regular files, because reading a pipe might block and a
// device might never end, and pipes passed by the shell, as in --config <(program). It checks the open file rather than
// the path, which might change meanwhile.
func OpenFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, openFlags, 0)
	return onlyFile(path, f, err)
}

const openFlags = os.O_RDONLY | syscall.O_NONBLOCK

// onlyFile returns what has been opened at a path, or the error if it may not be read.
func onlyFile(path string, f *os.File, err error) (*os.File, error) {
	if errors.Is(err, syscall.ENXIO) {
		return nil, &fs.PathError{Op: "open", Path: path, Err: errors.New("is a socket, not a file")}
	} else if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() && !(info.Mode().Type() == fs.ModeNamedPipe && isInherited(path)) {
		err = notFile(path, info.Mode())
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// isInherited reports whether a path refers to an open file of this process, such as /dev/fd/63.
func isInherited(path string) bool {
	return path == "/dev/stdin" || strings.HasPrefix(path, "/dev/fd/") || strings.HasPrefix(path, "/proc/self/fd/")
}

func notFile(path string, mode fs.FileMode) error {
	what := "a special file"
	switch mode.Type() {
	case fs.ModeDir:
		what = "a directory"
	case fs.ModeNamedPipe:
		what = "a named pipe"
	case fs.ModeSocket:
		what = "a socket"
	case fs.ModeDevice, fs.ModeDevice | fs.ModeCharDevice:
		what = "a device"
	}
	return &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf("is %s, not a file", what)}
}

// CheckFile returns an error if the session has no files, for a command that reads or writes one if it is told to.
func (s *Session) CheckFile(path string) error {
	if !s.Embedded || path == "" {
		return nil
	}
	return Usage(entity.WithHint(fmt.Errorf("cannot use the file %q: the controller runs this command, and your files are not there", path),
		"To use a file, run the command with juju where the file is."))
}

// ReadFile reads a file given by the user, up to one byte more than max.
func ReadFile(path string, max int64) ([]byte, error) {
	f, err := OpenFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, max+1))
}

// ErrNotBelow is the error of OpenBelow for a file elsewhere.
var ErrNotBelow = errors.New("is not below the folder")

// OpenBelow is OpenFile for a file that must be below a folder. A symbolic link there may lead only to where it is, too.
func OpenBelow(folder, path string) (*os.File, error) {
	name, err := filepath.Rel(resolve(folder), resolve(path))
	if err != nil || !filepath.IsLocal(name) {
		return nil, &fs.PathError{Op: "open", Path: path, Err: ErrNotBelow}
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.OpenFile(name, openFlags, 0)
	if bad := (*fs.PathError)(nil); errors.As(err, &bad) {
		bad.Op, bad.Path = "open", path
	}
	return onlyFile(path, f, err)
}

// resolve returns an absolute path without symbolic links, as far as there is something.
func resolve(path string) string {
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	if found, err := filepath.EvalSymlinks(path); err == nil || path == filepath.Dir(path) {
		return cmp.Or(found, path)
	}
	return filepath.Join(resolve(filepath.Dir(path)), filepath.Base(path))
}

// StandardInput is the path that means standard input.
const StandardInput = "-"

// ReadInput is ReadFile, and reads stdin for StandardInput.
func ReadInput(stdin io.Reader, path string, max int64) ([]byte, error) {
	if path == StandardInput {
		return io.ReadAll(io.LimitReader(stdin, max+1))
	}
	return ReadFile(path, max)
}

// ReadWhole reads a file given by the user, which must not be larger than max.
func ReadWhole(path string, max int64) ([]byte, error) {
	f, err := OpenFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadOpen(f, path, max)
}

// ReadOpen is ReadWhole for the file that has been opened at a path.
func ReadOpen(f *os.File, path string, max int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(f, max+1))
	if err == nil && int64(len(text)) > max {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, max)
	}
	return text, err
}
