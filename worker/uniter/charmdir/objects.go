package charmdir

import (
	"os"
	"path/filepath"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// looseObjects is how many objects of one commit are stored as loose objects. The others go into a pack,
// because the first commit of a large charm has thousands.
const looseObjects = 100

// objects stores the objects of one commit in a repository.
type objects struct {
	path string
	// thorough means that packs may already have the objects. Otherwise an object is new or stems from an
	// earlier hook, so packs, whose indexes are slow to read, are not searched.
	thorough bool
	repo     *filesystem.Storage // nil until it is needed
	n        int                 // how many were stored
	pack     *packfile           // nil until it is needed
	err      error               // the first error; put does nothing after it
}

// put stores an object unless the repository has it, and returns its hash.
func (o *objects) put(encoded *plumbing.MemoryObject) plumbing.Hash {
	if o.err == nil {
		o.err = o.tryPut(encoded)
	}
	return encoded.Hash()
}

func (o *objects) tryPut(encoded *plumbing.MemoryObject) (err error) {
	if o.repo == nil {
		if o.repo, err = openRepository(o.path); err != nil {
			return err
		}
	}
	if o.has(encoded.Hash()) {
		return nil
	}
	if o.n++; o.n <= looseObjects {
		_, err := o.repo.SetEncodedObject(encoded)
		return err
	}
	if o.pack == nil {
		if o.pack, err = newPackfile(o.path); err != nil {
			return err
		}
	}
	return o.pack.add(encoded)
}

// has reports whether the repository is known to have an object.
func (o *objects) has(hash plumbing.Hash) bool {
	if o.thorough || o.n >= looseObjects {
		return o.repo.HasEncodedObject(hash) == nil
	}
	name := hash.String()
	_, err := os.Lstat(filepath.Join(o.path, gitDir, "objects", name[:2], name[2:]))
	return err == nil
}

// putTree stores a tree and returns its hash.
func (o *objects) putTree(tree *object.Tree) plumbing.Hash {
	encoded := &plumbing.MemoryObject{}
	if err := tree.Encode(encoded); o.err == nil {
		o.err = err
	}
	return o.put(encoded)
}

// commit adds a commit with the given tree to the branch, unless the last one has the same tree, or the first one would
// have none. It returns the first error of the puts before it, if any.
func (o *objects) commit(tree plumbing.Hash, author, message string) error {
	if o.err == nil && o.pack != nil {
		o.err = o.pack.finish()
	}
	if o.err != nil {
		return o.err
	}
	c := &object.Commit{Message: message, TreeHash: tree,
		Author: object.Signature{Name: author, Email: "juju@localhost", When: time.Now()}}
	c.Committer = c.Author
	head, err := headOf(o.repo)
	if err != nil {
		return err
	}
	if head.IsZero() && tree == plumbing.ComputeHash(plumbing.TreeObject, nil) {
		return nil
	}
	if !head.IsZero() {
		last, err := object.GetCommit(o.repo, head)
		if err != nil || last.TreeHash == tree {
			return err
		}
		c.ParentHashes = []plumbing.Hash{head}
	}
	encoded := &plumbing.MemoryObject{}
	if err := c.Encode(encoded); err != nil {
		return err
	}
	hash, err := o.repo.SetEncodedObject(encoded)
	if err != nil {
		return err
	}
	return setHead(o.repo, hash)
}

// close removes a pack that was not finished.
func (o *objects) close() {
	if o.pack != nil {
		o.pack.close()
	}
}
