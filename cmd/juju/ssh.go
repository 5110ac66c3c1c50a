package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"juju/provider/local"
	"juju/state/entity"
)

func sshCommand(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ssh TARGET [COMMAND...]",
		Short: "Open a shell on a machine, or run a command there",
		Long: `Open a shell on a machine, or run a command there. TARGET is a machine, or a unit for its
machine. The exit code is that of the shell or command.

The machines of the local cloud are directories of this host. The shell begins in the
machine's directory, and runs as you, beside everything else on this host.`,
		Example: `  juju ssh 0
  juju ssh web/0 tail -n 20 agents/unit-web-0/log`,
		Annotations: seeAlso("scp", "charm-history", "debug-log", "status"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("no target name specified")
			}
			dirs, err := s.machineDirs(cmd.Context(), args[:1])
			if err != nil {
				return err
			}
			shell := s.getenv("SHELL")
			if shell == "" {
				shell = "/bin/sh"
			}
			if len(args) == 1 {
				return s.exec(dirs[args[0]], shell)
			}
			return s.exec(dirs[args[0]], "/bin/sh", "-c", strings.Join(args[1:], " "))
		},
	}
	cmd.Flags().SetInterspersed(false) // the rest is the command's
	s.modelFlag(cmd)
	return cmd
}

func scpCommand(s *session) *cobra.Command {
	recursive := false
	cmd := &cobra.Command{
		Use:   "scp SOURCE... DESTINATION",
		Short: "Copy files to or from a machine",
		Long: `Copy files to or from a machine. A path on a machine is written TARGET:PATH, where TARGET
is a machine, or a unit for its machine. If PATH does not begin with a slash, it is
relative to the machine's directory.`,
		Example: `  juju scp web/0:agents/unit-web-0/log web.log
  juju scp -r ./site 0:tmp`,
		Annotations: seeAlso("ssh"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usagef("at least two arguments required")
			}
			var targets []string
			for _, arg := range args {
				if target, _, ok := remotePath(arg); ok {
					targets = append(targets, target)
				}
			}
			if len(targets) == 0 {
				return usagef("neither source nor destination is on a machine; write TARGET:PATH")
			}
			dirs, err := s.machineDirs(cmd.Context(), targets)
			if err != nil {
				return err
			}
			copies := []string{"cp"}
			if recursive {
				copies = append(copies, "-R")
			}
			copies = append(copies, "--")
			for _, arg := range args {
				if target, path, ok := remotePath(arg); !ok {
					copies = append(copies, arg)
				} else if filepath.IsAbs(path) {
					copies = append(copies, path)
				} else {
					copies = append(copies, dirs[target]+"/"+path)
				}
			}
			return s.exec("", copies...)
		},
	}
	cmd.Flags().BoolVarP(&recursive, "recursive", "r", false, "copy directories with all that is in them")
	s.modelFlag(cmd)
	return cmd
}

// remotePath splits TARGET:PATH; ok is false for a path of this host.
func remotePath(arg string) (target, path string, ok bool) {
	target, path, ok = strings.Cut(arg, ":")
	if _, name, named := strings.Cut(target, "@"); named {
		return target, path, ok && isTarget(name)
	}
	return target, path, ok && isTarget(target)
}

func isTarget(name string) bool { return entity.IsValidMachine(name) || entity.IsValidUnit(name) }

// machineDirs returns the directories of the machines that targets name, by target.
func (s *session) machineDirs(ctx context.Context, targets []string) (map[string]string, error) {
	for _, target := range targets {
		if _, name, named := strings.Cut(target, "@"); named && isTarget(name) {
			return nil, usagef("cannot be another user on %s: the machines of the local cloud have no users of their own", name)
		} else if !isTarget(target) {
			return nil, entity.WithHint(usagef("%q is not a machine or unit", target), "To see what there is: juju status")
		}
	}
	var status *entity.ModelStatus
	err := s.withModel(ctx, func(api modelAPI) (err error) {
		status, err = api.Status(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	dirs := map[string]string{}
	for _, target := range targets {
		if dirs[target], err = s.localMachine(status, target); err != nil {
			return nil, err
		}
	}
	return dirs, nil
}

// localMachine returns the directory of a target's machine. The model must be on the local
// cloud of this host.
func (s *session) localMachine(status *entity.ModelStatus, target string) (string, error) {
	machine, instance, err := instanceOf(status, target)
	if err != nil {
		return "", err
	}
	st, err := s.store()
	if err != nil {
		return "", err
	}
	contents, err := st.Read()
	if err != nil {
		return "", err
	}
	t, err := s.target(contents)
	if err != nil {
		return "", err
	}
	dir := local.MachineDir(localDir(st, t.name), t.ctrl.Models[t.model], instance)
	if t.ctrl.Cloud == lxdCloud {
		return "", entity.WithHint(entity.Errorf(entity.NotSupported, "machine %s is a container of LXD, which this command "+
			"cannot reach", machine), "On LXD's host: lxc exec %s -- bash", instance)
	}
	if _, err := os.Stat(dir); t.ctrl.Cloud != localCloud || errors.Is(err, fs.ErrNotExist) {
		return "", entity.WithHint(entity.Errorf(entity.NotFound, "machine %s is not on this host", machine),
			"Run the command on the host of controller %q, as the user who runs it.", t.name)
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
		for _, t := range entities(status) {
			if t.kind == "unit" && t.name == target {
				machine = t.machine
			}
		}
		if machine == "" {
			return "", "", entity.Errorf(entity.NotFound, "unit %q not found, or not assigned to a machine", target)
		}
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

// execute replaces this program by another one, which begins in a directory; "" for the
// present one.
func execute(dir string, argv ...string) error {
	path, err := exec.LookPath(argv[0])
	if err == nil && dir != "" {
		err = os.Chdir(dir)
	}
	if err == nil {
		err = syscall.Exec(path, argv, os.Environ())
	}
	return fmt.Errorf("cannot run %s: %w", argv[0], err)
}
