package lxd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/canonical/lxd/shared/api"

	"juju/agent/install"
	"juju/provider"
	"juju/state/entity"
)

// A filesystem of the cloud's own pool is a custom LXD storage volume with the ID "POOL:VOLUME". One of
// the rootfs pool is a directory in a container with the ID "INSTANCE/NAME".

// volumePath returns a volume's API path. The error is Invalid if id is not that of a volume.
func volumePath(id string) (string, error) {
	pool, volume, ok := strings.Cut(id, ":")
	if !ok || pool == "" || volume == "" {
		return "", entity.Errorf(entity.Invalid, "%q is not a filesystem of this cloud", id)
	}
	return volumesPath(pool) + "/" + url.PathEscape(volume), nil
}

func volumesPath(pool string) string {
	return "/1.0/storage-pools/" + url.PathEscape(pool) + "/volumes/custom"
}

// inRoot returns the container and directory of a filesystem of the rootfs pool; ok is false for other
// filesystems.
func inRoot(id string) (instance, dir string, ok bool) {
	instance, name, ok := strings.Cut(id, "/")
	if ok = ok && instance != "" && name != "" && !strings.Contains(name, "/") && name != "." && name != ".."; !ok {
		return "", "", false
	}
	return instance, path.Join(install.Root, "filesystems", name), true
}

// CheckPool implements provider.Filesystems.
func (e *environ) CheckPool(pool entity.StoragePool) error { return provider.CheckAttributes(pool) }

// PoolSize implements provider.Filesystems: root disks and storage are in one pool of LXD's.
func (e *environ) PoolSize(ctx context.Context, _ entity.StoragePool) (uint64, string, error) {
	pool, _, size, err := e.cloud.Space(ctx)
	return size >> 20, fmt.Sprintf("LXD's storage pool %q", pool), err
}

// CreateFilesystem creates a storage volume, or a directory in the container.
func (e *environ) CreateFilesystem(ctx context.Context, params provider.FilesystemParams) (f entity.Filesystem,
	err error) {
	c := e.cloud
	f.Size = params.Size
	switch params.Pool.Provider {
	case "lxd":
	case entity.PoolRootFS:
		if _, err := e.ownInstance(ctx, params.Instance); err != nil {
			return f, err
		}
		f.ID = params.Instance + "/" + dashed(params.Storage)
		_, dir, _ := inRoot(f.ID)
		_, err := c.exec(ctx, params.Instance, "mkdir", "-p", "-m", "0700", dir)
		return f, err
	default:
		return f, entity.Errorf(entity.NotSupported, "this cloud has no storage provider %q", params.Pool.Provider)
	}
	if err := e.CheckPool(params.Pool); err != nil { // of an older version
		return f, fmt.Errorf("pool %q: %w", params.Pool.Name, err)
	}
	pool, err := c.pool(ctx)
	if err != nil {
		return f, err
	}
	volume := e.volumeName(params.Storage)
	f.ID = pool + ":" + volume
	at, err := volumePath(f.ID)
	if err != nil {
		return f, err
	}
	if err = c.client.get(ctx, at, nil, nil); err == nil || !isNotFound(err) {
		return f, err
	}
	room, err := c.space(ctx, pool)
	if err != nil {
		return f, err
	}
	if free := (room.Total - room.Used) >> 20; free < params.Size {
		return f, provider.NotBigEnough(params, free, fmt.Sprintf("in LXD's storage pool %q", pool))
	}
	_, err = c.client.do(ctx, http.MethodPost, volumesPath(pool), nil, api.StorageVolumesPost{
		Name: volume, Type: "custom", ContentType: "filesystem",
		StorageVolumePut: api.StorageVolumePut{
			Description: e.describe(params.Storage),
			Config: map[string]string{"size": size(params.Size), controllerKey: e.config.Controller,
				modelKey: e.config.Model, storageKey: params.Storage},
		},
	})
	if err != nil {
		return f, err
	}
	if !c.counts(ctx, pool, at) {
		logger.Warningf("storage %s can grow beyond its %d MiB: LXD's storage pool %q counts nothing",
			params.Storage, params.Size, pool)
	}
	return f, nil
}

// counts reports whether a pool holds a volume to its size, as far as LXD says. A pool "dir" does only if its filesystem has
// project quotas, and takes sizes without a word if it has none. LXD 5.0 answers 500 to the question for the use of a volume
// then, and later ones leave it out.
func (c *Cloud) counts(ctx context.Context, pool, volume string) bool {
	var of api.StoragePool
	if err := c.client.get(ctx, "/1.0/storage-pools/"+url.PathEscape(pool), nil, &of); err != nil || of.Driver != "dir" {
		return true
	}
	var state api.StorageVolumeState
	err := c.client.get(ctx, volume+"/state", nil, &state)
	return err == nil && state.Usage != nil || err != nil && !strings.Contains(err.Error(), "Not supported")
}

// dashed returns the id of a storage instance in a form for use in names.
func dashed(storage string) string { return strings.ReplaceAll(storage, "/", "-") }

// volumeName returns the name of the volume created for a storage instance.
func (e *environ) volumeName(storage string) string {
	return prefix(e.config.Model) + dashed(storage) + "-" + digest(e.config.Controller, e.config.Model, storage)
}

// describe returns the description of a storage instance's volume.
func (e *environ) describe(storage string) string {
	return "juju storage " + storage + " of model " + e.config.Model
}

// ownInstance returns an instance of the model; the error is NotProvisioned if there is no such instance.
func (e *environ) ownInstance(ctx context.Context, name string) (i api.Instance, err error) {
	if name != "" {
		i, err = e.cloud.instance(ctx, name)
		if err == nil && e.cloud.owns(i.Config, e.config.Model) || err != nil && !isNotFound(err) {
			return i, err
		}
	}
	return i, entity.Errorf(entity.NotProvisioned, "its machine has no instance")
}

// linkScript makes $2 a symlink to $1. If $2 already exists as something else, it exits with status 3.
const linkScript = `set -e
[ "$(readlink "$2")" != "$1" ] || exit 0
[ ! -e "$2" ] || exit 3
mkdir -p "$(dirname "$2")"
ln -sfn "$1" "$2"`

// AttachFilesystem adds the volume to the container, mounted at the mount point, or makes the mount
// point a symlink to the directory in the container.
func (e *environ) AttachFilesystem(ctx context.Context, params provider.AttachmentParams) (string, error) {
	if _, err := e.ownInstance(ctx, params.Instance); err != nil {
		return "", err
	}
	if instance, dir, ok := inRoot(params.Filesystem); ok {
		if instance != params.Instance {
			return "", entity.Errorf(entity.Invalid, "filesystem %s is on another machine", params.Filesystem)
		}
		status, err := e.cloud.exec(ctx, instance, "sh", "-c", linkScript, "sh", dir, params.Mount)
		if status == 3 {
			err = entity.Errorf(entity.InUse, "%s exists", params.Mount)
		}
		return params.Mount, err
	}
	at, err := volumePath(params.Filesystem)
	if err == nil {
		err = e.cloud.client.get(ctx, at, nil, nil)
	}
	if err != nil {
		return "", err
	}
	pool, volume, _ := strings.Cut(params.Filesystem, ":")
	err = e.cloud.change(ctx, params.Instance, func(put *api.InstancePut) bool {
		device := map[string]string{"type": "disk", "pool": pool, "source": volume, "path": path.Clean(params.Mount)}
		if put.Devices[volume]["path"] == device["path"] {
			return false
		}
		put.Devices[volume] = device
		return true
	})
	return params.Mount, err
}

// IsFilesystemAttached checks for the volume among the container's devices, or for the symlink in the
// container, which must be running.
func (e *environ) IsFilesystemAttached(ctx context.Context, params provider.AttachmentParams) (bool, error) {
	i, err := e.ownInstance(ctx, params.Instance)
	if err != nil {
		return false, err
	}
	if instance, dir, ok := inRoot(params.Filesystem); ok {
		if instance != params.Instance {
			return false, nil
		}
		status, err := e.cloud.exec(ctx, instance, "sh", "-c", `[ "$(readlink "$2")" = "$1" ] && [ -d "$1" ]`, "sh", dir,
			params.Mount)
		if status == 1 {
			return false, nil
		}
		return err == nil, err
	}
	if _, err := volumePath(params.Filesystem); err != nil {
		return false, err
	}
	_, volume, _ := strings.Cut(params.Filesystem, ":")
	return i.Devices[volume]["path"] == path.Clean(params.Mount), nil
}

// DetachFilesystem removes the volume from the container, or removes the symlink.
func (e *environ) DetachFilesystem(ctx context.Context, params provider.AttachmentParams) error {
	_, err := e.ownInstance(ctx, params.Instance)
	if errors.Is(err, entity.NotProvisioned) {
		return nil
	} else if err != nil {
		return err
	}
	if instance, dir, ok := inRoot(params.Filesystem); ok {
		if instance != params.Instance {
			return nil
		}
		_, err := e.cloud.exec(ctx, instance, "sh", "-c", `[ "$(readlink "$2")" != "$1" ] || rm "$2"`, "sh", dir,
			params.Mount)
		return err
	}
	if _, err := volumePath(params.Filesystem); err != nil {
		return err
	}
	_, volume, _ := strings.Cut(params.Filesystem, ":")
	return e.cloud.change(ctx, params.Instance, func(put *api.InstancePut) bool {
		_, attached := put.Devices[volume]
		delete(put.Devices, volume)
		return attached
	})
}

// DestroyFilesystem deletes the volume, or the directory if its container exists.
func (e *environ) DestroyFilesystem(ctx context.Context, id string) error {
	if instance, dir, ok := inRoot(id); ok {
		_, err := e.ownInstance(ctx, instance)
		if err == nil {
			_, err = e.cloud.exec(ctx, instance, "rm", "-rf", "--", dir)
		}
		if errors.Is(err, entity.NotProvisioned) {
			return nil
		}
		return err
	}
	at, err := volumePath(id)
	if err != nil {
		return err
	}
	return e.cloud.deleteVolume(ctx, at)
}

// deleteVolume deletes the volume with an API path; nil if it does not exist.
func (c *Cloud) deleteVolume(ctx context.Context, at string) error {
	if _, err := c.client.do(ctx, http.MethodDelete, at, nil, nil); !isNotFound(err) {
		return err
	}
	return nil
}

// ReleaseFilesystem removes our tags from the volume, so that nothing deletes it. A directory in a
// container is kept until the container is deleted.
func (e *environ) ReleaseFilesystem(ctx context.Context, id string) error {
	if _, _, ok := inRoot(id); ok {
		return nil
	}
	at, err := volumePath(id)
	if err != nil {
		return err
	}
	return e.cloud.releaseVolume(ctx, at)
}

// releaseVolume removes our tags from the volume with an API path; nil if it does not exist.
func (c *Cloud) releaseVolume(ctx context.Context, at string) error {
	var v api.StorageVolume
	if err := c.client.get(ctx, at, nil, &v); isNotFound(err) {
		return nil
	} else if err != nil {
		return err
	}
	if _, tagged := v.Config[controllerKey]; !tagged {
		return nil
	}
	for _, key := range []string{controllerKey, modelKey, storageKey} {
		delete(v.Config, key)
	}
	v.Description += " (released)"
	_, err := c.client.do(ctx, http.MethodPut, at, nil, v.Writable())
	return err
}

// ImportID implements provider.Filesystems: a released volume keeps its name.
func (e *environ) ImportID(id string) string {
	if _, _, ok := inRoot(id); ok {
		return ""
	}
	return id
}

// ImportFilesystem tags an untagged volume as the model's. It also accepts volumes with the model's tags
// that it tagged before: their names differ from those of volumes created by juju.
func (e *environ) ImportFilesystem(ctx context.Context, params provider.ImportParams) (f entity.Filesystem, err error) {
	c := e.cloud
	f.ID = params.ID
	at, err := volumePath(params.ID)
	switch {
	case params.Pool.Provider != "lxd":
		return f, provider.NoImport(params.Pool)
	case err != nil || strings.Contains(params.ID, "/"):
		return f, entity.WithHint(entity.Errorf(entity.Invalid, "%q is not a filesystem of this cloud", params.ID),
			"The form is POOL:VOLUME: see lxc storage volume list POOL")
	}
	var v api.StorageVolume
	etag, err := c.client.getTagged(ctx, at, nil, &v)
	if isNotFound(err) {
		return f, entity.WithHint(entity.Errorf(entity.NotFound, "filesystem %q not found", params.ID),
			"To list the volumes: lxc storage volume list POOL")
	} else if err != nil {
		return f, err
	}
	_, tagged := v.Config[controllerKey]
	switch {
	case v.ContentType != "" && v.ContentType != "filesystem":
		return f, entity.Errorf(entity.NotSupported, "volume %q is of kind %s, not filesystem", params.ID, v.ContentType)
	case tagged && !c.owns(v.Config, e.config.Model):
		return f, entity.Errorf(entity.InUse, "filesystem %q is storage of model %s of controller %s", params.ID,
			v.Config[modelKey], v.Config[controllerKey])
	case tagged && v.Name == e.volumeName(v.Config[storageKey]):
		return f, entity.Errorf(entity.InUse, "filesystem %q belongs to storage %s", params.ID, v.Config[storageKey])
	case len(v.UsedBy) > 0:
		return f, entity.Errorf(entity.InUse, "filesystem %q is in use by %s", params.ID, strings.Join(v.UsedBy, ", "))
	}
	if f.Size, err = c.volumeSize(ctx, v, params.ID); err != nil {
		return f, err
	}
	put := v.Writable()
	if put.Config == nil {
		put.Config = map[string]string{}
	}
	put.Config[controllerKey], put.Config[modelKey] = e.config.Controller, e.config.Model
	put.Config[storageKey], put.Description = params.Storage, e.describe(params.Storage)
	_, err = c.client.doIf(ctx, http.MethodPut, at, nil, etag, put)
	return f, err
}

// volumeSize returns the size of a volume in MiB; that of its pool if the volume has no limit.
func (c *Cloud) volumeSize(ctx context.Context, v api.StorageVolume, id string) (uint64, error) {
	if n := mib(v.Config["size"]); n > 0 {
		return n, nil
	}
	pool, _, _ := strings.Cut(id, ":")
	room, err := c.space(ctx, pool)
	return room.Total >> 20, err
}

// space returns the size of a pool and how much of it is used, in bytes.
func (c *Cloud) space(ctx context.Context, pool string) (api.ResourcesStoragePoolSpace, error) {
	var room api.ResourcesStoragePool
	err := c.client.get(ctx, "/1.0/storage-pools/"+url.PathEscape(pool)+"/resources", nil, &room)
	return room.Space, err
}

// Space returns the name of the pool for root disks and storage, how much of it is free, and its size, in bytes.
func (c *Cloud) Space(ctx context.Context) (pool string, free, size uint64, err error) {
	if pool, err = c.pool(ctx); err != nil {
		return "", 0, 0, err
	}
	room, err := c.space(ctx, pool)
	return pool, room.Total - min(room.Used, room.Total), room.Total, err
}

// removeVolumes deletes or releases the volumes of a model, or of the whole controller if model is "".
func (c *Cloud) removeVolumes(ctx context.Context, model string, destroy bool) error {
	remove := c.releaseVolume
	if destroy {
		remove = c.deleteVolume
	}
	ids, err := c.volumes(ctx, model)
	if err != nil {
		return err
	}
	for _, id := range ids {
		at, err := volumePath(id)
		if err == nil {
			err = remove(ctx, at)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Volumes returns the IDs ("POOL:VOLUME") of all volumes of the controller's models.
func (c *Cloud) Volumes(ctx context.Context) ([]string, error) { return c.volumes(ctx, "") }

// volumes returns the IDs of the volumes of a model, or of the whole controller if model is "".
func (c *Cloud) volumes(ctx context.Context, model string) (ids []string, err error) {
	var pools []api.StoragePool
	if err := c.client.get(ctx, "/1.0/storage-pools", recursion(1), &pools); err != nil {
		return nil, err
	}
	for _, pool := range pools {
		var all []api.StorageVolume
		if err := c.client.get(ctx, volumesPath(pool.Name), recursion(1), &all); err != nil {
			return nil, err
		}
		for _, v := range all {
			if c.owns(v.Config, model) {
				ids = append(ids, pool.Name+":"+v.Name)
			}
		}
	}
	return ids, nil
}

// change changes a container's configuration under its lock. The error is retryable if another client changed it
// concurrently.
func (c *Cloud) change(ctx context.Context, name string, edit func(*api.InstancePut) bool) error {
	unlock, err := c.busy.Lock(ctx, name)
	if err != nil {
		return err
	}
	defer unlock()
	var i api.Instance
	etag, err := c.client.getTagged(ctx, instancePath(name), nil, &i)
	if err != nil {
		return err
	}
	put := i.Writable()
	if put.Devices == nil {
		put.Devices = map[string]map[string]string{}
	}
	if !edit(&put) {
		return nil
	}
	_, err = c.client.doIf(ctx, http.MethodPut, instancePath(name), nil, etag, put)
	return err
}

// exec runs a command in a running container and returns its exit status. If that is not 0, the error
// is retryable.
func (c *Cloud) exec(ctx context.Context, name string, command ...string) (status int, err error) {
	op, err := c.client.do(ctx, http.MethodPost, instancePath(name, "exec"), nil, api.InstanceExecPost{Command: command})
	if err != nil {
		return 0, err
	}
	code, _ := op.Metadata["return"].(float64)
	if code != 0 {
		err = provider.Retryable(fmt.Errorf("%s failed in container %s with status %v", command[0], name, code))
	}
	return int(code), err
}
