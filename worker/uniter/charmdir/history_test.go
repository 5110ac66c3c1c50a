package charmdir

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/google/go-cmp/cmp"
)

// told returns a commit in the format of log.
func told(c *object.Commit) (line string, err error) {
	files, err := c.Files()
	if err != nil {
		return "", err
	}
	line = c.Message + ":"
	err = files.ForEach(func(f *object.File) error {
		content, err := f.Contents()
		line += " " + f.Name + "=" + content
		return err
	})
	return line, err
}

// log returns the history, oldest first: "message: file=content file=content".
func (h *History) log(t *testing.T) []string {
	t.Helper()
	repo, err := git.PlainOpen(h.Path)
	if err != nil {
		t.Fatal(err)
	}
	commits, err := repo.Log(&git.LogOptions{})
	if err == plumbing.ErrReferenceNotFound {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	err = commits.ForEach(func(c *object.Commit) error {
		line, err := told(c)
		lines = append(lines, line)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(lines)
	return lines
}

func newHistory(t *testing.T) (*History, Dir) {
	d := Dir{Path: t.TempDir()}
	return &History{Path: d.Path, Author: "unit web/0"}, d
}

func (h *History) mustRecord(t *testing.T, message string) {
	t.Helper()
	if err := h.Record(message); err != nil {
		t.Fatal(err)
	}
}

func (h *History) expect(t *testing.T, want ...string) {
	t.Helper()
	if got := h.log(t); !slices.Equal(got, want) {
		t.Errorf("the history is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestHistoryHookByHook(t *testing.T) {
	h, d := newHistory(t)
	d.write(t, "hooks/install", "x")
	h.mustRecord(t, "deploy local:web-1")
	d.write(t, "state", "1")
	h.mustRecord(t, "hook install")
	h.mustRecord(t, "hook config-changed") // which changes nothing
	d.write(t, "state", "2")               // of the same size, moments later
	h.mustRecord(t, "hook start")
	if err := os.Remove(filepath.Join(d.Path, "state")); err != nil {
		t.Fatal(err)
	}
	h.mustRecord(t, "hook stop")
	h.expect(t,
		"deploy local:web-1: hooks/install=x",
		"hook install: hooks/install=x state=1",
		"hook start: hooks/install=x state=2",
		"hook stop: hooks/install=x")
}

// contents returns the mode and content of every file in the last commit, by name.
func (h *History) contents(t *testing.T) map[string]string {
	t.Helper()
	repo, err := git.PlainOpen(h.Path)
	if err != nil {
		t.Fatal(err)
	}
	head, err := repo.Head()
	if err != nil {
		t.Fatal(err)
	}
	commit, err := repo.CommitObject(head.Hash())
	if err != nil {
		t.Fatal(err)
	}
	files, err := commit.Files()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	if err := files.ForEach(func(f *object.File) error {
		content, err := f.Contents()
		all[f.Name] = f.Mode.String() + " " + content
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// onDisk is contents for the directory itself.
func (h *History) onDisk(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	if err := filepath.WalkDir(h.Path, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if d.Name() == ".git" {
				return fs.SkipDir
			}
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		content, err := read(path, info)
		name, _ := filepath.Rel(h.Path, path)
		entry, _ := describe(name, info)
		all[name] = entry.Mode.String() + " " + string(content)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// wantWhole checks the repository with git.
func (h *History) wantWhole(t *testing.T) {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Log("git is not here to check the history")
		return
	}
	packs, err := filepath.Glob(filepath.Join(h.Path, ".git/objects/pack/*.pack"))
	if err != nil {
		t.Fatal(err)
	}
	checks := [][]string{{"fsck", "--strict", "--full"}, {"diff", "--exit-code", "HEAD"}}
	for _, path := range packs {
		checks = append(checks, []string{"index-pack", "-o", filepath.Join(t.TempDir(), "idx"), path})
	}
	for _, args := range checks {
		cmd := exec.Command(git, append([]string{"-C", h.Path, "-c", "safe.directory=*"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "missing") {
			t.Errorf("git %v: %v\n%s", args, err, out)
		}
	}
}

// The history has every change that hooks make to files, also after a restart of the agent.
func TestHistoryHasEveryChange(t *testing.T) {
	h, d := newHistory(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	name := func() string {
		names := []string{"a", "b", "c", "lib"}
		parts := make([]string, 1+random.IntN(3))
		for i := range parts {
			parts[i] = names[random.IntN(len(names))]
		}
		return strings.Join(parts, "/")
	}
	path := func() string { return filepath.Join(d.Path, name()) }
	changes := []func(){
		func() { os.WriteFile(path(), []byte(fmt.Sprint(random.IntN(10))), 0o644) },
		func() { os.WriteFile(path(), []byte(strings.Repeat("x", random.IntN(10))), 0o644) },
		func() { os.MkdirAll(path(), 0o755) },
		func() { os.MkdirAll(path(), 0o755) },
		func() { os.Remove(path()) },
		func() { os.RemoveAll(path()) },
		func() { os.Rename(path(), path()) },
		func() {
			path := path()
			if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
				os.Chmod(path, info.Mode().Perm()^0o111)
			}
		},
		func() { os.Symlink("there", path()) },
		func() { os.Chtimes(path(), time.Now(), time.Now()) },
	}
	d.write(t, "first", "1")
	for round := range 100 {
		for range random.IntN(6) {
			changes[random.IntN(len(changes))]()
		}
		if random.IntN(5) == 0 {
			h = &History{Path: h.Path, Author: h.Author}
		}
		h.mustRecord(t, fmt.Sprintf("round %d", round))
		if diff := cmp.Diff(h.onDisk(t), h.contents(t)); diff != "" {
			t.Fatalf("round %d: the history has (+), the directory (-):\n%s", round, diff)
		}
	}
	h.wantWhole(t)
}

// A user may change the repository between two hooks.
func TestHistoryContinuesAfterUserChanges(t *testing.T) {
	h, d := newHistory(t)
	repo := func() (*git.Repository, *git.Worktree) {
		t.Helper()
		repo, err := git.PlainOpen(d.Path)
		if err != nil {
			t.Fatal(err)
		}
		tree, err := repo.Worktree()
		if err != nil {
			t.Fatal(err)
		}
		return repo, tree
	}
	by := &git.CommitOptions{Author: &object.Signature{Name: "user", When: time.Now()}}
	d.write(t, "a", "1")
	d.write(t, "lib/b", "1")
	h.mustRecord(t, "one")

	d.write(t, "a", "2")
	_, tree := repo()
	if _, err := tree.Add("a"); err != nil {
		t.Fatal(err)
	}
	if _, err := tree.Commit("mine", by); err != nil {
		t.Fatal(err)
	}
	h.mustRecord(t, "nothing more")
	d.write(t, "lib/b", "2")
	h.mustRecord(t, "two")
	h.expect(t, "one: a=1 lib/b=1", "mine: a=2 lib/b=1", "two: a=2 lib/b=2")

	r, tree := repo()
	head, err := r.Head()
	if err != nil {
		t.Fatal(err)
	}
	if err := tree.Checkout(&git.CheckoutOptions{Hash: head.Hash()}); err != nil { // detached
		t.Fatal(err)
	}
	d.write(t, "a", "3")
	h.mustRecord(t, "three")
	h.expect(t, "one: a=1 lib/b=1", "mine: a=2 lib/b=1", "two: a=2 lib/b=2", "three: a=3 lib/b=2")
	h.wantWhole(t)

	if err := os.RemoveAll(filepath.Join(d.Path, ".git")); err != nil {
		t.Fatal(err)
	}
	h.mustRecord(t, "anew")
	d.write(t, "a", "4")
	h.mustRecord(t, "four")
	h.expect(t, "anew: a=3 lib/b=2", "four: a=4 lib/b=2")
}

// What a user has staged, or taken out of the branch, is in no commit, though git's index has it: it is recorded
// before an upgrade replaces it, which is then warned of.
func TestStagedChangesAreRecordedBeforeAnUpgrade(t *testing.T) {
	for name, stage := range map[string]func(h *History, tree *git.Worktree, first plumbing.Hash) error{
		"added": func(_ *History, tree *git.Worktree, _ plumbing.Hash) error {
			_, err := tree.Add("lib/util.py") // git checkout COMMIT -- FILE leaves the same
			return err
		},
		"uncommitted": func(h *History, tree *git.Worktree, first plumbing.Hash) error {
			if err := h.Record("hook start"); err != nil {
				return err
			}
			return tree.Reset(&git.ResetOptions{Commit: first, Mode: git.SoftReset})
		},
	} {
		for _, restarted := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, restarted %v", name, restarted), func(t *testing.T) {
				d := newDir(t)
				d.History = &History{Path: d.Path, Author: "unit web/0"}
				if _, err := d.Deploy(t.Context(), charms, "local:web-1"); err != nil {
					t.Fatal(err)
				}
				d.History.mustRecord(t, CharmMessage("local:web-1"))
				r, err := git.PlainOpen(d.Path)
				if err != nil {
					t.Fatal(err)
				}
				first, err := r.Head()
				if err != nil {
					t.Fatal(err)
				}
				tree, err := r.Worktree()
				if err != nil {
					t.Fatal(err)
				}
				d.write(t, "lib/util.py", "mended")
				if err := stage(d.History, tree, first.Hash()); err != nil {
					t.Fatal(err)
				}
				if restarted {
					d.History = &History{Path: d.Path, Author: d.History.Author}
				}
				if got := d.conflicts("local:web-2", unpackedFrom(t, "local:web-2")); !slices.Equal(got, []string{"lib/util.py"}) {
					t.Errorf("the upgrade warns of %q", got)
				}
				if got := d.History.contents(t)["lib/util.py"]; got != "0100644 mended" {
					t.Errorf("the history has %q", got)
				}
				d.History.wantWhole(t)
			})
		}
	}
}

// unpackedFrom returns a directory with the files of a charm.
func unpackedFrom(t *testing.T, url string) string {
	t.Helper()
	d := Dir{Path: t.TempDir()}
	for name, content := range charms[url] {
		d.write(t, name, content)
	}
	return d.Path
}

// The objects of a large commit are stored in one pack. Equal contents are stored once, also across commits.
func TestHistoryOfALargeCharm(t *testing.T) {
	h, d := newHistory(t)
	objects := func() (loose, packs int) {
		t.Helper()
		loosePaths, err := filepath.Glob(filepath.Join(d.Path, ".git/objects/??/*"))
		if err != nil {
			t.Fatal(err)
		}
		packPaths, err := filepath.Glob(filepath.Join(d.Path, ".git/objects/pack/*"))
		if err != nil {
			t.Fatal(err)
		}
		return len(loosePaths), len(packPaths)
	}
	const files = 4 * looseObjects
	deploy := func(charm string) {
		t.Helper()
		for i := range files {
			d.write(t, fmt.Sprintf("lib/%d/%d", i/10, i), strings.Repeat(fmt.Sprint(charm, i/2), i/2*7%3000))
		}
		h.mustRecord(t, charm)
	}
	deploy("charm")
	h.wantWhole(t)
	if diff := cmp.Diff(h.onDisk(t), h.contents(t)); diff != "" {
		t.Errorf("the history has (+), the directory (-):\n%s", diff)
	}
	if loose, packed := objects(); loose != looseObjects+1 || packed != 2 {
		t.Errorf("%d loose objects, %d files of packs", loose, packed)
	}
	// Deploying the charm again adds no new content.
	now := time.Now()
	for i := range files {
		if err := os.Chtimes(filepath.Join(d.Path, fmt.Sprintf("lib/%d/%d", i/10, i)), now, now); err != nil {
			t.Fatal(err)
		}
	}
	h.mustRecord(t, "again")
	h = &History{Path: h.Path, Author: h.Author}
	d.write(t, "lib/0/3", "changed")
	h.mustRecord(t, "hook") // the file, the trees of lib/0, lib and the directory, the commit
	if loose, packed := objects(); loose != looseObjects+1+5 || packed != 2 {
		t.Errorf("after a change: %d loose objects, %d files of packs", loose, packed)
	}
	deploy("another")
	if _, packed := objects(); packed != 4 {
		t.Errorf("after an upgrade: %d files of packs", packed)
	}
	deploy("charm")
	if _, packed := objects(); packed != 4 {
		t.Errorf("after the way back: %d files of packs", packed)
	}
	h.wantWhole(t)
}

func TestHistoryErrors(t *testing.T) {
	h := History{Path: filepath.Join(t.TempDir(), "missing")}
	d := Dir{Path: t.TempDir()}
	d.write(t, "file", "")
	h.Path = filepath.Join(d.Path, "file")
	if err := h.Record("hook"); err == nil || !strings.HasPrefix(err.Error(), "cannot record the history of ") {
		t.Errorf("got %v", err)
	}
}
