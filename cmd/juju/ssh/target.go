package ssh

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/clouds"
	"juju/cmd/juju/wait"
	"juju/state/entity"
)

// isRemote reports whether the machines of a model are reachable by SSH.
func isRemote(status *entity.ModelStatus) bool {
	return status.Model.Cloud != "" && clouds.Of(status.Model.Cloud).HasSSH()
}

// onMachines execs the program that choose returns for the model's status and the targets, in which SERVICE/leader is
// replaced by the leader.
func onMachines(ctx context.Context, s *cli.Session, targets []string,
	choose func(*entity.ModelStatus, sshAPI, []string) (cli.Replacement, error)) error {
	for _, target := range targets {
		if _, name, named := strings.Cut(target, "@"); named && isTarget(name) {
			continue
		}
		if !isTarget(target) {
			return entity.WithHint(cli.Usagef("%q is not a machine or unit", target), "To see what is in the model: juju status")
		}
	}
	var r cli.Replacement
	err := cli.WithModel(ctx, s, func(api sshAPI) error {
		var names, denoted []string
		for _, target := range targets {
			at := strings.LastIndex(target, "@") + 1
			name, err := cli.Leading(ctx, api, target[at:])
			if err != nil {
				return err
			}
			names, denoted = append(names, name), append(denoted, target[:at]+name)
		}
		status, err := api.Status(ctx, names...)
		if err != nil {
			return err
		}
		r, err = choose(status, api, denoted)
		return err
	})
	if err != nil {
		return err
	}
	return s.Exec(r)
}

func isTarget(name string) bool { return entity.IsValidMachine(name) || cli.IsUnitTarget(name) }

// machineDirs returns the directories of the targets' machines, by target. The model must be on this host's local cloud.
func machineDirs(s *cli.Session, status *entity.ModelStatus, targets []string) (map[string]string, error) {
	dirs := map[string]string{}
	for _, target := range targets {
		_, name, named := strings.Cut(target, "@")
		if named {
			return nil, cli.Usagef("cannot log in as another user on %s: machines of the local cloud have no users of their own",
				name)
		}
		dir, err := localMachine(s, status, target)
		if err != nil {
			return nil, err
		}
		dirs[target] = dir
	}
	return dirs, nil
}

// A remoteProgram returns the command line that runs, as root on a unit's machine, a user command of the agent binary:
// agent.RunDebugHooks or agent.RunCharmHistory. The options are for ssh.
type remoteProgram func(options []string, what string, args ...string) []string

// unitPlace returns the name of a unit, which can be given as SERVICE/leader, its machine's directory, and how to run
// programs there: nil on the local cloud.
func unitPlace(ctx context.Context, s *cli.Session, target string) (unit, dir string, remote remoteProgram, err error) {
	err = cli.WithModel(ctx, s, func(api sshAPI) error {
		if unit, err = cli.Leading(ctx, api, target); err != nil {
			return err
		}
		status, err := api.Status(ctx, unit)
		if err != nil {
			return err
		}
		if !isRemote(status) {
			dir, err = localMachine(s, status, unit)
			return err
		}
		found, options, err := remotes(ctx, s, api, status, []string{unit}, way{})
		if err != nil {
			return err
		}
		machine, _, err := instanceOf(status, unit)
		if err != nil {
			return err
		}
		dir = entity.DataDir
		remote = func(more []string, what string, args ...string) []string {
			words := append([]string{what, dir, unit}, args...)
			return slices.Concat([]string{"ssh"}, options, more, []string{found[unit].String(),
				onMachineAsRoot(machine, words)})
		}
		return nil
	})
	return unit, dir, remote, err
}

// ToolsDir is the directory of commands for the users of a machine.
func ToolsDir(machine string) string {
	return path.Join(entity.DataDir, "tools", entity.MachineTag(machine).String())
}

// onMachineAsRoot is the command that runs the unit agent binary on a machine as root. The words must need no quotes.
func onMachineAsRoot(machine string, words []string) string {
	jujud := ToolsDir(machine) + "/jujud" // a link into the directory of the agent binaries
	return `exec /bin/sh -c 'run="p=\$(readlink -f ` + jujud + `) && exec \"\${p%/*}/unit-agent\" ` +
		strings.Join(words, " ") +
		`"; if [ "$(id -u)" = 0 ]; then exec /bin/sh -c "$run"; else exec sudo -n /bin/sh -c "$run"; fi'`
}

// localMachine returns the directory of a target's machine. The model must be on this host's local cloud.
func localMachine(s *cli.Session, status *entity.ModelStatus, target string) (string, error) {
	machine, instance, err := instanceOf(status, target)
	if err != nil {
		return "", err
	}
	st, t, err := s.ReadModelTarget()
	if err != nil {
		return "", err
	}
	dir := clouds.Of(t.Controller.Cloud).MachineDir(clouds.Dir(st, t.Controller.Cloud, t.Name),
		t.Controller.Models[t.Model], instance)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return "", entity.WithHint(entity.Errorf(entity.NotFound, "machine %s is not on this host", machine),
			"Run the command on the host of controller %q, as its user.", t.Name)
	} else if err != nil {
		return "", fmt.Errorf("cannot reach machine %s: %w", machine, err)
	}
	return dir, nil
}

// instanceOf finds the machine of a target and its instance.
func instanceOf(status *entity.ModelStatus, target string) (machine, instance string, err error) {
	machine = target
	if entity.IsValidUnit(target) {
		machine = ""
		for _, t := range wait.Entities(status) {
			if t.Kind == "unit" && t.Name == target {
				machine = t.Machine
			}
		}
		if machine == "" {
			return "", "", entity.Errorf(entity.NotFound, "unit %q not found, or not assigned to a machine", target)
		}
	}
	// The controller's reply becomes part of paths, and of commands that run as root.
	if !entity.IsValidMachine(machine) {
		return "", "", entity.Errorf(entity.Invalid, "the controller returned the invalid machine id %q for %s", machine,
			target)
	}
	instances := map[string]string{}
	for _, m := range status.AllMachines() {
		instances[m.ID] = m.InstanceID
	}
	instance, ok := instances[machine]
	switch {
	case !ok:
		return "", "", entity.Errorf(entity.NotFound, "machine %s not found", machine)
	case instance == "":
		return "", "", entity.WithHint(entity.Errorf(entity.NotProvisioned, "machine %s has no instance yet", machine),
			"To wait until it has: juju wait-for machine %s", machine)
	}
	return machine, instance, nil
}
