package storage

import (
	"fmt"
	"path"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A disk is the file system below Pebble. If a file can't be written, the disk fails the store and hides the
// error from Pebble, which would otherwise retry forever, panic with its locks held, or continue with an
// inconsistent list of files. The disk also records how far each log is synced, so that a damaged log can be
// distinguished from one whose end never reached the disk.
type disk struct {
	vfs.FS
	store  *Store
	synced *synced
}

// wrote returns the result of a write. If the write failed, it fails the store and never returns.
func (d *disk) wrote(err error) error {
	if err == nil {
		return nil
	}
	d.store.fail(fmt.Errorf("cannot write the store: %w", err))
	select {}
}

// logged reports whether a file is a log whose synced length is recorded: a write-ahead log or a manifest.
func logged(name string) bool {
	return strings.HasSuffix(name, ".log") || strings.HasPrefix(name, "MANIFEST-")
}

// file tracks the writes to a file that is new, or reused from its start.
func (d *disk) file(name string, f vfs.File, err error) (vfs.File, error) {
	if d.wrote(err) != nil {
		return nil, err
	}
	name = path.Base(name)
	d.synced.forget(name)
	return &diskFile{File: f, disk: d, name: name, logged: logged(name)}, nil
}

func (d *disk) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := d.FS.Create(name, category)
	return d.file(name, f, err)
}

func (d *disk) ReuseForWrite(old, name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	d.synced.forget(path.Base(old))
	f, err := d.FS.ReuseForWrite(old, name, category)
	return d.file(name, f, err)
}

// Open opens a file for reading. When Pebble opens a log, the log is verified first.
func (d *disk) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	f, err := d.FS.Open(name, opts...)
	if err != nil {
		return nil, err
	}
	if err := d.synced.verify(path.Base(name), f); err != nil {
		f.Close()
		return nil, err
	}
	if !logged(path.Base(name)) {
		return f, nil
	}
	// The check has moved the file's offset.
	if err := f.Close(); err != nil {
		return nil, err
	}
	return d.FS.Open(name, opts...)
}

func (d *disk) Remove(name string) error {
	d.synced.forget(path.Base(name))
	return d.FS.Remove(name)
}

func (d *disk) Rename(old, name string) error {
	d.synced.forget(path.Base(old))
	d.synced.forget(path.Base(name))
	return d.wrote(d.FS.Rename(old, name))
}

func (d *disk) Link(old, name string) error { return d.wrote(d.FS.Link(old, name)) }

func (d *disk) Unwrap() vfs.FS { return d.FS }

// A diskFile is a file that is being written, by one goroutine at a time.
type diskFile struct {
	vfs.File
	disk    *disk
	name    string
	logged  bool
	written int64
}

func (f *diskFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	f.written += int64(n)
	return n, f.disk.wrote(err)
}

func (f *diskFile) Preallocate(offset, length int64) error {
	return f.disk.wrote(f.File.Preallocate(offset, length))
}

func (f *diskFile) Sync() error { return f.isSynced(f.File.Sync()) }

func (f *diskFile) SyncData() error { return f.isSynced(f.File.SyncData()) }

func (f *diskFile) SyncTo(length int64) (full bool, err error) {
	full, err = f.File.SyncTo(length)
	if err != nil || !full {
		return full, f.disk.wrote(err)
	}
	return true, f.isSynced(nil)
}

func (f *diskFile) isSynced(err error) error {
	if err == nil && f.logged {
		err = f.disk.synced.note(f.name, f.written)
	}
	return f.disk.wrote(err)
}

func (f *diskFile) Close() error { return f.disk.wrote(f.File.Close()) }
