package constraints

import (
	"strings"
	"testing"
)

// The help of set-constraints is generated from the table, so it lists every key and explains
// how to write its value.
func TestConstraintHelp(t *testing.T) {
	help := Help()
	if n := len(strings.Split(help, "\n")); n != len(forms) {
		t.Errorf("%d lines for %d keys", n, len(forms))
	}
	for key, form := range forms {
		if form.takes == "" || !strings.Contains(help, "  "+key+" ") {
			t.Errorf("%s is not explained:\n%s", key, help)
		}
		unit := map[bool]string{true: "in MiB or with M, G, T or P"}[key == Mem || key == RootDisk]
		if !strings.Contains(form.takes, unit) {
			t.Errorf("%s: its unit is missing: %s", key, form.takes)
		}
	}
}
