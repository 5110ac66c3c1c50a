package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"juju/cmd/juju/clitest"
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
	clitest.Write(t, key, "hidden")
	clitest.Write(t, filepath.Join(dir, "key"), "hidden")
	exported := filepath.Join(dir, "exported.yaml")
	first := u.model
	u.runs("deploy", filepath.Join(dir, "web"), "-q")
	for i, value := range []string{"include-file://" + key, "include-base64://" + key, "include-file://key", "include-file://", "include-file://key\u202e\n", "@key", "!key"} {
		clitest.Write(t, filepath.Join(dir, "value"), value)
		u.runs("config", "web", "title=@"+filepath.Join(dir, "value"))
		if err := u.model.Annotations().Set(t.Context(), entity.ServiceTag("web"), map[string]string{"note": value}); err != nil {
			t.Fatal(err)
		}
		title := u.runs("config", "web", "title", "--format", "json")
		export := u.runs("export-bundle", "-q", "--filename", exported) + u.runs("export-bundle", "-q")
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
		u.newModel(fmt.Sprint("m", i))
		u.runs("deploy", exported, "--repository", repo, "-q")
		same()
		if got := u.runs("config", "web", "title", "--format", "json"); got != title || strings.Contains(got+export, "hidden") {
			t.Errorf("%q was deployed as %s, from\n%s", value, got, export)
		}
		u.model = first
	}
}

// A bundle includes files below its folder, and names such files for resources. Others only if the user says so.
func TestIncludesAreBelowTheBundle(t *testing.T) {
	t.Parallel()
	file := shop(t)
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

// What commands print of settings, they read again: it changes nothing, and a value that has been edited there counts.
func TestPrintedSettingsAreRead(t *testing.T) {
	u, file := newRealUser(t), shop(t)
	web, value := filepath.Join(filepath.Dir(file), "web"), filepath.Join(t.TempDir(), "value")
	u.runs("deploy", web, "-q")
	printed := func(args ...string) string {
		path := filepath.Join(t.TempDir(), "printed")
		clitest.Write(t, path, u.runs(args...))
		return path
	}
	for _, title := range []string{"a: b", "", "=", "<<", "~", "on", "0o7", "1_000", "1:30", ".5", "1e+22", "2001-02-30", " a ", "a\u0085b", "\ufeff", "😀\U000e0041", "@/etc/passwd",
		"include-file:///etc/passwd", "!!binary x", "a\n b\n", "'", "settings:\n  x: {}"} {
		for _, format := range []string{"yaml", "json"} {
			clitest.Write(t, value, title)
			u.runs("config", "web", "title=@"+value, "ratio=1e22", "debug=true")
			want := printed("config", "web", "--format", format)
			u.runs("unset", "web", "title", "ratio", "debug")
			u.runs("config", "web", "--file", want)
			got := printed("get", "web", "--format", format)
			if a, b := text(t, want), text(t, got); a != b {
				t.Errorf("%q in %s: printed\n%sand then\n%s", title, format, a, b)
			}
			u.runs("set", "web", "--config", got)
		}
	}
	plain := filepath.Join(t.TempDir(), "plain.yaml")
	clitest.Write(t, plain, "web: {title: plain}\n")
	u.runs("config", "web", "--file", plain)
	edited := printed("config", "web")
	clitest.Write(t, edited, strings.Replace(text(t, edited), "value: 80", "value: 81", 1))
	u.runs("config", "web", "--file", edited)
	if got := u.runs("config", "web", "port") + u.runs("config", "web", "title"); got != "81\nplain\n" {
		t.Errorf("got %s", got)
	}
	u.runs("trust", "web")
	trusted := printed("config", "web")
	u.newModel("next")
	u.runs("deploy", web, "-q", "--config", trusted)
	if again := printed("config", "web"); text(t, again) != text(t, trusted) {
		t.Errorf("deployed with\n%sit has\n%s", text(t, trusted), text(t, again))
	}
	u.runs("deploy", web, "other", "-q")
	u.Types("config", "other", "--file", trusted)
	u.Sees(1, "", "ERROR no settings found for \"other\"\n")
}

// What model-config, model-defaults and constraints print, they read again.
func TestPrintedModelSettingsAreRead(t *testing.T) {
	u := newRealUser(t)
	for _, format := range []string{"yaml", "json"} {
		u.runs("model-config", "no-proxy=a,10.0.0.0/8", "automatically-retry-hooks=false")
		want := u.runs("model-config", "--format", format)
		path := filepath.Join(t.TempDir(), "model")
		clitest.Write(t, path, want)
		u.runs("model-config", "--reset", "no-proxy,automatically-retry-hooks")
		u.runs("model-config", "--file", path)
		if got := u.runs("model-config", "--format", format); got != want {
			t.Errorf("%s: printed\n%s and then\n%s", format, want, got)
		}
		clitest.Write(t, path, strings.Replace(want, "336h", "24h", 1))
		u.runs("model-config", "--file", path)
		if got := u.runs("model-config", "max-action-results-age"); got != "24h\n" {
			t.Errorf("%s: edited, it is %s", format, got)
		}
		u.runs("model-config", "--reset", "max-action-results-age")

		clitest.Write(t, path, u.runs("model-defaults", "--format", format)) // of the fake controller
		u.Controller.Calls = nil
		u.runs("model-defaults", "--file", path)
		if got := strings.Join(u.Controller.Calls, " "); got != "SetModelDefaults map[automatically-retry-hooks:true]" {
			t.Errorf("%s: the controller was asked %s", format, got)
		}
	}
	const all = "arch=amd64 container=lxd cores=2 mem=1024M root-disk=2048M tags=a,^b\n"
	u.runs(append([]string{"set-model-constraints"}, strings.Fields(all)...)...)
	u.runs(append([]string{"set-model-constraints"}, strings.Fields(u.runs("model-constraints"))...)...)
	if got := u.runs("model-constraints"); got != all {
		t.Errorf("got %s", got)
	}
}

// text returns what is in a file.
func text(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
