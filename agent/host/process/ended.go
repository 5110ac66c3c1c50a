package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"juju/agent/host/atomicfile"
)

// ErrEnded is wrapped by Start's error when the process must not be started.
var ErrEnded = errors.New("it has ended permanently")

// MarkEnded marks the process in dir as ended permanently: no supervisor starts it again, even after a
// reboot. An agent calls it before it exits because its entity is Dead or removed. why is for humans.
// MarkEnded can be repeated, and does nothing if dir does not exist.
func MarkEnded(dir, why string) error {
	err := atomicfile.WriteFile(filepath.Join(dir, endedName), []byte(why+"\n"), 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot mark %s as ended: %w", dir, err)
	}
	return nil
}

// Ended reports whether MarkEnded was called for dir, and why.
func Ended(dir string) (why string, ended bool) {
	text, err := os.ReadFile(filepath.Join(dir, endedName))
	// A mark that exists but can't be read is still a mark.
	return strings.TrimSpace(string(text)), err == nil || !errors.Is(err, fs.ErrNotExist)
}

// ClearEnded removes the mark, so that the process can be started again.
func ClearEnded(dir string) error {
	if err := os.Remove(filepath.Join(dir, endedName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot clear the mark that %s has ended: %w", dir, err)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
