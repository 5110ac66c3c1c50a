package dummytest

import (
	"context"
	"path"
	"strings"

	"juju/provider"
	"juju/state/entity"
)

// A filesystem of the dummy cloud has no content.
type filesystem struct {
	size     uint64
	released bool
	imported bool // by the owning model
}

// filesystemKey identifies a filesystem and the model that owns or released it.
type filesystemKey struct {
	provider.Config
	id string
}

// CreateFilesystem records the filesystem.
func (e *environ) CreateFilesystem(
	ctx context.Context, params provider.FilesystemParams,
) (f entity.Filesystem, err error) {
	op := Op{Method: "CreateFilesystem"}
	defer e.done(&op, &err)
	if err := e.begin(ctx, &op); err != nil {
		return f, err
	}
	f = entity.Filesystem{ID: "fs-" + strings.ReplaceAll(params.Storage, "/", "-"), Size: params.Size}
	e.cloud.mu.Lock()
	defer e.cloud.mu.Unlock()
	e.cloud.filesystems[filesystemKey{e.config, f.ID}] = &filesystem{size: f.Size}
	return f, nil
}

// AttachFilesystem returns the mount point, below the instance's name.
func (e *environ) AttachFilesystem(ctx context.Context, params provider.AttachmentParams) (_ string, err error) {
	op := Op{Method: "AttachFilesystem"}
	defer e.done(&op, &err)
	if err := e.begin(ctx, &op); err != nil {
		return "", err
	}
	e.cloud.mu.Lock()
	defer e.cloud.mu.Unlock()
	e.cloud.attached[attachment{e.config, params}] = true
	return path.Join("/", params.Instance, params.Mount), nil
}

// DetachFilesystem deletes the attachment.
func (e *environ) DetachFilesystem(ctx context.Context, params provider.AttachmentParams) (err error) {
	op := Op{Method: "DetachFilesystem"}
	defer e.done(&op, &err)
	if err := e.begin(ctx, &op); err != nil {
		return err
	}
	e.cloud.mu.Lock()
	defer e.cloud.mu.Unlock()
	delete(e.cloud.attached, attachment{e.config, params})
	return nil
}

// IsFilesystemAttached reports whether the filesystem was attached and not detached.
func (e *environ) IsFilesystemAttached(ctx context.Context, params provider.AttachmentParams) (_ bool, err error) {
	op := Op{Method: "IsFilesystemAttached"}
	defer e.done(&op, &err)
	if err := e.begin(ctx, &op); err != nil {
		return false, err
	}
	if _, err := e.cloud.zoneOf(e.config, params.Instance); err != nil {
		return false, entity.Errorf(entity.NotProvisioned, "its machine has no instance")
	}
	e.cloud.mu.Lock()
	defer e.cloud.mu.Unlock()
	return e.cloud.attached[attachment{e.config, params}], nil
}

// DestroyFilesystem deletes the filesystem.
func (e *environ) DestroyFilesystem(ctx context.Context, id string) (err error) {
	op := Op{Method: "DestroyFilesystem"}
	defer e.done(&op, &err)
	if err := e.begin(ctx, &op); err != nil {
		return err
	}
	e.cloud.mu.Lock()
	defer e.cloud.mu.Unlock()
	delete(e.cloud.filesystems, filesystemKey{e.config, id})
	return nil
}

// ReleaseFilesystem makes the filesystem available to other models.
func (e *environ) ReleaseFilesystem(ctx context.Context, id string) (err error) {
	op := Op{Method: "ReleaseFilesystem"}
	defer e.done(&op, &err)
	if err := e.begin(ctx, &op); err != nil {
		return err
	}
	e.cloud.mu.Lock()
	defer e.cloud.mu.Unlock()
	if f := e.cloud.filesystems[filesystemKey{e.config, id}]; f != nil {
		f.released = true
	}
	return nil
}

// ImportFilesystem transfers a released filesystem to the model.
func (e *environ) ImportFilesystem(ctx context.Context, params provider.ImportParams) (f entity.Filesystem, err error) {
	op := Op{Method: "ImportFilesystem"}
	defer e.done(&op, &err)
	if err := e.begin(ctx, &op); err != nil {
		return f, err
	}
	if params.Pool.Provider == entity.PoolRootFS {
		return f, provider.NoImport(params.Pool)
	}
	e.cloud.mu.Lock()
	defer e.cloud.mu.Unlock()
	for key, has := range e.cloud.filesystems {
		switch again := has.imported && key.Config == e.config; {
		case key.id != params.ID:
		case !has.released && !again:
			return f, entity.Errorf(entity.InUse, "filesystem %q is storage of model %s", params.ID, key.Model)
		default:
			delete(e.cloud.filesystems, key)
			e.cloud.filesystems[filesystemKey{e.config, params.ID}] = &filesystem{size: has.size, imported: true}
			return entity.Filesystem{ID: params.ID, Size: has.size}, nil
		}
	}
	return f, entity.Errorf(entity.NotFound, "filesystem %q not found", params.ID)
}

// CheckPool implements provider.Filesystems.
func (e *environ) CheckPool(pool entity.StoragePool) error {
	if pool.Provider == entity.PoolRootFS {
		return provider.CheckAttributes(pool)
	}
	return provider.CheckAttributes(pool, "storage-dir")
}

// poolSize is in MiB.
const poolSize = 100 << 20

// PoolSize implements provider.Filesystems.
func (e *environ) PoolSize(context.Context, entity.StoragePool) (uint64, string, error) {
	return poolSize, "the dummy", nil
}

// ImportID implements provider.Filesystems.
func (e *environ) ImportID(id string) string { return id }
