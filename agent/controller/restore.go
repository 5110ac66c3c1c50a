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
	"slices"
	"strings"
	"time"

	"juju/agent/backup"
	"juju/agent/controller/clouds"
	"juju/agent/host/atomicfile"
	"juju/agent/host/process"
	"juju/agent/storeconf"
	"juju/apiserver"
	"juju/provider/local"
	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/modelconfig"
	"juju/state/mongo"
)

// RestoreParams say what of a restored controller differs from the one that was backed up.
type RestoreParams struct {
	// User, unless "", is a user who gets a new password, which is returned.
	User string `json:"user,omitempty"`
	// MongoURL is the URL of an empty MongoDB for the store; "" means the embedded store.
	MongoURL string `json:"mongo-url,omitempty"`
	// Hosts are the addresses of the controller's own machine, best first; required on a cloud other than local.
	Hosts []string `json:"hosts,omitempty"`
	// Access is how the controller reaches its cloud, if that needs any access.
	clouds.Access
}

// Restore creates the controller of a backup in the cloud's directory dir, without starting it. It fails if the
// directory already has one, or if another of the controllers that were backed up still answers. What it has done is
// undone if it fails, or by the next call if it is interrupted.
func Restore(ctx context.Context, dir string, r io.Reader, p RestoreParams, o Options) (*Bootstrapped, error) {
	own := local.ControllerDir(dir)
	fail := func(err error) (*Bootstrapped, error) {
		return nil, fmt.Errorf("cannot restore the controller: %w", noRoom(err, dir, "restore the backup"))
	}
	contents, err := backup.Open(r)
	if err != nil {
		return fail(err)
	}
	m := contents.Manifest()
	if o.Open == nil {
		if err := clouds.Of(m.Cloud).Check(clouds.Params{Access: p.Access, Controller: m.Controller, Hosts: p.Hosts}); err != nil {
			return fail(err)
		}
	}
	if err := os.MkdirAll(own, 0o700); err != nil {
		return fail(err)
	}
	if err := checkNone(own); err != nil {
		return fail(err)
	}
	held, err := process.Hold(own)
	if err != nil {
		return fail(err)
	}
	defer held.Close()
	s := &restorer{dir: dir, own: own, contents: contents, RestoreParams: p, options: o}
	if err := s.undo(ctx); err != nil { // an earlier attempt
		return fail(err)
	}
	made, err := s.restore(ctx)
	if err != nil {
		if err2 := s.undo(context.WithoutCancel(ctx)); err2 != nil {
			err = fmt.Errorf("%w; and cleaning up failed: %w", err, err2)
		}
		return fail(err)
	}
	return made, nil
}

// checkNone returns an error if a controller's own directory has a controller, or its store, other than what an
// interrupted restore has left.
func checkNone(own string) error {
	for _, name := range []string{restoreName, configName, dbName, storeconf.Name} {
		_, err := os.Lstat(filepath.Join(own, name))
		switch {
		case err == nil && name == restoreName:
			return nil
		case err == nil:
			return entity.WithHint(entity.Errorf(entity.AlreadyExists, "the controller is there, in %s", own),
				"If it works, don't restore it. If it is damaged, end its processes and move it away: mv %s %s.damaged", own, own)
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	return nil
}

// restoreName is the file that records, during a restore, what must be undone if it fails.
const restoreName = "restore.json"

// A restoration is the content of that file.
type restoration struct {
	URL       string   `json:"url,omitempty"` // of the MongoDB; "" for the embedded store
	Databases []string `json:"databases"`     // that were created in it
}

// A restorer creates a controller from a backup.
type restorer struct {
	dir, own string // the cloud's directory and the controller's own
	contents *backup.Contents
	RestoreParams
	options Options
	done    restoration
	conf    config
}

func (s *restorer) path(name string) string { return filepath.Join(s.own, name) }

// record records what has been done so far.
func (s *restorer) record() error {
	text, err := json.Marshal(s.done)
	if err == nil {
		err = atomicfile.WriteFile(s.path(restoreName), text, 0o600)
	}
	return err
}

// undo removes what a restore that did not complete has made. Its record is removed last.
func (s *restorer) undo(ctx context.Context) error {
	text, err := os.ReadFile(s.path(restoreName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var left restoration
	if err == nil {
		err = json.Unmarshal(text, &left)
	}
	if err == nil && len(left.Databases) > 0 && left.URL != "" {
		err = dropDatabases(ctx, left, s.options)
	}
	if err != nil {
		return entity.WithHint(fmt.Errorf("cannot undo an earlier attempt: %w", err),
			"To leave what that has made in the MongoDB: mv %s %s.failed", s.own, s.own)
	}
	if err := os.Remove(s.path(configName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := errors.Join(os.RemoveAll(s.path(dbName)), storeconf.Remove(s.own)); err != nil {
		return err
	}
	return os.Remove(s.path(restoreName))
}

// dropDatabases drops the databases of an incomplete restore from its MongoDB.
func dropDatabases(ctx context.Context, left restoration, o Options) error {
	store, url, err := openMongo(ctx, left.URL, o)
	if err != nil {
		return err
	}
	defer store.Close()
	for _, name := range left.Databases {
		if err := store.Drop(ctx, name); err != nil {
			return fmt.Errorf("cannot remove what is in %s: %w", url, err)
		}
	}
	return store.DropBarrier(ctx)
}

func (s *restorer) restore(ctx context.Context) (*Bootstrapped, error) {
	s.done = restoration{URL: s.MongoURL}
	if err := s.record(); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(s.contents.Text, &s.conf); err != nil {
		return nil, entity.Errorf(entity.Invalid, "the backup is damaged: %s: %w", backup.ConfigName, err)
	}
	if s.Access != (clouds.Access{}) {
		s.conf.Access = s.Access
	}
	store, err := makeStore(ctx, s.own, s.conf.Controller, s.MongoURL, s.options,
		ending("restore the controller", "restore the backup", s.dir))
	if err != nil {
		return nil, err
	}
	defer store.Close()
	if s.MongoURL != "" {
		if err := checkShareable(store); err != nil {
			return nil, err
		}
	}
	if err := s.load(ctx, store); err != nil {
		return nil, err
	}
	made, err := s.open(ctx, store)
	if err != nil {
		return nil, err
	}
	if err := store.Sync(ctx); err != nil {
		return nil, err
	}
	// Without its configuration there is no controller, as in a bootstrap.
	if err := s.conf.write(s.own); err != nil {
		return nil, err
	}
	return made, os.Remove(s.path(restoreName))
}

// load writes the backup's databases into the store, which must not have them.
func (s *restorer) load(ctx context.Context, store *mongo.Store) error {
	there, err := store.Databases(ctx)
	if err != nil {
		return err
	}
	return store.Import(ctx, func() (string, []byte, error) {
		name, data, err := s.contents.Next()
		if err != nil {
			return name, data, err
		}
		db, _, _ := strings.Cut(name, "/")
		if n := len(s.done.Databases); n > 0 && s.done.Databases[n-1] == db {
			return name, data, nil
		}
		if slices.Contains(there, db) {
			return "", nil, entity.WithHint(entity.Errorf(entity.AlreadyExists,
				"the MongoDB is not empty: it has a database %s", db),
				"Name one that is empty.")
		}
		s.done.Databases = append(s.done.Databases, db)
		return name, data, s.record()
	})
}

// open opens the controller in the store, which also upgrades what an older version has stored, and completes its
// configuration. It returns the controller's description.
func (s *restorer) open(ctx context.Context, store *mongo.Store) (*Bootstrapped, error) {
	ctrl, err := controller.Open(ctx, store, s.options.State)
	if err != nil {
		return nil, err
	}
	defer ctrl.Close()
	if ctrl.UUID() != s.conf.Controller {
		return nil, entity.Errorf(entity.Invalid, "the backup is damaged: it is of controller %q, and its store of %q",
			s.conf.Controller, ctrl.UUID())
	}
	// The restored controller uses as its first credential that with which the restore has reached the cloud.
	if one, err := ctrl.CloudCredential(ctx, ""); err != nil {
		return nil, err
	} else if one != nil {
		if err := ctrl.SetCloudCredential(ctx, "", s.conf.kind().Credential(s.conf.Access)); err != nil {
			return nil, err
		}
	}
	own, err := ctrl.Model(ctx, s.conf.Model)
	if err != nil {
		return nil, err
	}
	if err := s.complete(ctx, own); err != nil {
		return nil, err
	}
	if err := s.separate(ctx, ctrl, own); err != nil {
		return nil, err
	}
	made := &Bootstrapped{Controller: s.conf.Controller, CloudName: s.conf.CloudName, CACert: s.conf.CA.Cert, Addresses: s.conf.addresses(),
		Models: map[string]string{}, Warnings: apiserver.Warnings()}
	rows, err := ctrl.Models(ctx)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		made.Models[row.Owner+"/"+row.Name] = row.UUID
		if err := keepStrays(ctx, ctrl, row.UUID); err != nil {
			return nil, err
		}
	}
	if s.User != "" {
		made.Password = state.NewAgentPassword()
		_, err = ctrl.SetUserPassword(ctx, s.User, made.Password)
	}
	return made, err
}

// complete adds to the configuration what is not in the backup: its addresses, if they are others, and its password, if
// another controller has made the backup.
func (s *restorer) complete(ctx context.Context, own *state.State) error {
	c := &s.conf
	c.Restored = true
	changed := c.Server.Cert == ""
	if len(s.Hosts) > 0 {
		was := c.addresses()
		c.listenOn(s.Hosts)
		changed = changed || !slices.Equal(was, c.Addresses)
	}
	if changed {
		hosts, err := c.hosts()
		if err != nil {
			return err
		}
		if c.Server, err = apiserver.NewServerCert(c.CA, hosts, time.Now()); err != nil {
			return err
		}
	}
	if c.Password != "" {
		return nil
	}
	c.Password = state.NewAgentPassword()
	return own.Agents().SetPassword(ctx, entity.MachineTag(c.machine()), c.Password)
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
