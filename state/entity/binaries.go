package entity

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Binaries identifies one build of the controller and agent binaries.
type Binaries struct {
	Version string `json:"version"`
	// SHA256 is the hash, in hex, of the archive that contains them; "" if they were not unpacked from
	// one, or the controller has none to serve. An agent may report only the first 16 digits.
	SHA256 string `json:"sha256,omitempty"`
	// Commit is the git commit that they were built from; "" if unknown. It is informational.
	Commit string `json:"commit,omitempty"`
}

// Build returns the build in the form shown to users: "0.1.0 (0123456789ab)".
func (p Binaries) Build() string {
	if p.Commit == "" {
		return p.Version
	}
	return fmt.Sprintf("%s (%s)", p.Version, p.Commit)
}

// Same reports whether both have the same version and archive.
func (p Binaries) Same(other Binaries) bool {
	return p.Version == other.Version && p.SHA256 == other.SHA256
}

var hashPattern = regexp.MustCompile(`^[0-9a-f]{64}$`)

// IsSHA256 reports whether s is a full SHA-256 in hex. Only such a string may be used in the name of a
// directory or file of binaries.
func IsSHA256(s string) bool { return hashPattern.MatchString(s) }

// Are reports whether p, as reported by an agent, are the wanted binaries.
func (p Binaries) Are(wanted Binaries) bool {
	return p.SHA256 == wanted.SHA256 || len(p.SHA256) >= 16 && strings.HasPrefix(wanted.SHA256, p.SHA256)
}

// A FailedUpgrade is an upgrade of a controller or agent that failed and was rolled back.
type FailedUpgrade struct {
	Binaries
	Error string `json:"error"`
}

// ControllerBinaries are the binaries that a controller runs.
type ControllerBinaries struct {
	Binaries
	Failed *FailedUpgrade `json:"failed,omitempty"` // the last upgrade, if it failed
	// Upgrade is the last upgrade of the controllers that share a store; nil if there was none, or it can't be shared.
	Upgrade *ControllerUpgrade `json:"upgrade,omitempty"`
	// Mixed means that another controller that shares the store runs other binaries.
	Mixed bool `json:"mixed,omitempty"`
}

var versionPattern = regexp.MustCompile(`^(\d{1,9})\.(\d{1,9})(?:\.|-([a-z]+))(\d{1,9})(?:\.(\d{1,9}))?$`)

// CompareVersions returns -1, 0 or 1 if a is older than, the same as, or newer than b. Versions follow
// Juju's scheme: 2.0-beta3 is older than 2.0.0, which is older than 2.0.0.1. The error is Invalid if
// either is not a version.
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

// compareTags compares prerelease tags such as "beta"; a release, which has none, comes last.
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
