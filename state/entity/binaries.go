package entity

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Binaries names one build of the binaries of controllers and agents.
type Binaries struct {
	Version string `json:"version"`
	// SHA256 is the hash, in hex, of the archive that they come in; "" if they were not taken from
	// one, or of a controller that has none to hand out. An agent may report only the first 16 digits.
	SHA256 string `json:"sha256,omitempty"`
	// Commit is the commit of git that they were built from; "" if that is not known. Only people need it.
	Commit string `json:"commit,omitempty"`
}

// Build names the build for people: "0.1.0 (0123456789ab)".
func (p Binaries) Build() string {
	if p.Commit == "" {
		return p.Version
	}
	return fmt.Sprintf("%s (%s)", p.Version, p.Commit)
}

// Same reports whether these are the same version of the same archive.
func (p Binaries) Same(other Binaries) bool {
	return p.Version == other.Version && p.SHA256 == other.SHA256
}

var hashPattern = regexp.MustCompile(`^[0-9a-f]{64}$`)

// IsSHA256 reports whether a text is a whole SHA-256, in hex. Only such a text is made into the name of
// a directory or a file of binaries.
func IsSHA256(s string) bool { return hashPattern.MatchString(s) }

// Are reports whether these, which an agent reports, are the binaries that are wanted.
func (p Binaries) Are(wanted Binaries) bool {
	return p.SHA256 == wanted.SHA256 || len(p.SHA256) >= 16 && strings.HasPrefix(wanted.SHA256, p.SHA256)
}

// A FailedUpgrade is an upgrade of a controller or of an agent that was undone.
type FailedUpgrade struct {
	Binaries
	Error string `json:"error"`
}

// ControllerBinaries are those that a controller runs.
type ControllerBinaries struct {
	Binaries
	Failed *FailedUpgrade `json:"failed,omitempty"` // the last upgrade, if it has failed
}

var versionPattern = regexp.MustCompile(`^(\d{1,9})\.(\d{1,9})(?:\.|-([a-z]+))(\d{1,9})(?:\.(\d{1,9}))?$`)

// CompareVersions returns -1, 0 or 1 as a is older than, the same as, or newer than b. Versions are
// as Juju's: 2.0-beta3 is older than 2.0.0, and that than 2.0.0.1. Invalid for anything else.
func CompareVersions(a, b string) (int, error) {
	x, y := versionPattern.FindStringSubmatch(a), versionPattern.FindStringSubmatch(b)
	for text, parts := range map[string][]string{a: x, b: y} {
		if parts == nil {
			return 0, Errorf(Invalid, "invalid version %q", Cut(text, 100))
		}
	}
	const major, minor, tag, patch, build = 1, 2, 3, 4, 5
	for _, i := range []int{major, minor, tag, patch, build} {
		if i == tag {
			if c := compareTags(x[tag], y[tag]); c != 0 {
				return c, nil
			}
			continue
		}
		m, _ := strconv.Atoi(x[i]) // "" is 0
		n, _ := strconv.Atoi(y[i])
		if c := cmp.Compare(m, n); c != 0 {
			return c, nil
		}
	}
	return 0, nil
}

// compareTags compares "beta" and the like; a release, which has none, comes after all of them.
func compareTags(a, b string) int {
	switch {
	case a == b:
		return 0
	case a == "":
		return 1
	case b == "":
		return -1
	}
	return cmp.Compare(a, b)
}
