package proxyupdater

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"juju/agent/host/atomicfile"
)

// A mirror records how the host's package sources were changed.
type mirror struct {
	Old string `json:"old"` // the host's original archive
	New string `json:"new"` // its replacement
	// Files has the original contents of the sources by name, such as "etc/apt/sources.list".
	Files map[string]string `json:"files"`
}

// mirrorFile is the name of the mirror's file in Host.Keep. It is written before the first of the sources
// is changed, and removed after the last of them is restored.
const mirrorFile = "apt-mirror.json"

// setMirror has apt use the given mirror, or the host's original archive if address is "". It replaces only
// the archive that the sources name first; others, such as those of security updates, stay.
func (h Host) setMirror(address string) error {
	was, err := h.mirror()
	if err != nil {
		return err
	}
	if was.New == address {
		return h.each(was, func(name, text string) string {
			if text == was.Files[name] { // an earlier call was interrupted
				return swap(text, was.Old, was.New)
			}
			return text
		})
	}
	if was.New != "" {
		if err := h.restore(was); err != nil {
			return err
		}
	}
	if address == "" {
		return nil
	}
	is := mirror{New: address, Files: map[string]string{}}
	names, err := h.sources()
	if err != nil {
		return err
	}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(h.Root, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // a dangling link
		} else if err != nil {
			return err
		}
		is.Files[name] = string(text)
		if is.Old == "" {
			is.Old = archive(string(text))
		}
	}
	if is.Old == "" {
		logger.Warningf("apt-mirror %s is not used: the machine has no package sources", address)
		return nil
	}
	record, err := json.Marshal(is)
	if err != nil {
		return err
	}
	if err := atomicfile.WriteFile(filepath.Join(h.Keep, mirrorFile), record, 0o600); err != nil {
		return err
	}
	return h.each(is, func(name, text string) string { return swap(text, is.Old, is.New) })
}

// restore makes the host use its original archive again. Changes that others have made to the files since
// are preserved.
func (h Host) restore(was mirror) error {
	err := h.each(was, func(name, text string) string {
		if original := was.Files[name]; text == original || text == swap(original, was.Old, was.New) {
			return original
		}
		return swap(text, was.New, was.Old)
	})
	for name := range was.Files { // a killed process may have left drafts
		path := filepath.Join(h.Root, name)
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		err = errors.Join(err, atomicfile.RemoveDrafts(path))
	}
	if err != nil {
		return err
	}
	return os.Remove(filepath.Join(h.Keep, mirrorFile))
}

// each rewrites the existing sources with f. It follows symbolic links.
func (h Host) each(m mirror, f func(name, text string) string) error {
	for name := range m.Files {
		path, err := filepath.EvalSymlinks(filepath.Join(h.Root, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return err
		}
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if made := f(name, string(text)); made != string(text) {
			if err := atomicfile.WriteFile(path, []byte(made), info.Mode().Perm()); err != nil {
				return err
			}
		}
	}
	return nil
}

// mirror reads the record; it returns the zero mirror if there is none.
func (h Host) mirror() (m mirror, err error) {
	record, err := os.ReadFile(filepath.Join(h.Keep, mirrorFile))
	if errors.Is(err, fs.ErrNotExist) {
		return mirror{}, nil
	} else if err != nil {
		return mirror{}, err
	}
	return m, json.Unmarshal(record, &m)
}

// sources returns the names of apt's source files, the main one first.
func (h Host) sources() (names []string, err error) {
	for _, pattern := range []string{"sources.list", "sources.list.d/*.sources", "sources.list.d/*.list"} {
		paths, err := filepath.Glob(filepath.Join(h.Root, "etc/apt", pattern))
		if err != nil {
			return nil, err
		}
		slices.Sort(paths)
		for _, path := range paths {
			name, err := filepath.Rel(h.Root, path)
			if err != nil {
				return nil, err
			}
			names = append(names, name)
		}
	}
	return names, nil
}

// archive returns the first address in a source file of either format, or "".
func archive(text string) string {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) > 1 && (words[0] == "deb" || strings.EqualFold(words[0], "URIs:")) {
			for _, word := range words[1:] {
				if strings.Contains(word, "://") {
					return word
				}
			}
		}
	}
	return ""
}

// swap replaces an address wherever it is a whole word, with or without a trailing slash.
func swap(text, old, by string) string {
	bare := strings.TrimSuffix(old, "/")
	var made strings.Builder
	for line := range strings.Lines(text) {
		for _, word := range split(line) {
			if !strings.HasPrefix(strings.TrimSpace(line), "#") && strings.TrimSuffix(word, "/") == bare {
				word = by
			}
			made.WriteString(word)
		}
	}
	return made.String()
}

// split splits a line into words and the white space between them.
func split(line string) (parts []string) {
	blank := func(r byte) bool { return r == ' ' || r == '\t' || r == '\n' || r == '\r' }
	for begin := 0; begin < len(line); {
		end := begin + 1
		for end < len(line) && blank(line[end]) == blank(line[begin]) {
			end++
		}
		parts = append(parts, line[begin:end])
		begin = end
	}
	return parts
}
