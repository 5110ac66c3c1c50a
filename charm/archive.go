package charm

import (
	"archive/zip"
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// Archive is a charm in a zip archive.
type Archive struct {
	Charm
	open opening
	tree *tree
}

// ReadArchive reads the archive in the file at path, which must exist while the Archive is in use. It
// reads the whole archive, so that corrupt or malicious ones are rejected here rather than when they are
// unpacked. This may take seconds; ctx can cancel it.
func ReadArchive(ctx context.Context, path string) (*Archive, error) {
	a, err := readArchive(ctx, defaultLimits, func() (io.ReaderAt, int64, io.Closer, error) {
		f, err := os.Open(path)
		if err != nil {
			return nil, 0, nil, err
		}
		info, err := f.Stat()
		if err != nil {
			f.Close()
			return nil, 0, nil, err
		}
		return f, info.Size(), f, nil
	})
	if err != nil {
		return nil, fmt.Errorf("cannot read charm archive %q: %w", path, err)
	}
	return a, nil
}

// ReadArchiveFrom reads the archive in the first size bytes of r, as ReadArchive does.
func ReadArchiveFrom(ctx context.Context, r io.ReaderAt, size int64) (*Archive, error) {
	a, err := readArchive(ctx, defaultLimits, func() (io.ReaderAt, int64, io.Closer, error) {
		return r, size, io.NopCloser(nil), nil
	})
	if err != nil {
		return nil, fmt.Errorf("cannot read charm archive: %w", err)
	}
	return a, nil
}

func readArchive(ctx context.Context, l limits, open opening) (*Archive, error) {
	t, files, closer, err := openTree(open, l)
	if err != nil {
		return nil, err
	}
	defer closer.Close()
	a := &Archive{open: open, tree: t}
	for _, name := range a.tree.names {
		if a.tree.modes[name].IsRegular() {
			if err := copyFile(ctx, io.Discard, files[name]); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	openFile := opener(t, files)
	err = a.load(func(name string) (io.ReadCloser, error) {
		f, err := openFile(name)
		if target, ok := t.links[name]; ok && errors.Is(err, fs.ErrNotExist) {
			err = linkToNothing(name, target)
		}
		return f, err
	})
	if err != nil {
		return nil, withWhereItIs(err, a.tree)
	}
	a.findPrograms(a.tree.layout())
	return a, nil
}

// opener returns a function that opens files of the archive by name, following symlinks.
func opener(t *tree, files map[string]*zip.File) func(name string) (io.ReadCloser, error) {
	return func(name string) (io.ReadCloser, error) {
		at, err := t.resolve(name)
		if err != nil {
			return nil, err
		}
		if mode, ok := t.modes[at]; !ok {
			return nil, fmt.Errorf("%q: %w", name, fs.ErrNotExist)
		} else if !mode.IsRegular() {
			return nil, notRegular(name)
		}
		return files[at].Open()
	}
}

// ReadFile returns the content of a file in the charm, up to 1 MiB, following symlinks. The error is
// fs.ErrNotExist if the file does not exist.
func (a *Archive) ReadFile(name string) ([]byte, error) {
	data, err := a.readFile(name)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s of charm %q: %w", name, a.Meta.Name, err)
	}
	return data, nil
}

func (a *Archive) readFile(name string) ([]byte, error) {
	t, files, closer, err := openTree(a.open, a.tree.limits)
	if err != nil {
		return nil, err
	}
	defer closer.Close()
	return readSmall(opener(t, files), path.Clean(name))
}

// opening returns an archive's bytes and size.
type opening func() (io.ReaderAt, int64, io.Closer, error)

// openTree opens an archive and checks its directory, every time because the file may have changed. It
// returns the files by their names in the tree. Errors of package zip match ErrInvalid; I/O errors do
// not.
func openTree(open opening, l limits) (*tree, map[string]*zip.File, io.Closer, error) {
	r, size, closer, err := open()
	if err != nil {
		return nil, nil, nil, err
	}
	t := newTree(l)
	if err := boundDirectory(r, size, l); err != nil {
		closer.Close()
		return nil, nil, nil, zipError(err)
	}
	// If a corrupt directory points outside the file, a SectionReader returns EOF; a file would return
	// what looks like an I/O error.
	z, err := zip.NewReader(io.NewSectionReader(r, 0, size), size)
	var files map[string]*zip.File
	if err == nil || errors.Is(err, zip.ErrInsecurePath) { // survey checks the paths
		files, err = t.survey(z)
	}
	if err != nil {
		closer.Close()
		return nil, nil, nil, zipError(err)
	}
	return t, files, closer, nil
}

func zipError(err error) error {
	for _, target := range []error{zip.ErrFormat, zip.ErrAlgorithm, zip.ErrChecksum, io.EOF, io.ErrUnexpectedEOF} {
		if errors.Is(err, target) {
			return invalidf("%w", err)
		}
	}
	var corrupt flate.CorruptInputError
	if errors.As(err, &corrupt) {
		return invalidf("%w", err)
	}
	return err
}

// survey fills the tree from the archive's directory and returns its files by
// clean name.
func (t *tree) survey(z *zip.Reader) (map[string]*zip.File, error) {
	files := map[string]*zip.File{}
	for _, f := range z.File {
		name := f.Name
		if !slices.Contains(strings.Split(name, "/"), "..") && !path.IsAbs(name) {
			// Some tools write "./hooks/" or "hooks//install".
			if name = path.Clean(name); name == "." {
				continue
			}
		}
		mode := f.Mode()
		if strings.HasSuffix(f.Name, "/") {
			mode = fs.ModeDir | 0o755
		}
		if f.UncompressedSize64 > uint64(t.limits.total) {
			return nil, invalidf("charm is larger than %d bytes", t.limits.total)
		}
		var target string
		if mode.Type() == fs.ModeSymlink {
			var err error
			if target, err = linkTarget(f); err != nil {
				return nil, err
			}
		}
		if err := t.add(name, mode, int64(f.UncompressedSize64), target); err != nil {
			return nil, err
		}
		files[name] = f
	}
	return files, t.check()
}

func linkTarget(f *zip.File) (string, error) {
	r, err := f.Open()
	if err != nil {
		return "", zipError(err)
	}
	defer r.Close()
	target, err := io.ReadAll(io.LimitReader(r, maxLinkTarget+1))
	return string(target), zipError(err)
}

// withWhereItIs adds to the error about a missing metadata.yaml where the archive does have one: zipping
// the directory instead of its contents is a common mistake.
func withWhereItIs(err error, t *tree) error {
	if _, ok := t.modes[metaFile]; ok {
		return err
	}
	for _, name := range t.names {
		if dir, base := path.Split(name); base == metaFile && strings.Count(name, "/") == 1 {
			return fmt.Errorf("%w; there is %s: archive what is in %s, not %[3]s itself", err, name, dir)
		}
	}
	return err
}

// Manifest returns the sorted, clean, slash-separated paths of all files and directories that ExpandTo
// creates.
func (a *Archive) Manifest() []string {
	all := map[string]bool{revisionFile: true}
	for _, name := range a.tree.names {
		for ; name != "."; name = path.Dir(name) {
			all[name] = true
		}
	}
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// ExpandTo unpacks the charm into dir, which it creates if necessary. It replaces files that are in the
// archive and leaves others alone. It writes nothing outside dir. The file "revision" gets a.Revision.
// Nothing is synced to disk: an interrupted ExpandTo must be repeated.
func (a *Archive) ExpandTo(ctx context.Context, dir string) error {
	if err := a.expandTo(ctx, dir); err != nil {
		return fmt.Errorf("cannot expand charm %q: %w", a.Meta.Name, err)
	}
	return nil
}

func (a *Archive) expandTo(ctx context.Context, dir string) error {
	t, files, closer, err := openTree(a.open, a.tree.limits)
	if err != nil {
		return err
	}
	defer closer.Close()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	programs := t.programFiles(&a.Charm)
	for _, name := range t.names {
		if err := makeDirs(root, path.Dir(name)); err != nil {
			return err
		}
		switch mode := t.modes[name]; mode.Type() {
		case fs.ModeDir:
			err = makeDirs(root, name)
		case fs.ModeSymlink:
			if err = root.RemoveAll(name); err == nil {
				err = root.Symlink(t.links[name], name)
			}
		default:
			err = writeFile(root, name, perm(mode, programs[name]), func(w io.Writer) error {
				return copyFile(ctx, w, files[name])
			})
		}
		if err != nil {
			return err
		}
	}
	return writeFile(root, revisionFile, 0o644, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, a.Revision)
		return err
	})
}

// makeDirs creates real directories down to name, replacing files and symlinks.
func makeDirs(root *os.Root, name string) error {
	if name == "." {
		return nil
	}
	if info, err := root.Lstat(name); err == nil && info.IsDir() {
		return nil
	}
	if err := makeDirs(root, path.Dir(name)); err != nil {
		return err
	}
	if err := root.RemoveAll(name); err != nil {
		return err
	}
	if err := root.Mkdir(name, 0o755); err != nil {
		return err
	}
	return root.Chmod(name, 0o755)
}

// copyFile writes the content of f to w, up to the size in the archive's directory.
func copyFile(ctx context.Context, w io.Writer, f *zip.File) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	r, err := f.Open()
	if err != nil {
		return zipError(err)
	}
	defer r.Close()
	n, err := io.Copy(w, &whileWanted{ctx, io.LimitReader(r, int64(f.UncompressedSize64)+1)})
	if err != nil {
		return zipError(err)
	}
	if uint64(n) != f.UncompressedSize64 {
		return invalidf("not of the size that the archive says")
	}
	return nil
}

// whileWanted is a reader that fails once its context is done.
type whileWanted struct {
	ctx context.Context
	r   io.Reader
}

func (w *whileWanted) Read(p []byte) (int, error) {
	if w.ctx.Err() != nil {
		return 0, context.Cause(w.ctx)
	}
	return w.r.Read(p)
}

// writeFile creates a new file, replacing any existing one.
func writeFile(root *os.Root, name string, perm fs.FileMode, content func(io.Writer) error) error {
	if err := root.RemoveAll(name); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	if err = content(f); err == nil {
		err = f.Chmod(perm) // independent of the umask
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
