package hub

import (
	"strings"

	"github.com/spf13/cobra"

	"juju/charm/charmhub"
	"juju/cmd/juju/cli"
)

// columns are those that find can print, by their letters.
var columns = map[rune]struct {
	title string
	of    func(shownFound) string
}{
	'n': {"Name", func(f shownFound) string { return f.Name }},
	'b': {"Bundle", func(f shownFound) string { return mark(f.Type == "bundle") }},
	'v': {"Version", func(f shownFound) string { return f.Version }},
	'a': {"Architectures", func(f shownFound) string { return strings.Join(f.Architectures, ",") }},
	'o': {"OS", func(f shownFound) string { return strings.Join(f.OS, ",") }},
	'S': {"Supports", func(f shownFound) string { return strings.Join(f.Supports, ",") }},
	'p': {"Publisher", func(f shownFound) string { return f.Publisher }},
	's': {"Summary", func(f shownFound) string { return strings.Join(strings.Fields(f.Summary), " ") }},
}

func mark(yes bool) string {
	if yes {
		return "Y"
	}
	return "-"
}

// A shownFound is a charm that was found, as Juju prints it.
type shownFound struct {
	Type          string   `json:"type" yaml:"type"`
	ID            string   `json:"id" yaml:"id"`
	Name          string   `json:"name" yaml:"name"`
	Summary       string   `json:"summary,omitempty" yaml:"summary,omitempty"`
	Version       string   `json:"version,omitempty" yaml:"version,omitempty"`
	Publisher     string   `json:"publisher,omitempty" yaml:"publisher,omitempty"`
	Architectures []string `json:"architectures,omitempty" yaml:"architectures,omitempty"`
	OS            []string `json:"os,omitempty" yaml:"os,omitempty"`
	Supports      []string `json:"supports,omitempty" yaml:"supports,omitempty"`
	StoreURL      string   `json:"store-url,omitempty" yaml:"store-url,omitempty"`
}

// FindCommand looks for charms in a store.
func FindCommand(s *cli.Session) *cobra.Command {
	var output cli.Output
	var store storeFlag
	var query charmhub.Query
	var letters string
	cmd := &cobra.Command{
		Use:   "find [TEXT]",
		Short: "Look for charms in a charm store",
		Long: `Look for charms in a charm store, by a text in their names and summaries, and by what the
flags say. Without either, list those that the store puts first.

--columns chooses the columns by their letters: n name, b whether it is a bundle,
v version, p publisher, s summary, a architectures, o operating systems, S bases.`,
		Example: `  juju find postgres
  juju find --publisher acme --columns nvS
  juju find --charmhub-url http://charms.example.com`,
		Annotations: cli.SeeAlso("info", "download", "deploy"),
		Args:        cli.AtMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			query.Text = strings.Join(args, "")
			for _, letter := range letters {
				if _, ok := columns[letter]; !ok {
					return cli.Usagef("--columns: there is no column %q", letter)
				}
			}
			client, err := store.open(s)
			if err != nil {
				return err
			}
			defer client.Close()
			all, err := client.Find(cmd.Context(), query)
			if err != nil {
				return err
			}
			if len(all) == 0 && output.Format == "tabular" {
				s.Note("Nothing found for query %q.", query.Text)
				return nil
			}
			found := make([]shownFound, len(all))
			rows := [][]string{nil}
			for _, letter := range letters {
				rows[0] = append(rows[0], columns[letter].title)
			}
			for i, one := range all {
				r := one.DefaultRelease.Revision
				found[i] = shownFound{Type: one.Type, ID: one.ID, Name: one.Name, Summary: one.Result.Summary, Version: r.Version,
					Publisher: one.Result.Publisher["display-name"], Architectures: archsOf(r.Bases), StoreURL: one.Result.StoreURL}
				for _, b := range basesOf(r.Bases) {
					found[i].Supports = append(found[i].Supports, b.Short())
					if n := len(found[i].OS); n == 0 || found[i].OS[n-1] != b.Name {
						found[i].OS = append(found[i].OS, b.Name)
					}
				}
				var row []string
				for _, letter := range letters {
					row = append(row, columns[letter].of(found[i]))
				}
				rows = append(rows, row)
			}
			return s.WriteList(output, found, rows)
		},
	}
	f := cmd.Flags()
	f.StringVar(&query.Category, "category", "", "charms of this category")
	f.StringVar(&query.Channel, "channel", "", "charms that are released in this channel")
	f.StringVar(&query.Publisher, "publisher", "", "charms of this publisher")
	f.StringVar(&query.Type, "type", "", "charm or bundle")
	f.StringVar(&letters, "columns", "nbvps", "columns of the table")
	store.add(cmd)
	output.Flags(cmd, "tabular", cli.ListFormats...)
	return cmd
}
