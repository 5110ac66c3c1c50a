package hooks

import (
	"regexp"
	"strings"

	"juju/charm/spelling"
	"juju/hooks/hooktools"
	"juju/hooks/tool"
)

// telling returns the line of the two that tells more about a failure: the later one, unless it is blank or
// only tells how to use a program.
func telling(earlier, line string) string {
	isHint := strings.HasPrefix(line, tool.HintMark) || strings.Contains(line, "--help")
	if strings.TrimSpace(line) == "" || isHint && earlier != "" {
		return earlier
	}
	return line
}

// maxCause is how many bytes of a line are kept to explain a failure.
const maxCause = 500

// hyphenated is what the names of all hook tools look like.
var hyphenated = regexp.MustCompile(`[a-z]+(-[a-z]+)+`)

// because returns the last line of a failed hook as it explains the failure: with the charm's files as its author
// knows them, and the names of hook tools that a missing program resembles.
func because(line, charmDir string) string {
	line = strings.ReplaceAll(line, charmDir+"/", "")
	if len(line) > maxCause {
		return strings.ToValidUTF8(line[:maxCause], "") + "…"
	}
	if !strings.Contains(line, "not found") && !strings.Contains(line, "No such file or directory") {
		return line
	}
	names := hooktools.Names()
	for _, name := range hyphenated.FindAllString(line, -1) {
		if like := spelling.Near(name, names); len(like) > 0 && like[0] != name {
			return line + "; did you mean " + strings.Join(like, " or ") + "?"
		}
	}
	return line
}
