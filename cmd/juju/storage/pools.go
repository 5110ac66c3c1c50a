package storage

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/state/entity"
)

func CreateStoragePoolCommand(s *cli.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create-storage-pool NAME PROVIDER [KEY=VALUE...]",
		Short: "Add a storage pool",
		Long: `Add a storage pool, for use with juju deploy --storage and juju add-storage. PROVIDER is
one of those that juju storage-pools shows.

Pools of the provider local have the attribute storage-dir: the directory, on the
controller's host, in which storage is created. The default is within the controller's own
directory.`,
		Example:     `  juju create-storage-pool fast local storage-dir=/mnt/ssd`,
		Annotations: cli.SeeAlso("storage-pools", "update-storage-pool", "remove-storage-pool", "add-storage"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return cli.Usagef("pool creation requires names, provider type and optional attributes for configuration")
			}
			if strings.Contains(args[0]+args[1], "=") {
				return cli.Usagef("pool creation requires names and provider type before optional attributes for configuration")
			}
			attributes, err := poolAttributes(args[2:])
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			return cli.WithModel(ctx, s, func(api storageAPI) error {
				return api.CreateStoragePool(ctx, entity.StoragePool{Name: args[0], Provider: args[1], Attributes: attributes})
			})
		},
	}
	s.ModelFlag(cmd)
	s.PlanFlags(cmd)
	return cmd
}

func UpdateStoragePoolCommand(s *cli.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "update-storage-pool NAME KEY=VALUE...",
		Short: "Replace the attributes of a storage pool",
		Long: `Replace the attributes of a storage pool that was added with juju create-storage-pool.
Existing storage does not change.`,
		Example:     `  juju update-storage-pool fast storage-dir=/mnt/other`,
		Annotations: cli.SeeAlso("storage-pools", "create-storage-pool", "remove-storage-pool"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return cli.Usagef("pool update requires name and configuration attributes")
			}
			attributes, err := poolAttributes(args[1:])
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			return cli.WithModel(ctx, s, func(api storageAPI) error { return api.UpdateStoragePool(ctx, args[0], attributes) })
		},
	}
	s.ModelFlag(cmd)
	s.PlanFlags(cmd)
	return cmd
}

func RemoveStoragePoolCommand(s *cli.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "remove-storage-pool NAME",
		Short: "Remove a storage pool",
		Long: `Remove a storage pool that was added with juju create-storage-pool. A pool cannot be
removed while storage comes from it or a service's storage constraints use it.`,
		Example:     `  juju remove-storage-pool fast`,
		Annotations: cli.SeeAlso("storage-pools", "create-storage-pool", "remove-storage"),
		Args:        cli.AtMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usagef("pool removal requires storage pool name")
			}
			ctx := cmd.Context()
			return cli.WithModel(ctx, s, func(api storageAPI) error { return api.RemoveStoragePool(ctx, args[0]) })
		},
	}
	s.ModelFlag(cmd)
	s.PlanFlags(cmd)
	return cmd
}

// poolAttributes parses the attributes of a pool.
func poolAttributes(pairs []string) (map[string]string, error) {
	attributes := map[string]string{}
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, cli.Usagef("expected \"key=value\", got %q", pair)
		}
		if _, twice := attributes[key]; twice {
			return nil, cli.Usagef("key %q specified more than once", key)
		}
		attributes[key] = value
	}
	return attributes, nil
}

// attributesText formats the attributes of a pool: "a=b c=d".
func attributesText(attributes map[string]string) string {
	var pairs []string
	for _, key := range slices.Sorted(maps.Keys(attributes)) {
		pairs = append(pairs, key+"="+attributes[key])
	}
	return strings.Join(pairs, " ")
}
