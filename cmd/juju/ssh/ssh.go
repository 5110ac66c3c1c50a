package ssh

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/wait"
	"juju/state/entity"
)

func SSHCommand(s *cli.Session) *cobra.Command {
	var c sshOptions
	cmd := &cobra.Command{
		Use:   "ssh [USER@]TARGET [COMMAND...]",
		Short: "Open a shell on a machine, or run a command there",
		Long: `Open a shell on a machine, or run a command there. TARGET is a machine, or a unit, which
means its machine; SERVICE/leader is the service's leader. The exit code is that of the
shell or command. As with ssh, a shell there reads COMMAND, whose words are joined by
spaces: quote them once more to keep them. juju exec keeps words as they are.

Machines of the local cloud are directories on this host. The shell starts in the
machine's directory and runs as you, without isolation from the rest of this host.

juju-exec is in the session's PATH. If TARGET is a unit, juju-exec COMMAND runs in its
context; on clouds other than local it requires sudo.

On other clouds, this command runs ssh, by default as the user ubuntu. Options for ssh
come after TARGET and before the command. The machine must have the host keys that its
agent reported to the controller. Machines accept the SSH keys of their model: see juju
add-ssh-key. juju bootstrap and juju add-model add your keys in ~/.ssh to the new model.

With --proxy, or in a model whose setting proxy-ssh is true, the connection goes through
the controller's machine, whose host key is verified too. That machine must accept your
key (juju add-ssh-key -m controller), and you need access to the model controller.

On a host that was added with add-machine ssh:USER@HOST, this command logs in as that user
with your own keys; juju adds no keys there. Its host key can also be in your
~/.ssh/known_hosts.`,
		Example: `  juju ssh 0
  juju ssh web/0 sudo tail -n 20 /var/log/juju/unit-web-0.log
  juju ssh web/0 sudo juju-exec config-get title
  juju ssh web/leader -- ls -l
  juju ssh --proxy 0
  juju ssh root@web/0 -L 8080:localhost:80`,
		Annotations: cli.SeeAlso("scp", "add-ssh-key", "charm-history", "debug-log", "status"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usagef("no target name specified")
			}
			c.way.read(cmd)
			c.ptySet = cmd.Flags().Changed("pty")
			return onMachines(cmd.Context(), s, args[:1], func(status *entity.ModelStatus, api sshAPI, targets []string) (cli.Replacement, error) {
				return c.command(cmd.Context(), s, api, status, targets[0], args[1:])
			})
		},
	}
	cmd.Flags().SetInterspersed(false) // the rest belongs to the command
	c.way.flags(cmd)
	cmd.Flags().BoolVar(&c.pty, "pty", false, "allocate a terminal for the command (default: if you have one; not on cloud local)")
	s.ModelFlag(cmd)
	return cmd
}

type sshAPI interface {
	wait.StatusAPI
	cli.LeaderAPI
	HostKeys(ctx context.Context, machine entity.Tag) ([]string, error)
	ProxiesSSH(ctx context.Context) (bool, error)
}

type sshOptions struct {
	way
	pty, ptySet bool
}

// command returns the program to exec.
func (c sshOptions) command(ctx context.Context, s *cli.Session, api sshAPI, status *entity.ModelStatus,
	target string, words []string) (cli.Replacement, error) {
	unit := target[strings.LastIndex(target, "@")+1:]
	machine, _, err := instanceOf(status, unit)
	if err != nil {
		return cli.Replacement{}, err
	}
	if entity.IsValidMachine(unit) {
		unit = ""
	}
	if !isRemote(status) {
		if err := c.checkLocal(); err != nil {
			return cli.Replacement{}, err
		}
		dirs, err := machineDirs(s, status, []string{target})
		if err != nil {
			return cli.Replacement{}, err
		}
		tools := filepath.Join(dirs[target], "tools", entity.MachineTag(machine).String())
		r := cli.Replacement{Dir: dirs[target], Env: map[string]string{"PATH": tools + ":" + s.Getenv("PATH")}}
		if unit != "" {
			r.Env[sessionsUnit] = unit
		}
		if words, err = withoutConnection("ssh", words, sshValues, ofConnection); err != nil {
			return cli.Replacement{}, err
		}
		r.Argv = []string{cmp.Or(s.Getenv("SHELL"), "/bin/sh")}
		if len(words) > 0 {
			r.Argv = []string{"/bin/sh", "-c", strings.Join(words, " ")}
		}
		return r, nil
	}
	found, options, err := remotes(ctx, s, api, status, []string{target}, c.way)
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

// sessionsUnit is the environment variable that tells juju-run the session's unit.
const sessionsUnit = "JUJU_UNIT_NAME"

// sshValues are the options of ssh that take values. With one in noCommand it runs neither a command nor a shell.
const (
	sshValues = "BbcDEeFIiJLlmOopPQRSWw"
	noCommand = "GNOQsVW"
)

// ofConnection are the options of ssh that only say how to connect, and as whom: nothing on the local cloud.
const ofConnection = "46AaCcFikmoqTtvx"

// withoutConnection returns the words after the options of a program, which may be none but those in harmless.
func withoutConnection(program string, words []string, values, harmless string) ([]string, error) {
	letters, _, rest, ok := splitOptions(words, values)
	if !ok {
		return nil, cli.Usagef("option requires an argument: %s", words[len(words)-1])
	}
	for _, letter := range letters {
		if !strings.ContainsRune(harmless, letter) {
			return nil, entity.WithHint(cli.Usagef("cannot use %s option -%c: machines of the local cloud are directories on this host", program, letter),
				"Units listen on ports of this host. If -%c is part of the command, put -- before it.", letter)
		}
	}
	return rest, nil
}

// splitOptions splits the words after a destination, or after the name of a program, into options and the rest. letters are the
// options' names, and values those that take a value. ok is false if the last value is missing.
func splitOptions(words []string, values string) (letters string, options, rest []string, ok bool) {
	n := 0
	for ; n < len(words) && len(words[n]) > 1 && words[n][0] == '-'; n++ {
		if words[n] == "--" {
			n++
			break
		}
		flags := words[n][1:]
		at := strings.IndexAny(flags, values)
		if at == len(flags)-1 {
			n++ // past the value
		}
		if at >= 0 {
			flags = flags[:at+1]
		}
		letters += flags
	}
	if n > len(words) {
		return letters, words, nil, false
	}
	return letters, words[:n], words[n:], true
}

// withUnit changes the command after the destination on an ssh command line to also set sessionsUnit. By default,
// servers do not accept variables from ssh.
func withUnit(words []string, unit string) []string {
	letters, options, rest, ok := splitOptions(words, sshValues)
	if !ok || strings.ContainsAny(letters, noCommand) {
		return words
	}
	if len(rest) == 0 {
		return append(slices.Clone(words), "exec env "+sessionsUnit+"="+unit+" $SHELL -l")
	}
	return slices.Concat(options, []string{"export " + sessionsUnit + "=" + unit + ";"}, rest)
}
