package charm_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"juju/charm"
)

// A charm with unsupported requirements is rejected, as a directory and as an archive; the error names
// the requirement.
func TestUnsupportedRequirementsAreRejected(t *testing.T) {
	contract := charm.Contract.String()
	for name, test := range map[string]struct{ meta, want string }{
		"an older Juju":   {"min-juju-version: 2.0", ""},
		"this Juju":       {"min-juju-version: " + contract, ""},
		"an earlier beta": {"min-juju-version: 2.9-beta1", ""},
		"a later patch":   {"min-juju-version: 3.6.999", "min-juju-version: Charm's min version (3.6.999) is higher than"},
		"a later Juju": {"min-juju-version: 4.0.3", "Charm's min version (4.0.3) is higher than this juju " +
			"environment's version (" + contract + ")"},
		"containers": {"containers: {app: {resource: image}}", `metadata.yaml: container "app": Kubernetes is not supported`},
		"required storage": {"storage: {data: {type: filesystem, shared: true}, log: {type: block}}",
			`metadata.yaml: required storage "data", "log": `},
		"a filesystem":     {"storage: {data: {type: filesystem}}", ""},
		"optional storage": {"storage: {data: {type: filesystem, multiple: {range: 0+}}}", ""},
		"a resource":       {"resources: {theme: {filename: t.tgz}}", ""},
		"several":          {"min-juju-version: 4.0\ncontainers: {app: {}}", "(" + contract + ")\nmetadata.yaml: container"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := charmOf(t, map[string]string{"metadata.yaml": "name: a\nsummary: s\ndescription: d\n" + test.meta + "\n"})
			var archive bytes.Buffer
			z := zip.NewWriter(&archive)
			if err := errors.Join(z.AddFS(os.DirFS(dir)), z.Close()); err != nil {
				t.Fatal(err)
			}
			_, ofDir := charm.ReadDir(dir)
			_, ofArchive := charm.ReadArchiveFrom(t.Context(), bytes.NewReader(archive.Bytes()), int64(archive.Len()))
			for what, err := range map[string]error{"directory": ofDir, "archive": ofArchive} {
				switch {
				case test.want == "" && err != nil:
					t.Errorf("the %s is rejected: %v", what, err)
				case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want) ||
					!errors.Is(err, charm.ErrInvalid)):
					t.Errorf("the %s: got %v\nwant ... %s", what, err, test.want)
				}
			}
		})
	}
}

// A charm with dispatch gets no warnings about it or about hooks, and its archive makes it executable.
func TestACharmWithDispatch(t *testing.T) {
	dir := charmOf(t, map[string]string{
		"metadata.yaml": "name: a\nsummary: s\ndescription: d\n", "dispatch": "#!/bin/sh\n", "hooks/install": "",
	})
	if err := os.Chmod(filepath.Join(dir, "dispatch"), 0o644); err != nil { // as by tools that lose modes
		t.Fatal(err)
	}
	c, err := charm.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "a.zip"))
	if err == nil {
		err = c.ArchiveTo(file)
	}
	if err != nil {
		t.Fatal(err)
	}
	file.Close()
	a, err := charm.ReadArchive(t.Context(), file.Name())
	if err != nil {
		t.Fatal(err)
	}
	unpacked := filepath.Join(t.TempDir(), "a")
	if err := a.ExpandTo(t.Context(), unpacked); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(unpacked, "dispatch")); err != nil || info.Mode()&0o100 == 0 || !a.Dispatch {
		t.Errorf("got dispatch %v, %v; in the archive %v", info, err, a.Dispatch)
	}
	want := []string{`file permissions: made executable for the units: "dispatch"`}
	if got := c.Warnings(); !c.Dispatch || !slices.Equal(got, want) {
		t.Errorf("got dispatch %v, warnings %q", c.Dispatch, got)
	}
}
