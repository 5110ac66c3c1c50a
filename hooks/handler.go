package hooks

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// dispatchName is the program that, if the charm has it, runs for every event.
const dispatchName = "dispatch"

// Implemented is which hooks the charm in a directory has.
type Implemented struct {
	Dispatch bool            // it has a program for all of them
	Files    map[string]bool // the names in its hooks directory that something runs for
}

// Has reports whether something runs for the hook with this name.
func (i Implemented) Has(name string) bool { return i.Dispatch || i.Files[name] }

// ReadImplemented looks up which hooks the charm in a directory has now: hooks may write more of
// them. A directory that is missing has none.
func ReadImplemented(charmDir string) (Implemented, error) {
	_, ok, err := lookup(filepath.Join(charmDir, dispatchName))
	if err != nil {
		return Implemented{}, err
	}
	entries, err := os.ReadDir(filepath.Join(charmDir, "hooks"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Implemented{}, err
	}
	files := make(map[string]bool, len(entries))
	for _, e := range entries {
		is := !e.IsDir()
		if e.Type()&fs.ModeSymlink != 0 {
			if _, is, err = lookup(filepath.Join(charmDir, "hooks", e.Name())); err != nil {
				return Implemented{}, err
			}
		}
		if is {
			files[e.Name()] = true
		}
	}
	return Implemented{Dispatch: ok, Files: files}, nil
}

// handler returns the charm's program for a hook or an action: dispatch if it exists, otherwise the file
// of that name ("hooks/install"), or "" if there is neither.
func handler(charmDir, file string) (string, error) {
	for _, name := range []string{dispatchName, file} {
		if path, ok, err := lookup(filepath.Join(charmDir, name)); ok || err != nil {
			return path, err
		}
	}
	return "", nil
}

// lookup reports whether path exists, including files that would fail to run: those that are not
// executable, and symlink loops. A dangling symlink does not exist.
func lookup(path string) (string, bool, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", false, nil
	case errors.Is(err, syscall.ELOOP):
		return path, true, nil
	}
	return path, err == nil && !info.IsDir(), err
}
