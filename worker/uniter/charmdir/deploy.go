package charmdir

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"golang.org/x/sys/unix"

	"juju/agent/host/atomicfile"
	"juju/charm"
	"juju/state/entity"
)

// ErrConflict is the error of a deployment that can't replace or remove a file in the charm directory.
var ErrConflict = errors.New("cannot replace the files of the charm")

// A Source provides charm archives by URL.
type Source interface {
	// CharmArchive opens a charm's zip archive and returns its SHA-256 in hex.
	CharmArchive(ctx context.Context, url string) (archive io.ReadCloser, sha256 string, err error)
}

// A Dir is a charm directory.
type Dir struct {
	Path string // the charm itself
	Work string // for the manifest and for unpacking; on the same file system
	// History records local changes before a deployment replaces them. If nil, they are not recorded.
	History *History
}

// The files in Work.
const (
	manifestFile = "charm.manifest" // lists the charm's own files in the charm directory
	archiveFile  = "charm.zip"
	unpackedDir  = "charm.unpacked"
)

// urlFile, in the charm directory, has the charm's URL. Juju's agents write it, and charms read it: charm_refresh
// compares it among units, and takes its time of modification for that of the deployment.
const urlFile = ".juju-charm"

// manifest lists the files that came with charms. During an upgrade it lists those of both charms, so that the
// next deployment can remove all of them if this one is interrupted.
type manifest struct {
	Paths []string `json:"paths"`
}

// Deploy deploys the charm at url in the charm directory and returns its metadata. It replaces or removes the
// files of the previous charm. Other files stay, unless the new charm has a file of the same name. If it
// replaces a file that was changed locally, it logs a warning; the history has the changed version. When it
// returns nil, the charm is durably on disk. After ErrConflict, a full disk or a crash, the directory may
// hold a mixture of both charms; the next Deploy of either repairs that.
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
	// The archive is unpacked in a separate directory, so that a bad one can't damage the current charm.
	if err := os.RemoveAll(unpacked); err != nil {
		return nil, err
	}
	if err := archive.ExpandTo(ctx, unpacked); err != nil {
		return nil, err
	}
	paths, err := addURL(unpacked, url, archive.Manifest())
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	conflicts := d.conflicts(url, unpacked)
	if err := d.replace(unpacked, paths); err != nil {
		return nil, err
	}
	if len(conflicts) > 0 {
		logger.Warningf("%s: charm %s replaces files that were changed in the charm directory: %s; "+
			"the directory's history has them as they were", d.History.Author, url, listed(conflicts))
	}
	return archive.Meta, nil
}

// addURL adds the file with the charm's URL to the unpacked files, and to their sorted paths.
func addURL(unpacked, url string, paths []string) ([]string, error) {
	file := filepath.Join(unpacked, urlFile)
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) { // it may be a link
		return nil, err
	}
	if err := os.WriteFile(file, []byte(url+"\n"), 0o644); err != nil {
		return nil, err
	}
	i, found := slices.BinarySearch(paths, urlFile)
	if !found {
		paths = slices.Insert(slices.Clone(paths), i, urlFile)
	}
	return paths, nil
}

// download fetches the archive and checks its SHA-256.
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
	got, err := entity.SHA256(io.TeeReader(archive, f))
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("cannot download it: %w", err)
	}
	if got != want {
		return fmt.Errorf("cannot trust the download: its SHA-256 is %s, not %s", got, want)
	}
	return nil
}

// replace moves the unpacked files into the charm directory and removes files that only earlier charms had.
func (d Dir) replace(unpacked string, paths []string) error {
	before, err := d.readManifest()
	if err != nil {
		return err
	}
	both := slices.Compact(slices.Sorted(slices.Values(slices.Concat(before.Paths, paths))))
	if err := d.writeManifest(manifest{both}); err != nil {
		return err
	}
	err = d.place(unpacked, both, paths)
	switch {
	case entity.IsDiskFull(err):
		return err
	case err != nil:
		return fmt.Errorf("%w: %w", ErrConflict, err)
	}
	return d.writeManifest(manifest{paths})
}

// place removes the files of both charms that are not in paths, and moves those at paths to the charm directory.
func (d Dir) place(unpacked string, both, paths []string) error {
	root, err := os.OpenRoot(d.Path)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, name := range slices.Backward(both) { // files before their directory
		if _, found := slices.BinarySearch(paths, name); !found {
			if err := remove(root, name); err != nil {
				return fileError(name, err)
			}
		}
	}
	for _, name := range paths {
		if err := move(root, d.Path, unpacked, name); err != nil {
			return fileError(name, err)
		}
	}
	// Everything must be on disk before the caller records the deployment.
	for _, name := range append(paths, ".") {
		if err := syncPath(root, name); err != nil {
			return err
		}
	}
	return nil
}

// fileError names the file that could not be replaced or removed, by its path within the charm.
func fileError(name string, err error) error {
	if link := new(os.LinkError); errors.As(err, &link) {
		err = link.Err
	}
	if path := new(fs.PathError); errors.As(err, &path) {
		err = path.Err
	}
	return fmt.Errorf("%s: %w", name, err)
}

// remove removes a file or an empty directory of an earlier charm. It keeps whatever hooks or users have put
// in its place.
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

// move moves one unpacked file to its place. Names are sorted, so its directory already exists and is not a link.
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
		return root.Chmod(name, is.Mode().Perm()) // override the umask
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
	return atomicfile.WriteFile(filepath.Join(d.Work, manifestFile), content, 0o600)
}

// syncPath syncs a file or directory to disk.
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

// maxListed is the maximum number of files that a warning names.
const maxListed = 10

func listed(names []string) string {
	if more := len(names) - maxListed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxListed], ", "), more)
	}
	return strings.Join(names, ", ")
}

// conflicts records local changes in the history, and returns those files changed since the current charm was
// deployed that the unpacked one replaces or removes. An error of the history does not prevent the deployment.
func (d Dir) conflicts(url, unpacked string) (names []string) {
	if d.History == nil {
		return nil
	}
	before, err := d.readManifest()
	if err != nil || len(before.Paths) == 0 {
		return nil
	}
	err = d.History.Record("before charm " + url)
	var changed map[string]plumbing.Hash
	if err == nil {
		changed, err = d.History.changedSinceCharm()
	}
	if err != nil {
		logger.Warningf("cannot find local changes in %s: %v", d.Path, err)
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(changed)) {
		_, ofCharm := slices.BinarySearch(before.Paths, name)
		if !keeps(unpacked, name, changed[name], ofCharm) {
			names = append(names, name)
		}
	}
	return names
}

// keeps reports whether a locally changed file stays as it is when the unpacked charm is deployed. here is the
// hash of its content, or zero if it was deleted. ofCharm says whether the file came with the current charm.
func keeps(unpacked, name string, here plumbing.Hash, ofCharm bool) bool {
	path := filepath.Join(unpacked, name)
	info, err := os.Lstat(path)
	switch {
	case err == nil && info.IsDir():
		return here.IsZero()
	case err == nil:
		content, err := read(path, info)
		return err == nil && plumbing.ComputeHash(plumbing.BlobObject, content) == here
	case here.IsZero():
		return true
	}
	// The new charm does not have it. Files that did not come with the charm stay, unless a file of the new charm
	// replaces their directory.
	return !ofCharm && errors.Is(err, fs.ErrNotExist)
}
