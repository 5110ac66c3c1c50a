package charmdir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"juju/agent/host/atomicfile"
)

// repair repairs the repository of a charm directory after a power failure, which can leave recently written files
// empty: the history syncs nothing, so that hooks don't wait for the disk. It removes empty objects and, if
// the last commit is damaged, reverts to the newest complete one. It returns the number of loose objects, and
// whether it has reverted.
func repair(path string) (loose int, reverted bool, err error) {
	root := filepath.Join(path, gitDir)
	loose, err = removeEmpty(filepath.Join(root, "objects"))
	if err != nil {
		return 0, false, err
	}
	head := filepath.Join(root, "HEAD")
	if info, err := os.Stat(head); err == nil && info.Size() == 0 {
		if err := atomicfile.WriteFile(head, []byte("ref: "+plumbing.Master.String()+"\n"), 0o600); err != nil {
			return 0, false, err
		}
	}
	repo, err := openRepository(path)
	if err != nil {
		return 0, false, err
	}
	if hash, err := headOf(repo); err == nil && (hash.IsZero() || isComplete(repo, hash)) {
		return loose, false, nil
	}
	newest := newestComplete(repo)
	from := "with an empty history"
	if !newest.IsZero() {
		from = "after " + newest.String()
	}
	logger.Warningf("the last commits of the history of %s are damaged; continuing %s", path, from)
	return loose, true, setHead(repo, newest)
}

// removeEmpty removes empty files from a repository's objects, and returns the number of loose objects left.
func removeEmpty(objects string) (loose int, err error) {
	err = filepath.WalkDir(objects, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		switch {
		case errors.Is(err, fs.ErrNotExist): // a user's git has packed it
		case err != nil:
			return err
		case info.Size() == 0:
			return os.Remove(path)
		case len(filepath.Base(filepath.Dir(path))) == 2:
			loose++
		}
		return nil
	})
	return loose, err
}

// headOf returns the hash of the last commit, or zero if there is none.
func headOf(repo *filesystem.Storage) (plumbing.Hash, error) {
	head, err := storer.ResolveReference(repo, plumbing.HEAD)
	if errors.Is(err, plumbing.ErrReferenceNotFound) {
		return plumbing.ZeroHash, nil
	} else if err != nil {
		return plumbing.ZeroHash, err
	}
	return head.Hash(), nil
}

// setHead sets the last commit, or removes the reference if the hash is zero.
func setHead(repo *filesystem.Storage, commit plumbing.Hash) error {
	branch, err := repo.Reference(plumbing.HEAD)
	if err != nil {
		return err
	}
	name := plumbing.HEAD // a user has checked out a commit
	if branch.Type() == plumbing.SymbolicReference {
		name = branch.Target()
	}
	if commit.IsZero() {
		return repo.RemoveReference(name)
	}
	return repo.SetReference(plumbing.NewHashReference(name, commit))
}

// isComplete reports whether the repository has a commit and its complete tree.
func isComplete(repo *filesystem.Storage, commit plumbing.Hash) bool {
	c, err := object.GetCommit(repo, commit)
	return err == nil && wholeTree(repo, c.TreeHash)
}

func wholeTree(repo *filesystem.Storage, hash plumbing.Hash) bool {
	tree, err := object.GetTree(repo, hash)
	if err != nil {
		return false
	}
	for _, e := range tree.Entries {
		if e.Mode == filemode.Dir {
			if !wholeTree(repo, e.Hash) {
				return false
			}
		} else if repo.HasEncodedObject(e.Hash) != nil {
			return false
		}
	}
	return true
}

// newestComplete returns the newest complete commit among the readable objects, or zero if there is none.
func newestComplete(repo *filesystem.Storage) plumbing.Hash {
	stored, err := repo.IterEncodedObjects(plumbing.CommitObject)
	if err != nil {
		return plumbing.ZeroHash
	}
	var all []object.Commit
	parents := map[plumbing.Hash]bool{} // excluded, because several commits may have the same time
	err = object.NewCommitIter(repo, stored).ForEach(func(c *object.Commit) error {
		if isComplete(repo, c.Hash) {
			all = append(all, *c)
			for _, p := range c.ParentHashes {
				parents[p] = true
			}
		}
		return nil
	})
	if err != nil {
		logger.Warningf("cannot read all objects: %v", err)
	}
	var newest object.Commit
	for _, c := range all {
		if !parents[c.Hash] && c.Committer.When.After(newest.Committer.When) {
			newest = c
		}
	}
	return newest.Hash
}
