package services

import (
	"context"

	"juju/cmd/juju/cli"

	"github.com/spf13/cobra"
)

func ExposeCommand(s *cli.Session) *cobra.Command {
	return onService(s, &cobra.Command{
		Use:   "expose SERVICE",
		Short: "Open a service's ports to the world",
		Long: `Let the world reach the ports that the units of a service open. A machine can be reached
from outside at these ports, at that of SSH (22/tcp), and at no others; ICMP always
passes. On the cloud lxd, outside is the LXD host and everything beyond it; machines
of one network reach all ports of each other, and hosts that were added to the model
(juju add-machine ssh:HOST) reach all ports of its machines.

Of a host that was added, only those ports are closed that a unit there has opened and
whose service is not exposed, and never one of SSH; all others are as its owner has set
them. The host itself and the other machines of the model, by their own addresses, reach
all ports. What else reaches them through a network that translates addresses (NAT)
comes from outside. The host's agent keeps these rules in a table of nftables, and takes
it off the host again.

Where this can't be had, a warning says so, and all ports can be reached: on the cloud
local, on a network that LXD does not manage, on a host without the command nft, and if
the model was made with the setting firewall-mode=none.`,
		Example:     `  juju expose web`,
		Annotations: cli.SeeAlso("unexpose", "status", "model-config"),
	}, func(cmd *cobra.Command, api exposeAPI, service string) error {
		warnings, err := api.Expose(cmd.Context(), service)
		s.Warn(warnings...)
		return err
	})
}

// onService completes a command whose only argument is a service.
func onService(s *cli.Session, cmd *cobra.Command, do func(*cobra.Command, exposeAPI, string) error) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := cli.CheckService(args); err != nil {
			return err
		}
		return cli.WithModel(cmd.Context(), s, func(api exposeAPI) error { return do(cmd, api, args[0]) })
	}
	s.ModelFlag(cmd)
	return cmd
}

type exposeAPI interface {
	Expose(ctx context.Context, service string) (warnings []string, err error)
	Unexpose(ctx context.Context, service string) error
}
