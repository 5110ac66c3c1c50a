// Package flagerror rewrites command-line flag errors for users.
package flagerror

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/pflag"
)

// expected describes the values of each flag type. Errors about other types are readable as they are.
var expected = map[string]string{
	"bool": "true or false", "duration": "a duration such as 30s, 5m or 2h",
	"int": "a whole number", "int64": "a whole number",
	"uint": "a whole number that is not negative", "uint64": "a whole number that is not negative",
	"float64": "a number",
}

// Plain rewrites an error of package pflag that mentions Go functions, such as strconv.ParseInt. It
// returns other errors unchanged.
func Plain(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	flag := invalid.GetFlag()
	what, known := expected[flag.Value.Type()]
	if !known {
		return err
	}
	if errors.Is(err, strconv.ErrRange) {
		what += " in range"
	}
	dashes := "--"
	if len(flag.Name) == 1 {
		dashes = "-"
	}
	return fmt.Errorf("invalid value %q for option %s%s: expected %s", invalid.GetValue(), dashes, flag.Name, what)
}
