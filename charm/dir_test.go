package charm

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const blogMeta = "name: blog\nsummary: s\ndescription: d\nrequires:\n  db: mysql\n"

// blog is a charm with all kinds of files. A name that ends in "/" is a directory; a value that starts
// with "->" is a symlink, and one that starts with "+x" an executable file.
var blog = map[string]string{
	"metadata.yaml":             blogMeta,
	"config.yaml":               "options:\n  title: {default: x}\n",
	"actions.yaml":              "backup: {}\n",
	"revision":                  "7\n",
	"version":                   "v1-12-g1234\n",
	".jujuignore":               "/src/\n*.o\n!keep.o\n",
	"hooks/install":             "#!/bin/sh\n", // not executable, which archiving fixes
	"hooks/db-relation-changed": "->../lib/hook.py",
	"hooks/nonsense":            "#!/bin/sh\n",
	"lib/hook.py":               "#!/usr/bin/python3\n",
	"lib/tool":                  "+x#!/bin/sh\n",
	"lib/x.o":                   "object",
	"lib/keep.o":                "object",
	"src/main.c":                "int main;",
	"build/out":                 "built",
	".git/config":               "[core]",
	"empty/":                    "",
	"dangling":                  "->lib/nowhere",
	"größe":                     "name in UTF-8",
}

func makeTree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		content, path := files[name], filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if target, ok := strings.CutPrefix(content, "->"); ok {
			err = errors.Join(err, os.Symlink(target, path))
		} else if strings.HasSuffix(name, "/") {
			err = errors.Join(err, os.MkdirAll(path, 0o755))
		} else if script, ok := strings.CutPrefix(content, "+x"); ok {
			err = errors.Join(err, os.WriteFile(path, []byte(script), 0o700))
		} else {
			err = errors.Join(err, os.WriteFile(path, []byte(content), 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// with returns a copy of blog with some files changed; an empty value removes one.
func with(changes map[string]string) map[string]string {
	files := maps.Clone(blog)
	for name, content := range changes {
		if files[name] = content; content == "" {
			delete(files, name)
		}
	}
	return files
}

// readTree returns a directory's files in the form of blog, and their permissions.
func readTree(t testing.TB, dir string) (map[string]string, map[string]string) {
	t.Helper()
	files, perms := map[string]string{}, map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		info, err := e.Info()
		if err != nil {
			return err
		}
		switch {
		case e.IsDir():
			files[name+"/"] = ""
		case info.Mode().Type() == fs.ModeSymlink:
			target, err := os.Readlink(path)
			files[name] = "->" + target
			return err
		default:
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			files[name] = string(data)
		}
		perms[name] = fmt.Sprintf("%o", info.Mode().Perm())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files, perms
}

func archiveOf(t testing.TB, dir string) []byte {
	t.Helper()
	d, err := ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	if err := d.ArchiveTo(&buf); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func TestReadDir(t *testing.T) {
	d, err := ReadDir(makeTree(t, blog))
	if err != nil {
		t.Fatal(err)
	}
	if d.Meta.Name != "blog" || d.Config.Options["title"].Default != "x" || len(d.Actions.Specs) != 1 ||
		d.Revision != 7 || d.Version != "v1-12-g1234" {
		t.Errorf("got %+v", d.Charm)
	}
	if diff := cmp.Diff([]string{"db-relation-changed", "install"}, d.Hooks); diff != "" {
		t.Errorf("hooks (-want +got)\n%s", diff)
	}
}

// A charm needs its metadata and nothing else.
func TestReadDirOfAMinimalCharm(t *testing.T) {
	dir := makeTree(t, map[string]string{"metadata.yaml": blogMeta})
	d, err := ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if d.Config == nil || d.Actions == nil || d.Revision != 0 || d.Version != "" || d.Hooks != nil {
		t.Errorf("got %+v", d.Charm)
	}
	if _, err := d.Config.ParseSettingsStrings(map[string]string{"x": "1"}); err == nil {
		t.Error("a charm without options accepted a setting")
	}
}

func TestReadDirRejects(t *testing.T) {
	for _, test := range []struct {
		about string
		files map[string]string
		want  string // after `cannot read charm in "DIR": `
	}{
		{"no metadata", with(map[string]string{"metadata.yaml": ""}), "metadata.yaml: missing"},
		{"source of a charm", with(map[string]string{"metadata.yaml": "", "charmcraft.yaml": "name: x"}),
			"metadata.yaml: missing; this is the source of a charm (charmcraft.yaml): " +
				"run charmcraft pack in it, and deploy the .charm file that it makes"},
		{"metadata is a directory", with(map[string]string{"metadata.yaml": "", "metadata.yaml/": "x"}),
			"metadata.yaml: not a regular file"},
		{"bad metadata", with(map[string]string{"metadata.yaml": "name: x\n"}),
			"metadata.yaml:1: summary: expected string, got nothing"},
		{"bad config", with(map[string]string{"config.yaml": "options: {a: {type: x}}"}),
			`config.yaml:1: options.a.type: invalid config: option "a" has unknown type "x"`},
		{"bad actions", with(map[string]string{"actions.yaml": "A:"}), "actions.yaml:1: A: bad action name A"},
		{"bad revision", with(map[string]string{"revision": "seven"}), "revision: invalid revision file"},
		{"negative revision", with(map[string]string{"revision": "-1"}), "revision: invalid revision file"},
		{"large config", with(map[string]string{"config.yaml": strings.Repeat("#", maxParsed+1)}),
			"config.yaml: larger than 1048576 bytes"},
	} {
		t.Run(test.about, func(t *testing.T) {
			dir := makeTree(t, test.files)
			_, err := ReadDir(dir)
			if want := fmt.Sprintf("cannot read charm in %q: %s", dir, test.want); err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
			if !errors.Is(err, ErrInvalid) {
				t.Error("not an ErrInvalid")
			}
		})
	}
	if _, err := ReadDir(filepath.Join(t.TempDir(), "missing")); !errors.Is(err, fs.ErrNotExist) ||
		errors.Is(err, ErrInvalid) {
		t.Errorf("missing directory: got error %v", err)
	}
}

// ReadDir must not block on a named pipe without a writer.
func TestReadDirDoesNotBlockOnAPipe(t *testing.T) {
	dir := makeTree(t, blog)
	path := filepath.Join(dir, "config.yaml")
	if err := errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o644)); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadDir(dir); err == nil || !strings.Contains(err.Error(), "config.yaml: not a regular file") {
		t.Errorf("got %v", err)
	}
}

func TestArchiveAndBack(t *testing.T) {
	dir := makeTree(t, blog)
	a, err := ReadArchiveFrom(t.Context(), bytes.NewReader(archiveOf(t, dir)), int64(len(archiveOf(t, dir))))
	if err != nil {
		t.Fatal(err)
	}
	if a.Meta.Name != "blog" || a.Revision != 7 || a.Version != "v1-12-g1234" || len(a.Hooks) != 2 {
		t.Errorf("got %+v", a.Charm)
	}
	if data, err := a.ReadFile("hooks/db-relation-changed"); err != nil || string(data) != blog["lib/hook.py"] {
		t.Errorf("through a symlink: %q, %v", data, err)
	}
	for _, name := range []string{"missing", "dangling", "lib/x.o"} {
		if _, err := a.ReadFile(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"lib", "../blog", ""} {
		if data, err := a.ReadFile(name); err == nil {
			t.Errorf("%s: %q", name, data)
		}
	}
	a.Revision = 8 // the controller's revision overrides the author's
	to := filepath.Join(t.TempDir(), "agent", "charm")
	if err := a.ExpandTo(t.Context(), to); err != nil {
		t.Fatal(err)
	}
	want := with(map[string]string{
		"revision": "8\n", "lib/tool": "#!/bin/sh\n", "hooks/": "x", "lib/": "x",
		".jujuignore": "", "lib/x.o": "", "src/main.c": "", "build/out": "", ".git/config": "",
	})
	want["hooks/"], want["lib/"], want["empty/"] = "", "", ""
	files, perms := readTree(t, to)
	if diff := cmp.Diff(want, files); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for name, want := range map[string]string{
		"hooks": "755", "hooks/install": "755", "lib/hook.py": "755", "lib/tool": "755",
		"hooks/nonsense": "644", "lib/keep.o": "644", "metadata.yaml": "644",
	} {
		if perms[name] != want {
			t.Errorf("%s has permissions %s, want %s", name, perms[name], want)
		}
	}
	var expanded []string
	for name := range files {
		expanded = append(expanded, strings.TrimSuffix(name, "/"))
	}
	slices.Sort(expanded)
	if diff := cmp.Diff(a.Manifest(), expanded); diff != "" {
		t.Errorf("manifest (-manifest +files)\n%s", diff)
	}
}

// ExpandTo replaces everything that belongs to the charm, even if its type has changed, and leaves
// other files alone.
func TestExpandOverAnOldCharm(t *testing.T) {
	data := archiveOf(t, makeTree(t, blog))
	a, err := ReadArchiveFrom(t.Context(), bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	outside := makeTree(t, map[string]string{"install": "theirs", "keep.o": "theirs"})
	to := makeTree(t, map[string]string{
		"hooks":           "->" + outside,
		"metadata.yaml/":  "",
		"metadata.yaml/x": "x",
		"lib/tool":        "->" + outside + "/keep.o",
		"lib/mine":        "a user's",
		"dangling":        "a file",
		"empty":           "a file",
	})
	for range 2 {
		if err := a.ExpandTo(t.Context(), to); err != nil {
			t.Fatal(err)
		}
		files, _ := readTree(t, to)
		for name, want := range map[string]string{
			"hooks/install": "#!/bin/sh\n", "metadata.yaml": blogMeta, "lib/tool": "#!/bin/sh\n",
			"lib/mine": "a user's", "dangling": "->lib/nowhere", "empty/": "",
		} {
			if files[name] != want {
				t.Errorf("%s = %q, want %q", name, files[name], want)
			}
		}
	}
	files, _ := readTree(t, outside)
	if diff := cmp.Diff(map[string]string{"install": "theirs", "keep.o": "theirs"}, files); diff != "" {
		t.Errorf("written outside the charm:\n%s", diff)
	}
}

func TestArchiveIsDeterministic(t *testing.T) {
	one, two := makeTree(t, blog), makeTree(t, blog)
	past := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
	for _, name := range []string{"metadata.yaml", "lib/tool"} {
		path := filepath.Join(two, name)
		if err := errors.Join(os.Chtimes(path, past, past),
			os.Chmod(path, 0o777&^fs.FileMode(0o022*len(name)%2))); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(two, "metadata.yaml"), 0o666); err != nil {
		t.Fatal(err)
	}
	a, b := archiveOf(t, one), archiveOf(t, two)
	if !bytes.Equal(a, b) {
		t.Errorf("different archives: %x and %x", sha256.Sum256(a), sha256.Sum256(b))
	}
	archive, err := ReadArchiveFrom(t.Context(), bytes.NewReader(a), int64(len(a)))
	if err != nil {
		t.Fatal(err)
	}
	three := t.TempDir()
	if err := archive.ExpandTo(t.Context(), three); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(three, "version"), []byte(archive.Version), 0o644); err != nil {
		t.Fatal(err)
	}
	if c := archiveOf(t, three); !bytes.Equal(a, c) {
		t.Error("the archive of an expanded archive differs")
	}
}

func TestArchiveRejects(t *testing.T) {
	for _, test := range []struct {
		about string
		files map[string]string
		want  string
	}{
		{"absolute link", with(map[string]string{"passwd": "->/etc/passwd"}), `symlink "passwd" is absolute: "/etc/passwd"`},
		{"link out", with(map[string]string{"lib/up": "->../../x"}), `symlink "lib/up" links out of charm: "../../x"`},
		{"link out and in again", with(map[string]string{"up": "->../charm/lib"}),
			`symlink "up" links out of charm: "../charm/lib"`},
		{"link out over a link", with(map[string]string{"lib/top": "->..", "sly": "->lib/top/../x"}),
			`symlink "sly" links out of charm: "lib/top/../x"`},
		{"links in a circle", with(map[string]string{"one": "->two", "two": "->one"}),
			`symlink "one" is part of a cycle: "two"`},
		{"name with a backslash", with(map[string]string{`a\b`: "x"}), `invalid file name: "a\\b"`},
		{"metadata ignored", with(map[string]string{".jujuignore": "*.yaml\n"}), ".jujuignore: excludes metadata.yaml"},
		{"bad rule", with(map[string]string{".jujuignore": "[b-a]\n"}), `.jujuignore:1: invalid pattern "[b-a]"`},
	} {
		t.Run(test.about, func(t *testing.T) {
			dir := makeTree(t, test.files)
			d, err := ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			err = d.ArchiveTo(&bytes.Buffer{})
			if want := fmt.Sprintf("cannot archive charm in %q: %s", dir, test.want); err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
			if !errors.Is(err, ErrInvalid) {
				t.Error("not an ErrInvalid")
			}
			outside := strings.Contains(test.want, "out of charm") || strings.Contains(test.want, "is absolute")
			if got := strings.Contains(Help(err), "A charm must contain its files"); got != outside {
				t.Errorf("got hint %q", Help(err))
			}
		})
	}
}

// A known file of the charm that is a bad link is rejected by name; a dangling link does not count as
// a missing file.
func TestReadDirRejectsLinks(t *testing.T) {
	out := filepath.Join(t.TempDir(), "metadata.yaml")
	if err := os.WriteFile(out, []byte(blogMeta), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, target, want string
		hint               bool // that charms must contain their files
	}{
		{"metadata.yaml", "../metadata.yaml", `it is a link to "../metadata.yaml", which is outside the charm`, true},
		{"metadata.yaml", out, fmt.Sprintf("it is a link to %q, which is outside the charm", out), true},
		{"config.yaml", "outer", `it is a link to "outer", which is outside the charm`, true},
		{"actions.yaml", "actions.yml", `it is a link to "actions.yml", which does not exist`, false},
		{"version", "version", `it is a link to "version", which is part of a cycle`, false},
	} {
		t.Run(test.name+" "+test.target, func(t *testing.T) {
			dir := makeTree(t, with(map[string]string{"outer": "->" + out, test.name: "->" + test.target}))
			_, err := ReadDir(dir)
			want := fmt.Sprintf("cannot read charm in %q: %s: %s", dir, test.name, test.want)
			if err == nil || err.Error() != want || !errors.Is(err, ErrInvalid) {
				t.Errorf("got  %v\nwant %s", err, want)
			}
			if got := strings.Contains(Help(err), "A charm must contain its files"); got != test.hint {
				t.Errorf("got hint %q", Help(err))
			}
		})
	}
}

// Links that stay inside the charm are accepted, whatever their path.
func TestArchiveAcceptsInnerLinks(t *testing.T) {
	archiveOf(t, makeTree(t, with(map[string]string{
		"lib/top": "->..", "lib/self": "->.", "deep": "->lib/top/lib/self/tool", "lib/other": "->../hooks//./install",
	})))
}

func TestArchiveRejectsSpecialFiles(t *testing.T) {
	dir := makeTree(t, blog)
	d, err := ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := d.ArchiveTo(&bytes.Buffer{}); err == nil || !strings.HasSuffix(err.Error(), `file is a named pipe: "pipe"`) {
		t.Errorf("got %v", err)
	}
	if err := os.Remove(pipe); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir) // a socket's path must be short
	l, err := net.Listen("unix", "sock")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := d.ArchiveTo(&bytes.Buffer{}); err == nil || !strings.HasSuffix(err.Error(), `file is a socket: "sock"`) {
		t.Errorf("got %v", err)
	}
	// An ignored file does not matter.
	if err := os.WriteFile(filepath.Join(dir, ".jujuignore"), []byte("sock\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := d.ArchiveTo(&bytes.Buffer{}); err != nil {
		t.Error(err)
	}
}

func TestDirectoryLimits(t *testing.T) {
	d, err := ReadDir(makeTree(t, blog))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.archiveTo(&bytes.Buffer{}, limits{entries: 3, total: 1 << 20}); err == nil ||
		err.Error() != "charm contains more than 3 files" {
		t.Errorf("got %v", err)
	}
	if err := d.archiveTo(&bytes.Buffer{}, limits{entries: 100, total: 20}); err == nil ||
		err.Error() != "charm is larger than 20 bytes" {
		t.Errorf("got %v", err)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestArchiveReturnsTheWritersError(t *testing.T) {
	d, err := ReadDir(makeTree(t, blog))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.ArchiveTo(fullDisk{}); !errors.Is(err, syscall.ENOSPC) || errors.Is(err, ErrInvalid) {
		t.Errorf("got %v", err)
	}
}
