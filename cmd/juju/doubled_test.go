package main

import (
	"regexp"
	"strings"
	"testing"
)

// doubled returns a clause of an error that repeats an earlier one, as in "cannot start an
// instance: cannot start an instance for machine 3: no addresses", where two layers both say
// what failed; "" if there is none.
func doubled(text string) string {
	for line := range strings.Lines(text) {
		seen := map[string]bool{}
		for _, clause := range regexp.MustCompile(`\bcannot [^:;()]*`).FindAllString(line, -1) {
			words := strings.Fields(regexp.MustCompile(`\b(the|an|a|its|this) `).ReplaceAllString(clause, ""))
			key := strings.Join(words[1:min(3, len(words))], " ")
			if key = strings.TrimRight(key, "s,.\""); len(words) > 2 && seen[key] {
				return clause
			}
			seen[key] = true
		}
	}
	return ""
}

func TestDoubled(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"cannot start an instance: cannot start an instance for machine 3: no": "cannot start an instance for machine 3",
		"cannot stop instance i-0: cannot stop instances: no":                  "cannot stop instances",
		"fine\nERROR cannot open the store in x: cannot open store \"x\": no":  "cannot open store \"x\"",
		"cannot read charm \"x\": cannot read metadata.yaml: no":               "",
		"cannot add unit\ncannot add unit":                                     "",
		"cannot: cannot":                                                       "",
	} {
		if got := doubled(text); strings.TrimSpace(got) != want {
			t.Errorf("%s: found %q, want %q", text, got, want)
		}
	}
}
