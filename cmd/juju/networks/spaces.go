package networks

import (
	"context"
	"net/netip"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/state/entity"
)

type listAPI interface {
	Spaces(ctx context.Context) ([]entity.Space, error)
	ShowSpace(ctx context.Context, name string) (entity.Space, entity.SpaceUse, error)
}

// A listedSpace and a listedSubnet are the YAML and JSON forms of spaces, with Juju's keys.
type listedSpace struct {
	ID      string                  `yaml:"id" json:"id"`
	Name    string                  `yaml:"name" json:"name"`
	Subnets map[string]listedSubnet `yaml:"subnets" json:"subnets"`
}

type listedSubnet struct {
	Type       string   `yaml:"type" json:"type"`
	ProviderID string   `yaml:"provider-id,omitempty" json:"provider-id,omitempty"`
	Network    string   `yaml:"provider-network-id,omitempty" json:"provider-network-id,omitempty"`
	Status     string   `yaml:"status" json:"status"`
	Space      string   `yaml:"space,omitempty" json:"space,omitempty"`
	Zones      []string `yaml:"zones" json:"zones"`
}

func listed(s entity.Subnet) listedSubnet {
	kind := "ipv4"
	if p, err := netip.ParsePrefix(s.CIDR); err == nil && p.Addr().Is6() {
		kind = "ipv6"
	}
	return listedSubnet{Type: kind, ProviderID: s.ProviderID, Status: "in-use", Zones: append([]string{}, s.Zones...)}
}

func SpacesCommand(s *cli.Session) *cobra.Command {
	var output cli.Output
	short := false
	cmd := &cobra.Command{
		Use:     "spaces",
		Aliases: []string{"list-spaces"},
		Short:   "List the spaces and their subnets",
		Long: `List the spaces of the model and their subnets. A space is a set of the cloud's subnets;
those that are in no other are in the space alpha.`,
		Example: `  juju spaces
  juju spaces --short
  juju spaces --format yaml`,
		Annotations: cli.SeeAlso("add-space", "show-space", "subnets", "reload-spaces", "bind"),
		Args:        cli.AtMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.CheckListFormat(output.Format); err != nil {
				return err
			}
			ctx := cmd.Context()
			return cli.WithModel(ctx, s, func(api listAPI) error {
				all, err := api.Spaces(ctx)
				if err != nil {
					return err
				}
				if short {
					names, rows := []string{}, [][]string{{"Space"}}
					for _, space := range all {
						names = append(names, space.Name)
					}
					slices.Sort(names)
					for _, name := range names {
						rows = append(rows, []string{name})
					}
					return s.WriteList(output, map[string][]string{"spaces": names}, rows)
				}
				spaces, rows := []listedSpace{}, [][]string{{"Name", "Space ID", "Subnets"}}
				for _, space := range all {
					shown := listedSpace{space.ID, space.Name, map[string]listedSubnet{}}
					row := []string{space.Name, space.ID, ""}
					for _, subnet := range space.Subnets {
						shown.Subnets[subnet.CIDR] = listed(subnet)
						row[2] = subnet.CIDR
						rows, row = append(rows, row), []string{"", "", ""}
					}
					if len(space.Subnets) == 0 {
						rows = append(rows, row)
					}
					spaces = append(spaces, shown)
				}
				return s.WriteList(output, map[string][]listedSpace{"spaces": spaces}, rows)
			})
		},
	}
	cmd.Flags().BoolVar(&short, "short", false, "list only the names")
	output.Flags(cmd, "tabular", cli.ListFormats...)
	s.ModelFlag(cmd)
	return cmd
}

// A shownSpace is the YAML and JSON form of one space, with Juju's keys.
type shownSpace struct {
	Space struct {
		ID      string        `yaml:"id" json:"id"`
		Name    string        `yaml:"name" json:"name"`
		Subnets []shownSubnet `yaml:"subnets" json:"subnets"`
	} `yaml:"space" json:"space"`
	Applications []string `yaml:"applications" json:"applications"`
	MachineCount int      `yaml:"machine-count" json:"machine-count"`
}

type shownSubnet struct {
	CIDR       string   `yaml:"cidr" json:"cidr"`
	ProviderID string   `yaml:"provider-id,omitempty" json:"provider-id,omitempty"`
	Network    string   `yaml:"provider-network-id,omitempty" json:"provider-network-id,omitempty"`
	VLANTag    int      `yaml:"vlan-tag" json:"vlan-tag"`
	Zones      []string `yaml:"zones" json:"zones"`
}

func ShowSpaceCommand(s *cli.Session) *cobra.Command {
	var output cli.Output
	cmd := &cobra.Command{
		Use:   "show-space NAME",
		Short: "Show a space and what uses it",
		Long: `Show a space with its subnets, the services that are bound to it, and how many machines
have an address in it.`,
		Example:     `  juju show-space db`,
		Annotations: cli.SeeAlso("spaces", "bind", "move-to-space"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckFormat(output.Format); err != nil {
				return err
			}
			if len(args) != 1 {
				return cli.Usagef("expected exactly 1 space name, got %d arguments", len(args))
			}
			if err := checkNames(args...); err != nil {
				return err
			}
			ctx := cmd.Context()
			return cli.WithModel(ctx, s, func(api listAPI) error {
				space, use, err := api.ShowSpace(ctx, args[0])
				if err != nil {
					return err
				}
				shown := shownSpace{Applications: append([]string{}, use.Bound...), MachineCount: use.Machines}
				shown.Space.ID, shown.Space.Name, shown.Space.Subnets = space.ID, space.Name, []shownSubnet{}
				for _, subnet := range space.Subnets {
					shown.Space.Subnets = append(shown.Space.Subnets, shownSubnet{CIDR: subnet.CIDR, ProviderID: subnet.ProviderID,
						Network: subnet.Network, Zones: append([]string{}, subnet.Zones...)})
				}
				text, err := cli.Encode(output.Format, shown)
				if err != nil {
					return err
				}
				return s.Write(output, text)
			})
		},
	}
	output.Flags(cmd, "yaml", "yaml", "json")
	s.ModelFlag(cmd)
	return cmd
}

func SubnetsCommand(s *cli.Session) *cobra.Command {
	var output cli.Output
	var space, zone string
	cmd := &cobra.Command{
		Use:     "subnets",
		Aliases: []string{"list-subnets"},
		Short:   "List the subnets of the cloud",
		Long: `List the subnets in which the model's machines can have addresses. They are fetched from
the cloud when first needed, and again by juju reload-spaces.`,
		Example: `  juju subnets
  juju subnets --space db --format json`,
		Annotations: cli.SeeAlso("spaces", "reload-spaces", "move-to-space"),
		Args:        cli.AtMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.CheckFormat(output.Format); err != nil {
				return err
			}
			if space != "" {
				if err := checkNames(space); err != nil {
					return err
				}
			}
			ctx := cmd.Context()
			return cli.WithModel(ctx, s, func(api listAPI) error {
				all, err := api.Spaces(ctx)
				if err != nil {
					return err
				}
				if space != "" && !slices.ContainsFunc(all, func(one entity.Space) bool { return one.Name == space }) {
					return entity.WithHint(entity.Errorf(entity.NotFound, "space %q not found", space), "To list the spaces: juju spaces")
				}
				found := map[string]listedSubnet{}
				for _, one := range all {
					for _, subnet := range one.Subnets {
						if (space == "" || one.Name == space) && (zone == "" || slices.Contains(subnet.Zones, zone)) {
							shown := listed(subnet)
							shown.Network, shown.Space = subnet.Network, one.Name
							found[subnet.CIDR] = shown
						}
					}
				}
				switch {
				case len(found) == 0 && space+zone != "":
					s.Note("No subnets found matching requested criteria.")
					return nil
				case len(found) == 0:
					s.Note("No subnets to display.")
					return nil
				}
				text, err := cli.Encode(output.Format, map[string]map[string]listedSubnet{"subnets": found})
				if err != nil {
					return err
				}
				return s.Write(output, text)
			})
		},
	}
	cmd.Flags().StringVar(&space, "space", "", "list only those of this `space`")
	cmd.Flags().StringVar(&zone, "zone", "", "list only those that this `zone` reaches")
	output.Flags(cmd, "yaml", "yaml", "json")
	s.ModelFlag(cmd)
	return cmd
}

// checkNames checks the names of spaces.
func checkNames(names ...string) error {
	for _, name := range names {
		if !entity.IsValidSpace(name) {
			return cli.Usagef("%q is not a valid space name", name)
		}
	}
	return nil
}

// nameAndCIDRs checks the name of a space and the CIDRs of subnets, and returns these in their canonical form.
func nameAndCIDRs(args []string) (name string, cidrs []string, err error) {
	if len(args) == 0 {
		return "", nil, cli.Usagef("space name is required")
	}
	if err := checkNames(args[0]); err != nil {
		return "", nil, err
	}
	for _, text := range args[1:] {
		normal, err := entity.NormalCIDR(strings.TrimSpace(text))
		if err != nil {
			return "", nil, cli.Usage(err)
		}
		if slices.Contains(cidrs, normal) {
			return "", nil, cli.Usagef("duplicate subnet %q specified", text)
		}
		cidrs = append(cidrs, normal)
	}
	return args[0], cidrs, nil
}
