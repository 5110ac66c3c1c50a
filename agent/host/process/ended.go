package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ErrEnded is wrapped by Start's error when the process must not be started.
var ErrEnded = errors.New("it has ended for good")

// MarkEnded marks the process in dir as ended for good: no supervisor starts it again, not even
// after a reboot. An agent calls it before it exits because its entity is Dead or gone; why is
// for people. Marking twice is fine, and so is a directory that does not exist.
func MarkEnded(dir, why string) error {
	err := WriteFile(filepath.Join(dir, endedName), []byte(why+"\n"))
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
	// A mark that exists but can't be read counts.
	return strings.TrimSpace(string(text)), err == nil || !errors.Is(err, fs.ErrNotExist)
}

// ClearEnded removes the mark, so that the process can be started again.
func ClearEnded(dir string) error {
	if err := os.Remove(filepath.Join(dir, endedName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot let %s be started again: %w", dir, err)
	}
	return nil
}

// WriteFile makes or replaces a file. At every moment, even after a power loss, the file is
// either the old one or complete. Only its owner can read it. Several processes may write the
// same file, which agent/host/atomicfile does not allow; on the other hand, a power loss soon after
// may bring the old file back.
func WriteFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
