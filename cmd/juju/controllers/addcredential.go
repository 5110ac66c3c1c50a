package controllers

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/cloudfiles"
	"juju/cmd/juju/clouds"
	"juju/cmd/juju/store"
	"juju/state/entity"
)

// credentialExample is a file with a credential.
const credentialExample = `credentials:
    CLOUD:
        NAME:
            auth-type: certificate
            client-cert: ~/.config/lxc/client.crt
            client-key: ~/.config/lxc/client.key
            server-cert: server.crt`

func AddCredentialCommand(s *cli.Session) *cobra.Command {
	file, client := "", false
	cmd := &cobra.Command{
		Use:   "add-credential [CLOUD]",
		Short: "Add credentials for a cloud",
		Long: `Add credentials for a cloud to this client or, with --controller, to a controller on that
cloud, whose models can then use them. A controller gets the credentials in FILE or,
without FILE, those of this client that it lacks; with --client, those in FILE are added
to this client too. Only superusers can add credentials to a controller, and the cloud
must accept them.

Without FILE, on a terminal, the command prompts for one credential. FILE is YAML in
Juju's format:

  credentials:
      CLOUD:
          default-credential: NAME
          NAME:
              auth-type: certificate
              client-cert: ~/.config/lxc/client.crt
              client-key: ~/.config/lxc/client.key
              server-cert: server.crt

The certificates and the key are PEM text or paths of PEM files, whose contents are
copied. LXD must trust the client's certificate: on its host, run "lxc config trust add
client.crt". A controller connects only to the server whose certificate is server-cert,
which is server.crt on LXD's host; without server-cert, the server's certificate must be
signed by an authority that the controller's host trusts.

The credentials are stored in $JUJU_DATA/credentials.yaml, which only you can read.`,
		Example: `  juju add-credential rack
  juju add-credential rack -f ops.yaml
  juju add-credential rack -f ops.yaml -c prod`,
		Annotations: cli.SeeAlso("credentials", "autoload-credentials", "default-credential", "update-credential", "add-cloud", "add-model"),
		Args:        cli.AtMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if s.Controller != "" {
				return giveCredentials(cmd.Context(), s, args, file, client)
			}
			if s.InTerminal && file == "" {
				return askCredential(cmd.Context(), s, args)
			}
			if err := checkCloud(args, 1); err != nil {
				return err
			}
			given, err := readCredentials(s, args[0], file)
			if err != nil {
				return err
			}
			return addCredentials(cmd.Context(), s, args[0], given)
		},
	}
	fileFlag(cmd, &file, "the credentials")
	cmd.Flags().BoolVar(&client, "client", false, "with --controller: also change this client's data")
	s.ControllerFlag(cmd)
	return cmd
}

type addCredentialAPI interface {
	cloudsAPI
	AddCredential(ctx context.Context, cloud, name string, one entity.CloudCredential) error
}

// giveCredentials gives a controller the credentials of its cloud that a file has or, without one, this client.
func giveCredentials(ctx context.Context, s *cli.Session, args []string, file string, client bool) error {
	if err := checkCloud(args, 1); err != nil {
		return err
	}
	cloud := args[0]
	st, err := s.Store()
	if err != nil {
		return err
	}
	var given cloudfiles.Credentials
	if file != "" {
		given, err = readCredentials(s, cloud, file)
	} else {
		var all map[string]cloudfiles.Credentials
		all, err = cloudfiles.ReadCredentials(st)
		if given = all[cloud]; err == nil && len(given.Named) == 0 {
			_, _, err = given.Choose(cloud, "")
		}
	}
	if err != nil {
		return err
	}
	err = cli.WithController(ctx, s, func(t cli.Target, api addCredentialAPI) error {
		names := slices.Sorted(maps.Keys(given.Named))
		if file == "" {
			has, err := api.CredentialNames(ctx, cloud)
			if err != nil {
				return err
			}
			names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(has, name) })
			if len(names) == 0 {
				return entity.WithHint(entity.Errorf(entity.AlreadyExists,
					"controller %q already has all credentials of cloud %q that this client has", t.Name, cloud),
					"To replace one: juju update-credential %s NAME -c %s", cloud, t.Name)
			}
		}
		for _, name := range names {
			if err := api.AddCredential(ctx, cloud, name, given.Named[name]); err != nil {
				return err
			}
			s.Note("Controller %q has the credential %q of cloud %q. To use it: juju add-model NAME --credential %[2]s", t.Name,
				name, cloud)
		}
		return nil
	})
	if err == nil && client && file != "" {
		err = addCredentials(ctx, s, cloud, given)
	}
	return err
}

// readCredentials returns the credentials of a cloud that a file has, checked and complete.
func readCredentials(s *cli.Session, cloud, file string) (of cloudfiles.Credentials, err error) {
	st, err := s.Store()
	if err != nil {
		return of, err
	}
	c, err := clouds.Find(st, cloud)
	if err != nil {
		return of, err
	}
	if file == "" {
		return of, cli.Usage(entity.WithHint(fmt.Errorf("no file with the credential of cloud %q specified", cloud),
			"Give one with -f FILE, such as:\n%s", strings.Replace(credentialExample, "CLOUD", cloud, 1)))
	}
	text, err := cli.ReadWhole(file, maxDefinition)
	if err != nil {
		return of, fmt.Errorf("cannot read the credentials: %w", err)
	}
	all, err := cloudfiles.ParseCredentials(text)
	if err != nil {
		return of, fmt.Errorf("cannot use %s: %w", file, err)
	}
	of = all[cloud]
	if len(of.Named) == 0 {
		return of, entity.WithHint(entity.Errorf(entity.NotFound, "%s has no credential of cloud %q", file, cloud),
			"It has those of: %s", cmp.Or(strings.Join(slices.Sorted(maps.Keys(all)), ", "), "none"))
	}
	for _, name := range slices.Sorted(maps.Keys(of.Named)) {
		one := of.Named[name]
		if err := clouds.CheckCredential(cloud, c, &one); err != nil {
			return of, fmt.Errorf("cannot use %s: credential %q: %w", file, name, err)
		}
		of.Named[name] = one
	}
	if _, ok := of.Named[of.Default]; of.Default != "" && !ok {
		return of, entity.Errorf(entity.Invalid, "cannot use %s: there is no credential %q, the default", file, of.Default)
	}
	if _, err := c.Region(of.Region); err != nil {
		return of, fmt.Errorf("cannot use %s: %w", file, err)
	}
	delete(all, cloud)
	if len(all) > 0 {
		s.Warn(fmt.Sprintf("credentials of other clouds in %s are left out: %s", file,
			strings.Join(slices.Sorted(maps.Keys(all)), ", ")))
	}
	return of, nil
}

// credentialExists is the error of adding a credential that there is.
func credentialExists(cloud, name string) error {
	return entity.WithHint(entity.Errorf(entity.AlreadyExists, "credential %q of cloud %q already exists", name, cloud),
		"To replace it: juju update-credential %s %s -f FILE", cloud, name)
}

// addCredentials adds credentials that have been checked.
func addCredentials(ctx context.Context, s *cli.Session, cloud string, given cloudfiles.Credentials) error {
	names := slices.Sorted(maps.Keys(given.Named))
	err := updateCredentials(ctx, s, cloud, func(of *cloudfiles.Credentials) error {
		for _, name := range names {
			if _, ok := of.Named[name]; ok {
				return credentialExists(cloud, name)
			}
			of.Named[name] = given.Named[name]
		}
		of.Default, of.Region = cmp.Or(given.Default, of.Default), cmp.Or(given.Region, of.Region)
		return nil
	})
	if err != nil {
		return err
	}
	for _, name := range names {
		s.Note("Credential %q of cloud %q is added.", name, cloud)
	}
	return nil
}

// updateCredentials changes the client's credentials of a cloud.
func updateCredentials(ctx context.Context, s *cli.Session, cloud string,
	change func(*cloudfiles.Credentials) error) error {
	st, err := s.Store()
	if err != nil {
		return err
	}
	return cloudfiles.UpdateCredentials(ctx, st, cloud, func(of *cloudfiles.Credentials) error {
		if of.Named == nil {
			of.Named = map[string]entity.CloudCredential{}
		}
		return change(of)
	})
}

func AutoloadCredentialsCommand(s *cli.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "autoload-credentials [CLOUD]",
		Short: "Add credentials that other programs use",
		Long: `Add credentials that your other programs use to this client, for CLOUD or for each cloud
that you have defined. For an LXD whose endpoint is a remote of lxc, this is lxc's client
certificate, with the server certificate that lxc trusts; the credential gets the remote's
name. lxc's configuration is in $LXD_CONF, or else in ~/snap/lxd/common/config or
~/.config/lxc. An existing credential of the same name is replaced.`,
		Example: `  juju autoload-credentials
  juju autoload-credentials rack`,
		Annotations: cli.SeeAlso("credentials", "add-credential"),
		Args:        cli.AtMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				if err := checkCloud(args, 1); err != nil {
					return err
				}
			}
			return autoload(cmd.Context(), s, args)
		},
	}
	clientFlag(cmd)
	return cmd
}

func autoload(ctx context.Context, s *cli.Session, of []string) error {
	st, err := s.Store()
	if err != nil {
		return err
	}
	all, err := clouds.Defined(st)
	if err != nil {
		return err
	}
	if len(of) == 0 {
		of = slices.Sorted(maps.Keys(all))
	}
	added := 0
	for _, cloud := range of {
		c, err := clouds.Find(st, cloud)
		if err != nil {
			return err
		}
		home, ok := clouds.Homes[c.Type]
		if !ok {
			continue // an earlier or later version defined it
		}
		found, err := home.FindCredentials(c, s.Getenv)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			continue
		}
		err = updateCredentials(ctx, s, cloud, func(of *cloudfiles.Credentials) error {
			maps.Copy(of.Named, found)
			return nil
		})
		if err != nil {
			return err
		}
		added += len(found)
		for _, name := range slices.Sorted(maps.Keys(found)) {
			s.Note("Credential %q of cloud %q is added.", name, cloud)
		}
	}
	if added == 0 {
		return noneFound(st, of)
	}
	return nil
}

// noneFound returns the error if other programs have no credentials of these clouds.
func noneFound(st *store.Store, of []string) error {
	if len(of) == 0 {
		return entity.WithHint(entity.Errorf(entity.NotFound, "no credentials of clouds that you have defined found"),
			"You have defined none. To define one: juju add-cloud")
	}
	hint := "lxc must know the cloud's endpoint: lxc remote list. To add a credential from a file: juju add-credential CLOUD -f FILE"
	if len(of) == 1 {
		c, err := clouds.Find(st, of[0])
		if err != nil {
			return err
		}
		if types, err := clouds.AuthTypes(c); err == nil && slices.Equal(types, []string{entity.AuthEmpty}) {
			hint = fmt.Sprintf("Cloud %q needs no credential.", of[0])
		}
	}
	return entity.WithHint(entity.Errorf(entity.NotFound, "no credentials of %s found",
		strings.Join(of, ", ")), "%s", hint)
}
