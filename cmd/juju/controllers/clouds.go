package controllers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/cloudfiles"
	"juju/cmd/juju/clouds"
	"juju/state/entity"
)

func CloudsCommand(s *cli.Session) *cobra.Command {
	var output cli.Output
	cmd := &cobra.Command{
		Use:     "clouds",
		Aliases: []string{"list-clouds"},
		Short:   "List the clouds",
		Long: `List the clouds on which this client can create controllers: the built-in ones, and those
that you have defined, whose source is "local". All models of a controller are on its
cloud.`,
		Example:     `  juju clouds`,
		Annotations: cli.SeeAlso("bootstrap", "show-cloud", "add-cloud", "credentials"),
		Args:        cli.AtMost(0),
		RunE: func(*cobra.Command, []string) error {
			if err := cli.CheckListFormat(output.Format); err != nil {
				return err
			}
			all, of, err := ownClouds(s)
			if err != nil {
				return err
			}
			shown := map[string]shownCloud{}
			rows := [][]string{{"Cloud", "Regions", "Default", "Type", "Source", "Description"}}
			for _, name := range slices.Sorted(maps.Keys(all)) {
				one := all[name]
				shown[name] = one
				rows = append(rows, []string{name, strconv.Itoa(len(one.Regions)), cmp.Or(of[name].Region, one.Regions[0].Name), one.Type,
					one.Defined, cmp.Or(one.Description, "-")})
			}
			return s.WriteList(output, shown, rows)
		},
	}
	output.Flags(cmd, "tabular", cli.ListFormats...)
	cmd.Flags().Bool("client", false, "accepted for compatibility: only this client's clouds are listed anyway")
	return cmd
}

// ownClouds returns the clouds that this client knows, as they are shown, and the user's credentials.
func ownClouds(s *cli.Session) (map[string]shownCloud, map[string]cloudfiles.Credentials, error) {
	st, err := s.Store()
	if err != nil {
		return nil, nil, err
	}
	own, err := clouds.Defined(st)
	if err != nil {
		return nil, nil, err
	}
	of, err := cloudfiles.ReadCredentials(st)
	if err != nil {
		return nil, nil, err
	}
	all := map[string]shownCloud{}
	add := func(defined, name string, c cloudfiles.Cloud) {
		types, err := clouds.AuthTypes(c)
		if err != nil { // it can't be used here, and bootstrap says why
			types = c.AuthTypes
		}
		all[name] = shownCloud{Defined: defined, Type: c.Type, Description: c.Description, AuthTypes: types,
			Endpoint: c.Endpoint, Region: of[name].Region, Credentials: len(of[name].Named), Regions: c.Regions, Config: c.Config}
		if len(c.Regions) == 0 {
			one := all[name]
			one.Regions = cloudfiles.Regions{{Name: entity.CloudRegion}}
			all[name] = one
		}
	}
	for name, home := range clouds.Homes {
		add("built-in", name, cloudfiles.Cloud{Type: name, Description: home.About()})
	}
	for name, c := range own {
		add("local", name, c)
	}
	return all, of, nil
}

// A shownCloud is the YAML and JSON form of a cloud.
type shownCloud struct {
	Name        string             `yaml:"name,omitempty" json:"name,omitempty"`       // only in show-cloud
	Summary     string             `yaml:"summary,omitempty" json:"summary,omitempty"` // likewise
	Defined     string             `yaml:"defined" json:"defined"`
	Type        string             `yaml:"type" json:"type"`
	Description string             `yaml:"description,omitempty" json:"description,omitempty"`
	AuthTypes   []string           `yaml:"auth-types,omitempty,flow" json:"auth-types,omitempty"`
	Endpoint    string             `yaml:"endpoint,omitempty" json:"endpoint,omitempty"`
	Region      string             `yaml:"default-region,omitempty" json:"default-region,omitempty"`     // this client's
	Credentials int                `yaml:"credential-count,omitempty" json:"credential-count,omitempty"` // this client's
	Regions     cloudfiles.Regions `yaml:"regions" json:"regions"`
	Config      map[string]any     `yaml:"config,omitempty" json:"config,omitempty"`
}

// ofController is where a cloud is defined that a controller is on.
const ofController = "controller"

type cloudAPI interface {
	Cloud(ctx context.Context, name string) (entity.Cloud, error)
}

// asks reports whether a command asks the controller, too: not with --client, and not before there is any.
func asks(s *cli.Session, client bool) (bool, error) {
	st, err := s.Store()
	if err != nil || client {
		return false, err
	}
	contents, err := st.Read()
	return err == nil && (len(contents.Controllers) > 0 || s.Controller != ""), err
}

// readCloud returns a cloud that the controller is on, or that this client knows.
func readCloud(ctx context.Context, s *cli.Session, name string, client bool) (shown shownCloud, err error) {
	ask, err := asks(s, client)
	if err != nil {
		return shown, err
	}
	if ask {
		err = cli.WithController(ctx, s, func(_ cli.Target, api cloudAPI) error {
			cloud, err := api.Cloud(ctx, name)
			shown = shownCloud{Defined: ofController, Type: cloud.Type, AuthTypes: cloud.AuthTypes, Endpoint: cloud.Endpoint,
				Regions: cloudfiles.Regions{}}
			for _, name := range cloud.Regions {
				shown.Regions = append(shown.Regions, cloudfiles.Region{Name: name})
			}
			return err
		})
		if !errors.Is(err, entity.NotFound) || s.Controller != "" {
			return shown, err
		}
	}
	all, _, err2 := ownClouds(s)
	if err2 != nil {
		return shown, err2
	}
	shown, ok := all[name]
	switch {
	case ok:
		return shown, nil
	case ask:
		return shown, err
	}
	return shown, entity.WithHint(entity.Errorf(entity.NotFound, "cloud %q not found", name), "To list them: juju clouds")
}

func ShowCloudCommand(s *cli.Session) *cobra.Command {
	var output cli.Output
	client := false
	cmd := &cobra.Command{
		Use:   "show-cloud CLOUD",
		Short: "Show a cloud",
		Long: `Show a cloud: its type, where it is, its regions and what kind of credential it takes.
CLOUD is the controller's cloud, or else one of this client's.`,
		Example: `  juju show-cloud lxd
  juju show-cloud rack --client`,
		Annotations: cli.SeeAlso("clouds", "regions", "show-credential"),
		Args:        cli.AtMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkCloud(args, 1); err != nil {
				return err
			}
			if err := cli.CheckFormat(output.Format); err != nil {
				return err
			}
			cloud, err := readCloud(cmd.Context(), s, args[0], client)
			if err != nil {
				return err
			}
			cloud.Name, cloud.Summary = args[0], fmt.Sprintf("Client cloud %q", args[0])
			if cloud.Defined == ofController {
				cloud.Summary = fmt.Sprintf("Cloud %q from controller", args[0])
			}
			var shown any = cloud
			if output.Format == "json" {
				shown = []shownCloud{cloud} // Juju lists there that of the controller and that of the client
			}
			text, err := cli.Encode(output.Format, shown)
			if err != nil {
				return err
			}
			return s.Write(output, text)
		},
	}
	output.Flags(cmd, "yaml", "yaml", "json")
	onClientFlag(cmd, &client)
	s.ControllerFlag(cmd)
	return cmd
}

// onClientFlag adds --client to a command that shows what a controller and this client have.
func onClientFlag(cmd *cobra.Command, client *bool) {
	cmd.Flags().BoolVar(client, "client", false, "show only what this client has")
}

func RegionsCommand(s *cli.Session) *cobra.Command {
	var output cli.Output
	client := false
	cmd := &cobra.Command{
		Use:         "regions CLOUD",
		Aliases:     []string{"list-regions"},
		Short:       "List the regions of a cloud",
		Long:        "List the regions of the controller's cloud that it can use, or of a cloud of this client.",
		Example:     `  juju regions lxd`,
		Annotations: cli.SeeAlso("clouds", "show-cloud"),
		Args:        cli.AtMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkCloud(args, 1); err != nil {
				return err
			}
			if err := cli.CheckListFormat(output.Format); err != nil {
				return err
			}
			cloud, err := readCloud(cmd.Context(), s, args[0], client)
			if err != nil {
				return err
			}
			rows := [][]string{{"Region"}}
			for _, r := range cloud.Regions {
				rows = append(rows, []string{r.Name})
			}
			of := "client-cloud-regions"
			if cloud.Defined == ofController {
				of = "controller-cloud-regions"
			}
			return s.WriteList(output, map[string]cloudfiles.Regions{of: cloud.Regions}, rows)
		},
	}
	output.Flags(cmd, "tabular", cli.ListFormats...)
	onClientFlag(cmd, &client)
	s.ControllerFlag(cmd)
	return cmd
}

// checkCloud checks that the first of at most so many arguments can be the name of a cloud.
func checkCloud(args []string, most int) error {
	switch {
	case len(args) == 0:
		return cli.Usagef("no cloud specified")
	case len(args) > most:
		return cli.Usagef("unrecognized args: %q", args[most:])
	case args[0] == "" || strings.ContainsAny(args[0], "/_ "):
		return cli.Usagef("cloud name %q not valid", args[0])
	}
	return nil
}
