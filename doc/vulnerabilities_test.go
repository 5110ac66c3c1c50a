package doc_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"juju/doc/tools/verify"
)

// harmless are modules whose vulnerabilities are not this program's, and why.
var harmless = map[string]string{
	"github.com/canonical/lxd": "only the types of its API are used; they are vulnerabilities of the server",
}

// The code calls nothing that the Go project knows as vulnerable, built with the toolchain that go.mod names.
func TestNoKnownVulnerabilityIsCalled(t *testing.T) {
	verify.Only(t, "it downloads the database of vulnerabilities, which changes")
	database := struct{ Dir, Error string }{}
	out, err := exec.Command("go", "mod", "download", "-json", "golang.org/x/vulndb@latest").Output()
	if json.Unmarshal(out, &database); err != nil || database.Dir == "" {
		t.Skipf("cannot download the database of vulnerabilities: %v %s", err, database.Error)
	}
	module, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	toolchain := regexp.MustCompile(`(?m)^toolchain (\S+)$`).FindSubmatch(module)
	if toolchain == nil {
		t.Fatal("go.mod names no toolchain")
	}
	cmd := exec.Command("go", "run", "golang.org/x/vuln/cmd/govulncheck@v1.9.0", "-format", "json",
		"-db", "file://"+filepath.Join(database.Dir, "data", "osv"), "./...")
	cmd.Dir, cmd.Env = "..", append(os.Environ(), "GOTOOLCHAIN="+string(toolchain[1]))
	var printed, trouble bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, &trouble
	if err := cmd.Run(); err != nil {
		t.Fatalf("govulncheck: %v\n%s", err, trouble.String())
	}
	called := map[string]bool{}
	messages := 0
	for d := json.NewDecoder(&printed); ; messages++ {
		var message struct {
			Finding *struct {
				OSV     string `json:"osv"`
				FixedIn string `json:"fixed_version"`
				Trace   []struct{ Module, Package, Function string }
			}
		}
		if err := d.Decode(&message); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		f := message.Finding
		if f == nil || len(f.Trace) == 0 || f.Trace[0].Function == "" || called[f.OSV] || harmless[f.Trace[0].Module] != "" {
			continue
		}
		called[f.OSV] = true
		by := f.Trace[len(f.Trace)-1]
		t.Errorf("https://pkg.go.dev/vuln/%s: %s calls %s.%s; it is fixed in %s %s", f.OSV, strings.TrimPrefix(by.Package, "juju/"),
			f.Trace[0].Package, f.Trace[0].Function, f.Trace[0].Module, f.FixedIn)
	}
	if messages < 3 {
		t.Errorf("govulncheck has said only %s", trouble.String())
	}
}
