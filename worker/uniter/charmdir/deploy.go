package charmdir

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"juju/charm"
	"juju/worker/uniter/durable"
)

// A Source has the archives of charms, by URL.
type Source interface {
	// CharmArchive opens the zip of a charm and tells its SHA-256, in hex.
	CharmArchive(ctx context.Context, url string) (archive io.ReadCloser, sha256 string, err error)
}

// A Dir is a charm directory.
type Dir struct {
	Path string // the charm itself
	Work string // ours: the manifest, and what is being unpacked; on the same file system
}

// The files in Work.
const (
	manifestFile = "charm.manifest" // what in the charm directory is the charm's
	archiveFile  = "charm.zip"
	unpackedDir  = "charm.unpacked"
)

// manifest is what the charm directory holds of charms. While one is deployed over
// another it names the files of both, so that whichever charm comes next, after
// whatever interruption, knows all that is to go.
type manifest struct {
	Paths []string `json:"paths"`
}

// Deploy makes the charm directory that of the charm at url and returns what the
// charm says of itself. Files of the charm that was there before are replaced or
// removed, all others stay, unless the new charm has one of the same name. When it
// has returned nil the charm is on disk. A Deploy that was interrupted or has failed
// is repeated, or another charm's follows; either may find any mixture there.
func (d Dir) Deploy(ctx context.Context, source Source, url string) (*charm.Meta, error) {
	for _, dir := range []string{d.Path, d.Work} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	}
	archivePath, unpacked := filepath.Join(d.Work, archiveFile), filepath.Join(d.Work, unpackedDir)
	defer os.Remove(archivePath)
	defer os.RemoveAll(unpacked)
	if err := download(ctx, source, url, archivePath); err != nil {
		return nil, err
	}
	archive, err := charm.ReadArchive(ctx, archivePath)
	if err != nil {
		return nil, err
	}
	// Beside first: what can't be unpacked doesn't spoil the charm that is there.
	if err := os.RemoveAll(unpacked); err != nil {
		return nil, err
	}
	if err := archive.ExpandTo(ctx, unpacked); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	if err := d.replace(unpacked, archive.Manifest()); err != nil {
		return nil, err
	}
	return archive.Meta, nil
}

// download fetches the archive and refuses one that is not what it is said to be.
func download(ctx context.Context, source Source, url, to string) error {
	archive, want, err := source.CharmArchive(ctx, url)
	if err != nil {
		return err
	}
	defer archive.Close()
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(f, sum), archive)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("cannot download it: %w", err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != want {
		return fmt.Errorf("cannot trust the download: its SHA-256 is %s, not %s", got, want)
	}
	return nil
}

// replace moves what is unpacked over the charm directory and removes what earlier
// charms had and this one has not.
func (d Dir) replace(unpacked string, paths []string) error {
	before, err := d.readManifest()
	if err != nil {
		return err
	}
	both := slices.Compact(slices.Sorted(slices.Values(slices.Concat(before.Paths, paths))))
	if err := d.writeManifest(manifest{both}); err != nil {
		return err
	}
	root, err := os.OpenRoot(d.Path)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, name := range slices.Backward(both) { // what is in a directory before the directory
		if _, found := slices.BinarySearch(paths, name); !found {
			if err := remove(root, name); err != nil {
				return err
			}
		}
	}
	for _, name := range paths {
		if err := move(root, d.Path, unpacked, name); err != nil {
			return err
		}
	}
	// All of it is on disk before anybody says that it is there.
	for _, name := range append(paths, ".") {
		if err := syncPath(root, name); err != nil {
			return err
		}
	}
	return d.writeManifest(manifest{paths})
}

// remove removes a file of an earlier charm's, or a directory if nothing else is in
// it. Where hooks or users have put something else in the way of name, it is theirs.
func remove(root *os.Root, name string) error {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if info, err := root.Lstat(dir); err != nil || !info.IsDir() {
			return nil
		}
	}
	err := root.Remove(name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTEMPTY) {
		return nil
	}
	return err
}

// move moves one file from what is unpacked to its place; names come in order, so
// that its directory is a real one already.
func move(root *os.Root, charmDir, unpacked, name string) error {
	from, to := filepath.Join(unpacked, name), filepath.Join(charmDir, name)
	is, err := os.Lstat(from)
	if err != nil {
		return err
	}
	was, err := root.Lstat(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if is.IsDir() {
		if was != nil && !was.IsDir() {
			if err := root.Remove(name); err != nil {
				return err
			}
		}
		if was == nil || !was.IsDir() {
			if err := root.Mkdir(name, is.Mode().Perm()); err != nil {
				return err
			}
		}
		return root.Chmod(name, is.Mode().Perm()) // whatever the umask
	}
	if was != nil && was.IsDir() {
		if err := root.RemoveAll(name); err != nil {
			return err
		}
	}
	return os.Rename(from, to)
}

func (d Dir) readManifest() (manifest, error) {
	var m manifest
	content, err := os.ReadFile(filepath.Join(d.Work, manifestFile))
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(content, &m)
}

func (d Dir) writeManifest(m manifest) error {
	content, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return durable.WriteFile(filepath.Join(d.Work, manifestFile), content)
}

// syncPath makes durable what a file or a directory holds.
func syncPath(root *os.Root, name string) error {
	if info, err := root.Lstat(name); err != nil || !info.IsDir() && !info.Mode().IsRegular() {
		return err
	}
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
