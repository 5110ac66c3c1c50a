package controllers

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/cloudfiles"
	"juju/cmd/juju/clouds"
	"juju/state/entity"
)

type updateCredentialAPI interface {
	cloudsAPI
	// UpdateCredential replaces a credential that the controller has. Unless force is set, the cloud must accept it.
	UpdateCredential(ctx context.Context, cloud, name string, one entity.CloudCredential, force bool) error
	// RevokeCredential takes a credential that no model uses from the controller.
	RevokeCredential(ctx context.Context, cloud, name string, force bool) error
}

type updateCredential struct {
	*cli.Session
	file          string
	client, force bool
}

func UpdateCredentialCommand(s *cli.Session) *cobra.Command {
	u := &updateCredential{Session: s}
	cmd := &cobra.Command{
		Use:     "update-credential CLOUD CREDENTIAL",
		Aliases: []string{"update-credentials"},
		Short:   "Replace a credential for a cloud",
		Long: `Replace this client's credential for a cloud with the one in FILE; or, with --controller,
a controller's, whose models then use the new one. A controller gets the credential in
FILE or, without FILE, this client's; with --client, this client's is replaced too.

The controller first checks that the cloud accepts the new credential; with --force, it
uses it even if not. Only superusers can replace a controller's credential. juju help
add-credential describes FILE.`,
		Example: `  juju update-credential rack ops -f new.yaml
  juju update-credential rack ops -c prod
  juju update-credential rack ops -f new.yaml --client -c prod`,
		Annotations: cli.SeeAlso("add-credential", "credentials", "remove-credential"),
		Args:        cli.AtMost(2),
		RunE:        func(cmd *cobra.Command, args []string) error { return u.run(cmd.Context(), args) },
	}
	fileFlag(cmd, &u.file, "the credential")
	cmd.Flags().BoolVar(&u.client, "client", false, "with --controller: also change this client's data")
	cmd.Flags().BoolVar(&u.force, "force", false,
		"give the credential to the controller even if the cloud does not accept it")
	s.ControllerFlag(cmd)
	return cmd
}

// checkCredentialArgs checks that there is a cloud and the name of a credential.
func checkCredentialArgs(args []string) error {
	if err := checkCloud(args, 2); err != nil {
		return err
	}
	if len(args) == 1 {
		return cli.Usagef("both cloud and credential name are needed")
	}
	return nil
}

func (u *updateCredential) run(ctx context.Context, args []string) error {
	if err := checkCredentialArgs(args); err != nil {
		return err
	}
	cloud, name, at := args[0], args[1], u.Controller != ""
	var one entity.CloudCredential
	if u.file != "" || !at {
		of, err := readCredentials(u.Session, cloud, u.file)
		if err != nil {
			return err
		}
		var ok bool
		if one, ok = of.Named[name]; !ok {
			return entity.Errorf(entity.NotFound, "%s has no credential %q of cloud %q", u.file, name, cloud)
		}
	} else {
		st, err := u.Store()
		if err != nil {
			return err
		}
		all, err := cloudfiles.ReadCredentials(st)
		if err != nil {
			return err
		}
		if _, one, err = all[cloud].Choose(cloud, name); err != nil {
			return err
		}
	}
	if at {
		if err := u.give(ctx, cloud, name, one); err != nil {
			return err
		}
	}
	if at && !(u.client && u.file != "") {
		return nil
	}
	err := updateCredentials(ctx, u.Session, cloud, func(of *cloudfiles.Credentials) error {
		if _, ok := of.Named[name]; !ok && !at {
			return entity.WithHint(entity.Errorf(entity.NotFound, "credential %q of cloud %q not found", name, cloud),
				"To add it: juju add-credential %s -f %s", cloud, u.file)
		}
		of.Named[name] = one
		return nil
	})
	if err == nil {
		u.Note("Credential %q of cloud %q is replaced on this client.", name, cloud)
	}
	return err
}

// give gives a credential to the controller and, if this client bootstrapped it, to what destroys it.
func (u *updateCredential) give(ctx context.Context, cloud, name string, one entity.CloudCredential) error {
	return cli.WithController(ctx, u.Session, func(t cli.Target, api updateCredentialAPI) error {
		has, err := api.CredentialNames(ctx, cloud)
		if err != nil {
			return err
		}
		if !slices.Contains(has, name) { // the API would add it
			return entity.WithHint(entity.Errorf(entity.NotFound,
				"credential %q of cloud %q not found on controller %q", name, cloud, t.Name),
				"It has: %s. To add one: juju add-credential %s -f FILE -c %s", strings.Join(has, ", "), cloud, t.Name)
		}
		if err := api.UpdateCredential(ctx, cloud, name, one, u.force); err != nil {
			return err
		}
		st, err := u.Store()
		if err != nil {
			return err
		}
		if home, ok := clouds.Homes[t.Controller.Cloud]; ok && name == has[0] { // the one that bootstrap gave it
			if err := home.SetCredential(clouds.Dir(st, t.Controller.Cloud, t.Name), one); err != nil {
				return fmt.Errorf("the controller uses the credential, but this client can't destroy it with that: %w", err)
			}
		}
		u.Note("Controller %q uses the new credential %q of cloud %q.", t.Name, name, cloud)
		return nil
	})
}

func RemoveCredentialCommand(s *cli.Session) *cobra.Command {
	force := false
	cmd := &cobra.Command{
		Use:   "remove-credential CLOUD CREDENTIAL",
		Short: "Remove a credential for a cloud",
		Long: `Remove a credential from this client. Controllers that have it keep it. With --controller,
remove it from the controller instead, unless models use it: the command lists these, and
juju set-credential makes them use another one. The credential used at bootstrap can't be
removed.`,
		Example:     `  juju remove-credential rack ops`,
		Annotations: cli.SeeAlso("credentials", "update-credential", "remove-cloud"),
		Args:        cli.AtMost(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkCredentialArgs(args); err != nil {
				return err
			}
			ctx, cloud, name := cmd.Context(), args[0], args[1]
			if s.Controller != "" {
				return cli.WithController(ctx, s, func(t cli.Target, api updateCredentialAPI) error {
					err := api.RevokeCredential(ctx, cloud, name, force)
					if err == nil {
						s.Note("Credential %q of cloud %q is removed from controller %q.", name, cloud, t.Name)
					}
					return err
				})
			}
			err := updateCredentials(ctx, s, cloud, func(of *cloudfiles.Credentials) error {
				if _, _, err := of.Choose(cloud, name); err != nil {
					return err
				}
				delete(of.Named, name)
				if of.Default == name {
					of.Default = ""
				}
				return nil
			})
			if err == nil {
				s.Note("Credential %q of cloud %q is removed from this client.", name, cloud)
			}
			return err
		},
	}
	clientFlag(cmd)
	cmd.Flags().BoolVar(&force, "force", false, "accepted for compatibility: a credential that models use is never removed")
	s.ControllerFlag(cmd)
	return cmd
}
