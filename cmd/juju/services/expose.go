package services

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/state/entity"
)

func ExposeCommand(s *cli.Session) *cobra.Command {
	var endpoints []string
	var to entity.ExposedTo
	cmd := onService(s, &cobra.Command{
		Use:   "expose SERVICE",
		Short: "Allow access from outside to a service's ports",
		Long: `Allow access from outside to the ports that the units of a service open: to everyone, or
with --to-cidrs and --to-spaces to some networks. A charm can open a port for some of its
endpoints. With --endpoints, only ports that are open for these endpoints, or for all
endpoints, are exposed; other endpoints stay as they are. Exposing endpoints again
replaces their settings. Endpoints with settings of their own ignore those for all
endpoints; a port that is open for all endpoints is exposed by both.

From outside, a machine can be reached only at these ports, at the SSH port (22/tcp) and
by ICMP. On the cloud lxd, outside is the LXD host and everything beyond it; machines on
the same network can reach all of each other's ports, and hosts that were added to the
model (juju add-machine ssh:HOST) can reach all ports of its machines.

On an added host, the only ports that are closed are those opened by units of services
that are not exposed, and never an SSH port; all other ports are left as configured by its
owner. The host itself and the model's other machines can reach all ports from their own
addresses. Traffic through a network with address translation (NAT) counts as outside. The
host's agent maintains these rules in an nftables table, which it removes when it is
uninstalled.

On the cloud local all ports are reachable: its machines are this host, whose ports juju
does not filter. A warning says where else this is not supported: on a network that LXD
does not manage, on a host without the command nft, and in a model created with
firewall-mode=none.`,
		Example: `  juju expose web
  juju expose web --to-cidrs 10.0.0.0/8,2001:db8::/32
  juju expose web --endpoints admin --to-cidrs 192.0.2.0/24`,
		Annotations: cli.SeeAlso("unexpose", "status", "model-config"),
	}, func(cmd *cobra.Command, api exposeAPI, service string) error {
		if err := to.Check(); err != nil {
			return fmt.Errorf("cannot expose %s: %w", service, err)
		}
		exposed := entity.ExposedEndpoints{}
		for _, name := range endpoints {
			exposed[name] = to
		}
		if len(endpoints) == 0 && len(to.CIDRs)+len(to.Spaces) > 0 {
			exposed[entity.AllEndpoints] = to
		}
		warnings, err := api.Expose(cmd.Context(), service, exposed)
		s.Warn(warnings...)
		return err
	})
	flags := cmd.Flags()
	flags.StringSliceVar(&endpoints, "endpoints", nil, "`endpoints` to expose, separated by commas; all by default")
	flags.StringSliceVar(&to.CIDRs, "to-cidrs", nil, "`networks` that have access, separated by commas; all by default")
	flags.StringSliceVar(&to.Spaces, "to-spaces", nil, "`spaces` that have access, separated by commas")
	return cmd
}

// onService completes a command whose argument is a service.
func onService(s *cli.Session, cmd *cobra.Command, do func(*cobra.Command, exposeAPI, string) error) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := cli.CheckService(args); err != nil {
			return err
		}
		return cli.WithModel(cmd.Context(), s, func(api exposeAPI) error { return do(cmd, api, args[0]) })
	}
	s.ModelFlag(cmd)
	s.PlanFlags(cmd)
	return cmd
}

type exposeAPI interface {
	Expose(ctx context.Context, service string, endpoints entity.ExposedEndpoints) (warnings []string, err error)
	Unexpose(ctx context.Context, service string, endpoints ...string) error
}
