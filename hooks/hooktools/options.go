package hooktools

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"juju/state/entity/flagerror"
)

// An options set parses the options of a hook tool as Juju's tools do, and reports mistakes in
// their words, which charms look for: "option provided but not defined: --app". It differs from
// pflag in that an option's letter takes two hyphens too, --r=1, and that errors name an option as
// it was given: -r or --relation.
type options struct{ *pflag.FlagSet }

// newOptions returns a set that fills the variables of flags. Each letter is an option of its own
// there.
func newOptions(flags *pflag.FlagSet) options {
	o := options{pflag.NewFlagSet(flags.Name(), pflag.ContinueOnError)}
	o.Usage = func() {}
	o.SortFlags = false // Visit goes in the order of the arguments
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name != f.Shorthand {
			long := *f
			long.Shorthand = ""
			o.AddFlag(&long)
		}
		if f.Shorthand != "" {
			letter := *f
			letter.Name = f.Shorthand
			o.AddFlag(&letter)
		}
	})
	return o
}

// dashed returns the option with this name as it is given.
func dashed(name string) string {
	if utf8.RuneCountInString(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// optionsHelp describes the options in the layout of Juju's tools, in which the ops framework looks for
// the storage that a hook is about: "-s  (= data/0)" on a line of its own.
func optionsHelp(flags *pflag.FlagSet) string {
	var text strings.Builder
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		given := dashed(f.Name)
		if f.Shorthand != "" && f.Shorthand != f.Name {
			given = dashed(f.Shorthand) + ", " + given
		}
		switch f.DefValue {
		case "", "false", "[]":
		default:
			given += "  (= " + f.DefValue + ")"
		}
		_, usage := pflag.UnquoteUsage(f)
		fmt.Fprintf(&text, "%s\n    %s\n", given, usage)
	})
	return text.String()
}

func (o options) parse(args []string) error {
	err := o.Parse(args)
	var unknown *pflag.NotExistError
	var lacking *pflag.ValueRequiredError
	var malformed *pflag.InvalidSyntaxError
	switch {
	case errors.As(err, &unknown):
		name := unknown.GetSpecifiedName()
		if letters := unknown.GetSpecifiedShortnames(); letters != "" {
			_, size := utf8.DecodeRuneInString(letters)
			name = letters[:size]
		}
		if name == "h" { // with two hyphens
			return pflag.ErrHelp
		}
		return fmt.Errorf("option provided but not defined: %s", dashed(name))
	case errors.As(err, &lacking):
		return fmt.Errorf("option needs an argument: %s", dashed(lacking.GetSpecifiedName()))
	case errors.As(err, &malformed) && strings.HasPrefix(malformed.GetSpecifiedFlag(), "--="):
		return fmt.Errorf("empty option in argument %q", malformed.GetSpecifiedFlag())
	case errors.As(err, &malformed):
		name, _, _ := strings.Cut(malformed.GetSpecifiedFlag(), "=")
		return fmt.Errorf("option provided but not defined: %s", name)
	}
	return flagerror.Plain(err)
}

// An optionError says what is wrong with the value of an option.
type optionError struct {
	option string // its long name
	value  string
	why    string
}

func (e *optionError) Error() string {
	return fmt.Sprintf("invalid value %q for option %s: %s", e.value, dashed(e.option), e.why)
}

// explain returns the error of a tool that has looked at its options: one about an option names
// that as it was given last.
func (o options) explain(err error) error {
	var about *optionError
	if !errors.As(err, &about) {
		return err
	}
	long := o.Lookup(about.option)
	given := *about
	o.Visit(func(f *pflag.Flag) {
		if f.Value == long.Value {
			given.option = f.Name
		}
	})
	return &given
}
