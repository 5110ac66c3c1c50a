package clitest

import (
	"strings"
	"testing"
)

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
		if got := Doubled(text); strings.TrimSpace(got) != want {
			t.Errorf("%s: found %q, want %q", text, got, want)
		}
	}
}
