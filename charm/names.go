package charm

import (
	"regexp"
	"strings"
)

var (
	// A charm's name has a letter in every part, so that "-7" at the end of a
	// URL can only be a revision. Services and storage follow the same rule.
	namePattern     = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]*[a-z][a-z0-9]*)*$`)
	relationPattern = regexp.MustCompile(`^[a-z][a-z0-9]*([_-][a-z0-9]+)*$`)
	actionPattern   = regexp.MustCompile(`^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$`)
	resourcePattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9_-]*[a-z0-9])?$`)
	seriesPattern   = regexp.MustCompile(`^[a-z][a-z0-9]*$`)
	userPattern     = regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9.+-]*[a-zA-Z0-9])?$`)
)

// IsValidName reports whether name can be a charm's.
func IsValidName(name string) bool { return namePattern.MatchString(name) }

// IsValidSeries reports whether series has the form of one: "trusty", "centos7".
func IsValidSeries(series string) bool { return seriesPattern.MatchString(series) }

// isReserved reports whether name is kept for Juju itself; a charm of Juju's
// own may use it.
func isReserved(charmName, name string) bool {
	if strings.HasPrefix(charmName, "juju-") {
		return false
	}
	return name == "juju" || strings.HasPrefix(name, "juju-")
}
