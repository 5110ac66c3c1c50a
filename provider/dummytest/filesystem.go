package dummytest

import (
	"context"
	"path"
	"strings"

	"juju/provider"
	"juju/state/entity"
)

// CreateFilesystem makes nothing: a filesystem of the dummy cloud has only a name.
func (e *environ) CreateFilesystem(
	ctx context.Context, params provider.FilesystemParams,
) (f entity.Filesystem, err error) {
	op := Op{Method: "CreateFilesystem"}
	defer e.done(&op, &err)
	if err := e.begin(ctx, &op); err != nil {
		return f, err
	}
	return entity.Filesystem{ID: "fs-" + strings.ReplaceAll(params.Storage, "/", "-"), Size: params.Size}, nil
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

// DetachFilesystem forgets the attachment.
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

// DestroyFilesystem only fails when a fault says so, as does the method below.
func (e *environ) DestroyFilesystem(ctx context.Context, _ string) (err error) {
	op := Op{Method: "DestroyFilesystem"}
	defer e.done(&op, &err)
	return e.begin(ctx, &op)
}

// ReleaseFilesystem does nothing else.
func (e *environ) ReleaseFilesystem(ctx context.Context, _ string) (err error) {
	op := Op{Method: "ReleaseFilesystem"}
	defer e.done(&op, &err)
	return e.begin(ctx, &op)
}
