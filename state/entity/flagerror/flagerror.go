// Package flagerror explains what is wrong with the flags of a command line, in plain words.
package flagerror

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/pflag"
)

// expected is what a flag of each type takes. The errors of other types are plain already.
var expected = map[string]string{
	"bool": "true or false", "duration": "a time such as 30s, 5m or 2h",
	"int": "a whole number", "int64": "a whole number",
	"uint": "a whole number that is not negative", "uint64": "a whole number that is not negative",
	"float64": "a number",
}

// Plain returns an error of package pflag without the names of Go's packages in it, and other
// errors as they are.
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
		what += ", and not one so large"
	}
	dashes := "--"
	if len(flag.Name) == 1 {
		dashes = "-"
	}
	return fmt.Errorf("invalid value %q for option %s%s: expected %s", invalid.GetValue(), dashes, flag.Name, what)
}
