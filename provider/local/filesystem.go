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

// A filesystem is a directory. One of the cloud's own pool is in storage/MODEL, and its ID is the
// name of that directory: "data-0". One of a pool with a directory is in DIR/MODEL, and its ID is
// its path; until it is destroyed or released, storage/MODEL has a symbolic link to it, without
// which the cloud could not find it. One that a model has imported stays where its last model has
// left it, and has such a link too. One of the pool rootfs is below its instance, and its ID has
// the instance's too: "INSTANCE/data-0". To attach one is to make a symbolic link to it, because
// to mount it takes root.

// varLib is the directory on a machine of its own that an instance's directory stands for.
const varLib = "/var/lib/juju/"

// storage returns the directory of a model's filesystems that outlive its machines.
func (c *Cloud) storage(model string) string {
	return filepath.Join(c.config.Dir, storageName, model)
}

// released returns the directory of the filesystems that a model has released.
func (c *Cloud) released(model string) string {
	return filepath.Join(Released(c.config.Dir), model)
}

const (
	storageName  = "storage"
	releasedName = "released"
)

// Released returns the directory in a cloud's directory with the filesystems that are released.
func Released(dir string) string { return filepath.Join(dir, releasedName) }

// IsFree reports whether a cloud's directory has nothing but filesystems that are released, so that
// another controller may have it.
func IsFree(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && len(entries) == 1 && entries[0].Name() == releasedName
}

// OutsideStorage returns the paths of the filesystems outside a cloud's directory that models have
// not released, by model: those in the directories of pools, and those imported from other clouds.
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

// ImportedStorage returns the paths of the filesystems that models have imported and not released, of
// those released before in a cloud's directory.
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

// isReleasedOf reports whether a path is that of a filesystem released in a cloud's directory.
func isReleasedOf(dir, path string) bool { return filepath.Dir(filepath.Dir(path)) == Released(dir) }

// linkedStorage returns the paths of the filesystems to which the storage in a cloud's directory has
// links, by model.
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

// outside returns the links to filesystems that are elsewhere in the directory of a model's storage.
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

// record makes the link by which the cloud finds a filesystem of a storage instance that is elsewhere.
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

// forget removes the link that record has made.
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

// recordOf returns the link to a filesystem in the directory of a model's storage; "" if there is none.
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

// dashed returns the id of a storage instance as names have it.
func dashed(storage string) string { return strings.ReplaceAll(storage, "/", "-") }

// leftBy returns the model, by its UUID, that has left a filesystem at a path; "" if the path is not of the form
// of one: DIR/MODEL/NAME.
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
		// Only what has the form of CreateFilesystem's own is ever removed; what has that of another
		// model's, while it is imported.
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
	return "", entity.Errorf(entity.Invalid, "%q is no filesystem of this cloud", id)
}

// CreateFilesystem makes a directory. Nothing keeps its content from growing beyond its size; but
// there must be as much room when it is made.
func (e *environ) CreateFilesystem(
	ctx context.Context, params provider.FilesystemParams,
) (f entity.Filesystem, err error) {
	f = entity.Filesystem{ID: dashed(params.Storage), Size: params.Size}
	parent := e.cloud.config.Dir
	switch params.Pool.Provider {
	case "local":
		if in := params.Pool.Attributes[entity.PoolDir]; in != "" {
			if _, err := os.Stat(in); err != nil {
				return f, fmt.Errorf("%s of pool %q: %w", entity.PoolDir, params.Pool.Name, err)
			}
			parent, f.ID = in, filepath.Join(in, e.config.Model, f.ID)
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
			return f, fmt.Errorf("filesystem is not big enough (%dM < %dM)", free, params.Size)
		}
	}
	if filepath.IsAbs(f.ID) {
		unlock, err := e.cloud.busy.Lock(ctx, filepath.Dir(dir)) // which the end of another may remove
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

// isAttached reports whether a path on an instance is the link to a filesystem of the model's, in which
// others can lie.
func (e *environ) isAttached(link, root string) bool {
	target, err := os.Readlink(link)
	if err != nil || !filepath.IsAbs(target) {
		return false
	}
	in := filepath.Dir(target)
	if in == e.cloud.storage(e.config.Model) || in == filepath.Join(root, "filesystems") {
		return true
	}
	record, err := recordOf(e.cloud.storage(e.config.Model), target) // of one that is elsewhere
	return err == nil && record != ""
}

// AttachFilesystem links the mount point, below the instance's directory, to the filesystem. A
// link to another filesystem that is there is an old one: the caller knows which paths are in use.
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

// mountPath returns where an instance has a path of a machine: what is below /var/lib/juju is
// below the instance's directory, everything else below root in it.
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

// IsFilesystemAttached reports whether the link is there, and leads to the filesystem.
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

// DestroyFilesystem removes the directory; the last one of a model in the directory of a pool takes
// the model's directory there with it.
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
	_ = os.Remove(filepath.Dir(dir)) // if it is empty
	return e.forget(id)
}

// ReleaseFilesystem moves the directory to where nothing removes it. A filesystem on an instance
// stays there, and goes with it; one that is elsewhere stays where it is.
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

// ImportID implements provider.Filesystems: the path that a filesystem has once it is released.
func (e *environ) ImportID(id string) string {
	switch {
	case filepath.IsAbs(id):
		return id
	case strings.Contains(id, "/"):
		return ""
	}
	return filepath.Join(e.cloud.released(e.config.Model), id)
}

// ImportFilesystem makes a link to a directory that a model has released, of this cloud or one beside it on
// the host. The directory stays where it is.
func (e *environ) ImportFilesystem(ctx context.Context, params provider.ImportParams) (f entity.Filesystem, err error) {
	f.ID = params.ID
	if params.Pool.Provider != "local" {
		return f, provider.NoImport(params.Pool)
	}
	clouds := filepath.Dir(e.cloud.config.Dir)
	form, in := filepath.Join(clouds, "*", releasedName), filepath.Dir(filepath.Dir(params.ID))
	if dir := params.Pool.Attributes[entity.PoolDir]; dir != "" {
		form = dir
	}
	if fits, err := filepath.Match(form, in); err != nil || !fits && in != form || leftBy(params.ID) == "" {
		return f, entity.WithHint(entity.Errorf(entity.Invalid, "%q is no filesystem of pool %q", params.ID,
			params.Pool.Name), "It is a path of the form %s, as printed when storage is released.",
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
			return f, entity.Errorf(entity.InUse, "filesystem %q is made for storage of this model", params.ID)
		default:
			own = link
		}
	}
	if f.Size, err = sizeOf(ctx, params.ID); err != nil || own != "" {
		return f, err
	}
	return f, e.record(params.ID, params.Storage)
}

// sizeOf returns the size of what is in a directory, in MiB; at least 1.
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

// endStorage destroys or releases the filesystems that are left of a model: no one has said before
// what becomes of them, or to do that has failed.
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
