package bundles_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"juju/cmd/juju/clitest"
	"juju/cmd/juju/clitest/realtest"
	"juju/state/entity"
)

// A text that someone has set stays a text, even if it reads like an include: no file of whoever compares or deploys the
// export is read.
func TestExportedTextsAreNoIncludes(t *testing.T) {
	u, file := realtest.NewUser(t, newUser(t)), clitest.Shop(t)
	dir, repo, key := filepath.Dir(file), t.TempDir(), filepath.Join(t.TempDir(), "key")
	if err := os.CopyFS(filepath.Join(repo, "jammy", "web"), os.DirFS(filepath.Join(dir, "web"))); err != nil {
		t.Fatal(err)
	}
	clitest.Write(t, key, "hidden")
	clitest.Write(t, filepath.Join(dir, "key"), "hidden")
	exported := filepath.Join(dir, "exported.yaml")
	first := u.State
	u.Runs("deploy", filepath.Join(dir, "web"), "-q")
	for i, value := range []string{"include-file://" + key, "include-base64://" + key, "include-file://key", "include-file://", "include-file://key\u202e\n", "@key", "!key"} {
		clitest.Write(t, filepath.Join(dir, "value"), value)
		u.Runs("config", "web", "title=@"+filepath.Join(dir, "value"))
		if err := u.State.Annotations().Set(t.Context(), entity.ServiceTag("web"), map[string]string{"note": value}); err != nil {
			t.Fatal(err)
		}
		title := u.Runs("config", "web", "title", "--format", "json")
		export := u.Runs("export-bundle", "-q", "--filename", exported) + u.Runs("export-bundle", "-q")
		same := func() {
			t.Helper()
			for _, args := range [][]string{{"diff-bundle", "--annotations"}, {"diff"}} {
				u.Types(append(args, exported, "--repository", repo)...)
				if said := u.Out.String() + u.Err.String(); u.Code != 0 || said != "{}\n" && said != "No differences.\n" {
					t.Errorf("%q: %s: exit code %d\n%s", value, args, u.Code, said)
				}
			}
		}
		same()
		u.NewModel(fmt.Sprint("m", i))
		u.Runs("deploy", exported, "--repository", repo, "-q")
		same()
		if got := u.Runs("config", "web", "title", "--format", "json"); got != title || strings.Contains(got+export, "hidden") {
			t.Errorf("%q was deployed as %s, from\n%s", value, got, export)
		}
		u.State = first
	}
}

// A bundle includes files below its folder, and names such files for resources. Others only if the user says so.
func TestIncludesAreBelowTheBundle(t *testing.T) {
	t.Parallel()
	file := clitest.Shop(t)
	dir, outside := filepath.Dir(file), filepath.Join(t.TempDir(), "key")
	clitest.Write(t, outside, "hidden")
	clitest.Write(t, filepath.Join(dir, "texts", "title"), "shown")
	for link, to := range map[string]string{"out": outside, "up": "..", "in": "texts/title", "texts/again": "../in"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	up, err := filepath.Rel(dir, outside)
	if err != nil {
		t.Fatal(err)
	}
	meta, err := os.ReadFile(filepath.Join(dir, "web", "metadata.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	clitest.Write(t, filepath.Join(dir, "web", "metadata.yaml"), string(meta)+"resources: {site: {type: file, filename: s}}\n")
	for name, what := range map[string][2]string{
		"includes":  {"options: {title: 'include-file://PATH'}", file + ":1: applications.web.options.title: cannot include: "},
		"resources": {"resources: {site: 'PATH'}", `application "web": cannot read resource "site": `},
	} {
		t.Run(name, func(t *testing.T) { belowTheBundle(t, file, outside, up, what[0], what[1]) })
	}
	overlay := filepath.Join(filepath.Dir(outside), "overlay.yaml") // an overlay's files are below its own folder
	clitest.Write(t, file, "applications: {web: {charm: ./web, resources: {site: in}}}\n")
	clitest.Write(t, overlay, "applications: {web: {annotations: {note: include-file://key}, resources: {site: key}}}\n")
	u := newUser(t)
	u.Types("deploy", file, "--dry-run", "--overlay", overlay)
	if u.Code != 0 {
		t.Error(u.Err.String())
	}
}

// belowTheBundle deploys bundles that name a file in a part of a service. cannot begins the error.
func belowTheBundle(t *testing.T, file, outside, up, part, cannot string) {
	u, dir := newUser(t), filepath.Dir(file)
	deploys := func(path string, more ...string) string {
		clitest.Write(t, file, "applications: {web: {charm: ./web, "+strings.ReplaceAll(part, "PATH", path)+"}}\n")
		u.Types(append([]string{"deploy", file, "--dry-run"}, more...)...)
		return u.Err.String()
	}
	for _, path := range []string{"texts/title", "./texts/title", "in", "texts/again", "texts/../texts/title", filepath.Join(dir, "texts/title")} {
		if err := deploys(path); u.Code != 0 {
			t.Errorf("%s: %s", path, err)
		}
	}
	for path, opened := range map[string]string{outside: outside, up: outside, "out": filepath.Join(dir, "out"), "up/" + filepath.Base(dir) + "/../x/key": filepath.Join(dir, "up/x/key")} {
		want := "ERROR the provided bundle has the following errors:\n  " + cannot + "open " + opened +
			": is not below the folder of the bundle; if it may: --allow-includes\n"
		if err := deploys(path); u.Code != 1 || !strings.HasPrefix(err, want) {
			t.Errorf("%s: exit code %d, %swant %s", path, u.Code, err, want)
		}
	}
	for _, path := range []string{outside, up, "out"} {
		if err := deploys(path, "--allow-includes"); u.Code != 0 {
			t.Errorf("%s, allowed: %s", path, err)
		}
	}
	if err := deploys("up"); u.Code != 1 || !strings.Contains(err, "not below the folder") {
		t.Error(err)
	}
}
