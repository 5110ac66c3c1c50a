package charmdir

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/index"
	"github.com/juju/loggo"
)

var logger = loggo.GetLogger("juju.worker.uniter.charmdir")

// A History records the changes of a charm directory as commits of a git repository in that
// directory.
//
// It finds changed files by their size, times and inode, which it keeps in memory and in git's index, and reads
// only those. go-git's Worktree would hash the whole tree, or write the whole index once per file.
type History struct {
	Path string // the charm directory
	// Author is the author of the commits.
	Author string

	last  *recorded // nil if the index must be read
	loose int       // a lower bound of the number of loose objects; valid if last is not nil
}

// maxLoose is how many loose objects may accumulate before they are packed; git gc has the same default.
var maxLoose = 6700

// recorded is the state after a Record.
type recorded struct {
	survey
	index fs.FileInfo   // git's index; nil if it was not written by a Record
	head  plumbing.Hash // the last commit
}

// Record commits all changes since the last commit, if there are any. It leaves out sockets,
// pipes, devices, files that can't be read, files larger than 16 MiB, and everything called
// .git. Git does not record empty directories.
func (h *History) Record(message string) error {
	last := h.last
	h.last = nil // after a failure the state is unknown
	var err error
	if last == nil || !h.isCurrent(last) {
		last, err = h.load()
	}
	if err == nil {
		err = h.record(last, message)
	}
	if err == nil && h.loose > maxLoose {
		h.loose = 0
		err = packLoose(h.Path)
	}
	if err != nil {
		return fmt.Errorf("cannot record the history of %s: %w", h.Path, err)
	}
	h.last = last
	return nil
}

// isCurrent reports whether git's index and the branch are as the last Record left them, and not changed by a user.
func (h *History) isCurrent(last *recorded) bool {
	now, err := os.Lstat(h.indexPath())
	if err != nil || last.index == nil || !os.SameFile(now, last.index) || now.Size() != last.index.Size() ||
		!now.ModTime().Equal(last.index.ModTime()) {
		return false
	}
	repo, err := openRepository(h.Path)
	if err != nil {
		return false
	}
	head, err := headOf(repo)
	return err == nil && head == last.head
}

func (h *History) indexPath() string { return filepath.Join(h.Path, gitDir, "index") }

// load creates the repository, or repairs an existing one, and reads git's index.
func (h *History) load() (*recorded, error) {
	if err := initRepository(h.Path); err != nil {
		return nil, err
	}
	var reverted bool
	var err error
	if h.loose, reverted, err = repair(h.Path); err != nil {
		return nil, err
	}
	repo, err := openRepository(h.Path)
	if err != nil {
		return nil, err
	}
	idx, err := repo.Index()
	switch {
	case reverted: // the index refers to lost objects
		idx = &index.Index{}
	case err != nil:
		// An agent that died while writing the index leaves it incomplete. It can be rebuilt from the directory.
		logger.Warningf("cannot read the index of %s, rebuilding it: %v", h.Path, err)
		idx = &index.Index{}
	}
	last := &recorded{survey: survey{path: h.Path, at: idx.ModTime, root: &folder{}}}
	for _, entry := range idx.Entries {
		last.root.insert(entry.Name, entry)
	}
	return last, nil
}

func (h *History) record(last *recorded, message string) error {
	objects := &objects{path: h.Path, thorough: last.index == nil}
	defer objects.close()
	changed, err := last.scan(objects)
	// What has not changed since a user wrote the index, as by git add, or moved the branch may still not be in a commit.
	if err != nil || !changed && last.index != nil {
		return err
	}
	if err := objects.commit(last.root.store(objects), h.Author, message); err != nil {
		return err
	}
	h.loose += objects.n + 1
	// The index is written last: if it is outdated, the changed files are read again, and nothing is lost.
	if err := objects.repo.SetIndex(&index.Index{Version: 2, Entries: last.root.entries(nil)}); err != nil {
		return err
	}
	if last.head, err = headOf(objects.repo); err != nil {
		return err
	}
	last.index, err = os.Lstat(h.indexPath())
	return err
}
