package controller

import (
	"context"
	"io"
	"os"
	"time"

	"juju/agent"
	"juju/agent/backup"
	"juju/state/entity"
)

// backupPattern is the name of the temporary file with a backup.
const backupPattern = "juju-backup-*"

// backups makes backups of this controller. They have its configuration, with all its keys and passwords, and then its
// store.
type backups struct{ *running }

// Backup implements facades.Backups. The store is read at one moment, whatever the speed of the client, so the backup
// is written to a file first. Its name is removed at once, so that nothing of it is left when the file is closed.
func (b backups) Backup(ctx context.Context, plain bool, progress func(bytes int64)) (_ *os.File, err error) {
	if !b.backingUp.TryLock() {
		return nil, entity.WithHint(entity.Errorf(entity.Unavailable, "another backup is being made"),
			"Try again when it is done.")
	}
	defer b.backingUp.Unlock()
	file, err := os.CreateTemp(b.own, backupPattern)
	if err != nil {
		return nil, noRoom(err, b.own, "back up")
	}
	defer func() {
		if err != nil {
			file.Close()
			err = noRoom(err, b.own, "back up")
		}
	}()
	if err := os.Remove(file.Name()); err != nil {
		return nil, err
	}
	conf, err := b.restorable(ctx, plain)
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	w, err := backup.NewWriter(&progressWriter{Writer: file, tell: progress, told: begun}, backup.Manifest{
		Controller: b.conf.Controller, Name: b.ctrl.Name(), Cloud: b.conf.Cloud, Version: agent.Version,
		Made: begun.UTC().Truncate(time.Second)})
	if err != nil {
		return nil, err
	}
	if err := w.Add(backup.ConfigName, conf); err != nil {
		return nil, err
	}
	if err := b.store.Export(ctx, nil, w.Add); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	_, err = file.Seek(0, io.SeekStart)
	return file, err
}

// A progressWriter tells how much has been written, about once a second.
type progressWriter struct {
	io.Writer
	tell  func(bytes int64)
	bytes int64
	told  time.Time
}

func (w *progressWriter) Write(p []byte) (n int, err error) {
	n, err = w.Writer.Write(p)
	w.bytes += int64(n)
	if now := time.Now(); now.Sub(w.told) >= time.Second {
		w.told = now
		w.tell(w.bytes)
	}
	return n, err
}

// restorable returns the configuration for a backup: that of the controller that bootstrap started, whichever makes the
// backup. If it is another one, it doesn't know that one's password, which Restore replaces. If that controller was
// replaced, the configuration is that of the one which makes the backup. A plain one lacks the key of secrets.
func (b backups) restorable(ctx context.Context, plain bool) ([]byte, error) {
	conf := b.conf
	if plain {
		conf.SecretKey = ""
	}
	conf.MongoURL = ""
	var err error
	if conf.Access, err = b.access(ctx, ""); err != nil {
		return nil, err
	}
	if conf.Machine == "" {
		return conf.marshal()
	}
	first := config{}.machine()
	known, err := b.ctrl.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	for _, n := range known {
		if n.ID == first && len(n.Addresses) > 0 {
			conf.Machine, conf.Nonce, conf.Password = "", "", ""
			conf.Address, conf.Addresses = n.Addresses[0], n.Addresses
		}
	}
	return conf.marshal()
}
