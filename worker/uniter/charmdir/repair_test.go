package charmdir

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// filesOf returns the files below .git that a commit may write.
func filesOf(t *testing.T, dir string) (all []string) {
	t.Helper()
	root := filepath.Join(dir, git.GitDirName)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if name, _ := filepath.Rel(root, path); err == nil && !d.IsDir() && name != "config" {
			all = append(all, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A power failure may leave one of the repository's files empty, or all that were written last. The history continues,
// and its last commits are complete.
func TestHistoryContinuesAfterAPowerFailure(t *testing.T) {
	tell := func(h *History, d Dir) {
		d.write(t, "same", "same")
		d.write(t, "lib/a", "a")
		h.mustRecord(t, "one")
		d.write(t, "lib/b", "b")
		h.mustRecord(t, "two")
	}
	sample, d := newHistory(t)
	tell(sample, d)
	before := filesOf(t, d.Path)
	d.write(t, "lib/a", "changed")
	sample.mustRecord(t, "three")
	all := filesOf(t, d.Path)
	if len(all) < 14 {
		t.Fatalf("the repository has only %q", all)
	}
	// The names differ from run to run, because commits contain their times.
	damages := map[string]func(name string, i int) bool{
		"everything": func(string, int) bool { return true },
		"the last":   func(name string, _ int) bool { return !slices.Contains(before, name) },
	}
	for i := range all {
		damages[fmt.Sprint("file ", i)] = func(_ string, at int) bool { return at == i }
	}
	for name, damaged := range damages {
		t.Run(name, func(t *testing.T) {
			h, d := newHistory(t)
			tell(h, d)
			before = filesOf(t, d.Path)
			d.write(t, "lib/a", "changed")
			h.mustRecord(t, "three")
			var empty []string
			for i, file := range filesOf(t, d.Path) {
				if damaged(file, i) {
					empty = append(empty, file)
					if err := os.Truncate(filepath.Join(d.Path, git.GitDirName, file), 0); err != nil {
						t.Fatal(err)
					}
				}
			}
			h = &History{Path: h.Path, Author: h.Author} // of a new agent
			h.mustRecord(t, "four")
			d.write(t, "lib/b", "later")
			h.mustRecord(t, "five")
			got := h.lastComplete(t)
			if want := "five: lib/a=changed lib/b=later same=same"; got[0] != want {
				t.Errorf("without %q the last commit is %q, want %q", empty, got[0], want)
			}
			if name == "the last" && !slices.Contains(got, "two: lib/a=a lib/b=b same=same") {
				t.Errorf("without %q what came before is lost: %q", empty, got)
			}
			if _, err := h.Commits(0); err != nil {
				t.Errorf("without %q: %v", empty, err)
			}
		})
	}
}

// lastComplete returns the complete commits, newest first, in the format of log.
func (h *History) lastComplete(t *testing.T) (lines []string) {
	t.Helper()
	repo, err := git.PlainOpen(h.Path)
	if err != nil {
		t.Fatal(err)
	}
	head, err := repo.Head()
	if err != nil {
		t.Fatal(err)
	}
	for next := head.Hash(); ; {
		c, err := repo.CommitObject(next)
		if err != nil || !isComplete(repo.Storer.(*filesystem.Storage), next) {
			return lines
		}
		line, err := told(c)
		if err != nil {
			t.Fatal(err)
		}
		if lines = append(lines, line); c.NumParents() == 0 {
			return lines
		}
		next = c.ParentHashes[0]
	}
}

// The loose objects of many hooks are packed, and nothing is lost.
func TestLooseObjectsArePacked(t *testing.T) {
	maxLoose = 20
	t.Cleanup(func() { maxLoose = 6700 })
	h, d := newHistory(t)
	want := []string{}
	for i := range 40 {
		d.write(t, "lib/a", fmt.Sprint(i))
		h.mustRecord(t, fmt.Sprint(i))
		want = append(want, fmt.Sprintf("%d: lib/a=%d", i, i))
		if i%15 == 14 {
			h = &History{Path: h.Path, Author: h.Author} // of a new agent
		}
	}
	h.expect(t, want...)
	files := filesOf(t, d.Path)
	if len(files) > 40 {
		t.Errorf("%d files are left", len(files))
	}
	packs := slices.DeleteFunc(files, func(name string) bool { return !strings.HasSuffix(name, ".pack") })
	if len(packs) < 4 {
		t.Errorf("there are only the packs %q", packs)
	}
}

func TestDamagedIndexIsRebuilt(t *testing.T) {
	h, d := newHistory(t)
	d.write(t, "a", "a")
	h.mustRecord(t, "one")
	if err := os.Truncate(filepath.Join(d.Path, ".git/index"), 20); err != nil {
		t.Fatal(err)
	}
	h.mustRecord(t, "the same")
	d.write(t, "a", "b")
	h.mustRecord(t, "two")
	h.expect(t, "one: a=a", "two: a=b")
}
