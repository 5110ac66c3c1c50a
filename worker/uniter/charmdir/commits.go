package charmdir

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/utils/merkletrie"
)

// A Commit is one entry of a charm directory's history.
type Commit struct {
	ID      string // in hex
	Time    time.Time
	Message string
	Changes []Change // sorted by path
	// Lost means that the changes are unknown, because objects were lost in a power failure.
	Lost bool
}

// A Change is a change of one file in a commit.
type Change struct {
	How  byte // 'A' for added, 'M' for modified, 'D' for deleted
	Path string
}

// Commits returns the last n commits, or all if n is 0, newest first. It omits those lost in a power failure. The
// error is fs.ErrNotExist if the directory has no history.
func (h *History) Commits(n int) ([]Commit, error) {
	var all []Commit
	err := h.walk(func(c *object.Commit) (bool, error) {
		changes, err := changesOf(c)
		lost := errors.Is(err, plumbing.ErrObjectNotFound)
		if lost {
			err = nil
		}
		all = append(all, Commit{c.Hash.String(), c.Author.When, strings.TrimSpace(c.Message), changes, lost})
		return len(all) != n, err
	})
	if err != nil {
		return nil, fmt.Errorf("cannot read the history of %s: %w", h.Path, err)
	}
	return all, nil
}

// walk calls f with each commit, newest first, until f returns false or there are no more.
func (h *History) walk(f func(*object.Commit) (bool, error)) error {
	repo, err := openRepository(h.Path)
	if err != nil {
		return err
	}
	head, err := storer.ResolveReference(repo, plumbing.HEAD)
	if errors.Is(err, plumbing.ErrReferenceNotFound) {
		return nil
	} else if err != nil {
		return err
	}
	next := head.Hash()
	for {
		commit, err := object.GetCommit(repo, next)
		if errors.Is(err, plumbing.ErrObjectNotFound) {
			return nil
		} else if err != nil {
			return err
		}
		more, err := f(commit)
		if err != nil || !more || commit.NumParents() == 0 {
			return err
		}
		next = commit.ParentHashes[0]
	}
}

// changesOf returns the changes in a commit.
func changesOf(c *object.Commit) ([]Change, error) {
	tree, err := c.Tree()
	if err != nil {
		return nil, err
	}
	before := &object.Tree{}
	if c.NumParents() > 0 {
		parent, err := c.Parent(0)
		if err != nil {
			return nil, err
		}
		if before, err = parent.Tree(); err != nil {
			return nil, err
		}
	}
	return changesBetween(before, tree)
}

func changesBetween(before, after *object.Tree) ([]Change, error) {
	diff, err := object.DiffTree(before, after)
	if err != nil {
		return nil, err
	}
	changes := make([]Change, 0, len(diff))
	for _, d := range diff {
		action, err := d.Action()
		if err != nil {
			return nil, err
		}
		switch action {
		case merkletrie.Insert:
			changes = append(changes, Change{'A', d.To.Name})
		case merkletrie.Delete:
			changes = append(changes, Change{'D', d.From.Name})
		default:
			changes = append(changes, Change{'M', d.To.Name})
		}
	}
	slices.SortFunc(changes, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return changes, nil
}

// charmPrefix begins the commit messages of charms, as opposed to hooks.
const charmPrefix = "charm "

// CharmMessage returns the message of the commit after the deployment of a charm.
func CharmMessage(url string) string { return charmPrefix + url }

// changedSinceCharm returns the files that were changed, added or deleted since the last charm was deployed, with
// the hashes of their contents. The hash of a deleted file is zero.
func (h *History) changedSinceCharm() (map[string]plumbing.Hash, error) {
	var head, charm *object.Tree
	err := h.walk(func(c *object.Commit) (more bool, err error) {
		if head == nil {
			if head, err = c.Tree(); err != nil {
				return false, err
			}
		}
		if !strings.HasPrefix(c.Message, charmPrefix) {
			return true, nil
		}
		charm, err = c.Tree()
		return false, err
	})
	if errors.Is(err, fs.ErrNotExist) || err == nil && charm == nil {
		return nil, nil // the history began after the charm was deployed
	} else if err != nil {
		return nil, err
	}
	changes, err := changesBetween(charm, head)
	if err != nil {
		return nil, err
	}
	changed := map[string]plumbing.Hash{}
	for _, c := range changes {
		switch entry, err := head.FindEntry(c.Path); {
		case c.How == 'D':
			changed[c.Path] = plumbing.ZeroHash
		case err != nil:
			return nil, err
		default:
			changed[c.Path] = entry.Hash
		}
	}
	return changed, nil
}
