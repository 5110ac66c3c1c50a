package charmdir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/index"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/juju/loggo"
	"golang.org/x/sys/unix"
)

var logger = loggo.GetLogger("juju.worker.uniter.charmdir")

// maxTracked is the size of the largest file that the history holds. Otherwise a charm with
// a database in its directory would store it anew for each hook.
const maxTracked = 16 << 20

// racy is how recent a file's time may be for an equal time to prove nothing: file systems
// take their times from a clock that advances in steps of this size.
const racy = 50 * time.Millisecond

// A History records the changes of a charm directory as commits of a git repository in that
// directory.
//
// It finds changed files by their size, times and inode, which git's own index holds, and
// reads only those. Git's commands and go-git's Add would hash the whole tree, or write the
// whole index once per file.
type History struct {
	Path string // the charm directory
	// Author is the author of the commits.
	Author string
}

// Record commits all changes since the last commit, if there are any. It leaves out sockets,
// pipes, devices, files that can't be read, files larger than 16 MiB, and everything called
// .git. Git does not record empty directories.
func (h History) Record(message string) error {
	if err := h.record(message); err != nil {
		return fmt.Errorf("cannot record the history of %s: %w", h.Path, err)
	}
	return nil
}

func (h History) record(message string) error {
	repo, err := git.PlainOpen(h.Path)
	if errors.Is(err, git.ErrRepositoryNotExists) {
		repo, err = git.PlainInit(h.Path, false)
	}
	if err != nil {
		return err
	}
	idx, err := repo.Storer.Index()
	if err != nil {
		// An agent that died while it wrote the index leaves a part of one. The index can be
		// made anew from the directory.
		logger.Warningf("cannot read the index of %s, makes a new one: %v", h.Path, err)
		idx = &index.Index{Version: 2}
	}
	s := &survey{root: h.Path, repo: repo, known: make(map[string]*index.Entry, len(idx.Entries)), lookedAt: idx.ModTime}
	for _, entry := range idx.Entries {
		s.known[entry.Name] = entry
	}
	if err := filepath.WalkDir(h.Path, s.visit); err != nil {
		return err
	}
	if !s.restated && len(s.entries) == len(s.known) {
		return nil
	}
	if err := repo.Storer.SetIndex(&index.Index{Version: 2, Entries: s.entries}); err != nil {
		return err
	}
	if !s.changed && len(s.entries) == len(s.known) {
		return nil
	}
	tree, err := repo.Worktree()
	if err != nil {
		return err
	}
	_, err = tree.Commit(message, &git.CommitOptions{Author: &object.Signature{
		Name: h.Author, Email: "juju@localhost", When: time.Now(),
	}})
	if errors.Is(err, git.ErrEmptyCommit) {
		return nil
	}
	return err
}

// A survey walks the directory and collects the index that describes it.
type survey struct {
	root     string
	repo     *git.Repository
	known    map[string]*index.Entry
	lookedAt time.Time // when known was written
	entries  []*index.Entry
	restated bool // the index must be written, if only for its own time
	changed  bool // there is something to commit
}

func (s *survey) visit(path string, d fs.DirEntry, err error) error {
	switch {
	case err != nil && path == s.root:
		return err
	case err != nil: // it is gone again, or can't be read
		return nil
	case d.Name() == git.GitDirName && d.IsDir():
		return fs.SkipDir
	case d.Name() == git.GitDirName || d.IsDir():
		return nil
	}
	name, err := filepath.Rel(s.root, path)
	if err != nil {
		return err
	}
	name = filepath.ToSlash(name)
	was := s.known[name]
	info, err := d.Info()
	if err != nil {
		return nil
	}
	now, ok := describe(name, info)
	switch {
	case !ok:
		return nil
	case was != nil && sameStat(was, now) && now.ModifiedAt.Before(s.lookedAt.Add(-racy)):
		s.entries = append(s.entries, was)
		return nil
	}
	now.Hash, err = s.store(path, info)
	if err != nil {
		logger.Debugf("history leaves out %s: %v", path, err)
		return nil
	}
	s.entries = append(s.entries, now)
	s.restated = true
	s.changed = s.changed || was == nil || was.Hash != now.Hash || was.Mode != now.Mode
	return nil
}

// describe makes a file's entry in the index, without its hash. It returns false for files
// that the history does not hold.
func describe(name string, info fs.FileInfo) (*index.Entry, bool) {
	entry := &index.Entry{Name: name, ModifiedAt: info.ModTime(), Size: uint32(info.Size())}
	switch mode := info.Mode(); {
	case mode.Type() == fs.ModeSymlink:
		entry.Mode = filemode.Symlink
	case !mode.IsRegular() || info.Size() > maxTracked:
		return nil, false
	case mode&0o100 != 0:
		entry.Mode = filemode.Executable
	default:
		entry.Mode = filemode.Regular
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		entry.CreatedAt = time.Unix(stat.Ctim.Unix())
		entry.Dev, entry.Inode = uint32(stat.Dev), uint32(stat.Ino)
		entry.UID, entry.GID = stat.Uid, stat.Gid
	}
	return entry, true
}

func sameStat(a, b *index.Entry) bool {
	return a.Size == b.Size && a.Mode == b.Mode && a.Inode == b.Inode &&
		a.ModifiedAt.Equal(b.ModifiedAt) && a.CreatedAt.Equal(b.CreatedAt)
}

// store adds the file's content to the repository and returns its hash.
func (s *survey) store(path string, info fs.FileInfo) (plumbing.Hash, error) {
	content, err := read(path, info)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	blob := s.repo.Storer.NewEncodedObject()
	blob.SetType(plumbing.BlobObject)
	w, err := blob.Writer()
	if err != nil {
		return plumbing.ZeroHash, err
	}
	if _, err := w.Write(content); err != nil {
		return plumbing.ZeroHash, err
	}
	if err := w.Close(); err != nil {
		return plumbing.ZeroHash, err
	}
	if hash := blob.Hash(); s.repo.Storer.HasEncodedObject(hash) == nil {
		return hash, nil
	}
	return s.repo.Storer.SetEncodedObject(blob)
}

func read(path string, info fs.FileInfo) ([]byte, error) {
	if info.Mode().Type() == fs.ModeSymlink {
		target, err := os.Readlink(path)
		return []byte(target), err
	}
	// The file may have become a pipe since it was listed: opening it must not block.
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if now, err := f.Stat(); err != nil || !now.Mode().IsRegular() {
		return nil, errors.New("is no longer a regular file")
	}
	content, err := io.ReadAll(io.LimitReader(f, maxTracked+1))
	if err == nil && len(content) > maxTracked {
		err = errors.New("grows beyond the bound")
	}
	return content, err
}
