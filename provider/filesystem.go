package provider

import (
	"context"

	"juju/state/entity"
)

// Filesystems are the storage of one model on one cloud. Each method can be repeated after an
// interruption, and its error gives only the reason, as those of Environ do. They are safe for concurrent
// use: about different filesystems, also on one instance.
type Filesystems interface {
	// CreateFilesystem makes an empty filesystem for a storage instance, with at least the size
	// that is asked for. Repeated, it returns the one that exists, with its data.
	CreateFilesystem(ctx context.Context, params FilesystemParams) (entity.Filesystem, error)
	// AttachFilesystem makes a filesystem usable on an instance, and returns the path there at
	// which it is: that of the mount point, as far as the cloud can have it there.
	AttachFilesystem(ctx context.Context, params AttachmentParams) (location string, err error)
	// DetachFilesystem undoes AttachFilesystem. A filesystem that is not attached there, or an
	// instance that is gone, counts as detached.
	DetachFilesystem(ctx context.Context, params AttachmentParams) error
	// IsFilesystemAttached reports whether a filesystem is attached as AttachFilesystem does it. The error
	// is NotProvisioned if the instance is not there.
	IsFilesystemAttached(ctx context.Context, params AttachmentParams) (bool, error)
	// DestroyFilesystem removes a filesystem with its data; nil if it does not exist.
	DestroyFilesystem(ctx context.Context, id string) error
	// ReleaseFilesystem gives up a filesystem and keeps its data for the user, also when the
	// model or the controller is destroyed.
	ReleaseFilesystem(ctx context.Context, id string) error
	// ImportFilesystem makes a filesystem the model's that no model has, with its data. The error is
	// NotFound if it does not exist, InUse if it is another's or attached, and Invalid or NotSupported if
	// the pool can have no such filesystem. Repeated, also for another storage instance, it returns the
	// same: the caller knows that no instance has recorded it.
	ImportFilesystem(ctx context.Context, params ImportParams) (entity.Filesystem, error)
	// ImportID returns the id by which ImportFilesystem takes a filesystem of the model once that is
	// released; "" if it goes with its instance.
	ImportID(id string) string
}

// FilesystemParams is what a new filesystem is made of.
type FilesystemParams struct {
	Storage  string             // the id of the storage instance, "data/0"
	Pool     entity.StoragePool // its provider is the cloud's own, or entity.PoolRootFS
	Size     uint64             // MiB
	Instance string             // that the filesystem is on, if the provider is entity.PoolRootFS
}

// ImportParams says which filesystem is taken in, and for what.
type ImportParams struct {
	ID      string // the cloud's id, as the user gives it
	Storage string // the id of the storage instance that is to have it
	Pool    entity.StoragePool
}

// NoImport returns the error of ImportFilesystem for a pool whose filesystems go with their instances.
func NoImport(pool entity.StoragePool) error {
	return entity.WithHint(entity.Errorf(entity.NotSupported, "storage provider %q has no filesystems to import",
		pool.Provider), "They go with their machines. See what other pools there are: juju storage-pools")
}

// AttachmentParams says which filesystem is attached, and where.
type AttachmentParams struct {
	Filesystem string // the cloud's id
	Instance   string
	Mount      string // the path that the charm asks for
}
