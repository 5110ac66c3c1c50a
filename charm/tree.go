package charm

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// limits bound the content of a charm, so that a zip bomb can't fill a disk.
type limits struct {
	entries int
	total   int64 // bytes, unpacked
}

var defaultLimits = limits{entries: 50_000, total: 1 << 30}

// tree is the shape of a charm's directory or archive: its names, types and links. Both are
// checked here, by the same rules, before a byte is written.
type tree struct {
	limits limits
	modes  map[string]fs.FileMode // by clean relative path; only the type and the x bit matter
	links  map[string]string      // symlink to target
	names  []string               // in the order they were added
	total  int64
	steps  int // taken by resolve so far
}

func newTree(l limits) *tree {
	return &tree{limits: l, modes: map[string]fs.FileMode{}, links: map[string]string{}}
}

// add adds a file, directory or symlink; target is the symlink's.
func (t *tree) add(name string, mode fs.FileMode, size int64, target string) error {
	if !utf8.ValidString(name) || strings.ContainsAny(name, "\x00\\") || !fs.ValidPath(name) || name == "." ||
		len(name) > maxName || strings.Count(name, "/") >= maxDepth {
		return invalidf("invalid file name: %s", shown(name))
	}
	if tooLong(name) {
		return invalidf("file name is longer than %d bytes: %s", maxPart, shown(name))
	}
	switch mode.Type() {
	case 0, fs.ModeDir:
	case fs.ModeSymlink:
		if path.IsAbs(target) {
			return invalidf("%w", contained(fmt.Errorf("symlink %q is absolute: %q", name, target)))
		}
		if target == "" || len(target) > maxLinkTarget || !utf8.ValidString(target) || strings.ContainsAny(target, "\x00\\") {
			return invalidf("symlink %q has an invalid target: %s", name, shown(target))
		}
		if tooLong(target) {
			return invalidf("symlink %q has a target whose name is longer than %d bytes: %s", name, maxPart, shown(target))
		}
		t.links[name] = target
	case fs.ModeNamedPipe:
		return invalidf("file is a named pipe: %q", name)
	case fs.ModeSocket:
		return invalidf("file is a socket: %q", name)
	case fs.ModeDevice, fs.ModeDevice | fs.ModeCharDevice:
		return invalidf("file is a device: %q", name)
	default:
		return invalidf("file has an unknown type: %q", name)
	}
	if old, ok := t.modes[name]; ok {
		if old.IsDir() && mode.IsDir() {
			return nil
		}
		return invalidf("duplicate file: %q", name)
	}
	if len(t.names) >= t.limits.entries {
		return invalidf("charm contains more than %d files", t.limits.entries)
	}
	if size < 0 || size > t.limits.total-t.total {
		return invalidf("charm is larger than %d bytes", t.limits.total)
	}
	t.total += size
	t.modes[name] = mode
	t.names = append(t.names, name)
	return nil
}

// check checks the tree as a whole: all parents are directories, and no symlink points outside.
func (t *tree) check() error {
	checked := map[string]bool{}
	for _, name := range t.names {
		for dir := path.Dir(name); dir != "." && !checked[dir]; dir = path.Dir(dir) {
			if mode, ok := t.modes[dir]; !ok {
				t.modes[dir] = fs.ModeDir | 0o755 // an archive need not list it
			} else if !mode.IsDir() {
				return invalidf("file %q is inside %q, which is not a directory", name, dir)
			}
			checked[dir] = true
		}
	}
	for _, name := range t.names {
		if _, ok := t.links[name]; ok {
			if _, err := t.resolve(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// Limits on names and links, far above what charms need. Without them a small archive could keep a
// controller busy for minutes.
const (
	maxName       = 1024    // bytes of a path in a charm
	maxPart       = 255     // bytes of a name in a directory: what file systems take
	maxDepth      = 64      // nested directories
	maxLinkTarget = 1024    // bytes
	maxLinkHops   = 40      // as many as Linux follows
	maxLinkSteps  = 200_000 // names visited while following all links of a charm
)

// tooLong reports whether a path has a component that is too long for a file system.
func tooLong(path string) bool {
	for name := range strings.SplitSeq(path, "/") {
		if len(name) > maxPart {
			return true
		}
	}
	return false
}

// resolve follows symlinks from name as the kernel would; the result need not exist. It follows every
// link on the way, because "a/.." is not always the current directory.
func (t *tree) resolve(name string) (string, error) {
	target := t.links[name]
	ahead := strings.Split(name, "/")
	var at []string
	for hops := 0; len(ahead) > 0; {
		if t.steps++; t.steps > maxLinkSteps || len(at) > maxLinkTarget {
			return "", invalidf("symlink %q leads too far: %q", name, target)
		}
		step := ahead[0]
		ahead = ahead[1:]
		switch step {
		case "", ".":
			continue
		case "..":
			if len(at) == 0 {
				return "", invalidf("%w", contained(fmt.Errorf("symlink %q links out of charm: %q", name, target)))
			}
			at = at[:len(at)-1]
			continue
		}
		link, ok := t.links[path.Join(append(at[:len(at):len(at)], step)...)]
		if !ok {
			at = append(at, step)
			continue
		}
		if hops++; hops > maxLinkHops {
			return "", invalidf("symlink %q is part of a cycle: %q", name, target)
		}
		ahead = append(strings.Split(link, "/"), ahead...)
	}
	return path.Join(at...), nil
}

// layout returns the layout of the tree.
func (t *tree) layout() layout {
	return layout{
		list: func(dir string) (names []string) {
			dir, err := t.resolve(dir)
			if err != nil {
				return nil
			}
			for name := range t.modes {
				if path.Dir(name) == cmp.Or(dir, ".") {
					names = append(names, path.Base(name))
				}
			}
			slices.Sort(names)
			return names
		},
		mode: func(name string) (fs.FileMode, bool) {
			name, err := t.resolve(name)
			mode, ok := t.modes[name]
			return mode, err == nil && ok
		},
	}
}

// programFiles returns the files that must be executable whatever their mode in the archive: the
// charm's programs, and the targets of those that are symlinks.
func (t *tree) programFiles(c *Charm) map[string]bool {
	files := map[string]bool{}
	for _, program := range c.programs() {
		name, err := t.resolve(program)
		if mode, ok := t.modes[name]; err == nil && ok && mode.IsRegular() {
			files[name] = true
		}
	}
	return files
}

// perm returns the permissions that a file has in an archive and unpacked.
func perm(mode fs.FileMode, hook bool) fs.FileMode {
	if mode.IsDir() || mode&0o100 != 0 || hook {
		return 0o755
	}
	return 0o644
}
