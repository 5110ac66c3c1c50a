package cli

import (
	"github.com/spf13/cobra"

	"juju/state/entity"
)

// SeriesFlags adds --series, and --base, which is another form of it.
func SeriesFlags(cmd *cobra.Command, series *string, of string) {
	cmd.Flags().StringVar(series, "series", "", "the series of "+of)
	cmd.Flags().Var(baseValue{series}, "base", "the base of "+of+", as in ubuntu@22.04, instead of --series")
	cmd.MarkFlagsMutuallyExclusive("series", "base")
}

// baseValue sets a series by its base.
type baseValue struct{ series *string }

func (b baseValue) String() string { return "" }
func (b baseValue) Type() string   { return "BASE" }

func (b baseValue) Set(text string) error {
	base, err := entity.ParseBase(text, "")
	if err == nil {
		*b.series = base.Series()
	}
	return err
}
