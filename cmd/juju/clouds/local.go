package clouds

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"

	"juju/agent/host/atomicfile"
	"juju/agent/host/process"
	"juju/agent/storeconf"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/cloudfiles"
	"juju/cmd/juju/store"
	"juju/provider"
	"juju/provider/local"
	"juju/state/constraints"
	"juju/state/entity"
	"juju/state/entity/backoff"
)

// localName is the name of the cloud that runs on this host.
const localName = "local"

// The localCloud is this host: machines are directories, and hooks run as the user who bootstrapped.
type localCloud struct{}

// TakesHosts implements Cloud: no host reaches the controller, which listens on a loopback address.
func (localCloud) TakesHosts() bool { return false }

// TakesKeys implements Cloud.
func (localCloud) TakesKeys() bool { return false }

// HasSSH implements Cloud.
func (localCloud) HasSSH() bool { return false }

// MachineDir implements Cloud.
func (localCloud) MachineDir(dir, model, instance string) string {
	return local.MachineDir(dir, model, instance)
}

// About implements Home.
func (localCloud) About() string { return "this host, where a machine is a directory and a process" }

// GrantNote implements Cloud: write access amounts to a shell.
func (localCloud) GrantNote(user string) string {
	return fmt.Sprintf(`Note: on cloud "local", hooks run as the user who bootstrapped the controller. %s can deploy
a charm, and so run any command as that user and read everything that user can read,
including the controller's keys.
`, user)
}

// IsFree implements Home.
func (localCloud) IsFree(dir string) bool { return local.IsFree(dir) }

// OutsideStorage implements Home.
func (localCloud) OutsideStorage(dir string) (map[string][]string, error) {
	return local.OutsideStorage(dir)
}

// Prepare implements Home.
func (localCloud) Prepare(_ context.Context, p *BootstrapParams) error {
	host := local.HostSeries()
	if p.Series != "" && p.Series != host && entity.BaseOf(p.Series).Name != "ubuntu" {
		return cli.Usage(entity.WithHint(fmt.Errorf(
			"cannot use default-series %q: on the local cloud hooks run on this host, which is %q", p.Series, host),
			"Omit default-series"))
	}
	if p.Series != "" && p.Series != host { // charms that name only these are deployed with a warning too
		p.Warnings = append(p.Warnings, fmt.Sprintf("default-series %q is not available: hooks run on this host, which is %q",
			p.Series, host))
	}
	p.Series = host
	return needsNoCloud(p.CloudConfig, p.Machine)
}

// CheckDefinition implements Home.
func (localCloud) CheckDefinition(c cloudfiles.Cloud) ([]string, error) {
	has := c.Endpoint != "" || len(c.Config) > 0
	for _, r := range c.Regions {
		has = has || r.Endpoint != ""
	}
	if has {
		return nil, entity.Errorf(entity.Invalid, "a cloud of type %s has neither an endpoint nor a config: it is the host of the client", localName)
	}
	return []string{entity.AuthEmpty}, nil
}

// CheckCredential implements Home.
func (localCloud) CheckCredential(_ cloudfiles.Cloud, one *entity.CloudCredential) error {
	return checkAttributes(*one)
}

// Questions implements Home.
func (localCloud) Questions() Questions { return Questions{} }

// FindCredentials implements Home.
func (localCloud) FindCredentials(cloudfiles.Cloud, func(string) string) (map[string]entity.CloudCredential, error) {
	return nil, nil
}

// SetCredential implements Home.
func (localCloud) SetCredential(string, entity.CloudCredential) error { return nil }

// needsNoCloud returns an error if there are options for a cloud other than this host.
func needsNoCloud(config string, cons constraints.Value) error {
	if config != "" || !cons.IsEmpty() {
		return cli.Usagef("cannot use --cloud-config or --bootstrap-constraints on cloud %q: the controller is a process of "+
			"this host", localName)
	}
	return nil
}

// Create implements Home.
func (localCloud) Create(ctx context.Context, dir string, p BootstrapParams, _ *cli.Progress) (*Bootstrapped, error) {
	earlier, err := releasedStorage(dir)
	if err == nil {
		err = atomicfile.WriteFile(filepath.Join(dir, earlierName), []byte(strings.Join(earlier, "\n")), 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot record the storage of earlier controllers: %w", err)
	}
	return bootstrapJujud(ctx, dir, p)
}

// Restore implements Home.
func (localCloud) Restore(ctx context.Context, dir string, r Restoration, _ *cli.Progress) (*Bootstrapped, error) {
	if err := needsNoCloud(r.CloudConfig, r.Constraints); err != nil {
		return nil, err
	}
	made, err := restoreJujud(ctx, dir, r)
	if err != nil {
		return nil, err
	}
	// The lost controller's keeper may run on. So may the controller, for the seconds in which it doesn't notice that
	// its directory is gone; it would be taken for the restored one.
	if err := process.Stop(ctx, local.KeeperDir(dir), restoreGrace); err != nil {
		return nil, err
	}
	return made, awaitFree(ctx, made.Addresses[0])
}

// MigrateStore implements Home. The controller starts again whether its store was moved or not.
func (localCloud) MigrateStore(ctx context.Context, dir, controller, url string) error {
	for _, dir := range []string{local.KeeperDir(dir), local.ControllerDir(dir)} {
		if err := process.Stop(ctx, dir, endGrace); err != nil {
			return err
		}
	}
	_, err := runJujud(ctx, strings.NewReader(url), "migrate-store", "--dir", dir)
	_, startErr := startKeeper(ctx, dir, controller)
	return errors.Join(err, startErr)
}

// restoreGrace is how long what is left of a lost controller may take to end.
const restoreGrace = 10 * time.Second

// awaitFree waits until nothing listens at an address of this host.
func awaitFree(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, restoreGrace)
	defer cancel()
	for pauses := backoff.New(50*time.Millisecond, time.Second); ; {
		l, err := net.Listen("tcp", address)
		if err == nil {
			return l.Close()
		}
		if pauses.Sleep(ctx) != nil {
			_, port, _ := net.SplitHostPort(address)
			return entity.WithHint(fmt.Errorf("the controller is restored, but its address is in use: %w", err),
				"End what listens there: ss -ltnp 'sport = :%s'\nThen any juju command starts the controller.", port)
		}
	}
}

// earlierName is the file that lists filesystems released by earlier controllers.
const earlierName = "earlier"

// releasedStorage returns the paths of released filesystems, relative to their directory.
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

// Start implements Home: it returns when the controller is up.
func (localCloud) Start(ctx context.Context, dir, controller string) error {
	_, err := startKeeper(ctx, dir, controller)
	return err
}

// Destroy implements Home. It stops the keeper, the controller and every instance in dir.
func (localCloud) Destroy(ctx context.Context, dir, controller string, destroyStorage bool) (kept []string,
	err error) {
	if owner := ownerOf(dir); owner != "" {
		controller = owner
	}
	if controller == "" {
		controller = uuid.NewString() // bootstrap failed before starting anything
	}
	cloud, err := local.New(local.Config{Dir: dir, Controller: controller})
	if err != nil {
		return nil, err
	}
	if err := removeStore(ctx, dir); err != nil {
		return nil, err
	}
	// DestroyController destroys the instances of all models, whichever model is opened.
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

// keeperName is the keeper's configuration file in a local controller's directory.
const keeperName = "keeper.json"

// startTimeout is how long a controller may take to start.
const startTimeout = time.Minute

// keeperConfig returns the configuration of the keeper of the controller in dir, with the binaries' current paths.
func keeperConfig(dir, controller string) (local.KeeperConfig, error) {
	jujud, err := binary("jujud")
	if err != nil {
		return local.KeeperConfig{}, err
	}
	juju, err := binary("juju")
	if err != nil {
		return local.KeeperConfig{}, err
	}
	return local.KeeperConfig{
		Dir: dir, Controller: controller, Bound: startTimeout,
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

// startKeeper starts the keeper of the controller in dir, unless it is running, and waits until the controller is up.
func startKeeper(ctx context.Context, dir, controller string) (started bool, err error) {
	config, err := keeperConfig(dir, controller)
	if err != nil {
		return false, err
	}
	text, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return false, err
	}
	// Write it each time, since the binaries may have moved.
	if err := atomicfile.WriteFile(filepath.Join(dir, keeperName), append(text, '\n'), 0o600); err != nil {
		return false, fmt.Errorf("cannot write the keeper's configuration: %w", err)
	}
	return local.EnsureKeeper(ctx, config)
}

// A localController is a controller that runs as a process on this host.
type localController struct{ registered }

// Controller implements Cloud.
func (localCloud) Controller(at At) Controller { return localController{registered{at}} }

// IsKept implements Controller: the keeper is running.
func (c localController) IsKept() (bool, error) { return runs(local.KeeperDir(c.Dir)) }

// Revive implements Controller: it starts the keeper, for instance after a reboot.
func (c localController) Revive(ctx context.Context, s *cli.Session) error {
	bounded, cancel := context.WithTimeout(ctx, startTimeout+30*time.Second)
	defer cancel()
	// Wait for any other command that is reviving or destroying it.
	unlock, err := store.LockDir(bounded, c.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return entity.WithHint(entity.Errorf(entity.NotFound,
			"controller %q no longer exists: there is no %s", c.Name, c.Dir),
			"To forget it: juju destroy-environment %s", c.Name)
	}
	if err != nil {
		return c.notRevived(err)
	}
	defer unlock()
	running, err := runs(local.ControllerDir(c.Dir))
	if err != nil {
		return c.notRevived(err)
	}
	what := fmt.Sprintf("Controller %q", c.Name)
	if running {
		what = fmt.Sprintf("The keeper of controller %q", c.Name)
	}
	p := s.Progress("%s is not running; starting it", what)
	defer p.Done()
	started, err := startKeeper(bounded, c.Dir, c.UUID)
	if err != nil {
		return c.notRevived(err)
	}
	if started && s.ErrTerminal { // Done erases the line
		p.Done()
		s.Note("%s was not running and has been started.", what)
	}
	return nil
}

// notRevived adds to the error of a controller that cannot be started what to do about it.
func (c localController) notRevived(why error) error {
	hint := "Once the cause is fixed, run the command again."
	if !errors.Is(why, context.DeadlineExceeded) { // otherwise it may yet start
		hint += " To destroy the controller instead: juju destroy-environment " + c.Name
	}
	return cli.AlsoHint(fmt.Errorf("controller %q is not running, and cannot be started: %w", c.Name, why), "%s", hint)
}

// runs reports whether a process, other than one that is exiting, runs in dir.
func runs(dir string) (bool, error) {
	_, err := process.Holder(dir)
	if errors.Is(err, process.ErrNotHeld) {
		return false, nil
	}
	return err == nil, err
}

// killedRecently is how long users who wait for a controller are told that it was killed.
const killedRecently = 10 * time.Minute

// Killed implements Controller.
func (c localController) Killed() string {
	if how, ago := process.Killed(local.ControllerDir(c.Dir)); ago < killedRecently {
		return how
	}
	return ""
}

// controllerConfig is a file in every local controller's directory.
const controllerConfig = "controller.conf"

// Unreachable implements Controller.
func (c localController) Unreachable(why error) error {
	dir := local.ControllerDir(c.Dir)
	hint := fmt.Sprintf("Its log: %s\nOnce the cause is fixed, run the command again; it starts the controller if needed.",
		process.LogPath(dir))
	if running, err := runs(dir); err == nil && !running && !c.LacksSpace() {
		if tail := process.LogTail(dir); tail != "" {
			why = fmt.Errorf("%w; it is not running, and its log ends:\n%s", why, tail)
		}
		hint += "\nTo destroy the controller instead: juju destroy-environment " + c.Name
	}
	if _, err := os.Stat(filepath.Join(dir, controllerConfig)); errors.Is(err, fs.ErrNotExist) {
		return lost(why, c.Name, "the files in its directory "+dir+" are lost")
	}
	if err := local.CheckLoopback(); err != nil {
		return entity.WithHint(fmt.Errorf("%w: %w", why, err), "%s", entity.Hint(err))
	}
	return entity.WithHint(why, "%s", hint)
}

// LacksSpace implements Controller: the keeper cannot start the controller because the disk is full.
func (c localController) LacksSpace() bool {
	if process.CheckRoom(c.Dir, local.ControllerRoom) == nil {
		return false
	}
	running, err := runs(local.ControllerDir(c.Dir))
	return err == nil && !running
}

// Lost implements Controller: the controller's disk may be full.
func (c localController) Lost(err error) error {
	if !errors.Is(err, entity.Unavailable) || errors.Is(err, syscall.ENOSPC) {
		return err
	}
	full := process.CheckRoom(c.Dir, local.ControllerRoom)
	if full == nil {
		return err
	}
	return entity.WithHint(fmt.Errorf("%w: %w", full, err),
		"Free some space there; the controller then restarts automatically.")
}

// removeStore stops the keeper and the controller, and removes the controller's databases from its MongoDB, if any.
func removeStore(ctx context.Context, dir string) error {
	file := storeconf.Path(local.ControllerDir(dir))
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := local.EndKeeper(ctx, dir, endGrace); err != nil {
		return err
	}
	path, err := binary("jujud")
	if err != nil {
		return err
	}
	errs := process.Kept{Max: process.MaxOutput}
	cmd := exec.CommandContext(ctx, path, "remove-store", "--dir", dir)
	cmd.Stderr = &errs
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = endGrace
	if err := cmd.Run(); err != nil {
		return cli.AlsoHint(jujudError(errs.String(), err), "To keep its databases in the MongoDB: rm %s", file)
	}
	return nil
}

// endGrace is how long a process may take to exit after SIGTERM.
const endGrace = 10 * time.Second

// ownerOf returns the UUID of the controller that a directory belongs to, "" if unknown.
func ownerOf(dir string) string {
	if config, err := readKeeperConfig(dir); err == nil {
		return config.Controller
	}
	return ""
}
