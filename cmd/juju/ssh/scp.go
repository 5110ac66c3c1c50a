package ssh

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/state/entity"
)

func SCPCommand(s *cli.Session) *cobra.Command {
	recursive, w := false, way{}
	cmd := &cobra.Command{
		Use:   "scp SOURCE... DESTINATION",
		Short: "Copy files to or from a machine",
		Long: `Copy files to or from a machine. A path on a machine is written [USER@]TARGET:PATH, where
TARGET is a machine, or a unit, which means its machine; SERVICE/leader is the service's
leader. A PATH without a leading slash is relative to the machine's directory on the local
cloud, and elsewhere to the user's home directory. The default user is ubuntu, or the user
given to add-machine ssh:USER@HOST. After --, options for scp come before the paths. For
--proxy, see juju help ssh.`,
		Example: `  juju scp web/0:agents/unit-web-0/log web.log
  juju scp -r ./site 0:tmp
  juju scp -- -C -i key web/0:/var/log/syslog .`,
		Annotations: cli.SeeAlso("ssh", "add-ssh-key"),
		RunE: func(cmd *cobra.Command, args []string) error {
			w.read(cmd)
			letters, options, args, ok := splitOptions(args, scpValues)
			if !ok || len(args) < 2 {
				return cli.Usagef("at least two arguments required")
			}
			var targets []string
			for _, arg := range args {
				if target, _, ok := remotePath(arg); ok {
					targets = append(targets, target)
				}
			}
			if len(targets) == 0 {
				return cli.Usagef("neither source nor destination is on a machine; use TARGET:PATH")
			}
			return onMachines(cmd.Context(), s, targets, func(status *entity.ModelStatus, api sshAPI, targets []string) (cli.Replacement, error) {
				if isRemote(status) {
					found, known, err := remotes(cmd.Context(), s, api, status, targets, w)
					if err != nil {
						return cli.Replacement{}, err
					}
					copies := append([]string{"scp"}, known...)
					if recursive {
						copies = append(copies, "-r")
					}
					copies = append(copies, options...)
					return cli.Replacement{Argv: copyArgs(append(copies, "--"), args, targets, func(target, path string) string {
						return found[target].path(path)
					})}, nil
				}
				if err := w.checkLocal(); err != nil {
					return cli.Replacement{}, err
				}
				if _, err := withoutConnection("scp", options, scpValues, scpOptions); err != nil {
					return cli.Replacement{}, err
				}
				dirs, err := machineDirs(s, status, targets)
				if err != nil {
					return cli.Replacement{}, err
				}
				copies := []string{"cp"}
				if recursive || strings.Contains(letters, "r") {
					copies = append(copies, "-R")
				}
				if strings.Contains(letters, "p") {
					copies = append(copies, "-p")
				}
				return cli.Replacement{Argv: copyArgs(append(copies, "--"), args, targets, func(target, path string) string {
					if filepath.IsAbs(path) {
						return path
					}
					return dirs[target] + "/" + path
				})}, nil
			})
		},
	}
	cmd.Flags().BoolVarP(&recursive, "recursive", "r", false, "copy directories recursively")
	w.flags(cmd)
	s.ModelFlag(cmd)
	return cmd
}

// scpValues are the options of scp that take values, and scpOptions those that the local cloud has, or that only say how to
// connect.
const (
	scpValues  = "cDFiJloPSX"
	scpOptions = "rp346ABCOqRTv" + "cFiloX"
)

// copyArgs appends the sources and the destination to the arguments of a copy command. The targets are those of the args.
func copyArgs(argv, args, targets []string, at func(target, path string) string) []string {
	for _, arg := range args {
		if _, path, ok := remotePath(arg); ok {
			arg, targets = at(targets[0], path), targets[1:]
		}
		argv = append(argv, arg)
	}
	return argv
}

// remotePath splits TARGET:PATH; ok is false for a local path.
func remotePath(arg string) (target, path string, ok bool) {
	target, path, ok = strings.Cut(arg, ":")
	if _, name, named := strings.Cut(target, "@"); named {
		return target, path, ok && isTarget(name)
	}
	return target, path, ok && isTarget(target)
}
