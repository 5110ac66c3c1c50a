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
	"juju/state/entity"
)

// maxDefinition is the maximum size of a file that defines clouds or credentials.
const maxDefinition = 1 << 20

// cloudExample is a file that defines a cloud.
const cloudExample = `clouds:
    NAME:
        type: lxd
        endpoint: https://HOST:8443`

// clientFlag adds --client to a command that changes only the client's data.
func clientFlag(cmd *cobra.Command) {
	cmd.Flags().Bool("client", false, "accepted for compatibility: only this client's data is changed anyway")
}

// fileFlag adds --file to a command.
func fileFlag(cmd *cobra.Command, file *string, what string) {
	cmd.Flags().StringVarP(file, "file", "f", "", "a YAML `FILE` with "+what)
}

func AddCloudCommand(s *cli.Session) *cobra.Command {
	file := ""
	cmd := &cobra.Command{
		Use:   "add-cloud [NAME] [FILE]",
		Short: "Define a cloud",
		Long: `Define a cloud for this client. Without FILE, on a terminal, the command prompts for the
details. FILE is YAML in Juju's format:

  clouds:
      NAME:
          type: lxd
          endpoint: https://HOST:8443
          regions:
              here: {}
              there: {endpoint: https://OTHER:8443}
          config: {project: juju, pool: fast}

The type is lxd or local. The endpoint of an LXD is https://HOST:PORT, which its
containers must be able to reach too, or the path of a socket; the default is the LXD on
this host. Each region is a separate LXD; the first one is the default. config can set
project, profiles, network, pool and image-server: see juju help bootstrap.

An LXD reached over https needs a credential: see juju help add-credential. A controller
keeps the definition with which it was bootstrapped.`,
		Example: `  juju add-cloud
  juju add-cloud rack rack.yaml
  juju add-cloud rack -f rack.yaml --client`,
		Annotations: cli.SeeAlso("clouds", "update-cloud", "remove-cloud", "add-credential", "bootstrap"),
		Args:        cli.AtMost(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if s.InTerminal && file == "" && len(args) < 2 {
				return askCloud(cmd.Context(), s, args)
			}
			return defineCloud(cmd.Context(), s, args, file, mayAdd)
		},
	}
	fileFlag(cmd, &file, "the definition")
	clientFlag(cmd)
	return cmd
}

// mayAdd rejects the name of a cloud that there is.
func mayAdd(all map[string]cloudfiles.Cloud, name string) error {
	if _, ok := all[name]; ok {
		return entity.WithHint(entity.Errorf(entity.AlreadyExists, "cloud %q already exists", name),
			"To replace its definition: juju update-cloud %s -f FILE", name)
	}
	return nil
}

func UpdateCloudCommand(s *cli.Session) *cobra.Command {
	file := ""
	cmd := &cobra.Command{
		Use:   "update-cloud NAME",
		Short: "Replace the definition of a cloud",
		Long: `Replace this client's definition of a cloud. juju help add-cloud describes the file.
Controllers that were bootstrapped on the cloud keep the earlier definition.`,
		Example:     `  juju update-cloud rack -f rack.yaml`,
		Annotations: cli.SeeAlso("add-cloud", "remove-cloud", "show-cloud"),
		Args:        cli.AtMost(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return defineCloud(cmd.Context(), s, args, file, func(all map[string]cloudfiles.Cloud, name string) error {
				if _, ok := all[name]; !ok {
					return entity.WithHint(entity.Errorf(entity.NotFound, "cloud %q not found", name), "To define it: juju add-cloud %s -f FILE", name)
				}
				return nil
			})
		},
	}
	fileFlag(cmd, &file, "the definition")
	clientFlag(cmd)
	return cmd
}

// defineCloud writes the definition of a cloud that a file has, unless may returns an error for the clouds that there are.
func defineCloud(
	ctx context.Context, s *cli.Session, args []string, file string, may func(map[string]cloudfiles.Cloud, string) error,
) error {
	if err := checkCloud(args, 2); err != nil {
		return err
	}
	name := args[0]
	if len(args) == 2 {
		if file != "" {
			return cli.Usagef("cannot use both %q and --file", args[1])
		}
		file = args[1]
	}
	if file == "" {
		return cli.Usage(entity.WithHint(fmt.Errorf("no file with the definition of cloud %q specified", name),
			"Give one with -f FILE, such as:\n%s", strings.Replace(cloudExample, "NAME", name, 1)))
	}
	text, err := cli.ReadWhole(file, maxDefinition)
	if err != nil {
		return fmt.Errorf("cannot read the definition: %w", err)
	}
	all, err := cloudfiles.ParseClouds(text)
	if err != nil {
		return fmt.Errorf("cannot use %s: %w", file, err)
	}
	one, ok := all[name]
	if !ok {
		return entity.WithHint(entity.Errorf(entity.NotFound, "cloud %q not found in %s", name, file), "It has: %s",
			cmp.Or(strings.Join(slices.Sorted(maps.Keys(all)), ", "), "none"))
	}
	if _, err := clouds.Check(name, one); err != nil {
		return fmt.Errorf("cannot use %s: cloud %q: %w", file, name, err)
	}
	return writeCloud(ctx, s, name, one, may)
}

// writeCloud writes the definition of a cloud, unless may returns an error for the clouds that there are.
func writeCloud(
	ctx context.Context, s *cli.Session, name string, one cloudfiles.Cloud,
	may func(map[string]cloudfiles.Cloud, string) error,
) error {
	types, err := clouds.Check(name, one)
	if err != nil {
		return err
	}
	st, err := s.Store()
	if err != nil {
		return err
	}
	has := false
	err = cloudfiles.UpdateClouds(ctx, st, func(all map[string]cloudfiles.Cloud) error {
		if err := may(all, name); err != nil {
			return err
		}
		all[name] = one
		of, err := cloudfiles.ReadCredentials(st)
		has = len(of[name].Named) > 0
		return err
	})
	if err != nil {
		return err
	}
	s.Note("Cloud %q is defined.", name)
	if !has && !slices.Contains(types, entity.AuthEmpty) {
		s.Note("To bootstrap there, a credential is needed: juju add-credential %s -f FILE; or: juju autoload-credentials",
			name)
	}
	return nil
}

func RemoveCloudCommand(s *cli.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "remove-cloud NAME",
		Short: "Remove the definition of a cloud",
		Long: `Remove the definition of a cloud from this client. Its credentials are kept, and
controllers that were bootstrapped there are not affected.`,
		Example:     `  juju remove-cloud rack`,
		Annotations: cli.SeeAlso("add-cloud", "remove-credential"),
		Args:        cli.AtMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkCloud(args, 1); err != nil {
				return err
			}
			name := args[0]
			if _, ok := clouds.Homes[name]; ok {
				return entity.Errorf(entity.NotSupported, "cannot remove cloud %q: it is built in", name)
			}
			st, err := s.Store()
			if err != nil {
				return err
			}
			has := false
			err = cloudfiles.UpdateClouds(cmd.Context(), st, func(all map[string]cloudfiles.Cloud) error {
				if _, ok := all[name]; !ok {
					return entity.WithHint(entity.Errorf(entity.NotFound, "cloud %q not found", name), "To list them: juju clouds")
				}
				delete(all, name)
				of, err := cloudfiles.ReadCredentials(st)
				has = len(of[name].Named) > 0
				return err
			})
			if err != nil {
				return err
			}
			s.Note("The definition of cloud %q is removed.", name)
			if has {
				s.Note("Its credentials are kept. To remove one: juju remove-credential %s NAME", name)
			}
			return nil
		},
	}
	clientFlag(cmd)
	return cmd
}
