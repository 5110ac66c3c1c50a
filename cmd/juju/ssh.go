package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/clouds"
	"juju/cmd/juju/wait"
	"juju/state/entity"
)

func sshCommand(s *cli.Session) *cobra.Command {
	var c sshOptions
	cmd := &cobra.Command{
		Use:   "ssh [USER@]TARGET [COMMAND...]",
		Short: "Open a shell on a machine, or run a command there",
		Long: `Open a shell on a machine, or run a command there. TARGET is a machine, or a unit for its
machine; SERVICE/leader is the unit that leads a service. The exit code is that of the
shell or command.

The machines of the local cloud are directories of this host. The shell begins in the
machine's directory, and runs as you, beside everything else on this host.

juju-run is in the PATH of the session. If TARGET is a unit, juju-run COMMAND is about
that unit; on other clouds than local it needs sudo.

Other machines are reached with the program ssh, as the user ubuntu unless you name
another. Options of ssh come after TARGET, and before the command. The machine must have
the host keys that its agent has reported to the controller. Machines take the SSH keys
of their model: see juju add-ssh-key. The keys in ~/.ssh of the one who creates a model
are added by juju bootstrap and juju add-model.

A host that was added with add-machine ssh:USER@HOST is reached as that user, with your
own keys: juju writes none into it. It can also have a host key of your
~/.ssh/known_hosts.`,
		Example: `  juju ssh 0
  juju ssh web/0 sudo tail -n 20 /var/log/juju/unit-web-0.log
  juju ssh web/0 sudo juju-run "'config-get title'"
  juju ssh web/leader -- ls -l
  juju ssh root@web/0 -L 8080:localhost:80`,
		Annotations: cli.SeeAlso("scp", "add-ssh-key", "charm-history", "debug-log", "status"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usagef("no target name specified")
			}
			c.ptySet = cmd.Flags().Changed("pty")
			return onMachines(cmd.Context(), s, args[:1], func(status *entity.ModelStatus, api sshAPI) (cli.Replacement, error) {
				return c.command(cmd.Context(), s, api, status, args)
			})
		},
	}
	cmd.Flags().SetInterspersed(false) // the rest is the command's
	cmd.Flags().BoolVar(&c.noChecks, "no-host-key-checks", false, "do not check that it is the machine (not on cloud local)")
	cmd.Flags().BoolVar(&c.pty, "pty", false, "give the command a terminal (default: if you have one; not on cloud local)")
	s.ModelFlag(cmd)
	return cmd
}

type sshAPI interface {
	wait.StatusAPI
	HostKeys(ctx context.Context, machine entity.Tag) ([]string, error)
}

type sshOptions struct {
	noChecks    bool
	pty, ptySet bool
}

// command returns what to run in place of this program.
func (c sshOptions) command(ctx context.Context, s *cli.Session, api sshAPI, status *entity.ModelStatus,
	args []string) (cli.Replacement, error) {
	target, words := args[0], args[1:]
	_, named, isNamed := strings.Cut(target, "@")
	if !isNamed {
		named = target
	}
	machine, _, err := instanceOf(status, named)
	if err != nil {
		return cli.Replacement{}, err
	}
	unit, err := leading(status, named)
	if err != nil {
		return cli.Replacement{}, err
	}
	if entity.IsValidMachine(unit) {
		unit = ""
	}
	if !isRemote(status) {
		dirs, err := machineDirs(s, status, args[:1])
		if err != nil {
			return cli.Replacement{}, err
		}
		tools := filepath.Join(dirs[target], "tools", entity.MachineTag(machine).String())
		r := cli.Replacement{Dir: dirs[target], Env: map[string]string{"PATH": tools + ":" + s.Getenv("PATH")}}
		if unit != "" {
			r.Env[sessionsUnit] = unit
		}
		switch {
		case len(words) == 0:
		case words[0] == "--":
			words = words[1:]
		case strings.HasPrefix(words[0], "-"):
			return cli.Replacement{}, entity.WithHint(cli.Usagef("cannot use %s of ssh: the machines of the local cloud are directories of this host", words[0]),
				"Ports that units listen on are ports of this host. If %s begins the command, put -- before it.", words[0])
		}
		r.Argv = []string{cmp.Or(s.Getenv("SHELL"), "/bin/sh")}
		if len(words) > 0 {
			r.Argv = []string{"/bin/sh", "-c", strings.Join(words, " ")}
		}
		return r, nil
	}
	found, options, err := remotes(ctx, s, api, status, args[:1], !c.noChecks)
	if err != nil {
		return cli.Replacement{}, err
	}
	if !c.ptySet {
		c.pty = s.InTerminal && s.OutTerminal
	}
	terminal := "-T"
	if c.pty {
		terminal = "-t"
	}
	if unit != "" {
		words = withUnit(words, unit)
	}
	return cli.Replacement{Argv: slices.Concat([]string{"ssh"}, options, []string{terminal, found[target].String()}, words)}, nil
}

// sessionsUnit is the variable by which juju-run knows the unit of a session.
const sessionsUnit = "JUJU_UNIT_NAME"

// sshValues are the options of ssh that have values. After one of noCommand it runs no command and no shell.
const (
	sshValues = "BbcDEeFIiJLlmOopPQRSWw"
	noCommand = "GNOQsVW"
)

// withUnit returns what follows the destination on a command line of ssh, with a command that also sets sessionsUnit.
// Servers take no variables from ssh unless they are told to.
func withUnit(words []string, unit string) []string {
	n := 0
	for ; n < len(words) && len(words[n]) > 1 && words[n][0] == '-'; n++ {
		if words[n] == "--" {
			n++
			break
		}
		at := strings.IndexAny(words[n], sshValues)
		flags := words[n]
		if at > 0 {
			flags = flags[:at+1]
		}
		if strings.ContainsAny(flags, noCommand) {
			return words
		}
		if at == len(words[n])-1 {
			n++ // past the value
		}
	}
	switch {
	case n > len(words): // a value is missing
		return words
	case n == len(words):
		return append(slices.Clone(words), "exec env "+sessionsUnit+"="+unit+" $SHELL -l")
	}
	return slices.Insert(slices.Clone(words), n, "export "+sessionsUnit+"="+unit+";")
}

func scpCommand(s *cli.Session) *cobra.Command {
	recursive, noChecks := false, false
	cmd := &cobra.Command{
		Use:   "scp SOURCE... DESTINATION",
		Short: "Copy files to or from a machine",
		Long: `Copy files to or from a machine. A path on a machine is written TARGET:PATH, where TARGET
is a machine, or a unit for its machine; SERVICE/leader is the unit that leads a service.
If PATH does not begin with a slash, it is
relative to the machine's directory on the local cloud, and elsewhere to the home of the
user: ubuntu, or the user of add-machine ssh:USER@HOST, unless it is written
USER@TARGET:PATH.`,
		Example: `  juju scp web/0:agents/unit-web-0/log web.log
  juju scp -r ./site 0:tmp`,
		Annotations: cli.SeeAlso("ssh", "add-ssh-key"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return cli.Usagef("at least two arguments required")
			}
			var targets []string
			for _, arg := range args {
				if target, _, ok := remotePath(arg); ok {
					targets = append(targets, target)
				}
			}
			if len(targets) == 0 {
				return cli.Usagef("neither source nor destination is on a machine; write TARGET:PATH")
			}
			return onMachines(cmd.Context(), s, targets, func(status *entity.ModelStatus, api sshAPI) (cli.Replacement, error) {
				if isRemote(status) {
					found, options, err := remotes(cmd.Context(), s, api, status, targets, !noChecks)
					if err != nil {
						return cli.Replacement{}, err
					}
					copies := append([]string{"scp"}, options...)
					if recursive {
						copies = append(copies, "-r")
					}
					return cli.Replacement{Argv: copyArgs(append(copies, "--"), args, func(target, path string) string {
						return found[target].path(path)
					})}, nil
				}
				dirs, err := machineDirs(s, status, targets)
				if err != nil {
					return cli.Replacement{}, err
				}
				copies := []string{"cp"}
				if recursive {
					copies = append(copies, "-R")
				}
				return cli.Replacement{Argv: copyArgs(append(copies, "--"), args, func(target, path string) string {
					if filepath.IsAbs(path) {
						return path
					}
					return dirs[target] + "/" + path
				})}, nil
			})
		},
	}
	cmd.Flags().BoolVarP(&recursive, "recursive", "r", false, "copy directories with all that is in them")
	cmd.Flags().BoolVar(&noChecks, "no-host-key-checks", false, "do not check that it is the machine (not on cloud local)")
	s.ModelFlag(cmd)
	return cmd
}

// copyArgs adds the sources and the destination to the arguments of a program that copies.
func copyArgs(argv, args []string, at func(target, path string) string) []string {
	for _, arg := range args {
		if target, path, ok := remotePath(arg); ok {
			arg = at(target, path)
		}
		argv = append(argv, arg)
	}
	return argv
}

// isRemote reports whether the machines of a model are reached by SSH.
func isRemote(status *entity.ModelStatus) bool {
	return status.Model.Cloud != "" && clouds.Of(status.Model.Cloud).HasSSH()
}

// onMachines runs a program in place of this one, which choose returns from the state of the model.
func onMachines(ctx context.Context, s *cli.Session, targets []string,
	choose func(*entity.ModelStatus, sshAPI) (cli.Replacement, error)) error {
	for _, target := range targets {
		if _, name, named := strings.Cut(target, "@"); named && isTarget(name) {
			continue
		}
		if !isTarget(target) {
			return entity.WithHint(cli.Usagef("%q is not a machine or unit", target), "To see what there is: juju status")
		}
	}
	var r cli.Replacement
	err := cli.WithModel(ctx, s, func(api sshAPI) error {
		status, err := statusOf(ctx, api, targets...)
		if err != nil {
			return err
		}
		r, err = choose(status, api)
		return err
	})
	if err != nil {
		return err
	}
	return s.Exec(r)
}

// statusOf returns what the model's status says of targets and their machines.
func statusOf(ctx context.Context, api sshAPI, targets ...string) (*entity.ModelStatus, error) {
	var patterns []string
	for _, target := range targets {
		name := target[strings.LastIndex(target, "@")+1:]
		patterns = append(patterns, strings.TrimSuffix(name, "/leader"))
	}
	return api.Status(ctx, patterns...)
}

// remotePath splits TARGET:PATH; ok is false for a path of this host.
func remotePath(arg string) (target, path string, ok bool) {
	target, path, ok = strings.Cut(arg, ":")
	if _, name, named := strings.Cut(target, "@"); named {
		return target, path, ok && isTarget(name)
	}
	return target, path, ok && isTarget(target)
}

func isTarget(name string) bool { return entity.IsValidMachine(name) || cli.IsUnitTarget(name) }

// machineDirs returns the directories of the machines that targets name, by target. The model must
// be on the local cloud of this host.
func machineDirs(s *cli.Session, status *entity.ModelStatus, targets []string) (map[string]string, error) {
	dirs := map[string]string{}
	for _, target := range targets {
		_, name, named := strings.Cut(target, "@")
		if named {
			return nil, cli.Usagef("cannot be another user on %s: the machines of the local cloud have no users of their own", name)
		}
		dir, err := localMachine(s, status, target)
		if err != nil {
			return nil, err
		}
		dirs[target] = dir
	}
	return dirs, nil
}

// A remoteProgram returns the command line that runs, as root on a unit's machine, what its agent's
// program does for users: agent.RunDebugHooks or agent.RunCharmHistory. The options are for ssh.
type remoteProgram func(options []string, what string, args ...string) []string

// unitPlace returns the name of a unit, which can be given as SERVICE/leader, the directory of its
// machine, and how that is reached by SSH: nil on the local cloud.
func unitPlace(ctx context.Context, s *cli.Session, target string) (unit, dir string, remote remoteProgram, err error) {
	err = cli.WithModel(ctx, s, func(api sshAPI) error {
		status, err := statusOf(ctx, api, target)
		if err != nil {
			return err
		}
		if unit, err = leading(status, target); err != nil {
			return err
		}
		if !isRemote(status) {
			dir, err = localMachine(s, status, unit)
			return err
		}
		found, options, err := remotes(ctx, s, api, status, []string{unit}, true)
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

// leading returns the unit that leads the service if target is SERVICE/leader, and else target.
func leading(status *entity.ModelStatus, target string) (string, error) {
	service, ok := strings.CutSuffix(target, "/leader")
	if !ok {
		return target, nil
	}
	known := slices.ContainsFunc(status.Services, func(s entity.ServiceStatus) bool { return s.Name == service })
	if !known {
		return "", entity.Errorf(entity.NotFound, "service %q not found", service)
	}
	for _, t := range wait.Entities(status) {
		if t.Leads && t.Of == service {
			return t.Name, nil
		}
	}
	return "", entity.WithHint(entity.Errorf(entity.NotFound, "could not determine leader for %q", service),
		"No unit leads it at the moment: name a unit, or try again.")
}

// toolsOf is the directory of programs for the users of a machine.
func toolsOf(machine string) string {
	return path.Join(entity.DataDir, "tools", entity.MachineTag(machine).String())
}

// onMachineAsRoot is the command that runs the program of units' agents on a machine. The words need no
// quotes.
func onMachineAsRoot(machine string, words []string) string {
	jujud := toolsOf(machine) + "/jujud" // a link to the program beside it
	return `exec /bin/sh -c 'run="p=\$(readlink -f ` + jujud + `) && exec \"\${p%/*}/unit-agent\" ` + strings.Join(words, " ") +
		`"; if [ "$(id -u)" = 0 ]; then exec /bin/sh -c "$run"; else exec sudo -n /bin/sh -c "$run"; fi'`
}

// localMachine returns the directory of a target's machine. The model must be on the local
// cloud of this host.
func localMachine(s *cli.Session, status *entity.ModelStatus, target string) (string, error) {
	machine, instance, err := instanceOf(status, target)
	if err != nil {
		return "", err
	}
	st, t, err := s.ReadModelTarget()
	if err != nil {
		return "", err
	}
	dir := clouds.Of(t.Controller.Cloud).MachineDir(clouds.Dir(st, t.Controller.Cloud, t.Name), t.Controller.Models[t.Model], instance)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return "", entity.WithHint(entity.Errorf(entity.NotFound, "machine %s is not on this host", machine),
			"Run the command on the host of controller %q, as the user who runs it.", t.Name)
	} else if err != nil {
		return "", fmt.Errorf("cannot reach machine %s: %w", machine, err)
	}
	return dir, nil
}

// instanceOf finds the machine of a target and its instance.
func instanceOf(status *entity.ModelStatus, target string) (machine, instance string, err error) {
	if target, err = leading(status, target); err != nil {
		return "", "", err
	}
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
	// What the controller says becomes a part of paths, and of command lines that root runs.
	if !entity.IsValidMachine(machine) {
		return "", "", entity.Errorf(entity.Invalid, "the controller says that %s is on machine %q, which can't be the id "+
			"of a machine", target, machine)
	}
	instances := map[string]string{}
	for _, m := range status.AllMachines() {
		instances[m.ID] = m.InstanceID
	}
	instance, there := instances[machine]
	switch {
	case !there:
		return "", "", entity.Errorf(entity.NotFound, "machine %s not found", machine)
	case instance == "":
		return "", "", entity.WithHint(entity.Errorf(entity.NotProvisioned, "machine %s has no instance yet", machine),
			"Wait until it has: juju wait-for machine %s", machine)
	}
	return machine, instance, nil
}
