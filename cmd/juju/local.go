package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"juju/agent/host/atomicfile"
	"juju/agent/host/process"
	"juju/cmd/juju/store"
	"juju/provider"
	"juju/provider/local"
	"juju/state/entity"
)

// localCloud is the name of the cloud that runs on this host.
const localCloud = "local"

// localDir returns the directory with all files of a local controller.
func localDir(st *store.Store, name string) string { return homeDir(st, localCloud, name) }

type localHome struct{}

// prepare implements home.
func (localHome) prepare(_ context.Context, p *bootstrapParams) error {
	host := local.HostSeries()
	if p.Series != "" && p.Series != host {
		return usageError{entity.WithHint(fmt.Errorf(
			"cannot use default-series %q: on the local cloud hooks run on this host, which is %q", p.Series, host),
			"Omit default-series")}
	}
	p.Series = host
	if p.cloudConfig != "" || !p.constraints.IsEmpty() {
		return usagef("cannot use --cloud-config or --bootstrap-constraints on cloud %q: the controller is a process of "+
			"this host", localCloud)
	}
	return nil
}

// create implements home.
func (localHome) create(ctx context.Context, dir string, p bootstrapParams, _ *progress) (*bootstrapped, error) {
	earlier, err := releasedStorage(dir)
	if err == nil {
		err = atomicfile.WriteFile(filepath.Join(dir, earlierName), []byte(strings.Join(earlier, "\n")), 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot record the storage of earlier controllers: %w", err)
	}
	return runJujud(ctx, dir, p)
}

// earlierName is the file that names the filesystems that earlier controllers have left.
const earlierName = "earlier"

// releasedStorage returns the paths of the filesystems that are released, from the directory for them.
func releasedStorage(dir string) (paths []string, err error) {
	models, err := os.ReadDir(local.Released(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, model := range models {
		filesystems, err := os.ReadDir(filepath.Join(local.Released(dir), model.Name()))
		if err != nil {
			return nil, err
		}
		for _, f := range filesystems {
			paths = append(paths, filepath.Join(model.Name(), f.Name()))
		}
	}
	return paths, err
}

// start implements home: it returns when the controller is up.
func (localHome) start(ctx context.Context, dir, controller string) error {
	_, err := startKeeper(ctx, dir, controller)
	return err
}

// destroy implements home. It stops the keeper, the controller and every instance in dir.
func (localHome) destroy(ctx context.Context, dir, controller string, destroyStorage bool) (kept []string,
	err error) {
	if owner := ownerOf(dir); owner != "" {
		controller = owner
	}
	if controller == "" {
		controller = uuid.NewString() // bootstrap failed before it started anything
	}
	cloud, err := local.New(local.Config{Dir: dir, Controller: controller})
	if err != nil {
		return nil, err
	}
	if err := removeStore(ctx, dir); err != nil {
		return nil, err
	}
	// DestroyController destroys the instances of all models, whichever model the environ is
	// opened with.
	environ, err := cloud.Open(ctx, provider.Config{Controller: controller, Model: controller})
	if err != nil {
		return nil, err
	}
	earlier, err := os.ReadFile(filepath.Join(dir, earlierName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	imported, err := local.ImportedStorage(dir)
	if err != nil {
		return nil, err
	}
	if err := environ.DestroyController(ctx, destroyStorage); err != nil {
		return nil, err
	}
	paths, err := releasedStorage(dir)
	for _, path := range paths {
		id := filepath.Join(local.Released(dir), path)
		if !slices.Contains(strings.Split(string(earlier), "\n"), path) || slices.Contains(imported, id) {
			kept = append(kept, id)
		}
	}
	return kept, err
}

// controllerLog returns the path of a local controller's log.
func controllerLog(st *store.Store, name string) string {
	return process.LogPath(local.ControllerDir(localDir(st, name)))
}

// program returns the path of another of juju's programs: beside this program, else on PATH.
func program(name string) (string, error) {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return "", fmt.Errorf("cannot find %s: %w", name, err)
	}
	if name == "juju" {
		return self, nil
	}
	beside := filepath.Join(filepath.Dir(self), name)
	if isProgram(beside) {
		return beside, nil
	}
	path, err := exec.LookPath(name)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return "", missing(name, fmt.Sprintf("it is neither in %s nor on PATH", filepath.Dir(self)))
	}
	return path, nil
}

// programsDir returns the directory of jujud, and of the programs of agents beside it.
func programsDir() (string, error) {
	jujud, err := program("jujud")
	if err == nil {
		jujud, err = filepath.EvalSymlinks(jujud)
	}
	return filepath.Dir(jujud), err
}

// checkPrograms checks, before bootstrap creates anything, that the programs of a local
// controller exist. Those of the agents must be beside jujud.
func checkPrograms() error {
	dir, err := programsDir()
	if err != nil {
		return err
	}
	for _, name := range []string{"machine-agent", "unit-agent", "hook-tool"} {
		if !isProgram(filepath.Join(dir, name)) {
			return missing(name, fmt.Sprintf("it is not in %s, where jujud is", dir))
		}
	}
	return nil
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

func missing(name, why string) error {
	return entity.WithHint(fmt.Errorf("cannot find %s: %s", name, why),
		"Install all programs of juju in one directory, or build them there: make build")
}

// keeperName is the file in a local controller's directory that configures its keeper.
const keeperName = "keeper.json"

// keeperBound is how long a controller may take to start.
const keeperBound = time.Minute

// keeperConfig returns the configuration of the keeper of the controller in dir, with the
// current paths of the programs.
func keeperConfig(dir, controller string) (local.KeeperConfig, error) {
	jujud, err := program("jujud")
	if err != nil {
		return local.KeeperConfig{}, err
	}
	juju, err := program("juju")
	if err != nil {
		return local.KeeperConfig{}, err
	}
	return local.KeeperConfig{
		Dir: dir, Controller: controller, Bound: keeperBound,
		Jujud:  local.Command{Path: jujud, Args: []string{"controller", "--dir", dir}},
		Keeper: local.Command{Path: juju, Args: []string{"keeper", "--dir", dir}},
	}, nil
}

// readKeeperConfig reads the file that startKeeper writes.
func readKeeperConfig(dir string) (config local.KeeperConfig, err error) {
	path := filepath.Join(dir, keeperName)
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &config)
	}
	if err != nil {
		return config, fmt.Errorf("cannot read the keeper's configuration: %w", err)
	}
	config.Dir = dir // the directory may have moved
	return config, nil
}

// startKeeper starts the keeper of the controller in dir, unless it is running, and returns
// when the controller is up.
func startKeeper(ctx context.Context, dir, controller string) (started bool, err error) {
	config, err := keeperConfig(dir, controller)
	if err != nil {
		return false, err
	}
	text, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return false, err
	}
	// Write it each time, since the programs may have moved.
	if err := atomicfile.WriteFile(filepath.Join(dir, keeperName), append(text, '\n'), 0o600); err != nil {
		return false, fmt.Errorf("cannot write the keeper's configuration: %w", err)
	}
	return local.EnsureKeeper(ctx, config)
}

// isKept reports whether a controller is kept running: a local one by its keeper, others by
// their clouds.
func (s *session) isKept(st *store.Store, t target) (bool, error) {
	if t.ctrl.Cloud != localCloud {
		return true, nil
	}
	return runs(local.KeeperDir(localDir(st, t.name)))
}

// revive starts a local controller whose keeper is gone, for instance after a reboot, and
// tells the user.
func (s *session) revive(ctx context.Context, st *store.Store, t target) error {
	dir := localDir(st, t.name)
	bounded, cancel := context.WithTimeout(ctx, keeperBound+30*time.Second)
	defer cancel()
	// Wait for another command that is reviving or destroying it.
	unlock, err := store.LockDir(bounded, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return entity.WithHint(entity.Errorf(entity.NotFound, "controller %q is gone: there is no %s", t.name, dir),
			"To forget it: juju destroy-environment %s", t.name)
	}
	if err != nil {
		return s.notRevived(t, err)
	}
	defer unlock()
	lives, err := runs(local.ControllerDir(dir))
	if err != nil {
		return s.notRevived(t, err)
	}
	what := fmt.Sprintf("Controller %q", t.name)
	if lives {
		what = fmt.Sprintf("The keeper of controller %q", t.name)
	}
	p := s.progress("%s is not running; starting it", what)
	defer p.done()
	started, err := startKeeper(bounded, dir, t.ctrl.UUID)
	if err != nil {
		return s.notRevived(t, err)
	}
	if started && s.errTerminal { // where done has erased the line
		p.done()
		s.note("%s was not running and has been started.", what)
	}
	return nil
}

// runs reports whether a process runs in dir. One that is exiting does not count.
func runs(dir string) (bool, error) {
	_, err := process.Holder(dir)
	if errors.Is(err, process.ErrNotHeld) {
		return false, nil
	}
	return err == nil, err
}

// notRevived adds to the error of a controller that could not be started what to do about it.
func (s *session) notRevived(t target, why error) error {
	return alsoHint(fmt.Errorf("controller %q is not running, and cannot be started: %w", t.name, why),
		"Once the cause is fixed, run the command again. To give up and destroy it: juju destroy-environment %s", t.name)
}
