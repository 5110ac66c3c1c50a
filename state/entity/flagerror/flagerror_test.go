package flagerror

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

func TestPlain(t *testing.T) {
	flags := pflag.NewFlagSet("x", pflag.ContinueOnError)
	flags.IntP("num-units", "n", 1, "")
	flags.Uint("lines", 1, "")
	flags.Bool("force", false, "")
	flags.Float64("ratio", 1, "")
	flags.Duration("timeout", time.Second, "")
	flags.Int64("size", 1, "")
	flags.Uint64("max", 1, "")
	flags.Bool("a", false, "")
	for args, want := range map[string]string{
		"-n two":                   `invalid value "two" for option --num-units: expected a whole number`,
		"-n 99999999999999999999":  `invalid value "99999999999999999999" for option --num-units: expected a whole number in range`,
		"--size 1.5":               `invalid value "1.5" for option --size: expected a whole number`,
		"--lines -1":               `invalid value "-1" for option --lines: expected a whole number that is not negative`,
		"--max x":                  `invalid value "x" for option --max: expected a whole number that is not negative`,
		"--a=maybe":                `invalid value "maybe" for option -a: expected true or false`,
		"--force=maybe":            `invalid value "maybe" for option --force: expected true or false`,
		"--ratio half":             `invalid value "half" for option --ratio: expected a number`,
		"--timeout soon":           `invalid value "soon" for option --timeout: expected a duration such as 30s, 5m or 2h`,
		"--unknown":                `unknown flag: --unknown`,
		"--timeout 5m --num-units": `flag needs an argument: --num-units`,
	} {
		if err := Plain(flags.Parse(strings.Fields(args))); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", args, err, want)
		}
	}
	other := errors.New("another")
	if Plain(other) != other || Plain(nil) != nil {
		t.Error("another error is changed")
	}
}
