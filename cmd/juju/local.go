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
	"time"

	"juju/cmd/juju/store"
	"juju/provider/local"
	"juju/provider/process"
	"juju/state/entity"
)

// localCloud is the name of the cloud that needs nothing but this host.
const localCloud = "local"

// localDir returns the directory in which everything of a local controller is.
func localDir(st *store.Store, name string) string { return filepath.Join(st.Dir(), "local", name) }

// controllerLog returns the file that holds what a local controller prints.
func controllerLog(st *store.Store, name string) string {
	return process.LogPath(local.ControllerDir(localDir(st, name)))
}

// program returns the path of another of juju's programs: the one beside this
// program, else the one on PATH.
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

// checkPrograms finds out before anything is made whether a program is missing
// that a local controller needs. The agents' are looked for beside jujud.
func checkPrograms() error {
	jujud, err := program("jujud")
	if err == nil {
		jujud, err = filepath.EvalSymlinks(jujud)
	}
	if err != nil {
		return err
	}
	for _, name := range []string{"machine-agent", "unit-agent", "hook-tool"} {
		if !isProgram(filepath.Join(filepath.Dir(jujud), name)) {
			return missing(name, fmt.Sprintf("it is not in %s, where jujud is", filepath.Dir(jujud)))
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

// keeperName is the file in a local controller's directory that says how its
// keeper is run.
const keeperName = "keeper.json"

// keeperBound is how long a controller may take to come up.
const keeperBound = time.Minute

// keeperConfig is how the controller in dir is kept, by the programs of now.
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

// readKeeperConfig reads what startKeeper has written.
func readKeeperConfig(dir string) (config local.KeeperConfig, err error) {
	path := filepath.Join(dir, keeperName)
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &config)
	}
	if err != nil {
		return config, fmt.Errorf("cannot read the keeper's configuration: %w", err)
	}
	config.Dir = dir // wherever it is by now
	return config, nil
}

// startKeeper starts the keeper of the controller in dir, if none runs, and
// returns when the controller is up.
func startKeeper(ctx context.Context, dir, controller string) (started bool, err error) {
	config, err := keeperConfig(dir, controller)
	if err != nil {
		return false, err
	}
	text, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return false, err
	}
	// Written each time, since programs may have moved.
	if err := process.WriteFile(filepath.Join(dir, keeperName), append(text, '\n')); err != nil {
		return false, fmt.Errorf("cannot write the keeper's configuration: %w", err)
	}
	return local.EnsureKeeper(ctx, config)
}

// isKept reports whether somebody sees to it that a controller runs: the keeper
// of a local one, its cloud otherwise.
func (s *session) isKept(st *store.Store, t target) (bool, error) {
	if t.ctrl.Cloud != localCloud {
		return true, nil
	}
	return runs(local.KeeperDir(localDir(st, t.name)))
}

// revive brings back a local controller that nobody keeps, after a reboot of the
// host say, and tells the user.
func (s *session) revive(ctx context.Context, st *store.Store, t target) error {
	dir := localDir(st, t.name)
	bounded, cancel := context.WithTimeout(ctx, keeperBound+30*time.Second)
	defer cancel()
	// Whoever else is reviving it, or just destroying it, is waited for.
	unlock, err := store.LockDir(bounded, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return entity.WithHint(entity.Errorf(entity.NotFound, "controller %q is gone: there is no %s", t.name, dir),
			"To forget it: juju destroy-environment %s", t.name)
	}
	if err != nil {
		return s.stays(t, err)
	}
	defer unlock()
	lives, err := runs(local.ControllerDir(dir))
	if err != nil {
		return s.stays(t, err)
	}
	what := fmt.Sprintf("Controller %q", t.name)
	if lives {
		what = fmt.Sprintf("The keeper of controller %q", t.name)
	}
	p := s.progress("%s is not running; starting it", what)
	defer p.done()
	started, err := startKeeper(bounded, dir, t.ctrl.UUID)
	if err != nil {
		return s.stays(t, err)
	}
	if started && s.errTerminal { // where the line above is gone by now
		p.done()
		s.note("%s was not running and has been started.", what)
	}
	return nil
}

// runs reports whether a process runs in dir. One that is just dying does not.
func runs(dir string) (bool, error) {
	_, err := process.Holder(dir)
	if errors.Is(err, process.ErrNotHeld) {
		return false, nil
	}
	return err == nil, err
}

// stays says why a controller could not be brought back.
func (s *session) stays(t target, why error) error {
	return alsoHint(fmt.Errorf("controller %q is not running, and cannot be started: %w", t.name, why),
		"Once the cause is fixed, run the command again. To give up and destroy it: juju destroy-environment %s", t.name)
}
