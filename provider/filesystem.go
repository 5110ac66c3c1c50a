package provider

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"juju/state/entity"
)

// Filesystems manages the storage of one model on one cloud. Its methods are idempotent, and safe for
// concurrent use on different filesystems, even of one instance. As in Environ, errors give only the
// reason.
type Filesystems interface {
	// CheckPool returns an Invalid error if a pool, whose provider the cloud has, has attributes that the cloud does not
	// know. It asks no cloud.
	CheckPool(pool entity.StoragePool) error
	// PoolSize returns the size in MiB of what a pool's filesystems are in, used or free, and its name for users: no filesystem
	// can be larger. It is 0 if the cloud does not know.
	PoolSize(ctx context.Context, pool entity.StoragePool) (size uint64, of string, err error)
	// CreateFilesystem creates an empty filesystem of at least the requested size for a storage
	// instance. If it already exists, it is returned with its data.
	CreateFilesystem(ctx context.Context, params FilesystemParams) (entity.Filesystem, error)
	// AttachFilesystem makes a filesystem available on an instance and returns its path there: the
	// requested mount point, if the cloud supports that.
	AttachFilesystem(ctx context.Context, params AttachmentParams) (location string, err error)
	// DetachFilesystem undoes AttachFilesystem. It succeeds if the filesystem is not attached or the
	// instance no longer exists.
	DetachFilesystem(ctx context.Context, params AttachmentParams) error
	// IsFilesystemAttached reports whether a filesystem is attached as AttachFilesystem would attach it.
	// The error is NotProvisioned if the instance does not exist.
	IsFilesystemAttached(ctx context.Context, params AttachmentParams) (bool, error)
	// DestroyFilesystem deletes a filesystem and its data; nil if it does not exist.
	DestroyFilesystem(ctx context.Context, id string) error
	// ReleaseFilesystem stops managing a filesystem. Its data then survives the destruction of the model
	// and the controller.
	ReleaseFilesystem(ctx context.Context, id string) error
	// ImportFilesystem adds an existing filesystem, which no model owns, to the model with its data. The
	// error is NotFound if it does not exist, InUse if it is owned or attached, and Invalid or
	// NotSupported if the pool can't hold it. It can be repeated, even for a different storage instance:
	// the caller ensures that no storage instance has recorded the filesystem.
	ImportFilesystem(ctx context.Context, params ImportParams) (entity.Filesystem, error)
	// ImportID returns the id to pass to ImportFilesystem once a filesystem of the model is released; ""
	// if it is deleted with its instance.
	ImportID(id string) string
}

// FilesystemParams describes a new filesystem.
type FilesystemParams struct {
	Storage  string             // the id of the storage instance, "data/0"
	Pool     entity.StoragePool // its provider is the cloud's own, or entity.PoolRootFS
	Size     uint64             // MiB
	Instance string             // the instance to create it on, if the provider is entity.PoolRootFS
}

// NotBigEnough is the error for a filesystem for which there is too little room; where says in what. free is in MiB.
func NotBigEnough(params FilesystemParams, free uint64, where string) error {
	name, _, _ := strings.Cut(params.Storage, "/")
	return entity.WithHint(fmt.Errorf("filesystem is not big enough (%dM < %dM)", free, params.Size),
		"Make room %s for the size that storage %q asks for, %dM; or deploy with less: --storage %[2]s=SIZE",
		where, name, params.Size)
}

// ImportParams describes a filesystem to import.
type ImportParams struct {
	ID      string // the cloud's id, as given by the user
	Storage string // the id of the storage instance that will use it
	Pool    entity.StoragePool
}

// CheckAttributes returns an Invalid error if a pool has attributes other than those known.
func CheckAttributes(pool entity.StoragePool, known ...string) error {
	for _, key := range slices.Sorted(maps.Keys(pool.Attributes)) {
		if !slices.Contains(known, key) {
			return entity.Errorf(entity.Invalid, "storage provider %q has no attribute %q", pool.Provider, key)
		}
	}
	return nil
}

// NoImport returns ImportFilesystem's error for a pool whose filesystems are deleted with their instances.
func NoImport(pool entity.StoragePool) error {
	return entity.WithHint(entity.Errorf(entity.NotSupported, "storage provider %q has no filesystems to import",
		pool.Provider), "They are deleted with their machines. To list the other pools: juju storage-pools")
}

// AttachmentParams describes an attachment of a filesystem to an instance.
type AttachmentParams struct {
	Filesystem string // the cloud's id
	Instance   string
	Mount      string // the path that the charm requests
}
