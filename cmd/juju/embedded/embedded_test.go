package embedded

import (
	"strings"
	"testing"
)

// A plan changes nothing, so no line may make --dry-run anything but an option that is on.
func TestPlanned(t *testing.T) {
	for line, want := range map[string]string{
		"add-unit web -n 2":                  "add-unit --dry-run web -n 2",
		"exec --unit web/0 -- ls":            "exec --dry-run --unit web/0 -- ls",
		"status":                             "status --dry-run",
		"disable-command\tall\n-- --for now": "disable-command --dry-run all -- --for now",
		`"add-unit" web`:                     "add-unit --dry-run web",
		"add-unit web --dry-run=false":       "",
		`add-unit web "--dry-run"=0`:         "",
		"--logging-config add-unit web":      "",
		"-m add-unit web":                    "",
		`"" add-unit web`:                    "",
		"":                                   "",
	} {
		args, err := split(line)
		if err != nil {
			t.Fatal(err)
		}
		got, err := planned(args)
		if strings.Join(got, " ") != want || (err == nil) != (want != "") {
			t.Errorf("%q is planned as %q, %v", line, got, err)
		}
	}
}
