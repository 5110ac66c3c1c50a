package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// OpenFile opens a file that the user names. It refuses anything but a regular file, because a
// pipe might never have data and a device never end. It checks the open file, not the path,
// which might change meanwhile. A pipe from the shell, as in --config <(program), is accepted,
// because the program at its other end writes to it.
func OpenFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ENXIO) {
		return nil, &fs.PathError{Op: "open", Path: path, Err: errors.New("is a socket, not a file")}
	} else if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() && !(info.Mode().Type() == fs.ModeNamedPipe && isHandedOver(path)) {
		err = notFile(path, info.Mode())
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// isHandedOver reports whether a path names an open file of this process, as /dev/fd/63 does.
func isHandedOver(path string) bool {
	return path == "/dev/stdin" || strings.HasPrefix(path, "/dev/fd/") || strings.HasPrefix(path, "/proc/self/fd/")
}

// notFile returns the error for a path that is not a regular file.
func notFile(path string, mode fs.FileMode) error {
	what := "no file"
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

// ReadFile reads a file that the user names, up to one byte more than max.
func ReadFile(path string, max int64) ([]byte, error) {
	f, err := OpenFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, max+1))
}

// ReadWhole reads a file that the user names; one that is larger than max is an error.
func ReadWhole(path string, max int64) ([]byte, error) {
	text, err := ReadFile(path, max)
	if err == nil && int64(len(text)) > max {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, max)
	}
	return text, err
}
