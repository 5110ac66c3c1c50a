package local

import (
	"os"
	"regexp"
	"strings"
)

// seriesPattern is the form of a series in charms' metadata and in the API.
var seriesPattern = regexp.MustCompile(`^[a-z][a-z0-9]*$`)

// HostSeries returns the series of this host, or "linux" if it is unknown.
func HostSeries() string { return seriesOf("/etc/os-release") }

// seriesOf reads the series from a file like /etc/os-release.
func seriesOf(path string) string {
	words := map[string]string{}
	text, err := os.ReadFile(path)
	if err == nil {
		for line := range strings.Lines(string(text)) {
			if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
				words[key] = strings.Trim(value, `"'`)
			}
		}
	}
	for _, series := range []string{words["VERSION_CODENAME"], words["ID"] +
		strings.ReplaceAll(words["VERSION_ID"], ".", "")} {
		if seriesPattern.MatchString(series) {
			return series
		}
	}
	return "linux"
}
