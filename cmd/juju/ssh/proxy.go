package ssh

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/clouds"
	"juju/state/entity"
	"juju/state/entity/shell"
)

// A way says how to connect to machines.
type way struct {
	noChecks        bool // of host keys
	proxy, proxySet bool // through the controller's machine; if it is not set, as the model's proxy-ssh says
}

func (w *way) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&w.noChecks, "no-host-key-checks", false,
		"do not verify the machine's host key (not on cloud local)")
	cmd.Flags().BoolVar(&w.proxy, "proxy", false,
		"connect through the controller's machine (default: as the model's proxy-ssh says; not on cloud local)")
}

func (w *way) read(cmd *cobra.Command) { w.proxySet = cmd.Flags().Changed("proxy") }

// checkLocal refuses what the machines of the local cloud don't have.
func (w way) checkLocal() error {
	if w.proxy {
		return cli.Usagef("cannot use --proxy: machines of the local cloud are directories on this host, and no connection is made")
	}
	return nil
}

// proxyFor returns the controller's machine to connect through, as USER@HOST, or "" to connect directly. It adds the
// machine's host keys to a known_hosts file.
func (w way) proxyFor(ctx context.Context, s *cli.Session, api sshAPI,
	known *strings.Builder) (login string, err error) {
	if !w.proxySet {
		if w.proxy, err = api.ProxiesSSH(ctx); err != nil {
			return "", err
		}
	}
	if !w.proxy {
		return "", nil
	}
	_, t, err := s.ReadModelTarget()
	if err != nil {
		return "", err
	}
	model := clouds.ControllerModel
	for name := range t.Controller.Models {
		if strings.HasSuffix(name, "/"+clouds.ControllerModel) {
			model = name
		}
	}
	err = cli.InModel(ctx, s, t.Name, model, func(api sshAPI) error {
		status, err := api.Status(ctx)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(status.Machines, func(m entity.MachineStatus) bool { return len(m.Addresses) > 0 })
		if i < 0 {
			return entity.Errorf(entity.NotFound, "it has no address")
		}
		r, machine, err := remoteOf(status, status.Machines[i].ID)
		if err == nil && !w.noChecks {
			err = writeKnown(ctx, api, known, r, machine)
		}
		login = r.login()
		return err
	})
	if err != nil {
		return "", cli.AlsoHint(fmt.Errorf("cannot connect through the controller's machine: %w", err),
			"To connect directly: --proxy=false")
	}
	return login, nil
}

// proxyCommand returns the command by which ssh reaches a host through a machine, with the same options.
func proxyCommand(options []string, login string) string {
	line := shell.Line(append([]string{"ssh"}, options...)...)
	return strings.ReplaceAll(line, "%", "%%") + " -T -W '[%h]:%p' " + login
}
