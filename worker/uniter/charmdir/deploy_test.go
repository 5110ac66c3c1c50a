package charmdir

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const metadata = "name: web\nsummary: s\ndescription: d\nprovides:\n  site: http\n"

// archives is a Source of charms: their files, by URL.
type archives map[string]map[string]string

// pack returns a zip archive. Content "-> x" means a symlink to x; names that end in "/" are directories.
func pack(files map[string]string) []byte {
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		content := files[name]
		header := &zip.FileHeader{Name: name, Method: zip.Deflate}
		switch target, isLink := strings.CutPrefix(content, "-> "); {
		case isLink:
			header.SetMode(fs.ModeSymlink | 0o777)
			content = target
		case strings.HasPrefix(name, "hooks/"):
			header.SetMode(0o755)
		default:
			header.SetMode(0o644)
		}
		w, err := z.CreateHeader(header)
		if err == nil {
			_, err = io.WriteString(w, content)
		}
		if err != nil {
			panic(err)
		}
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return buf.Bytes()
}

func (a archives) CharmArchive(_ context.Context, url string) (io.ReadCloser, string, error) {
	files, ok := a[url]
	if !ok {
		return nil, "", fmt.Errorf("charm %q not found", url)
	}
	content := pack(files)
	sum := sha256.Sum256(content)
	return io.NopCloser(bytes.NewReader(content)), hex.EncodeToString(sum[:]), nil
}

func newDir(t *testing.T) Dir {
	base := t.TempDir()
	return Dir{Path: filepath.Join(base, "charm"), Work: filepath.Join(base, "state")}
}

// tree lists the charm directory: "d name", "name = content", "name -> target". It leaves out what every charm has.
func (d Dir) tree(t *testing.T) string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(d.Path, func(path string, e fs.DirEntry, err error) error {
		name, _ := filepath.Rel(d.Path, path)
		switch {
		case err != nil || name == ".":
			return err
		case e.IsDir():
			lines = append(lines, "d "+name)
		case e.Type() == fs.ModeSymlink:
			target, _ := os.Readlink(path)
			lines = append(lines, name+" -> "+target)
		case name != "metadata.yaml" && name != "revision" && name != urlFile:
			content, _ := os.ReadFile(path)
			lines = append(lines, name+" = "+string(content))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func (d Dir) write(t *testing.T, name, content string) {
	t.Helper()
	path := filepath.Join(d.Path, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

var charms = archives{
	"local:web-1": {
		"metadata.yaml": metadata, "hooks/install": "one", "hooks/site-relation-joined": "-> install",
		"lib/util.py": "one", "lib/old/gone.py": "one", "templates/site": "one", "data/seed": "one", "same": "one",
	},
	"local:web-2": {
		"metadata.yaml": metadata + "requires:\n  db: sql\n", "hooks/install": "two", "hooks/start": "two",
		"lib/util.py": "two", "lib/new/come.py": "two", "templates": "two: a file now",
		"data/seed/first": "two: a directory now", "same": "one",
	},
}

const treeOf1 = `d data
d hooks
d lib
d lib/old
d templates
data/seed = one
hooks/install = one
hooks/site-relation-joined -> install
lib/old/gone.py = one
lib/util.py = one
same = one
templates/site = one`

const treeOf2 = `d data
d data/seed
d hooks
d lib
d lib/new
data/seed/first = two: a directory now
hooks/install = two
hooks/start = two
lib/new/come.py = two
lib/util.py = two
same = one
templates = two: a file now`

func (d Dir) mustDeploy(t *testing.T, url string) {
	t.Helper()
	if _, err := d.Deploy(t.Context(), charms, url); err != nil {
		t.Fatal(err)
	}
}

func (d Dir) expect(t *testing.T, want string) {
	t.Helper()
	if got := d.tree(t); got != want {
		t.Errorf("the charm directory holds\n%s\nwant\n%s", got, want)
	}
}

func TestDeployAndUpgrade(t *testing.T) {
	d := newDir(t)
	meta, err := d.Deploy(t.Context(), charms, "local:web-1")
	if err != nil {
		t.Fatal(err)
	}
	d.expect(t, treeOf1)
	if _, ok := meta.Relations()["db"]; ok || len(meta.Relations()) != 1 {
		t.Errorf("the charm says that its relations are %v", meta.Relations())
	}
	if meta, err = d.Deploy(t.Context(), charms, "local:web-2"); err != nil {
		t.Fatal(err)
	}
	d.expect(t, treeOf2)
	if _, ok := meta.Relations()["db"]; !ok {
		t.Errorf("the charm says that its relations are %v", meta.Relations())
	}
	d.mustDeploy(t, "local:web-1") // and back
	d.expect(t, treeOf1)
	left, _ := os.ReadDir(d.Work)
	if len(left) != 1 || left[0].Name() != manifestFile {
		t.Errorf("files are left beside the charm: %v", left)
	}
	info, err := os.Stat(filepath.Join(d.Path, "hooks/install"))
	if err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the hook has mode %v, %v", info.Mode(), err)
	}
}

func TestCharmsFindTheirURL(t *testing.T) {
	dir := newDir(t)
	charms := archives{
		"local:noble/web-1": {"metadata.yaml": metadata, "-first": ""},
		"local:noble/web-2": {"metadata.yaml": metadata, urlFile: "of the charm", ".zlast": ""},
		"local:noble/web-3": {"metadata.yaml": metadata, urlFile: "-> metadata.yaml"},
	}
	path := filepath.Join(dir.Path, urlFile)
	for _, url := range []string{"local:noble/web-1", "local:noble/web-2", "local:noble/web-3", "local:noble/web-1"} {
		if _, err := dir.Deploy(t.Context(), charms, url); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); string(got) != url+"\n" || err != nil {
			t.Errorf("%s of %s is %q (%v)", urlFile, url, got, err)
		}
		if got, err := os.ReadFile(filepath.Join(dir.Path, "metadata.yaml")); string(got) != metadata || err != nil {
			t.Errorf("metadata.yaml of %s is %q (%v)", url, got, err)
		}
	}
	// Its time of modification is that of the deployment, even if the same charm is deployed again.
	before := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, before, before); err != nil {
		t.Fatal(err)
	}
	if _, err := dir.Deploy(t.Context(), charms, "local:noble/web-1"); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || !info.ModTime().After(before.Add(time.Minute)) {
		t.Errorf("after the deployment of the same charm: %v, %v", info.ModTime(), err)
	}
}

func TestUpgradeKeepsFilesOfHooksAndUsers(t *testing.T) {
	d := newDir(t)
	d.mustDeploy(t, "local:web-1")
	d.write(t, "lib/old/state.db", "by a hook")
	d.write(t, "notes", "by a user")
	d.write(t, "templates/mine", "in the way of a file of the new charm")
	d.write(t, "same", "edited")
	if err := os.Symlink("/etc", filepath.Join(d.Path, "etc")); err != nil {
		t.Fatal(err)
	}
	d.mustDeploy(t, "local:web-2")
	d.expect(t, "d data\nd data/seed\nd hooks\nd lib\nd lib/new\nd lib/old\n"+
		"data/seed/first = two: a directory now\netc -> /etc\nhooks/install = two\nhooks/start = two\n"+
		"lib/new/come.py = two\nlib/old/state.db = by a hook\nlib/util.py = two\nnotes = by a user\nsame = one\n"+
		"templates = two: a file now")
}

// A hook may replace a directory of the charm with a symlink. An upgrade must not write or remove anything outside the
// charm directory through it.
func TestUpgradeDoesNotFollowLinks(t *testing.T) {
	for _, second := range []string{"local:web-1", "local:web-2"} {
		t.Run(second, func(t *testing.T) {
			d := newDir(t)
			d.mustDeploy(t, "local:web-1")
			outside := t.TempDir()
			for _, name := range []string{"util.py", "gone.py"} {
				if err := os.WriteFile(filepath.Join(outside, name), []byte("precious"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			for _, dir := range []string{"lib", "templates", "hooks"} {
				if err := os.RemoveAll(filepath.Join(d.Path, dir)); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(outside, filepath.Join(d.Path, dir)); err != nil {
					t.Fatal(err)
				}
			}
			d.mustDeploy(t, second)
			d.expect(t, map[string]string{"local:web-1": treeOf1, "local:web-2": treeOf2}[second])
			entries, _ := os.ReadDir(outside)
			content, _ := os.ReadFile(filepath.Join(outside, "util.py"))
			if len(entries) != 2 || string(content) != "precious" {
				t.Errorf("outside there are now %v, and %q", entries, content)
			}
		})
	}
}

func TestBadDownloadsDoNotChangeTheCharm(t *testing.T) {
	d := newDir(t)
	d.mustDeploy(t, "local:web-1")
	no := errors.New("connection lost")
	good := pack(charms["local:web-2"])
	sum := sha256.Sum256(good)
	for about, source := range map[string]source{
		"not to be had": {err: no},
		"breaks off":    {r: io.MultiReader(bytes.NewReader(good[:100]), failing{no}), sum: hex.EncodeToString(sum[:])},
		"is cut short":  {r: bytes.NewReader(good[:100]), sum: hex.EncodeToString(sum[:])},
		"is another":    {r: bytes.NewReader(pack(charms["local:web-1"])), sum: hex.EncodeToString(sum[:])},
		"is no charm": {r: strings.NewReader("hello"),
			sum: "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"},
		"has no file name": {err: errors.New("charm not found")},
	} {
		_, err := d.Deploy(t.Context(), source, "local:web-2")
		if err == nil || strings.Contains(err.Error(), "cannot deploy charm") {
			t.Errorf("%s: got %v, want an error that leaves it to the caller to say what failed", about, err)
		}
		if source.err == no && !errors.Is(err, no) {
			t.Errorf("%s: %v hides its cause", about, err)
		}
		d.expect(t, treeOf1)
	}
}

type source struct {
	r   io.Reader
	sum string
	err error
}

func (s source) CharmArchive(context.Context, string) (io.ReadCloser, string, error) {
	return io.NopCloser(s.r), s.sum, s.err
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// An upgrade is interrupted before each of its steps in turn, and then repeated, or reverted by the user. Either way the
// directory ends up correct.
func TestInterruptedUpgradeIsRepeated(t *testing.T) {
	archive := newDir(t)
	archive.mustDeploy(t, "local:web-2")
	var paths []string
	err := filepath.WalkDir(archive.Path, func(path string, _ fs.DirEntry, err error) error {
		if name, _ := filepath.Rel(archive.Path, path); name != "." {
			paths = append(paths, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(paths)
	for _, then := range []string{"local:web-2", "local:web-1"} {
		for cut := range len(paths) + 1 {
			d := newDir(t)
			d.mustDeploy(t, "local:web-1")
			d.write(t, "lib/old/state.db", "by a hook")
			// Moving a missing file fails after all earlier moves, which leaves the directory as a kill
			// would.
			unpacked := filepath.Join(t.TempDir(), "unpacked")
			if err := os.CopyFS(unpacked, os.DirFS(archive.Path)); err != nil {
				t.Fatal(err)
			}
			if cut < len(paths) {
				if err := os.RemoveAll(filepath.Join(unpacked, paths[cut])); err != nil {
					t.Fatal(err)
				}
			}
			if err := d.replace(unpacked, paths); errors.Is(err, ErrConflict) != (cut < len(paths)) {
				t.Fatalf("cut at %d: %v", cut, err)
			}
			d.mustDeploy(t, then)
			if then == "local:web-2" {
				d.expect(t, strings.Replace(strings.Replace(treeOf2, "d lib/new\n", "d lib/new\nd lib/old\n", 1),
					"lib/util.py", "lib/old/state.db = by a hook\nlib/util.py", 1))
			} else {
				d.expect(t, strings.Replace(treeOf1, "lib/util.py", "lib/old/state.db = by a hook\nlib/util.py", 1))
			}
		}
	}
}

// What a charm makes in its directory when it runs, such as the virtual environment of one that charmcraft has packed, survives
// upgrades. Directories that only an earlier charm had, and that nothing else is in, do not.
func TestFilesThatTheCharmMakesSurviveUpgrades(t *testing.T) {
	d := newDir(t)
	packed := archives{
		"local:web-1": {"metadata.yaml": metadata, "dispatch": "one", "venv/lib/ops.py": "one", "lib/old/gone.py": "one"},
		"local:web-2": {"metadata.yaml": metadata, "dispatch": "two", "venv/lib/ops.py": "two"},
		"local:web-3": {"metadata.yaml": metadata, "dispatch": "three"},
	}
	deploy := func(url string) {
		t.Helper()
		if _, err := d.Deploy(t.Context(), packed, url); err != nil {
			t.Fatal(err)
		}
	}
	deploy("local:web-1")
	d.write(t, "venv/bin/made", "by a hook")
	if err := os.Symlink("/usr/bin/python3", filepath.Join(d.Path, "venv/bin/python")); err != nil {
		t.Fatal(err)
	}
	d.write(t, ".unit-state.db", "state")
	const own = ".unit-state.db = state\nd venv\nd venv/bin\n"
	const links = "venv/bin/made = by a hook\nvenv/bin/python -> /usr/bin/python3"
	deploy("local:web-2")
	if got, want := d.tree(t), own+"d venv/lib\ndispatch = two\n"+links+"\nvenv/lib/ops.py = two"; got != want {
		t.Errorf("after an upgrade:\n%s\nwant:\n%s", got, want)
	}
	deploy("local:web-3")
	if got, want := d.tree(t), own+"dispatch = three\n"+links; got != want {
		t.Errorf("without the directory in the charm:\n%s\nwant:\n%s", got, want)
	}
}
