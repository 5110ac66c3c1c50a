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
	return path.Join("/", params.Instance, params.Mount), e.begin(ctx, &op)
}

// DetachFilesystem only fails when a fault says so, as do the methods below.
func (e *environ) DetachFilesystem(ctx context.Context, _ provider.AttachmentParams) (err error) {
	op := Op{Method: "DetachFilesystem"}
	defer e.done(&op, &err)
	return e.begin(ctx, &op)
}

// DestroyFilesystem does nothing.
func (e *environ) DestroyFilesystem(ctx context.Context, _ string) (err error) {
	op := Op{Method: "DestroyFilesystem"}
	defer e.done(&op, &err)
	return e.begin(ctx, &op)
}

// ReleaseFilesystem does nothing.
func (e *environ) ReleaseFilesystem(ctx context.Context, _ string) (err error) {
	op := Op{Method: "ReleaseFilesystem"}
	defer e.done(&op, &err)
	return e.begin(ctx, &op)
}
