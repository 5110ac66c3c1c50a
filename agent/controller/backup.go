package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"juju/agent"
	"juju/agent/backup"
	"juju/provider/local"
	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/modelconfig"
	"juju/state/mongo"
)

// backupPattern is the name of the temporary file with a backup.
const backupPattern = "juju-backup-*"

// backups makes backups of this controller. They have its configuration, with all its keys and passwords, and then its
// store.
type backups struct{ *running }

// Backup implements facades.Backups. The store is read at one moment, whatever the speed of the client, so the backup
// is written to a file first. Its name is removed at once, so that nothing of it is left when the file is closed.
func (b backups) Backup(ctx context.Context) (_ *os.File, err error) {
	if !b.backingUp.TryLock() {
		return nil, entity.WithHint(entity.Errorf(entity.Unavailable, "cannot back up: another backup is being made"),
			"Try again when it is done.")
	}
	defer b.backingUp.Unlock()
	file, err := os.CreateTemp(b.own, backupPattern)
	if err != nil {
		return nil, fmt.Errorf("cannot back up: %w", err)
	}
	defer func() {
		if err != nil {
			file.Close()
			err = noRoom(fmt.Errorf("cannot back up: %w", err), b.own)
		}
	}()
	if err := os.Remove(file.Name()); err != nil {
		return nil, err
	}
	conf, err := os.ReadFile(filepath.Join(b.own, configName))
	if err != nil {
		return nil, err
	}
	w, err := backup.NewWriter(file, backup.Manifest{Controller: b.conf.Controller, Name: b.ctrl.Name(), Cloud: b.conf.Cloud,
		Version: agent.Version, Made: time.Now().UTC().Truncate(time.Second)})
	if err != nil {
		return nil, err
	}
	if err := w.Add(configName, conf); err != nil {
		return nil, err
	}
	if err := b.store.Snapshot(ctx, func(s *mongo.Snapshot) error { return s.Export(w.Add) }); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	_, err = file.Seek(0, io.SeekStart)
	return file, err
}

// Restore creates the controller of a backup in the cloud's directory dir, without starting it. It fails if the
// directory already has one. If user is not "", that user gets a new password, which is returned.
func Restore(ctx context.Context, dir string, r io.Reader, user string, o Options) (*Bootstrapped, error) {
	made, err := restore(ctx, dir, r, user, o)
	if err != nil {
		err = noRoom(fmt.Errorf("cannot restore the controller: %w", err), dir)
	}
	return made, err
}

func restore(ctx context.Context, dir string, r io.Reader, user string, o Options) (_ *Bootstrapped, err error) {
	archive, err := backup.NewReader(r)
	if err != nil {
		return nil, err
	}
	if m := archive.Manifest(); m.Cloud != localCloud {
		return nil, entity.Errorf(entity.NotSupported, "controllers on cloud %q cannot be restored", m.Cloud)
	}
	own := local.ControllerDir(dir)
	if err := os.MkdirAll(own, 0o700); err != nil {
		return nil, err
	}
	if err := checkNone(own); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(filepath.Join(own, dbName)))
		}
	}()
	name, text, err := archive.Next()
	if err != nil && err != io.EOF {
		return nil, err
	}
	if name != configName {
		return nil, entity.Errorf(entity.Invalid, "the backup does not begin with %s", configName)
	}
	var conf config
	if err := json.Unmarshal(text, &conf); err != nil {
		return nil, err
	}
	store, err := makeStore(ctx, own, conf.Controller, "", o)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	if err := store.Import(ctx, archive.Next); err != nil {
		return nil, err
	}
	made := &Bootstrapped{Controller: conf.Controller, CACert: conf.CA.Cert, Addresses: conf.addresses()}
	if err := openRestored(ctx, store, user, made, o); err != nil {
		return nil, err
	}
	if err := store.Barrier(ctx); err != nil {
		return nil, err
	}
	return made, conf.write(own) // last, as in a bootstrap
}

// checkNone returns an error if a controller's own directory has a controller, or its store.
func checkNone(own string) error {
	for _, name := range []string{configName, dbName, mongoName} {
		if _, err := os.Lstat(filepath.Join(own, name)); err == nil {
			return entity.WithHint(entity.Errorf(entity.AlreadyExists, "the controller is there, in %s", own),
				"If it works, don't restore it. If it is damaged, end its processes and move it away: mv %s %s.damaged", own, own)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// openRestored opens the controller in a store, which also upgrades what an older version has stored, and completes its
// description.
func openRestored(ctx context.Context, store *mongo.Store, user string, made *Bootstrapped, o Options) error {
	ctrl, err := controller.Open(ctx, store, o.State)
	if err != nil {
		return err
	}
	defer ctrl.Close()
	rows, err := ctrl.Models(ctx)
	if err != nil {
		return err
	}
	made.Models = map[string]string{}
	for _, row := range rows {
		made.Models[row.Owner+"/"+row.Name] = row.UUID
		if err := keepStrays(ctx, ctrl, row.UUID); err != nil {
			return err
		}
	}
	if user != "" {
		made.Password = state.NewAgentPassword()
		_, err = ctrl.SetUserPassword(ctx, user, made.Password)
	}
	return err
}

// keepStrays changes a model's settings so that the provisioner doesn't stop instances which the model doesn't know:
// those of machines that were added since the backup.
func keepStrays(ctx context.Context, ctrl *controller.Controller, model string) error {
	st, err := ctrl.Model(ctx, model)
	if entity.IsNotFound(err) {
		return nil // it is not ready, or is being removed
	} else if err != nil {
		return err
	}
	config, err := st.Settings().Config(ctx)
	if err != nil || !config.HarvestsUnknown() {
		return err
	}
	mode := modelconfig.HarvestNone
	if config.HarvestsDestroyed() {
		mode = modelconfig.HarvestDestroyed
	}
	return st.Settings().SetConfig(ctx, map[string]string{modelconfig.HarvestMode: mode}, nil)
}
