package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"juju/provider"
	"juju/state/entity"
)

// A filesystem is a directory. In the cloud's own pool it is in storage/MODEL, and its ID is the
// directory's name: "data-0". In a pool with a directory it is in DIR/MODEL, and its ID is its path;
// until it is destroyed or released, storage/MODEL has a symlink to it, by which the cloud finds it. An
// imported filesystem stays where its last model left it, and also has such a link. In the rootfs pool
// it is below its instance, and its ID is "INSTANCE/data-0". Attaching creates a symlink, because
// mounting needs root.

// varLib is the directory on a dedicated machine to which an instance's directory corresponds.
const varLib = "/var/lib/juju/"

// storage returns the directory of the model's filesystems that outlive its machines.
func (c *Cloud) storage(model string) string {
	return filepath.Join(c.config.Dir, storageName, model)
}

// released returns the directory of the filesystems that a model released.
func (c *Cloud) released(model string) string {
	return filepath.Join(Released(c.config.Dir), model)
}

const (
	storageName  = "storage"
	releasedName = "released"
)

// Released returns the directory of released filesystems in a cloud's directory.
func Released(dir string) string { return filepath.Join(dir, releasedName) }

// IsFree reports whether a cloud's directory contains only released filesystems, so that another
// controller can use it.
func IsFree(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && len(entries) == 1 && entries[0].Name() == releasedName
}

// OutsideStorage returns, by model, the paths of unreleased filesystems outside a cloud's directory:
// those in the directories of pools, and those imported from other clouds.
func OutsideStorage(dir string) (map[string][]string, error) {
	found, err := linkedStorage(dir)
	for model, paths := range found {
		found[model] = slices.DeleteFunc(paths, func(path string) bool { return isReleasedOf(dir, path) })
		if len(found[model]) == 0 {
			delete(found, model)
		}
	}
	return found, err
}

// ImportedStorage returns the paths of the filesystems among a cloud directory's released ones that
// models have imported again and not released since.
func ImportedStorage(dir string) (all []string, err error) {
	found, err := linkedStorage(dir)
	for _, paths := range found {
		for _, path := range paths {
			if isReleasedOf(dir, path) {
				all = append(all, path)
			}
		}
	}
	return all, err
}

// isReleasedOf reports whether path is a released filesystem's in a cloud's directory.
func isReleasedOf(dir, path string) bool { return filepath.Dir(filepath.Dir(path)) == Released(dir) }

// linkedStorage returns, by model, the targets of the links in a cloud directory's storage.
func linkedStorage(dir string) (map[string][]string, error) {
	models, err := names(filepath.Join(dir, storageName))
	found := map[string][]string{}
	for _, model := range models {
		links, err := outside(filepath.Join(dir, storageName, model))
		if err != nil {
			return nil, err
		}
		for _, link := range links {
			if path, err := os.Readlink(link); err == nil && isDir(path) {
				found[model] = append(found[model], path)
			}
		}
	}
	return found, err
}

// outside returns the links to outside filesystems in a model's storage directory.
func outside(dir string) (links []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.Type() == fs.ModeSymlink {
			links = append(links, filepath.Join(dir, e.Name()))
		}
	}
	return links, err
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// record creates the link by which the cloud finds a storage instance's outside filesystem.
func (e *environ) record(id, storage string) error {
	dir := e.cloud.storage(e.config.Model)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := os.Symlink(id, filepath.Join(dir, dashed(storage))); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// forget removes record's link.
func (e *environ) forget(id string) error {
	link, err := recordOf(e.cloud.storage(e.config.Model), id)
	if err != nil || link == "" {
		return err
	}
	if err := os.Remove(link); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// recordOf returns the link to a filesystem in a model's storage directory, or "".
func recordOf(dir, id string) (string, error) {
	links, err := outside(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && target == id {
			return link, nil
		}
	}
	return "", nil
}

// dashed returns the id of a storage instance in a form for use in names.
func dashed(storage string) string { return strings.ReplaceAll(storage, "/", "-") }

// leftBy returns the UUID of the model that created or released the filesystem at a path; "" if the path is not
// of the form DIR/MODEL/NAME.
func leftBy(path string) string {
	dir, base := filepath.Split(path)
	model := filepath.Base(dir)
	if uuid.Validate(model) != nil || !isName(base) || !filepath.IsAbs(path) || filepath.Clean(path) != path {
		return ""
	}
	return model
}

// filesystem returns the directory of a filesystem.
func (e *environ) filesystem(id string) (string, error) {
	instance, name, onInstance := strings.Cut(id, "/")
	switch {
	case filepath.IsAbs(id):
		// Never remove paths other than those that CreateFilesystem creates, for this model or, while it
		// is imported, for another.
		model := leftBy(id)
		if model == e.config.Model {
			return id, nil
		}
		link, err := recordOf(e.cloud.storage(e.config.Model), id)
		if _, gone := os.Lstat(id); err != nil || model != "" && (link != "" || errors.Is(gone, fs.ErrNotExist)) {
			return id, err
		}
	case onInstance && isName(instance) && isName(name):
		return filepath.Join(e.cloud.dir(e.config.Model, instance), "filesystems", name), nil
	case !onInstance && isName(id):
		return filepath.Join(e.cloud.storage(e.config.Model), id), nil
	}
	return "", entity.Errorf(entity.Invalid, "%q is not a filesystem of this cloud", id)
}

// PoolDir is the attribute of a pool that names the directory, on the controller's host, that holds its filesystems.
const PoolDir = "storage-dir"

// maxPoolDir leaves room for the names of filesystems in a path.
const maxPoolDir = 100

// CheckPool implements provider.Filesystems.
func (e *environ) CheckPool(pool entity.StoragePool) error {
	if pool.Provider != "local" {
		return provider.CheckAttributes(pool)
	}
	if dir, ok := pool.Attributes[PoolDir]; ok && (!filepath.IsAbs(dir) || filepath.Clean(dir) != dir ||
		len(dir) > maxPoolDir) {
		return entity.Errorf(entity.Invalid, "%s %q is not an absolute path of at most %d bytes", PoolDir, dir, maxPoolDir)
	}
	return provider.CheckAttributes(pool, PoolDir)
}

// parent returns the directory of a pool's filesystems, or one on the same disk.
func (e *environ) parent(pool entity.StoragePool) (string, error) {
	in := pool.Attributes[PoolDir]
	if pool.Provider != "local" || in == "" {
		return e.cloud.config.Dir, nil
	}
	if _, err := os.Stat(in); err != nil {
		return "", fmt.Errorf("%s of pool %q: %w", PoolDir, pool.Name, err)
	}
	return in, nil
}

// PoolSize implements provider.Filesystems. A directory that is not there may be by the time that it is needed.
func (e *environ) PoolSize(_ context.Context, pool entity.StoragePool) (uint64, string, error) {
	dir, err := e.parent(pool)
	var disk unix.Statfs_t
	if err != nil || unix.Statfs(dir, &disk) != nil {
		return 0, "", nil
	}
	return disk.Blocks * uint64(disk.Bsize) >> 20, "the disk of " + dir, nil
}

// CreateFilesystem creates a directory. The size is not enforced, but that much space must be free when
// it is created.
func (e *environ) CreateFilesystem(
	ctx context.Context, params provider.FilesystemParams,
) (f entity.Filesystem, err error) {
	f = entity.Filesystem{ID: dashed(params.Storage), Size: params.Size}
	parent, err := e.parent(params.Pool)
	if err != nil {
		return f, err
	}
	switch params.Pool.Provider {
	case "local":
		if parent == params.Pool.Attributes[PoolDir] {
			f.ID = filepath.Join(parent, e.config.Model, f.ID)
		}
	case entity.PoolRootFS:
		if _, err := os.Stat(e.cloud.dir(e.config.Model, params.Instance)); params.Instance == "" || err != nil {
			return f, entity.Errorf(entity.NotProvisioned, "its machine has no instance yet")
		}
		f.ID = params.Instance + "/" + f.ID
	default:
		return f, entity.Errorf(entity.NotSupported, "this cloud has no storage provider %q", params.Pool.Provider)
	}
	dir, err := e.filesystem(f.ID)
	if err != nil {
		return f, err
	}
	var disk unix.Statfs_t
	if !isDir(dir) && unix.Statfs(parent, &disk) == nil {
		if free := disk.Bavail * uint64(disk.Bsize) >> 20; free < params.Size {
			return f, provider.NotBigEnough(params, free, "in "+parent)
		}
	}
	if filepath.IsAbs(f.ID) {
		unlock, err := e.cloud.busy.Lock(ctx, filepath.Dir(dir)) // DestroyFilesystem may remove it if empty
		if err != nil {
			return f, err
		}
		defer unlock()
		if err := e.record(f.ID, params.Storage); err != nil {
			return f, err
		}
	}
	return f, os.MkdirAll(dir, 0o700)
}

// isAttached reports whether a path on an instance is a link to a filesystem of the model, which can
// contain other mount points.
func (e *environ) isAttached(link, root string) bool {
	target, err := os.Readlink(link)
	if err != nil || !filepath.IsAbs(target) {
		return false
	}
	in := filepath.Dir(target)
	if in == e.cloud.storage(e.config.Model) || in == filepath.Join(root, "filesystems") {
		return true
	}
	record, err := recordOf(e.cloud.storage(e.config.Model), target) // an outside filesystem
	return err == nil && record != ""
}

// AttachFilesystem links the mount point, below the instance's directory, to the filesystem. It replaces
// links to other filesystems, which are stale: the caller ensures that the path is not in use.
func (e *environ) AttachFilesystem(_ context.Context, params provider.AttachmentParams) (string, error) {
	dir, err := e.filesystem(params.Filesystem)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(dir); err != nil {
		return "", err
	}
	root, err := e.root(params.Instance)
	if err != nil {
		return "", err
	}
	link := mountPath(root, params.Mount)
	for parent := filepath.Dir(link); len(parent) > len(root); parent = filepath.Dir(parent) {
		if info, err := os.Lstat(parent); err == nil && !info.IsDir() && !e.isAttached(parent, root) {
			return "", entity.Errorf(entity.InUse, "%s is not a directory", parent)
		}
	}
	if target, err := os.Readlink(link); err == nil && target == dir {
		return link, nil
	}
	if info, err := os.Lstat(link); err == nil && info.Mode()&fs.ModeSymlink == 0 {
		return "", entity.Errorf(entity.InUse, "%s exists", link)
	}
	if err := os.MkdirAll(filepath.Dir(link), 0o700); err != nil {
		return "", err
	}
	if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return link, os.Symlink(dir, link)
}

// root returns the directory of an instance.
func (e *environ) root(instance string) (string, error) {
	root := e.cloud.dir(e.config.Model, instance)
	if _, err := os.Stat(root); err != nil || !isName(instance) {
		return "", entity.Errorf(entity.NotProvisioned, "its machine has no instance")
	}
	return root, nil
}

// mountPath maps a path of a machine to an instance's directory: paths below /var/lib/juju to the
// directory itself, others to root in it.
func mountPath(root, mount string) string {
	if below, ok := strings.CutPrefix(filepath.Clean(mount), varLib); ok {
		return filepath.Join(root, below)
	}
	return filepath.Join(root, "root", mount)
}

// DetachFilesystem removes the link.
func (e *environ) DetachFilesystem(_ context.Context, params provider.AttachmentParams) error {
	dir, err := e.filesystem(params.Filesystem)
	if err != nil || !isName(params.Instance) {
		return err
	}
	link := mountPath(e.cloud.dir(e.config.Model, params.Instance), params.Mount)
	if target, err := os.Readlink(link); err != nil || target != dir {
		return nil
	}
	if err := os.Remove(link); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// IsFilesystemAttached reports whether the link exists and points to the filesystem.
func (e *environ) IsFilesystemAttached(_ context.Context, params provider.AttachmentParams) (bool, error) {
	dir, err := e.filesystem(params.Filesystem)
	if err != nil {
		return false, err
	}
	root, err := e.root(params.Instance)
	if err != nil {
		return false, err
	}
	target, err := os.Readlink(mountPath(root, params.Mount))
	return err == nil && target == dir && isDir(dir), nil
}

// DestroyFilesystem removes the directory, and the model's directory in the pool's if that is now empty.
func (e *environ) DestroyFilesystem(ctx context.Context, id string) error {
	dir, err := e.filesystem(id)
	if err != nil {
		return err
	}
	if err := removeAll(dir); err != nil {
		return entity.WithHint(err, "By hand: remove %s", dir)
	}
	if !filepath.IsAbs(id) {
		return nil
	}
	unlock, err := e.cloud.busy.Lock(ctx, filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer unlock()
	_ = os.Remove(filepath.Dir(dir)) // fails unless empty
	return e.forget(id)
}

// ReleaseFilesystem moves the directory to released, where nothing removes it. A filesystem on an
// instance stays there and is deleted with it; an outside filesystem stays where it is.
func (e *environ) ReleaseFilesystem(_ context.Context, id string) error {
	if filepath.IsAbs(id) {
		return e.forget(id)
	}
	dir, err := e.filesystem(id)
	if err != nil || strings.Contains(id, "/") {
		return err
	}
	to := e.cloud.released(e.config.Model)
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	if err := os.Rename(dir, filepath.Join(to, id)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// ImportID implements provider.Filesystems: it returns the filesystem's path after release.
func (e *environ) ImportID(id string) string {
	switch {
	case filepath.IsAbs(id):
		return id
	case strings.Contains(id, "/"):
		return ""
	}
	return filepath.Join(e.cloud.released(e.config.Model), id)
}

// ImportFilesystem creates a link to a released directory of this cloud or a sibling on the host. The directory
// is not moved.
func (e *environ) ImportFilesystem(ctx context.Context, params provider.ImportParams) (f entity.Filesystem, err error) {
	f.ID = params.ID
	if params.Pool.Provider != "local" {
		return f, provider.NoImport(params.Pool)
	}
	clouds := filepath.Dir(e.cloud.config.Dir)
	form, in := filepath.Join(clouds, "*", releasedName), filepath.Dir(filepath.Dir(params.ID))
	if dir := params.Pool.Attributes[PoolDir]; dir != "" {
		form = dir
	}
	if fits, err := filepath.Match(form, in); err != nil || !fits && in != form || leftBy(params.ID) == "" {
		return f, entity.WithHint(entity.Errorf(entity.Invalid, "%q is not a filesystem of pool %q", params.ID,
			params.Pool.Name), "Give a path of the form %s, as printed when storage is released.",
			filepath.Join(form, "MODEL", "NAME"))
	}
	if info, err := os.Lstat(params.ID); errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return f, entity.WithHint(entity.Errorf(entity.NotFound, "filesystem %q not found", params.ID),
			"To list what exists: ls -d %s", filepath.Join(form, "*", "*"))
	} else if err != nil {
		return f, err
	}
	models, err := filepath.Glob(filepath.Join(clouds, "*", storageName, "*"))
	if err != nil {
		return f, err
	}
	own := ""
	for _, dir := range models {
		link, err := recordOf(dir, params.ID)
		model := filepath.Base(dir)
		switch {
		case err != nil:
			return f, err
		case link == "":
		case model != e.config.Model:
			return f, entity.Errorf(entity.InUse, "filesystem %q is storage of model %s", params.ID, model)
		case model == leftBy(params.ID) && filepath.Base(link) == filepath.Base(params.ID):
			return f, entity.Errorf(entity.InUse, "filesystem %q belongs to storage of this model", params.ID)
		default:
			own = link
		}
	}
	if f.Size, err = sizeOf(ctx, params.ID); err != nil || own != "" {
		return f, err
	}
	return f, e.record(params.ID, params.Storage)
}

// sizeOf returns the size of a directory's content in MiB; at least 1.
func sizeOf(ctx context.Context, dir string) (uint64, error) {
	var bytes uint64
	err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || ctx.Err() != nil {
			return errors.Join(context.Cause(ctx), err)
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			bytes += uint64(info.Size())
		}
		return nil
	})
	return max((bytes+1<<20-1)>>20, 1), err
}

// endStorage destroys or releases the model's remaining filesystems: those that were neither destroyed
// nor released before, or for which that failed.
func (e *environ) endStorage(ctx context.Context, destroy bool) error {
	dir := e.cloud.storage(e.config.Model)
	left, err := names(dir)
	if err != nil {
		return err
	}
	links, err := outside(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, link := range links {
		id, err := os.Readlink(link)
		if err != nil {
			return err
		}
		left = append(left, id)
	}
	end := e.ReleaseFilesystem
	if destroy {
		end = e.DestroyFilesystem
	}
	for _, id := range left {
		if err := end(ctx, id); err != nil {
			return err
		}
	}
	return removeAll(dir)
}
