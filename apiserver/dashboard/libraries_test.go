package dashboard_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"juju/doc/tools/verify"
)

// The libraries of the pages are those of package.json.
func TestLibrariesHaveTheirVersions(t *testing.T) {
	text, err := os.ReadFile("package.json")
	if err != nil {
		t.Fatal(err)
	}
	var want struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	d3, err := os.ReadFile("static/vendor/d3.min.js")
	if err != nil || !bytes.Contains(d3[:100], []byte(" v"+want.Dependencies["d3"]+" ")) {
		t.Errorf("D3 begins with %.80q, %v; make vendored copies version %s", d3, err, want.Dependencies["d3"])
	}
	for name := range want.Dependencies {
		if _, err := os.Stat("static/vendor/" + name + ".LICENSE"); err != nil {
			t.Error(err)
		}
	}
}

// The libraries are what npm has, byte for byte: LIBRARIES is a folder where it has put them.
func TestLibrariesAreThoseOfNPM(t *testing.T) {
	verify.Only(t, "needs npm")
	dir := os.Getenv("LIBRARIES")
	if dir == "" {
		t.Skip("LIBRARIES does not say where npm has put them; make verify-pages does")
	}
	for ours, theirs := range map[string]string{"d3.min.js": "d3/dist/d3.min.js", "idiomorph.min.js": "idiomorph/dist/idiomorph.min.js",
		"d3.LICENSE": "d3/LICENSE", "idiomorph.LICENSE": "idiomorph/LICENSE"} {
		have, err := os.ReadFile("static/vendor/" + ours)
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join(dir, theirs))
		if err != nil || !bytes.Equal(have, want) {
			t.Errorf("%s is not what npm has (%v): make vendored", ours, err)
		}
	}
}
