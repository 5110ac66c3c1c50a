package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ErrEnded is what Start's error wraps when the process is not to be started.
var ErrEnded = errors.New("it has ended for good")

// MarkEnded says that the process in dir has ended for good: no supervisor
// starts it again, not after a reboot either. An agent does so before it exits
// because its entity is Dead or gone; why is for people. Marking twice is fine,
// and so is a directory that is not there.
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
	// A mark that is there and can't be read is a mark all the same.
	return strings.TrimSpace(string(text)), err == nil || !errors.Is(err, fs.ErrNotExist)
}

// ClearEnded takes the mark away, so that the process can be started again.
func ClearEnded(dir string) error {
	if err := os.Remove(filepath.Join(dir, endedName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot let %s be started again: %w", dir, err)
	}
	return nil
}

// WriteFile makes or replaces a file, which is at every moment, a loss of power
// included, either what it was or complete. Its owner alone can read it.
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
