package charmdir

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/index"
	"github.com/go-git/go-git/v5/plumbing/object"
	"golang.org/x/sys/unix"
)

// maxTracked is the maximum size of a file in the history. Without it, a database in the charm directory would be
// stored again after every hook.
const maxTracked = 16 << 20

// racy is the age below which an equal modification time does not prove that a file is unchanged. It exceeds the
// granularity of file system timestamps.
const racy = 50 * time.Millisecond

// A survey is the state of a directory's files when it was last scanned.
type survey struct {
	path string
	root *folder
	at   time.Time
}

// A folder is a directory of a survey.
type folder struct {
	files   map[string]*index.Entry // by name in the folder
	folders map[string]*folder
	hash    plumbing.Hash // of its tree; zero if it must be stored
}

// insert adds the entry of a file at a path below the folder.
func (f *folder) insert(path string, entry *index.Entry) {
	if dir, rest, ok := strings.Cut(path, "/"); ok {
		if f.folders == nil {
			f.folders = map[string]*folder{}
		}
		if f.folders[dir] == nil {
			f.folders[dir] = &folder{}
		}
		f.folders[dir].insert(rest, entry)
		return
	}
	if f.files == nil {
		f.files = map[string]*index.Entry{}
	}
	f.files[path] = entry
}

// entries appends the entries of all files.
func (f *folder) entries(to []*index.Entry) []*index.Entry {
	for _, entry := range f.files {
		to = append(to, entry)
	}
	for _, sub := range f.folders {
		to = sub.entries(to)
	}
	return to
}

// scan scans the directory again, stores new file contents, and reports whether anything has changed.
func (s *survey) scan(objects *objects) (changed bool, err error) {
	listed, err := os.ReadDir(s.path)
	if err != nil {
		return false, err
	}
	changed = s.scanFolder("", s.root, listed, objects)
	s.at = time.Now()
	return changed, objects.err
}

// scanFolder is scan for one folder, whose path within the directory is "" or ends with a slash.
func (s *survey) scanFolder(path string, f *folder, listed []fs.DirEntry, objects *objects) (changed bool) {
	files, folders := make(map[string]*index.Entry, len(f.files)), make(map[string]*folder, len(f.folders))
	for _, d := range listed {
		name := d.Name()
		switch {
		case name == gitDir:
		case d.IsDir():
			sub := f.folders[name]
			if sub == nil {
				sub = &folder{}
			}
			below, _ := os.ReadDir(filepath.Join(s.path, path, name)) // an unreadable directory is treated as empty
			changed = s.scanFolder(path+name+"/", sub, below, objects) || changed
			if len(sub.files)+len(sub.folders) > 0 {
				folders[name] = sub
			}
		default:
			was := f.files[name]
			if now := s.scanFile(path+name, d, was, objects); now != nil {
				files[name] = now
				changed = changed || was == nil || was.Hash != now.Hash || was.Mode != now.Mode
			}
		}
	}
	// Added entries were noticed above, so a different number means that some were removed.
	changed = changed || len(files) != len(f.files) || len(folders) != len(f.folders)
	f.files, f.folders = files, folders
	if changed {
		f.hash = plumbing.ZeroHash
	}
	return changed
}

// scanFile returns a file's current index entry, or nil if the history does not track it.
func (s *survey) scanFile(name string, d fs.DirEntry, was *index.Entry, objects *objects) *index.Entry {
	info, err := d.Info()
	if err != nil {
		return nil
	}
	now, ok := describe(name, info)
	switch {
	case !ok:
		return nil
	case was != nil && sameStat(was, now) && now.ModifiedAt.Before(s.at.Add(-racy)):
		return was
	}
	content, err := read(filepath.Join(s.path, name), info)
	if err != nil {
		logger.Debugf("history leaves out %s: %v", filepath.Join(s.path, name), err)
		return nil
	}
	blob := &plumbing.MemoryObject{}
	blob.SetType(plumbing.BlobObject)
	_, _ = blob.Write(content) // never fails
	if now.Hash = blob.Hash(); was == nil || was.Hash != now.Hash {
		objects.put(blob)
	}
	return now
}

// store stores the new trees of the folder and its subfolders, and returns the hash of its own.
func (f *folder) store(objects *objects) plumbing.Hash {
	if !f.hash.IsZero() {
		return f.hash
	}
	tree := &object.Tree{}
	for name, file := range f.files {
		tree.Entries = append(tree.Entries, object.TreeEntry{Name: name, Mode: file.Mode, Hash: file.Hash})
	}
	for name, sub := range f.folders {
		tree.Entries = append(tree.Entries, object.TreeEntry{Name: name, Mode: filemode.Dir, Hash: sub.store(objects)})
	}
	sort.Sort(object.TreeEntrySorter(tree.Entries))
	f.hash = objects.putTree(tree)
	return f.hash
}

// describe returns a file's index entry without its hash. It returns false for files that the history does not
// track.
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

// read returns the content of a file, or the target of a link.
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
		return nil, errors.New("it is no longer a regular file")
	}
	content := bytes.NewBuffer(make([]byte, 0, info.Size()+bytes.MinRead))
	_, err = content.ReadFrom(io.LimitReader(f, maxTracked+1))
	if err == nil && content.Len() > maxTracked {
		err = errors.New("it has grown beyond the size limit")
	}
	return content.Bytes(), err
}
