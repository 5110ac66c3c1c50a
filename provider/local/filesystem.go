package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"juju/provider"
	"juju/state/entity"
)

// A filesystem is a directory. One of the cloud's own pool is in storage/MODEL, and its ID is the
// name of that directory: "data-0". One of a pool with a directory is in DIR/MODEL, and its ID is
// its path. One of the pool rootfs is below its instance, and its ID has
// the instance's too: "INSTANCE/data-0". To attach one is to make a symbolic link to it, because
// to mount it takes root.

// varLib is the directory on a machine of its own that an instance's directory stands for.
const varLib = "/var/lib/juju/"

// storage returns the directory of a model's filesystems that outlive its machines.
func (c *Cloud) storage(model string) string { return filepath.Join(c.config.Dir, "storage", model) }

// released returns the directory of the filesystems that a model has released.
func (c *Cloud) released(model string) string {
	return filepath.Join(c.config.Dir, releasedName, model)
}

const releasedName = "released"

// filesystem returns the directory of a filesystem.
func (e *environ) filesystem(id string) (string, error) {
	instance, name, onInstance := strings.Cut(id, "/")
	switch {
	case filepath.IsAbs(id):
		// Only what has the form of CreateFilesystem's own is ever removed.
		dir, base := filepath.Split(id)
		if filepath.Base(dir) == e.config.Model && isName(base) && filepath.Clean(id) == id {
			return id, nil
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
	_ context.Context, params provider.FilesystemParams,
) (f entity.Filesystem, err error) {
	f = entity.Filesystem{ID: strings.ReplaceAll(params.Storage, "/", "-"), Size: params.Size}
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
	if _, err := os.Stat(dir); err == nil {
		return f, nil
	}
	var disk unix.Statfs_t
	if unix.Statfs(parent, &disk) == nil {
		if free := disk.Bavail * uint64(disk.Bsize) >> 20; free < params.Size {
			return f, fmt.Errorf("filesystem is not big enough (%dM < %dM)", free, params.Size)
		}
	}
	return f, os.MkdirAll(dir, 0o700)
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
	root := e.cloud.dir(e.config.Model, params.Instance)
	if _, err := os.Stat(root); err != nil || !isName(params.Instance) {
		return "", entity.Errorf(entity.NotProvisioned, "its machine has no instance")
	}
	link := mountPath(root, params.Mount)
	for parent := filepath.Dir(link); len(parent) > len(root); parent = filepath.Dir(parent) {
		if info, err := os.Lstat(parent); err == nil && !info.IsDir() {
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

// DestroyFilesystem removes the directory.
func (e *environ) DestroyFilesystem(_ context.Context, id string) error {
	dir, err := e.filesystem(id)
	if err != nil {
		return err
	}
	if err := removeAll(dir); err != nil {
		return entity.WithHint(err, "By hand: remove %s", dir)
	}
	return nil
}

// ReleaseFilesystem moves the directory to where nothing removes it. A filesystem on an instance
// stays there, and goes with it; one in the directory of a pool stays where it is.
func (e *environ) ReleaseFilesystem(_ context.Context, id string) error {
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

// releaseRest releases the filesystems that are left of a model: no one has said that they are to
// be destroyed, or that has failed.
func (c *Cloud) releaseRest(ctx context.Context, model string) error {
	left, err := names(c.storage(model))
	if err != nil {
		return err
	}
	e := &environ{cloud: c, config: provider.Config{Controller: c.config.Controller, Model: model}}
	for _, id := range left {
		if err := e.ReleaseFilesystem(ctx, id); err != nil {
			return err
		}
	}
	return removeAll(c.storage(model))
}
