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

// A mirror says what was done to the host's sources of packages.
type mirror struct {
	Old string `json:"old"` // the archive that the host has of its own
	New string `json:"new"` // what replaces it
	// Files are the sources as they were, by name: "etc/apt/sources.list".
	Files map[string]string `json:"files"`
}

// mirrorFile is the name of the file that holds the mirror, in Host.Keep. It is there from before the
// first of the sources is changed until after the last of them is restored.
const mirrorFile = "apt-mirror.json"

// setMirror has apt use another mirror than the host's own; "" gives it its own back. The archive is the
// one that is named first. Others, as those of security updates, stay.
func (h Host) setMirror(address string) error {
	was, err := h.mirror()
	if err != nil {
		return err
	}
	if was.New == address {
		return h.each(was, func(name, text string) string {
			if text == was.Files[name] { // it was interrupted
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
			continue // a link that leads nowhere
		} else if err != nil {
			return err
		}
		is.Files[name] = string(text)
		if is.Old == "" {
			is.Old = archive(string(text))
		}
	}
	if is.Old == "" {
		logger.Warningf("apt-mirror %s is not used: the machine has no sources of packages", address)
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

// restore gives the host its own mirror back. Where a file was changed by others meanwhile, their changes
// stay.
func (h Host) restore(was mirror) error {
	err := h.each(was, func(name, text string) string {
		if original := was.Files[name]; text == original || text == swap(original, was.Old, was.New) {
			return original
		}
		return swap(text, was.New, was.Old)
	})
	for name := range was.Files { // left by a kill
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

// each replaces the sources that are still there by what f makes of them. One may be a link to a file elsewhere.
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

// mirror reads what was done; the zero mirror if nothing was.
func (h Host) mirror() (m mirror, err error) {
	record, err := os.ReadFile(filepath.Join(h.Keep, mirrorFile))
	if errors.Is(err, fs.ErrNotExist) {
		return mirror{}, nil
	} else if err != nil {
		return mirror{}, err
	}
	return m, json.Unmarshal(record, &m)
}

// sources returns the names of the files with apt's sources, the main one first.
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

// archive returns the address that a file of sources names first, of either form; "" if it names none.
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

// swap replaces an address where it stands alone. A slash at its end makes no difference.
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

// split splits a line into its words and the blanks between them.
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
