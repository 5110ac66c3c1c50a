package charmdir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// gitDir is the directory of the repository in a charm directory.
const gitDir = ".git"

// openRepository opens the repository of a charm directory; the error is fs.ErrNotExist if there is none. It needs only go-git's
// objects and files: its package git would bring clients for ssh and http into the agent.
func openRepository(dir string) (*filesystem.Storage, error) {
	dir = filepath.Join(dir, gitDir)
	if _, err := os.Stat(filepath.Join(dir, "HEAD")); err != nil {
		return nil, err
	}
	return filesystem.NewStorage(osfs.New(dir), cache.NewObjectLRUDefault()), nil
}

// initRepository creates the repository of a charm directory, unless it has one.
func initRepository(dir string) error {
	if _, err := openRepository(dir); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	repo := filesystem.NewStorage(osfs.New(filepath.Join(dir, gitDir)), cache.NewObjectLRUDefault())
	if err := repo.Init(); err != nil {
		return err
	}
	if err := repo.SetConfig(config.NewConfig()); err != nil {
		return err
	}
	return repo.SetReference(plumbing.NewSymbolicReference(plumbing.HEAD, plumbing.Master)) // last: without it there is none
}
