package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"juju/state/entity"
)

// A text that someone has set stays a text, even if it reads like an include: no file of whoever compares or deploys the
// export is read.
func TestExportedTextsAreNoIncludes(t *testing.T) {
	u, file := newRealUser(t), shop(t)
	dir, repo, key := filepath.Dir(file), t.TempDir(), filepath.Join(t.TempDir(), "key")
	if err := os.CopyFS(filepath.Join(repo, "jammy", "web"), os.DirFS(filepath.Join(dir, "web"))); err != nil {
		t.Fatal(err)
	}
	write(t, key, "hidden")
	write(t, filepath.Join(dir, "key"), "hidden")
	exported := filepath.Join(dir, "exported.yaml")
	first := u.model
	u.runs("deploy", filepath.Join(dir, "web"), "-q")
	for i, value := range []string{"include-file://" + key, "include-base64://" + key, "include-file://key", "include-file://", "include-file://key\u202e\n", "@key", "!key"} {
		write(t, filepath.Join(dir, "value"), value)
		u.runs("config", "web", "title=@"+filepath.Join(dir, "value"))
		if err := u.model.Annotations().Set(t.Context(), entity.ServiceTag("web"), map[string]string{"note": value}); err != nil {
			t.Fatal(err)
		}
		title := u.runs("config", "web", "title", "--format", "json")
		export := u.runs("export-bundle", "-q", "--filename", exported) + u.runs("export-bundle", "-q")
		same := func() {
			t.Helper()
			for _, args := range [][]string{{"diff-bundle", "--annotations"}, {"diff"}} {
				u.types(append(args, exported, "--repository", repo)...)
				if said := u.out.String() + u.err.String(); u.code != 0 || said != "{}\n" && said != "No differences.\n" {
					t.Errorf("%q: %s: exit code %d\n%s", value, args, u.code, said)
				}
			}
		}
		same()
		u.newModel(fmt.Sprint("m", i))
		u.runs("deploy", exported, "--repository", repo, "-q")
		same()
		if got := u.runs("config", "web", "title", "--format", "json"); got != title || strings.Contains(got+export, "hidden") {
			t.Errorf("%q was deployed as %s, from\n%s", value, got, export)
		}
		u.model = first
	}
}

// A bundle includes files below its folder. Others it includes only if the user says so.
func TestIncludesAreBelowTheBundle(t *testing.T) {
	t.Parallel()
	file := shop(t)
	dir, outside := filepath.Dir(file), filepath.Join(t.TempDir(), "key")
	write(t, outside, "hidden")
	write(t, filepath.Join(dir, "texts", "title"), "shown")
	for link, to := range map[string]string{"out": outside, "up": "..", "in": "texts/title", "texts/again": "../in"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	up, err := filepath.Rel(dir, outside)
	if err != nil {
		t.Fatal(err)
	}
	u := newUser(t)
	deploys := func(path string, more ...string) string {
		write(t, file, "applications: {web: {charm: ./web, options: {title: 'include-file://"+path+"'}}}\n")
		u.types(append([]string{"deploy", file, "--dry-run"}, more...)...)
		return u.err.String()
	}
	for _, path := range []string{"texts/title", "./texts/title", "in", "texts/again", "texts/../texts/title", filepath.Join(dir, "texts/title")} {
		if err := deploys(path); u.code != 0 {
			t.Errorf("%s: %s", path, err)
		}
	}
	for path, opened := range map[string]string{outside: outside, up: outside, "out": filepath.Join(dir, "out"), "up/" + filepath.Base(dir) + "/../x/key": filepath.Join(dir, "up/x/key")} {
		want := "ERROR the provided bundle has the following errors:\n  " + file + ":1: applications.web.options.title: cannot include: open " + opened +
			": is not below the folder of the bundle; if it may: --allow-includes\n"
		if err := deploys(path); u.code != 1 || err != want {
			t.Errorf("%s: exit code %d, %swant %s", path, u.code, err, want)
		}
	}
	for _, path := range []string{outside, up, "out"} {
		if err := deploys(path, "--allow-includes"); u.code != 0 {
			t.Errorf("%s, allowed: %s", path, err)
		}
	}
	if err := deploys("up"); u.code != 1 || !strings.Contains(err, "not below the folder") {
		t.Error(err)
	}
	overlay := filepath.Join(filepath.Dir(outside), "overlay.yaml") // an overlay's files are below its own folder
	write(t, overlay, "applications: {web: {annotations: {note: include-file://key}}}\n")
	if err := deploys("in", "--overlay", overlay); u.code != 0 {
		t.Error(err)
	}
}
