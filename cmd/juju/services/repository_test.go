package services_test

import (
	"path/filepath"
	"strings"
	"testing"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/clitest"
	"juju/cmd/juju/clitest/realtest"
)

// A charm's URL names one in the local repository, or one of the model.
func TestCharmsByURL(t *testing.T) {
	u := realtest.NewUser(t, newUser(t))
	dir := filepath.Dir(clitest.Shop(t))
	repo := t.TempDir()
	for _, c := range []struct{ at, name, revision string }{
		{"trusty/mysql-dir", "mysql", "7"}, {"trusty/mysql", "mysql", "5"},
		{"trusty/z-mysql", "mysql", "2"}, {"trusty/web", "web", "0"},
		{"jammy/web", "web", "3"}, {"jammy/odd", "odd", "1"},
	} {
		clitest.Write(t, filepath.Join(repo, c.at, "metadata.yaml"), "name: "+c.name+"\nsummary: s\ndescription: d\n")
		clitest.Write(t, filepath.Join(repo, c.at, "revision"), c.revision)
	}
	clitest.Write(t, filepath.Join(repo, "jammy", "broken", "metadata.yaml"), "name: broken\n")
	clitest.Write(t, filepath.Join(repo, "jammy", "README"), "no charm")
	clitest.Write(t, filepath.Join(repo, "README"), "no series")
	clitest.Repack(t, filepath.Join(dir, "web"))
	text, err := cli.ReadFile(filepath.Join(dir, "web.zip"), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	clitest.Write(t, filepath.Join(repo, "noble", "any.charm"), string(text))
	u.Env["JUJU_REPOSITORY"] = repo
	for _, test := range []struct{ url, want string }{
		{"local:trusty/mysql", "local:trusty/mysql-7"},
		{"local:trusty/mysql-5", "local:trusty/mysql-8"}, // its own 5 is in the repository; the model has a 7
		{"cs:trusty/mysql-9", "local:trusty/mysql-9"},
		{"odd", "local:jammy/odd-1"},
		{"local:noble/web", "local:noble/web-0"},
		{"local:jammy/web", "local:jammy/web-3"},
	} {
		name := strings.NewReplacer(":", "-", "/", "-", "5", "five", "9", "nine").Replace(test.url)
		u.Types("deploy", test.url, name, "-n", "1")
		if !strings.HasSuffix(u.Err.String(), "Service \""+name+"\" is deployed from charm "+test.want+" with 1 unit.\n") {
			t.Errorf("%s: exit code %d, %s", test.url, u.Code, u.Err.String())
		}
	}
	for url, want := range map[string]string{
		"web": "ERROR charm \"ch:web\" is in repository \"" + repo + "\" for several series\n" +
			"Specify the series: ch:noble/web\n",
		"local:jammy/mysql": "ERROR charm not found in \"" + repo + "\": local:jammy/mysql\n",
		"cs:jammy/broken":   "ERROR cannot read charm in \"" + repo + "/jammy/broken\": metadata.yaml:",
		"local:x y":         "ERROR cannot deploy charm \"local:x y\": cannot parse charm URL ",
	} {
		u.Types("deploy", url)
		if u.Code != 1 || !strings.HasPrefix(u.Err.String(), want) {
			t.Errorf("%s: exit code %d, %s", url, u.Code, u.Err.String())
		}
	}

	delete(u.Env, "JUJU_REPOSITORY")
	u.Types("deploy", "local:trusty/mysql-8", "again", "--wait=1ms")
	if !strings.Contains(u.Err.String(), "Service \"again\" is deployed from charm local:trusty/mysql-8 with 1 unit.\n") {
		t.Errorf("exit code %d, %s", u.Code, u.Err.String())
	}
	u.Types("deploy", "local:trusty/mysql-80")
	if u.Code != 1 || !strings.HasPrefix(u.Err.String(), "ERROR charm \"local:trusty/mysql-80\" not found") {
		t.Errorf("exit code %d, %s", u.Code, u.Err.String())
	}
	u.Types("deploy", "local:trusty/mysql", "--repository", repo, "last", "--trust", "-n", "1")
	if u.Code != 0 || strings.Contains(u.Err.String(), "WARNING") {
		t.Errorf("exit code %d, %s", u.Code, u.Err.String())
	}

	// In a bundle they are warned of if they stand for others.
	file := filepath.Join(dir, "urls.yaml")
	clitest.Write(t, file, "series: trusty\napplications:\n  a: {charm: \"cs:mysql-1\", num_units: 0}\n"+
		"  b: {charm: \"local:trusty/mysql-8\", num_units: 0}\n  c: {charm: \"local:web\", num_units: 0}\n")
	const unplanned = "Which hooks would run is not known: this controller cannot plan changes.\n"
	u.Types("deploy", file, "--repository", repo, "--dry-run")
	u.Sees(0, "Changes to deploy bundle:\n- upload charm cs:mysql-1 for series trusty\n"+
		"- deploy application a on trusty using cs:mysql-1\n"+
		"- deploy application b on trusty using local:trusty/mysql-8\n"+
		"- upload charm local:web for series trusty\n- deploy application c on trusty using local:web\n",
		"WARNING using charm \"cs:mysql-1\" from "+repo+"/trusty/mysql-dir\n"+unplanned)
	clitest.Write(t, file, "applications: {b: {charm: \"local:trusty/mysql-8\", num_units: 0}}\n")
	u.Types("deploy", file, "--dry-run")
	u.Sees(0, "Changes to deploy bundle:\n- deploy application b on trusty using local:trusty/mysql-8\n", unplanned)
	u.Runs("deploy", file)
	u.Types("deploy", file)
	u.Sees(0, "", "No changes to apply.\n")
}
