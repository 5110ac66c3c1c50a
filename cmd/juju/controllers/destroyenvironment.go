package controllers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"juju/apiserver/display"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/clouds"
	"juju/cmd/juju/machines"
	"juju/cmd/juju/models"
	"juju/cmd/juju/ssh"
	"juju/cmd/juju/store"
	"juju/cmd/juju/wait"
	"juju/state/entity"
)

func DestroyEnvironmentCommand(s *cli.Session) *cobra.Command {
	d := &destroyEnvironment{Session: s}
	cmd := &cobra.Command{
		Use:     "destroy-environment NAME",
		Aliases: []string{"destroy-controller", "kill-controller", "destroy-env", "destroy-system", "kill-system"},
		Short:   "Destroy a controller and everything in it",
		Long: `Destroy a controller with all its models, services and machines, and remove all their
files. This cannot be undone.

When called as destroy-controller, the command fails if models have services or machines,
and lists them, unless --destroy-all-models is given. When called as destroy-environment
or kill-controller, it destroys them all.

The command kills the processes: stop hooks do not run. It works whether or not the
controller is running, and also cleans up after an interrupted bootstrap. It first removes
the agents from hosts that were added with add-machine ssh:HOST, which takes up to a
minute, and lists the hosts that it could not reach, with the command that removes their
agents.

If the controller has storage in the directories of storage pools, specify what to do with
it: --destroy-storage destroys all storage, --release-storage keeps it. Other storage is
kept unless --destroy-storage is given. The command prints the ids of the storage that is
kept, as accepted by juju import-filesystem. --destroy-storage fails while the cloud has
yet to release storage that is to be kept, as after juju remove-storage --no-destroy.`,
		Example: `  juju destroy-environment local
  juju destroy-environment test -y
  juju destroy-environment test -y --destroy-storage`,
		Annotations: cli.SeeAlso("destroy-model", "import-filesystem", "enable-destroy-controller", "unregister", "bootstrap"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if d.destroyStorage && d.releaseStorage {
				return models.ErrBothStorage
			}
			if d.timeout <= 0 {
				return cli.Usagef("--timeout must be positive, got %v", d.timeout)
			}
			d.checksModels = slices.Contains([]string{"destroy-controller", "destroy-system"}, cmd.CalledAs()) && !d.allModels
			return d.run(cmd.Context(), args)
		},
	}
	cmd.Flags().BoolVar(&d.destroyStorage, "destroy-storage", false, "destroy all storage of the controller's models")
	cmd.Flags().BoolVar(&d.releaseStorage, "release-storage", false, "release the storage from juju, and keep its data")
	cmd.Flags().BoolVar(&d.allModels, "destroy-all-models", false,
		"with destroy-controller: also destroy models with machines or services")
	cli.YesFlag(cmd, &d.yes)
	cmd.Flags().DurationVarP(&d.timeout, "timeout", "t", destroyTimeout, "how long stopping all processes may take")
	for _, accepted := range []string{"force", "no-wait"} { // it runs no hooks, for which Juju would wait
		cmd.Flags().Bool(accepted, false, "")
		cmd.Flags().Lookup(accepted).Hidden = true
	}
	return cmd
}

type destroyEnvironment struct {
	*cli.Session
	yes                            bool
	allModels                      bool
	checksModels                   bool // fails if models are in use
	destroyStorage, releaseStorage bool
	timeout                        time.Duration
}

// destroyTimeout is how long stopping all processes of a controller may take by default. It is longer the more machines there are; who
// repeats the command goes on with those that are left.
const destroyTimeout = 5 * time.Minute

func (d *destroyEnvironment) run(ctx context.Context, args []string) error {
	st, err := d.Store()
	if err != nil {
		return err
	}
	contents, err := st.Read()
	if err != nil {
		return err
	}
	if len(args) != 1 {
		err := cli.Usagef("unrecognized args: %q", args)
		if len(args) == 0 {
			err = cli.Usagef("no controller specified")
		}
		if names := contents.Names(); len(names) > 0 {
			err = entity.WithHint(err, "Known controllers: %s", strings.Join(names, ", "))
		}
		return err
	}
	name := args[0]
	cloud, err := clouds.HomeOf(st, contents, name)
	if err != nil {
		return err
	}
	dir := clouds.Dir(st, cloud, name)
	outside, err := clouds.Homes[cloud].OutsideStorage(dir)
	if err != nil {
		return fmt.Errorf("cannot find the controller's storage: %w", err)
	}
	filesystems := slices.Concat(slices.Collect(maps.Values(outside))...)
	if len(filesystems) > 0 && !d.destroyStorage && !d.releaseStorage {
		return entity.HasStorage("controller", name, len(filesystems), len(outside))
	}
	if d.checksModels {
		if err := d.checkModels(ctx, name, contents.Controllers[name]); err != nil {
			return err
		}
	}
	if d.destroyStorage {
		if err := d.checkReleases(ctx, name, contents.Controllers[name]); err != nil {
			return err
		}
	}
	hosts, unknown := machines.FindHosts(ctx, d.Session, name, contents.Controllers[name])
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := d.confirm(ctx, name, hosts.Names()); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	if names := hosts.Names(); names != "" {
		d.Note("Removing the agents from your hosts: %s", names)
		hosts.Leave(ctx)
	}
	if unknown != nil {
		d.Note("Cannot list the hosts that were added to controller %q (%v). To remove an agent, run on its host as "+
			"root: %s", name, unknown, machines.UninstallCommand("*"))
	}
	p := d.Progress("Destroying controller %q and everything in it", name)
	defer p.Done()
	unlock, err := store.LockDir(ctx, dir)
	if err == nil {
		defer unlock()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	kept, err := destroyHome(ctx, st, cloud, name, d.destroyStorage)
	if err != nil {
		return cli.AlsoHint(err, "To try again: juju destroy-environment %s", name)
	}
	p.Done()
	d.Note("Controller %q is destroyed.", name)
	if d.releaseStorage {
		kept = append(kept, slices.Sorted(slices.Values(filesystems))...)
	}
	for _, id := range kept {
		d.Note("Storage is kept in %s", id)
	}
	if len(kept) > 0 {
		d.Note("To import it into a model: juju import-filesystem POOL PROVIDER-ID STORAGE-NAME, where PROVIDER-ID is the text " +
			"after \"kept in\"")
	}
	return nil
}

// checkModels returns an error if models of the controller have services or machines.
func (d *destroyEnvironment) checkModels(ctx context.Context, name string, ctrl *store.Controller) error {
	var used []string
	if ctrl == nil {
		return nil // left by an interrupted bootstrap
	}
	err := cli.EachModel(ctx, d.Session, name, ctrl, func(ctx context.Context, model string, api wait.StatusAPI) error {
		status, err := api.Status(ctx)
		if err != nil {
			return err
		}
		units, machines := 0, 0
		for _, t := range wait.Entities(status) {
			if t.Kind == "unit" {
				units++
			}
		}
		for _, m := range status.AllMachines() {
			if !m.Manager {
				machines++
			}
		}
		if len(status.Services)+machines > 0 {
			used = append(used, fmt.Sprintf("%s (services: %d, units: %d, machines: %d)", model, len(status.Services), units,
				machines))
		}
		return nil
	})
	hint := "To destroy it and all its models: juju destroy-controller --destroy-all-models %s"
	if err != nil && ctx.Err() == nil {
		return entity.WithHint(fmt.Errorf("cannot determine whether controller %q has models in use: %w",
			name, err), hint, name)
	}
	if err == nil && len(used) > 0 {
		err = entity.WithHint(entity.Errorf(entity.InUse, "cannot destroy controller %q: it has models in use: %s", name,
			strings.Join(used, ", ")), hint, name)
	}
	return err
}

// confirm asks for confirmation, unless --yes was given.
func (d *destroyEnvironment) confirm(ctx context.Context, name, hosts string) error {
	if d.yes {
		return nil
	}
	if hosts != "" {
		hosts = fmt.Sprintf(machines.HostsWarning, display.Line(hosts))
	}
	fmt.Fprintf(d.Stderr, "This destroys controller %q with all its models, services and machines,\n"+
		"and removes %s. %sContinue? [y/N] ", name, models.DataRemoved(!d.destroyStorage), hosts)
	answers := make(chan string, 1)
	go func() { // may outlive ctx: a read from a terminal can't be canceled
		line, _ := bufio.NewReader(d.Stdin).ReadString('\n')
		answers <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(d.Stderr)
		return context.Cause(ctx)
	case answer := <-answers:
		if answer == "y" || answer == "yes" {
			return nil
		}
		if answer == "" && !d.ErrTerminal {
			fmt.Fprintln(d.Stderr)
		}
	}
	return entity.WithHint(errors.New("nothing was destroyed"),
		"To destroy it without confirmation: juju destroy-environment %s -y", name)
}

// destroyHome destroys a controller and everything in it, and forgets it. It returns the provider ids of storage that is
// kept. The caller holds the lock on its directory, if that exists.
func destroyHome(ctx context.Context, st *store.Store, cloud, name string, destroyStorage bool) (kept []string,
	err error) {
	contents, err := st.Read()
	if err != nil {
		return nil, err
	}
	id := ""
	if ctrl, ok := contents.Controllers[name]; ok {
		id = ctrl.UUID
	}
	dir := clouds.Dir(st, cloud, name)
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		if kept, err = clouds.Homes[cloud].Destroy(ctx, dir, id, destroyStorage); err != nil {
			return nil, err
		}
	}
	if err := ssh.Forget(st, name); err != nil {
		return nil, err
	}
	_ = os.Remove(filepath.Dir(dir)) // if this was the last controller
	return kept, st.Update(ctx, func(c *store.Contents) error {
		delete(c.Controllers, name)
		return nil
	})
}
