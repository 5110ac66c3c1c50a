package ssh

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/state/entity"
)

func SCPCommand(s *cli.Session) *cobra.Command {
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

// remotePath splits TARGET:PATH; ok is false for a path of this host.
func remotePath(arg string) (target, path string, ok bool) {
	target, path, ok = strings.Cut(arg, ":")
	if _, name, named := strings.Cut(target, "@"); named {
		return target, path, ok && isTarget(name)
	}
	return target, path, ok && isTarget(target)
}
