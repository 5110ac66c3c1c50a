package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"juju/state/entity"
	"juju/state/limits"
)

// AtMost returns the check of a command that takes at most n arguments.
func AtMost(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > n {
			return WithHelp(cmd, Usagef("unrecognized args: %q", args[n:]))
		}
		return nil
	}
}

func CheckServices(args []string) error {
	if len(args) == 0 {
		return Usagef("no service specified")
	}
	for _, arg := range args {
		if !entity.IsValidService(arg) {
			return Usage(entity.InvalidService(arg))
		}
	}
	return nil
}

// CheckService checks that there is one argument, the name of a service.
func CheckService(args []string) error {
	if len(args) > 1 {
		return Usagef("unrecognized args: %q", args[1:])
	}
	return CheckServices(args)
}

// CheckUnits checks that there are arguments, and that each is a unit or SERVICE/leader: Leaders names those.
func CheckUnits(args []string) error {
	if len(args) == 0 {
		return Usagef("no units specified")
	}
	for _, arg := range args {
		if !IsUnitTarget(arg) {
			return Usage(entity.InvalidUnit(arg))
		}
	}
	return nil
}

func CheckMachines(args []string) error {
	if len(args) == 0 {
		return Usagef("no machines specified")
	}
	for _, arg := range args {
		if !entity.IsValidMachine(arg) {
			return Usage(entity.InvalidMachine(arg))
		}
	}
	return nil
}

// ParsePlacements parses the values of --to, each of which can hold several placements, separated by commas.
func ParsePlacements(values []string) ([]entity.Placement, error) {
	var all []entity.Placement
	for _, value := range values {
		for text := range strings.SplitSeq(value, ",") {
			at, err := entity.ParsePlacement("--to parameter", text)
			if err != nil {
				return nil, Usage(err)
			}
			all = append(all, at)
		}
	}
	return all, nil
}

// MaxOptionFile is the maximum size of a file of settings, or of a file with one value.
const MaxOptionFile = 5 << 20

// ReadOptionFile reads a file of settings, or a file with one value.
func ReadOptionFile(path string) (string, error) {
	text, err := ReadFile(path, MaxOptionFile)
	switch {
	case err != nil:
		return "", fmt.Errorf("cannot read option file: %w", err)
	case len(text) > MaxOptionFile:
		return "", fmt.Errorf("size of option file is larger than 5M: %s", path)
	case !utf8.Valid(text):
		return "", fmt.Errorf("option file %s is not UTF-8", path)
	}
	return string(text), nil
}

// ReadOptions is ReadOptionFile, and reads standard input for "-".
func (s *Session) ReadOptions(path string) (string, error) {
	if path != StandardInput {
		if err := s.CheckFile(path); err != nil {
			return "", err
		}
		return ReadOptionFile(path)
	}
	text, err := ReadInput(s.Stdin, path, MaxOptionFile)
	switch {
	case err != nil:
		return "", fmt.Errorf("cannot read settings from standard input: %w", err)
	case len(text) > MaxOptionFile:
		return "", errors.New("the settings on standard input are larger than 5M")
	case !utf8.Valid(text):
		return "", errors.New("the settings on standard input are not UTF-8")
	}
	return string(text), nil
}

// ParseSettings parses KEY=VALUE pairs. The last value of a repeated key wins. @FILE reads the value from a file.
func (s *Session) ParseSettings(pairs []string) (map[string]string, error) {
	values := map[string]string{}
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, Usage(entity.WithHint(fmt.Errorf("expected \"key=value\", got %q", pair),
				"To reset an option: juju unset SERVICE KEY"))

		}
		if path, ok := strings.CutPrefix(value, "@"); ok {
			err := s.CheckFile(path)
			if err == nil {
				value, err = ReadOptionFile(path)
			}
			if err != nil {
				return nil, err
			}
		} else if !utf8.ValidString(value) {
			return nil, Usagef("value for option %q contains non-UTF-8 sequences", key)
		}
		values[key] = value
	}
	return values, nil
}

// MaxErrors is how many different errors Bulk shows.
const MaxErrors = 10

// OneOrBulk is the error of the only entity, or Bulk for several.
func OneOrBulk(entities, done string, errs []error) error {
	if len(errs) == 1 {
		return errs[0]
	}
	return Bulk(entities, done, errs)
}

// Bulk combines the results of a bulk call into one error, in Juju's words: "no units were destroyed: …" or "some units
// were not destroyed: …". errs has an entry for each entity, nil for success. Equal errors are shown once, with a count.
// The result has the errors' kind, if it is the same for all.
func Bulk(entities, done string, errs []error) error {
	var failed []error
	for _, err := range errs {
		if err != nil {
			failed = append(failed, err)
		}
	}
	if len(failed) == 0 {
		return nil
	}
	var texts, hints []string
	times := map[string]int{}
	kind := entity.KindOf(failed[0])
	for _, err := range failed {
		if times[err.Error()]++; times[err.Error()] == 1 {
			texts = append(texts, err.Error())
		}
		if entity.KindOf(err) != kind {
			kind = ""
		}
		if hint := entity.Hint(err); hint != "" && !slices.Contains(hints, hint) {
			hints = append(hints, hint)
		}
	}
	more := len(texts) - MaxErrors
	for i, text := range texts {
		if n := times[text]; n > 1 {
			texts[i] = fmt.Sprintf("%s (%d times)", text, n)
		}
	}
	if more > 0 {
		texts = append(texts[:MaxErrors], fmt.Sprintf("and %d more", more))
		hints = hints[:min(len(hints), MaxErrors)]
	}
	text := fmt.Sprintf("some %s were not %s: ", entities, done)
	if len(failed) == len(errs) {
		text = fmt.Sprintf("no %s were %s: ", entities, done)
	}
	err := errors.New(text + strings.Join(texts, "; "))
	if kind != "" {
		err = entity.Errorf(kind, "%w", err)
	}
	if len(hints) > 0 {
		return entity.WithHint(err, "%s", strings.Join(hints, "\n"))
	}
	return err
}

// CheckMany returns an error if a command would add too many units or machines.
func CheckMany(what string, n int, force bool) error {
	if force {
		return nil
	}
	return limits.CheckAtOnce(what, n)
}

// ManyFlag adds the flag that lifts the limit of limits.MaxAtOnce.
func ManyFlag(cmd *cobra.Command, force *bool, what string) {
	cmd.Flags().BoolVar(force, "force", false, fmt.Sprintf("add more than %d %s", limits.MaxAtOnce, what))
}

// YesFlag adds --yes to a command that asks for confirmation, and --no-prompt, as Juju 3 calls it.
func YesFlag(cmd *cobra.Command, yes *bool) {
	cmd.Flags().BoolVarP(yes, "yes", "y", false, "do not ask for confirmation")
	cmd.Flags().BoolVar(yes, "no-prompt", false, "do not ask for confirmation")
	cmd.Flags().Lookup("no-prompt").Hidden = true
}

// AcceptYes has a command that never asks accept the flags of YesFlag, which scripts give to every removal.
func AcceptYes(cmd *cobra.Command) {
	YesFlag(cmd, new(bool))
	cmd.Flags().Lookup("yes").Hidden = true
}

// ParseStorageIDs parses values that each hold storage ids, separated by commas.
func ParseStorageIDs(values []string) (ids []string, err error) {
	for _, value := range values {
		for id := range strings.SplitSeq(value, ",") {
			if !entity.IsValidStorage(id) {
				return nil, entity.WithHint(Usagef("storage id %q not valid", id),
					"A storage id is the name of a store and a number, such as data/0. To list storage: juju storage")
			}
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// ParseBindings parses "SPACE ENDPOINT=SPACE": the names of spaces by endpoint, with the default at "".
func ParseBindings(args []string) (map[string]string, error) {
	bindings := map[string]string{}
	for _, word := range strings.Fields(strings.Join(args, " ")) {
		endpoint, space, ok := strings.Cut(word, "=")
		if !ok {
			endpoint, space = "", word
		} else if endpoint == "" {
			return nil, Usagef("Found = without endpoint name. Use a lone space name to set the default.")
		}
		if !entity.IsValidSpace(space) {
			return nil, Usagef("%q is not a valid space name", space)
		}
		if _, twice := bindings[endpoint]; twice && endpoint == "" {
			return nil, Usagef("at most one default space can be specified")
		} else if twice {
			return nil, Usagef("endpoint %q is bound twice", endpoint)
		}
		bindings[endpoint] = space
	}
	if len(bindings) == 0 {
		return nil, nil
	}
	return bindings, nil
}
