package charm

import (
	"fmt"
	"regexp"
	"strconv"
)

// Version is a release of Juju, as min-juju-version names it. The zero Version
// means "any".
type Version struct {
	Major, Minor int
	Tag          string // "alpha", "beta", "rc"; empty for a release
	Patch, Build int
}

var versionPattern = regexp.MustCompile(`^(\d{1,9})\.(\d{1,9})(?:(?:\.|-([a-z]+))(\d{1,9})(?:\.(\d{1,9}))?)?$`)

// ParseVersion parses "1.25", "2.0.1", "2.0-beta6" or "2.0.1.4".
func ParseVersion(s string) (Version, error) {
	m := versionPattern.FindStringSubmatch(s)
	if m == nil {
		return Version{}, invalidf("invalid version %q", s)
	}
	number := func(i int) int {
		n, _ := strconv.Atoi(m[i]) // at most nine digits, or none: 0
		return n
	}
	return Version{Major: number(1), Minor: number(2), Tag: m[3], Patch: number(4), Build: number(5)}, nil
}

// String returns the form that ParseVersion parses; "0.0.0" for the zero Version.
func (v Version) String() string {
	sep := "."
	if v.Tag != "" {
		sep = "-" + v.Tag
	}
	s := fmt.Sprintf("%d.%d%s%d", v.Major, v.Minor, sep, v.Patch)
	if v.Build > 0 {
		s += fmt.Sprintf(".%d", v.Build)
	}
	return s
}
