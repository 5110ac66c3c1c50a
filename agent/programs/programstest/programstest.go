// Package programstest makes archives of programs for tests.
package programstest

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"juju/agent/install"
	"juju/state/entity"
)

// Script is a program that prints its version when it is asked, and else which one it is.
func Script(version string) string {
	return `#!/bin/sh
case $1 in
version) echo ` + version + `;;
--help) ;;
*) echo runs ` + version + `;;
esac
`
}

// Pack makes an archive of programs that all have this text, and are to have this version.
func Pack(t testing.TB, version, text string) ([]byte, entity.Programs) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range install.Programs {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	sum, err := install.WriteArchive(&b, dir, install.Programs...)
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), entity.Programs{Version: version, SHA256: sum}
}
