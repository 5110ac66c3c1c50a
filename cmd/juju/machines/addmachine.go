package machines

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"juju/apiserver/client"
	"juju/charm"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/sshhost"
	"juju/cmd/juju/wait"
	"juju/state/constraints"
	"juju/state/entity"
)

func AddMachineCommand(s *cli.Session) *cobra.Command {
	a := &addMachine{Session: s}
	cmd := &cobra.Command{
		Use:   "add-machine [PLACEMENT]",
		Short: "Add machines without units",
		Long: `Add one machine, or several with -n: up to 100, or more with --force. Before they add
machines, deploy and add-unit use those that have never had a unit and match the new
units; with --to, they use the machines you specify.

Constraints given here override the model's. The command fails if the cloud cannot satisfy
the constraints or the series, and warns about constraints that the cloud ignores.

PLACEMENT is lxd:0 for a container on machine 0, lxd for a container on a new machine, or
a cloud-specific placement such as zone=a. On the cloud lxd, a container is another
instance of the same LXD, next to that of its machine, and zones are the members of a
cluster. The local cloud has neither.

ssh:[USER@]HOST[:PORT] adds one of your own hosts as a machine. This program connects to
it over SSH with the keys of ssh-agent and ~/.ssh, or the key in --private-key, and only
if the host's key is in ~/.ssh/known_hosts. The user must be root, or able to run sudo
without a password. The host needs curl, python3 or wget, and must be able to reach the
controller; a controller on the local cloud is not reachable. An agent is installed in
/var/lib/juju, with a systemd service that runs it. Without systemd, a sysvinit script or
a file in /etc/cron.d is used instead; without any of these, a warning says how to start
the agent after a reboot. Nothing else on the host changes. If the installation fails, it
is undone.

Hooks run on the host as root. juju never starts, stops or replaces the host.
destroy-machine removes the agent with its data in /var/lib/juju; anything that charms
installed elsewhere stays.`,
		Example: `  juju add-machine
  juju add-machine -n 2
  juju add-machine --constraints mem=2G
  juju add-machine lxd:0
  juju add-machine zone=node2
  juju add-machine ssh:root@10.0.0.7`,
		Annotations: cli.SeeAlso("destroy-machine", "deploy", "add-unit", "set-model-constraints"),
		Args:        cli.AtMost(1),
		RunE:        func(cmd *cobra.Command, args []string) error { return a.run(cmd.Context(), args) },
	}
	cmd.Flags().IntVarP(&a.n, "num-machines", "n", 1, "the number of machines")
	cli.ManyFlag(cmd, &a.force, "machines")
	cmd.Flags().StringVar(&a.constraints, "constraints", "",
		"the constraints of the machines, as KEY=VALUE, separated by spaces")
	cli.SeriesFlags(cmd, &a.series, "the machines")
	cmd.Flags().StringVar(&a.privateKey, "private-key", "", "the private key file to use with ssh:")
	a.wait.Add(cmd, "until the machines are started")
	s.ModelFlag(cmd)
	s.PlanFlags(cmd)
	return cmd
}

type addMachineAPI interface {
	wait.StatusAPI
	addHostAPI
}

type addHostAPI interface {
	DestroyMachines(ctx context.Context, how entity.Destruction, ids ...string) ([]error, entity.DestroyInfo, error)
	AddMachine(ctx context.Context, args client.MachineArgs) (id string, warnings []string, err error)
	ProvisioningScript(ctx context.Context, machine, nonce string) (string, error)
}

type addMachine struct {
	*cli.Session
	n                   int
	constraints, series string
	privateKey          string
	force               bool
	wait                wait.Flag
}

func (a *addMachine) run(ctx context.Context, args []string) error {
	request, err := a.request(args)
	if err != nil {
		return err
	}
	var host *sshhost.Host
	if request.Placement.Manual != "" {
		if a.Embedded {
			return cli.Usagef("cannot add the host %s: the controller runs this command, and must not connect to hosts",
				request.Placement)
		}
		if a.Planning() {
			return cli.Usagef("--dry-run does not plan what is done to a host: %s", request.Placement)
		}
		h, err := a.host(request.Placement)
		if err == nil {
			err = a.reachable()
		}
		if err != nil {
			return err
		}
		host = &h
	} else if a.privateKey != "" {
		return cli.Usagef("--private-key is for %s[USER@]HOST[:PORT]", entity.ManualPlacement)
	}
	return cli.WithModel(ctx, a.Session, func(api addMachineAPI) (err error) {
		var added []string
		if host != nil {
			added = make([]string, 1)
			added[0], err = a.addHost(ctx, api, *host, request.Series)
		} else {
			added, err = a.add(ctx, api, request)
		}
		if err != nil {
			return err
		}
		return a.wait.Run(ctx, a.Session, api, wait.Condition{Names: added})
	})
}

func (a *addMachine) request(args []string) (r client.MachineArgs, err error) {
	if r.Constraints, err = constraints.Parse(a.constraints); err != nil {
		return r, cli.Usage(err)
	}
	if _, ok := r.Constraints.Get(constraints.Container); ok {
		return r, cli.Usagef("container constraint %q not allowed when adding a machine", constraints.Container)
	}
	if a.series != "" && !charm.IsValidSeries(a.series) {
		return r, cli.Usage(entity.InvalidSeries(a.series))
	}
	r.Series = a.series
	if a.n < 1 {
		return r, cli.Usagef("the number of machines must be a positive integer")
	}
	if err := cli.CheckMany("machines", a.n, a.force); err != nil {
		return r, err
	}
	if len(args) == 0 {
		return r, nil
	}
	if a.n > 1 {
		return r, cli.Usagef("cannot use -n when specifying a placement directive")
	}
	if r.Placement, err = entity.ParsePlacement("placement", args[0]); err != nil {
		return r, cli.Usage(err)
	}
	if r.Placement.Machine != "" && r.Placement.Container == "" {
		return r, cli.Usagef("machine-id cannot be specified when adding machines")
	}
	return r, nil
}

func (a *addMachine) add(ctx context.Context, api addMachineAPI, r client.MachineArgs) (added []string, err error) {
	one := func() error {
		id, warnings, err := api.AddMachine(ctx, r)
		if err != nil {
			return err
		}
		if len(added) == 0 { // the same for all machines
			a.Warn(warnings...)
		}
		a.Note("created machine %s", id)
		added = append(added, id)
		return nil
	}
	if err = a.Together(ctx, api, slices.Repeat([]func() error{one}, a.n)...); err != nil && len(added) > 0 {
		a.Note("%d of %d machines were created.", len(added), a.n)
	}
	return added, err
}
