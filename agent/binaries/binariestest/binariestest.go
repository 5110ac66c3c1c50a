// Package binariestest makes archives of binaries for tests.
package binariestest

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"juju/agent/binaries/pack"
	"juju/state/entity"
)

// Script returns a program that prints its version on request, and otherwise which one it is.
func Script(version string) string {
	return `#!/bin/sh
case $1 in
version) echo ` + version + `;;
--help) ;;
*) echo runs ` + version + `;;
esac
`
}

// Pack makes an archive of binaries that all have this text, and are to have this version.
func Pack(t testing.TB, version, text string) ([]byte, entity.Binaries) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range pack.Names {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	sum, err := pack.WriteArchive(&b, dir, pack.Names...)
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), entity.Binaries{Version: version, SHA256: sum}
}
