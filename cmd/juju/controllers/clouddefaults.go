package controllers

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/cloudfiles"
	"juju/cmd/juju/clouds"
	"juju/cmd/juju/store"
)

// A cloudDefault is something that a user chooses for a cloud, to be used unless a command names another.
type cloudDefault struct {
	*cli.Session
	reset bool
	// show returns what is used, and choose checks and sets it; name is "" to reset it.
	show   func(cloud string, c cloudfiles.Cloud, of cloudfiles.Credentials) (string, error)
	choose func(cloud string, c cloudfiles.Cloud, of *cloudfiles.Credentials, name string) error
}

func (d *cloudDefault) run(ctx context.Context, args []string) error {
	if err := checkCloud(args, 2); err != nil {
		return err
	}
	if d.reset && len(args) == 2 {
		return cli.Usagef("cannot set %q and --reset", args[1])
	}
	st, err := d.Store()
	if err != nil {
		return err
	}
	c, err := clouds.Find(st, args[0])
	if err != nil {
		return err
	}
	if d.reset || len(args) == 2 {
		return d.change(ctx, st, c, append(args, "")[:2])
	}
	of, err := cloudfiles.ReadCredentials(st)
	if err != nil {
		return err
	}
	name, err := d.show(args[0], c, of[args[0]])
	if err != nil {
		return err
	}
	return d.Write(cli.Output{}, []byte(name+"\n"))
}

func (d *cloudDefault) change(ctx context.Context, st *store.Store, c cloudfiles.Cloud, args []string) error {
	return cloudfiles.UpdateCredentials(ctx, st, args[0], func(of *cloudfiles.Credentials) error {
		return d.choose(args[0], c, of, args[1])
	})
}

func (d *cloudDefault) flags(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVar(&d.reset, "reset", false, "forget the choice")
	cmd.Args = cli.AtMost(2)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return d.run(cmd.Context(), args) }
	return cmd
}

func DefaultRegionCommand(s *cli.Session) *cobra.Command {
	d := &cloudDefault{Session: s,
		show: func(cloud string, c cloudfiles.Cloud, of cloudfiles.Credentials) (string, error) {
			r, err := region(cloud, c, of.Region)
			return r.Name, err
		},
		choose: func(cloud string, c cloudfiles.Cloud, of *cloudfiles.Credentials, name string) error {
			_, err := region(cloud, c, name)
			of.Region = name
			return err
		}}
	return d.flags(&cobra.Command{
		Use:     "default-region CLOUD [REGION]",
		Aliases: []string{"set-default-region"},
		Short:   "Show or choose the cloud region for new controllers",
		Long: `Show or choose the region of a cloud in which juju bootstrap creates controllers unless it
is given another. Initially, it is the first one in the cloud's definition.`,
		Example: `  juju default-region rack
  juju default-region rack there
  juju default-region rack --reset`,
		Annotations: cli.SeeAlso("regions", "bootstrap", "add-cloud"),
	})
}

func region(cloud string, c cloudfiles.Cloud, name string) (cloudfiles.Region, error) {
	r, err := c.Region(name)
	if err != nil {
		return r, fmt.Errorf("cloud %q: %w", cloud, err)
	}
	return r, nil
}

func DefaultCredentialCommand(s *cli.Session) *cobra.Command {
	d := &cloudDefault{Session: s,
		show: func(cloud string, _ cloudfiles.Cloud, of cloudfiles.Credentials) (string, error) {
			name, _, err := of.Choose(cloud, "")
			return name, err
		},
		choose: func(cloud string, _ cloudfiles.Cloud, of *cloudfiles.Credentials, name string) error {
			if name != "" {
				if _, _, err := of.Choose(cloud, name); err != nil {
					return err
				}
			}
			of.Default = name
			return nil
		}}
	return d.flags(&cobra.Command{
		Use:     "default-credential CLOUD [CREDENTIAL]",
		Aliases: []string{"set-default-credential"},
		Short:   "Show or choose the cloud credential for new controllers",
		Long: `Show or choose the credential for a cloud that juju bootstrap uses unless it is given
another. If this client has only one credential for the cloud, that is the default.`,
		Example: `  juju default-credential rack
  juju default-credential rack ops`,
		Annotations: cli.SeeAlso("credentials", "add-credential", "bootstrap"),
	})
}
