package hooktools

import (
	"os"
	"path/filepath"
	"testing"
)

// Tools are installed once, and again after an upgrade. A directory that is in the way is an
// error.
func TestInstall(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "tools")
	for _, binary := range []string{"/opt/one/hook-tool", "/opt/one/hook-tool", "/opt/two/hook-tool"} {
		if err := Install(dir, binary); err != nil {
			t.Fatal(err)
		}
		names := append(Names(), "juju-exec", "juju-run")
		for _, name := range names {
			if target, err := os.Readlink(filepath.Join(dir, name)); err != nil || target != binary {
				t.Errorf("%s leads to %q, %v", name, target, err)
			}
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != len(names) {
			t.Errorf("installed %v, %v", entries, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Install(filepath.Join(dir, "file"), "/opt/two/hook-tool"); err == nil {
		t.Error("tools were installed in a file")
	}
}
