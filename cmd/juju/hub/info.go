package hub

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"juju/apiserver/display"
	"juju/charm"
	"juju/charm/charmhub"
	"juju/cmd/juju/cli"
	"juju/state/entity"
)

// InfoCommand shows what a store has of a charm.
func InfoCommand(s *cli.Session) *cobra.Command {
	var output cli.Output
	var store storeFlag
	var chosen choiceFlags
	var track, unicode string
	var config bool
	cmd := &cobra.Command{
		Use:   "info CHARM",
		Short: "Show a charm of a charm store",
		Long: `Show what a charm store has of a charm: its channels with the revision that each has,
for which bases and architectures, and the relations of what is released for most users.

In the list of channels, ↑ says that a channel is closed, and has what the one above it
has, and – that there is nothing.`,
		Example: `  juju info postgresql
  juju info postgresql --channel 14/stable --format json
  juju info web --charmhub-url http://charms.example.com`,
		Annotations: cli.SeeAlso("find", "download", "deploy"),
		Args:        one,
		RunE: func(cmd *cobra.Command, args []string) error {
			want, err := chosen.check(args[0])
			if err != nil {
				return err
			}
			if !slices.Contains([]string{"auto", "never", "always"}, unicode) {
				return cli.Usagef("--unicode %q: expected auto, never or always", unicode)
			}
			client, err := store.open(s)
			if err != nil {
				return err
			}
			defer client.Close()
			info, err := client.Info(cmd.Context(), want.Name, chosen.channel)
			if entity.IsNotFound(err) {
				return entity.WithHint(entity.Errorf(entity.NotFound, "No information found for charm or bundle with the name %q", want.Name),
					"To look for charms: juju find TEXT")
			} else if err != nil {
				return err
			}
			info.ChannelMap = slices.DeleteFunc(info.ChannelMap, func(r charmhub.Release) bool {
				b := r.Channel.Base
				return track != "" && r.Channel.Track != track || chosen.revision >= 0 && r.Revision.Revision != chosen.revision ||
					chosen.base != "" && b.Of() != want.Base.Of() && b.Name != "all" ||
					chosen.arch != "" && b.Architecture != chosen.arch && b.Architecture != "all"
			})
			shown, err := describe(info, config)
			if err != nil {
				return err
			}
			text, err := shown.text(output.Format, unicode != "never")
			if err != nil {
				return err
			}
			return s.Write(output, text)
		},
	}
	store.add(cmd)
	chosen.add(cmd, "")
	cmd.Flags().StringVar(&track, "track", "", "show only the channels of this track")
	cmd.Flags().BoolVar(&config, "config", false, "show the settings of the charm")
	cmd.Flags().StringVar(&unicode, "unicode", "auto", "whether arrows are used: auto, never, always")
	output.Flags(cmd, "tabular", cli.ListFormats...)
	return cmd
}

// The forms of a charm in JSON and YAML, as Juju prints them.
type (
	shownCharm struct {
		Type        string                               `json:"type" yaml:"type"`
		ID          string                               `json:"id" yaml:"id"`
		Name        string                               `json:"name" yaml:"name"`
		Description string                               `json:"description" yaml:"description"`
		Publisher   string                               `json:"publisher" yaml:"publisher"`
		Summary     string                               `json:"summary" yaml:"summary"`
		Supports    []entity.Base                        `json:"supports,omitempty" yaml:"supports,omitempty"`
		StoreURL    string                               `json:"store-url" yaml:"store-url"`
		Tags        []string                             `json:"tags,omitempty" yaml:"tags,omitempty"`
		Charm       *shownMeta                           `json:"charm,omitempty" yaml:"charm,omitempty"`
		Channels    map[string]map[string][]shownChannel `json:"channels" yaml:"channels"`
		Tracks      []string                             `json:"tracks,omitempty" yaml:"tracks,omitempty"`
	}
	shownMeta struct {
		Config      map[string]shownOption `json:"config,omitempty" yaml:"config,omitempty"`
		Relations   shownRelations         `json:"relations" yaml:"relations"`
		Subordinate bool                   `json:"subordinate" yaml:"subordinate"`
		UsedBy      []string               `json:"used-by,omitempty" yaml:"used-by,omitempty"`
	}
	shownOption struct {
		Type        string `json:"type" yaml:"type"`
		Description string `json:"description,omitempty" yaml:"description,omitempty"`
		Default     any    `json:"default,omitempty" yaml:"default,omitempty"`
	}
	shownRelations struct {
		Provides map[string]string `json:"provides,omitempty" yaml:"provides,omitempty"`
		Requires map[string]string `json:"requires,omitempty" yaml:"requires,omitempty"`
	}
	shownChannel struct {
		Track         string        `json:"track" yaml:"track"`
		Risk          string        `json:"risk" yaml:"risk"`
		Version       string        `json:"version" yaml:"version"`
		Revision      int           `json:"revision" yaml:"revision"`
		ReleasedAt    string        `json:"released-at" yaml:"released-at"`
		Size          int64         `json:"size" yaml:"size"`
		Architectures []string      `json:"architectures" yaml:"architectures"`
		Bases         []entity.Base `json:"bases" yaml:"bases"`
	}
)

// describe returns what is shown of a charm.
func describe(info *charmhub.Info, config bool) (*shownCharm, error) {
	c := &shownCharm{Type: info.Type, ID: info.ID, Name: info.Name, Description: info.Result.Description,
		Publisher: info.Result.Publisher["display-name"], Summary: info.Result.Summary, StoreURL: info.Result.StoreURL,
		Channels: map[string]map[string][]shownChannel{}}
	for _, one := range info.Result.Categories {
		c.Tags = append(c.Tags, one.Name)
	}
	var all []charmhub.Base
	of := map[*shownChannel][]charmhub.Base{}
	var order []*shownChannel
	for _, r := range info.ChannelMap {
		all = append(all, r.Channel.Base)
		i := slices.IndexFunc(order, func(s *shownChannel) bool {
			return s.Track == r.Channel.Track && s.Risk == r.Channel.Risk && s.Revision == r.Revision.Revision
		})
		if i < 0 {
			i = len(order)
			order = append(order, &shownChannel{Track: r.Channel.Track, Risk: r.Channel.Risk, Version: r.Revision.Version, Revision: r.Revision.Revision,
				ReleasedAt: r.Channel.ReleasedAt, Size: r.Revision.Download.Size})
		}
		of[order[i]] = append(of[order[i]], r.Channel.Base)
		if !slices.Contains(c.Tracks, r.Channel.Track) {
			c.Tracks = append(c.Tracks, r.Channel.Track)
		}
	}
	for _, s := range order {
		s.Architectures, s.Bases = archsOf(of[s]), basesOf(of[s])
		if c.Channels[s.Track] == nil {
			c.Channels[s.Track] = map[string][]shownChannel{}
		}
		c.Channels[s.Track][s.Risk] = append(c.Channels[s.Track][s.Risk], *s)
	}
	c.Supports = basesOf(all)
	texts := info.DefaultRelease.Revision
	if texts.MetadataYAML == "" {
		return c, nil
	}
	meta, err := charm.ParseMeta([]byte(texts.MetadataYAML))
	if err != nil {
		return nil, fmt.Errorf("cannot read the charm's metadata: %w", err)
	}
	c.Description = meta.Description
	c.Charm = &shownMeta{Subordinate: meta.Subordinate, Relations: shownRelations{interfaces(meta.Provides), interfaces(meta.Requires)}}
	if config && texts.ConfigYAML != "" {
		settings, err := charm.ParseConfig([]byte(texts.ConfigYAML))
		if err != nil {
			return nil, fmt.Errorf("cannot read the charm's settings: %w", err)
		}
		c.Charm.Config = map[string]shownOption{}
		for name, o := range settings.Options {
			c.Charm.Config[name] = shownOption{string(o.Type), o.Description, o.Default}
		}
	}
	return c, nil
}

func interfaces(of map[string]charm.Relation) map[string]string {
	all := map[string]string{}
	for name, r := range of {
		all[name] = r.Interface
	}
	return all
}

// text returns a charm in a format. The tabular one is YAML, with the channels as a block of columns.
func (c *shownCharm) text(format string, arrows bool) ([]byte, error) {
	if format != "tabular" {
		return cli.Encode(format, c)
	}
	type relations struct {
		Provides map[string]string `yaml:"provides,flow,omitempty"`
		Requires map[string]string `yaml:"requires,flow,omitempty"`
	}
	table := struct {
		Name        string                 `yaml:"name"`
		Publisher   string                 `yaml:"publisher,omitempty"`
		Summary     string                 `yaml:"summary"`
		Description string                 `yaml:"description,omitempty"`
		StoreURL    string                 `yaml:"store-url,omitempty"`
		ID          string                 `yaml:"charm-id"`
		Supports    string                 `yaml:"supports,omitempty"`
		Tags        string                 `yaml:"tags,omitempty"`
		Subordinate *bool                  `yaml:"subordinate,omitempty"`
		Relations   *relations             `yaml:"relations,omitempty"`
		Config      map[string]shownOption `yaml:"config,omitempty"`
		Channels    string                 `yaml:"channels"`
	}{Name: c.Name, Publisher: c.Publisher, Summary: c.Summary, Description: c.Description, StoreURL: c.StoreURL, ID: c.ID,
		Supports: names(c.Supports), Tags: strings.Join(c.Tags, ", "), Channels: c.table(arrows)}
	if c.Charm != nil {
		table.Subordinate, table.Config = &c.Charm.Subordinate, c.Charm.Config
		table.Relations = &relations{c.Charm.Relations.Provides, c.Charm.Relations.Requires}
	}
	return display.YAML(table, 2)
}

func names(bases []entity.Base) string {
	var all []string
	for _, b := range bases {
		all = append(all, b.Short())
	}
	return strings.Join(all, ", ")
}

// table returns the channels in columns: each risk of each track.
func (c *shownCharm) table(arrows bool) string {
	closed, nothing := "^", "--"
	if arrows {
		closed, nothing = "↑", "–"
	}
	var rows [][]string
	for _, track := range c.Tracks {
		above := false
		for _, risk := range charmhub.Risks {
			name := charmhub.Channel{Track: track, Risk: risk}.Listed() + ":"
			all := c.Channels[track][risk]
			if len(all) == 0 {
				mark := nothing
				if above {
					mark = closed
				}
				rows = append(rows, []string{name, mark})
			}
			for _, s := range all {
				date, _, _ := strings.Cut(s.ReleasedAt, "T")
				rows = append(rows, []string{name, s.Version, date, fmt.Sprintf("(%d)", s.Revision), sizeOf(s.Size), strings.Join(s.Architectures, ", "), names(s.Bases)})
				name, above = "", true
			}
		}
	}
	return string(cli.Table(rows))
}
