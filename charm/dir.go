package charm

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"syscall"
	"time"
)

// Dir is a charm in a directory.
type Dir struct {
	Charm
	Path string
}

// ReadDir reads the charm in the directory at path. Only ArchiveTo checks the files that are
// not parsed, since .jujuignore may exclude them.
func ReadDir(path string) (*Dir, error) {
	d := &Dir{Path: path}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read charm: %w", err)
	}
	defer root.Close()
	err = d.load(func(name string) (io.ReadCloser, error) { return openRegular(root, name) })
	if err != nil {
		return nil, fmt.Errorf("cannot read charm in %q: %w", path, err)
	}
	d.findPrograms(layout{
		list: func(dir string) (names []string) {
			entries, _ := fs.ReadDir(root.FS(), dir)
			for _, e := range entries {
				names = append(names, e.Name())
			}
			return names
		},
		mode: func(name string) (fs.FileMode, bool) {
			info, err := root.Stat(name)
			if err != nil {
				return 0, false
			}
			return info.Mode(), true
		},
	})
	return d, nil
}

// openRegular opens a file of the charm, following symlinks that stay inside it.
func openRegular(root *os.Root, name string) (io.ReadCloser, error) {
	// Without O_NONBLOCK, opening a pipe would wait for a writer.
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ENXIO) { // a socket
		return nil, notRegular(name)
	} else if err != nil {
		if target, linkErr := root.Readlink(name); linkErr == nil {
			err = linkError(name, target, err)
		}
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = notRegular(name)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// linkError returns the error for a symlink that can't be opened. A dangling symlink is an error, unlike
// a missing file, which may be optional.
func linkError(name, target string, err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return linkToNothing(name, target)
	case errors.Is(err, syscall.ELOOP):
		return &FileError{File: name, Err: fmt.Errorf("it is a link to %q, which is part of a cycle", target)}
	}
	return &FileError{File: name, Err: contained(fmt.Errorf("it is a link to %q, which is outside the charm", target))}
}

func linkToNothing(name, target string) error {
	return &FileError{File: name, Err: fmt.Errorf("it is a link to %q, which does not exist", target)}
}

func notRegular(name string) error {
	return &FileError{File: name, Err: errors.New("not a regular file")}
}

// ArchiveTo writes the charm to w as a zip archive. The output is reproducible: files are sorted and have
// no times. Permissions are 0755 for directories, hooks, and files that their owner may execute,
// otherwise 0644. Files excluded by .jujuignore or the built-in rules are omitted; revision and version
// are written from d.
func (d *Dir) ArchiveTo(w io.Writer) error {
	if err := d.archiveTo(w, defaultLimits); err != nil {
		return fmt.Errorf("cannot archive charm in %q: %w", d.Path, err)
	}
	return nil
}

// ArchiveFile returns the archive in an unlinked temporary file, at its beginning. It is complete before it is sent anywhere, so
// that errors in reading the charm are not reported as those of a connection.
func (d *Dir) ArchiveFile() (*os.File, error) {
	f, err := UnlinkedFile("")
	if err != nil {
		return nil, fmt.Errorf("cannot archive charm: %w", err)
	}
	if err = d.ArchiveTo(f); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// UnlinkedFile creates a temporary file in a directory, "" for the system's, that is deleted when it is closed.
func UnlinkedFile(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, "juju-charm-*.zip")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (d *Dir) archiveTo(w io.Writer, l limits) error {
	root, err := os.OpenRoot(d.Path)
	if err != nil {
		return err
	}
	defer root.Close()
	t, err := scan(root, l)
	if err != nil {
		return err
	}
	if _, ok := t.modes[metaFile]; !ok {
		return &FileError{File: ignoreFile, Err: fmt.Errorf("excludes %s", metaFile)}
	}
	z := zip.NewWriter(w)
	programs := t.programFiles(&d.Charm)
	for _, name := range t.names {
		if err := archiveFile(z, root, name, t, programs[name]); err != nil {
			return err
		}
	}
	generated := map[string]string{revisionFile: strconv.Itoa(d.Revision), versionFile: d.Version}
	for _, name := range []string{revisionFile, versionFile} {
		if text := generated[name]; text != "" {
			if err := writeEntry(z, name, 0o644, bytes.NewBufferString(text+"\n")); err != nil {
				return err
			}
		}
	}
	return z.Close()
}

// scan returns the tree of the directory's files that belong in an archive.
func scan(root *os.Root, l limits) (*tree, error) {
	ignore, err := readIgnore(root)
	if err != nil {
		return nil, err
	}
	t := newTree(l)
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		if ignore.match(name, entry.IsDir()) {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		var target string
		var size int64
		switch info.Mode().Type() {
		case fs.ModeSymlink:
			target, err = root.Readlink(name)
		case 0:
			size = info.Size()
		}
		if err != nil {
			return err
		}
		return t.add(name, info.Mode(), size, target)
	})
	if err != nil {
		return nil, err
	}
	return t, t.check()
}

func archiveFile(z *zip.Writer, root *os.Root, name string, t *tree, hook bool) error {
	mode := t.modes[name]
	switch mode.Type() {
	case fs.ModeDir:
		return writeEntry(z, name+"/", fs.ModeDir|0o755, nil)
	case fs.ModeSymlink:
		return writeEntry(z, name, fs.ModeSymlink|0o777, bytes.NewBufferString(t.links[name]))
	}
	f, err := openRegular(root, name)
	if err != nil {
		return err
	}
	defer f.Close()
	return writeEntry(z, name, perm(mode, hook), f)
}

// archiveTime is the time of every file in an archive: the earliest that zip can represent.
var archiveTime = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

func writeEntry(z *zip.Writer, name string, mode fs.FileMode, content io.Reader) error {
	h := &zip.FileHeader{Name: path.Clean(name), Modified: archiveTime, Method: zip.Deflate}
	if mode.IsDir() {
		h.Name += "/"
		h.Method = zip.Store
	}
	h.SetMode(mode)
	w, err := z.CreateHeader(h)
	if err != nil || content == nil {
		return err
	}
	_, err = io.Copy(w, content)
	return err
}
