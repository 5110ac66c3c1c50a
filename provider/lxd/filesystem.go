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

// A filesystem of the cloud's own pool is a custom storage volume of LXD's; its ID is "POOL:VOLUME".
// One of the pool rootfs is a directory in a container, and its ID is "INSTANCE/NAME".

// volumePath returns the path in the API of the volume with an ID. The error is Invalid if there can
// be none.
func volumePath(id string) (string, error) {
	pool, volume, ok := strings.Cut(id, ":")
	if !ok || pool == "" || volume == "" {
		return "", entity.Errorf(entity.Invalid, "%q is no filesystem of this cloud", id)
	}
	return volumesPath(pool) + "/" + url.PathEscape(volume), nil
}

func volumesPath(pool string) string {
	return "/1.0/storage-pools/" + url.PathEscape(pool) + "/volumes/custom"
}

// inRoot returns the container and the directory of a filesystem of the pool rootfs; ok is false for
// others.
func inRoot(id string) (instance, dir string, ok bool) {
	instance, name, ok := strings.Cut(id, "/")
	if ok = ok && instance != "" && name != "" && !strings.Contains(name, "/") && name != "." && name != ".."; !ok {
		return "", "", false
	}
	return instance, path.Join(install.Root, "filesystems", name), true
}

// CreateFilesystem makes a storage volume, or a directory in the container.
func (e *environ) CreateFilesystem(ctx context.Context, params provider.FilesystemParams) (f entity.Filesystem,
	err error) {
	c := e.cloud
	f.Size = params.Size
	switch params.Pool.Provider {
	case "lxd":
	case entity.PoolRootFS:
		if _, err := e.mine(ctx, params.Instance); err != nil {
			return f, err
		}
		f.ID = params.Instance + "/" + dashed(params.Storage)
		_, dir, _ := inRoot(f.ID)
		_, err := c.exec(ctx, params.Instance, "mkdir", "-p", "-m", "0700", dir)
		return f, err
	default:
		return f, entity.Errorf(entity.NotSupported, "this cloud has no storage provider %q", params.Pool.Provider)
	}
	if len(params.Pool.Attributes) > 0 {
		return f, entity.Errorf(entity.NotSupported, "storage provider lxd has no attributes; pool %q has some",
			params.Pool.Name)
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
	if err = c.client.get(ctx, at, nil, nil); err == nil || !isGone(err) {
		return f, err
	}
	var room api.ResourcesStoragePool
	if err := c.client.get(ctx, "/1.0/storage-pools/"+url.PathEscape(pool)+"/resources", nil, &room); err != nil {
		return f, err
	}
	if free := (room.Space.Total - room.Space.Used) >> 20; free < params.Size {
		return f, fmt.Errorf("filesystem is not big enough (%dM < %dM)", free, params.Size)
	}
	_, err = c.client.do(ctx, http.MethodPost, volumesPath(pool), nil, api.StorageVolumesPost{
		Name: volume, Type: "custom", ContentType: "filesystem",
		StorageVolumePut: api.StorageVolumePut{
			Description: e.describe(params.Storage),
			Config: map[string]string{"size": size(params.Size), controllerKey: e.config.Controller,
				modelKey: e.config.Model, storageKey: params.Storage},
		},
	})
	return f, err
}

// dashed returns the id of a storage instance as names have it.
func dashed(storage string) string { return strings.ReplaceAll(storage, "/", "-") }

// volumeName returns the name of the volume that is made for a storage instance.
func (e *environ) volumeName(storage string) string {
	return prefix(e.config.Model) + dashed(storage) + "-" + digest(e.config.Controller, e.config.Model, storage)
}

// describe returns the description of the volume that a storage instance has.
func (e *environ) describe(storage string) string {
	return "juju storage " + storage + " of model " + e.config.Model
}

// mine returns an instance of the model.
func (e *environ) mine(ctx context.Context, name string) (i api.Instance, err error) {
	if name != "" {
		i, err = e.cloud.instance(ctx, name)
		if err == nil && e.cloud.owns(i.Config, e.config.Model) || err != nil && !isGone(err) {
			return i, err
		}
	}
	return i, entity.Errorf(entity.NotProvisioned, "its machine has no instance")
}

// linkScript makes $2 a link to $1, unless something else is there: its status is then 3.
const linkScript = `set -e
[ "$(readlink "$2")" != "$1" ] || exit 0
[ ! -e "$2" ] || exit 3
mkdir -p "$(dirname "$2")"
ln -sfn "$1" "$2"`

// AttachFilesystem adds the volume to the container, mounted at the mount point; a directory in the
// container is linked from there.
func (e *environ) AttachFilesystem(ctx context.Context, params provider.AttachmentParams) (string, error) {
	if _, err := e.mine(ctx, params.Instance); err != nil {
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

// IsFilesystemAttached looks for the volume among the container's devices; for a directory in the
// container, which must run, at the link.
func (e *environ) IsFilesystemAttached(ctx context.Context, params provider.AttachmentParams) (bool, error) {
	i, err := e.mine(ctx, params.Instance)
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

// DetachFilesystem takes the volume from the container, or removes the link.
func (e *environ) DetachFilesystem(ctx context.Context, params provider.AttachmentParams) error {
	_, err := e.mine(ctx, params.Instance)
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
		_, there := put.Devices[volume]
		delete(put.Devices, volume)
		return there
	})
}

// DestroyFilesystem deletes the volume, or the directory while its container runs.
func (e *environ) DestroyFilesystem(ctx context.Context, id string) error {
	if instance, dir, ok := inRoot(id); ok {
		_, err := e.mine(ctx, instance)
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

// deleteVolume deletes the volume with a path in the API; nil if there is none.
func (c *Cloud) deleteVolume(ctx context.Context, at string) error {
	if _, err := c.client.do(ctx, http.MethodDelete, at, nil, nil); !isGone(err) {
		return err
	}
	return nil
}

// ReleaseFilesystem takes our tags from the volume, so that nothing deletes it. A directory in a
// container stays there, and goes with it.
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

// releaseVolume takes our tags from the volume with a path in the API; nil if there is none.
func (c *Cloud) releaseVolume(ctx context.Context, at string) error {
	var v api.StorageVolume
	if err := c.client.get(ctx, at, nil, &v); isGone(err) {
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

// ImportID implements provider.Filesystems: a volume that is released keeps its name.
func (e *environ) ImportID(id string) string {
	if _, _, ok := inRoot(id); ok {
		return ""
	}
	return id
}

// ImportFilesystem gives a volume our tags that has none. Of the volumes with the model's tags it takes
// those that it has taken before, which it tells by their names.
func (e *environ) ImportFilesystem(ctx context.Context, params provider.ImportParams) (f entity.Filesystem, err error) {
	c := e.cloud
	f.ID = params.ID
	at, err := volumePath(params.ID)
	switch {
	case params.Pool.Provider != "lxd":
		return f, provider.NoImport(params.Pool)
	case err != nil || strings.Contains(params.ID, "/"):
		return f, entity.WithHint(entity.Errorf(entity.Invalid, "%q is no filesystem of this cloud", params.ID),
			"It has the form POOL:VOLUME: see lxc storage volume list POOL")
	}
	var v api.StorageVolume
	etag, err := c.client.getTagged(ctx, at, nil, &v)
	if isGone(err) {
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
		return f, entity.Errorf(entity.InUse, "filesystem %q is made for storage %s", params.ID, v.Config[storageKey])
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

// volumeSize returns the size of a volume in MiB; of one without a limit, that of its pool.
func (c *Cloud) volumeSize(ctx context.Context, v api.StorageVolume, id string) (uint64, error) {
	if n := mib(v.Config["size"]); n > 0 {
		return n, nil
	}
	pool, _, _ := strings.Cut(id, ":")
	var room api.ResourcesStoragePool
	err := c.client.get(ctx, "/1.0/storage-pools/"+url.PathEscape(pool)+"/resources", nil, &room)
	return room.Space.Total >> 20, err
}

// endVolumes deletes or releases the volumes of a model, or with "" those of the controller.
func (c *Cloud) endVolumes(ctx context.Context, model string, destroy bool) error {
	end := c.releaseVolume
	if destroy {
		end = c.deleteVolume
	}
	ids, err := c.volumes(ctx, model)
	if err != nil {
		return err
	}
	for _, id := range ids {
		at, err := volumePath(id)
		if err == nil {
			err = end(ctx, at)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Volumes returns the IDs of the filesystems of all models of the controller that outlive their
// instances: "POOL:VOLUME".
func (c *Cloud) Volumes(ctx context.Context) ([]string, error) { return c.volumes(ctx, "") }

// volumes returns the IDs of the volumes of a model, or with "" of those of the controller.
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

// change changes a container's configuration, one change at a time. The error may pass if someone else
// changes it too.
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

// exec runs a command in a container, which must run, and returns its exit status. The error may
// pass if that is not 0.
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
