package services_test

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"juju/cmd/juju/clitest"
	"juju/state/entity"
)

func TestDeploy(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	dir := clitest.CharmDir(t, clitest.Metadata)
	u.Types("deploy", dir)
	u.Asked("Status webpage", "UploadCharm",
		`Deploy {"Service":"webpage","CharmURL":"local:jammy/web-0","Series":"","Units":1,"Placement":null,`+
			`"Config":{},"ConfigYAML":"","Constraints":{},"Force":false}`)
	u.Sees(0, "", "Deploying charm \"webpage\" as service \"webpage\"\n"+
		"Service \"webpage\" is deployed from charm local:jammy/web-0 with 1 unit.\n")
	archive := bytes.Clone(u.Model.Uploaded)
	if z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive))); err != nil || len(z.File) < 3 {
		t.Errorf("uploaded %v, %v", z, err)
	}

	// A program that is not executable is so in the archive.
	mended := clitest.CharmDir(t, clitest.Metadata)
	if err := os.Chmod(filepath.Join(mended, "hooks", "install"), 0o644); err != nil {
		t.Fatal(err)
	}
	u.Types("deploy", mended)
	u.Sees(0, "", "Deploying charm \"webpage\" as service \"webpage\"\n"+
		"WARNING charm \"webpage\": file permissions: made executable for the units: \"hooks/install\"\n"+
		"Service \"webpage\" is deployed from charm local:jammy/web-0 with 1 unit.\n")
	if !bytes.Equal(u.Model.Uploaded, archive) {
		t.Error("the archive depends on the modes of hooks")
	}

	// Its archive works as well, and so does a file of settings.
	zipped := filepath.Join(t.TempDir(), "web.zip")
	clitest.Write(t, zipped, string(archive))
	file := filepath.Join(t.TempDir(), "settings")
	clitest.Write(t, file, "front: {title: y}\nother: {z: 1}\n")
	u.Types("deploy", zipped, "front", "-q", "-n", "2", "--to", "1,2", "--config", file, "--config", "port=80", "--config",
		"port=81",
		"--constraints", "mem=1G", "--series", "jammy", "--force")
	u.Asked("Status front", "UploadCharm jammy",
		`Deploy {"Service":"front","CharmURL":"local:jammy/web-0","Series":"jammy","Units":2,"Placement":["1","2"],`+
			`"Config":{"port":"81"},"ConfigYAML":"front: {title: y}\nother: {z: 1}\n","Constraints":{"mem":1024},"Force":true}`)
	u.Sees(0, "", "")
	if !bytes.Equal(u.Model.Uploaded, archive) {
		t.Error("the archive was changed on its way")
	}

	subordinate := clitest.CharmDir(t, clitest.Metadata+"subordinate: true\nrequires:\n  host: {interface: juju-info, scope: container}\n")
	u.Types("deploy", subordinate, "-q")
	if u.Code != 0 || !strings.Contains(u.Model.Calls[2], `"Units":0`) {
		t.Errorf("exit code %d, asked %v", u.Code, u.Model.Calls)
	}
}

// What the cloud refuses is refused before the upload of the charm, and its warnings are
// shown.
func TestCloudRefusalsAndWarnings(t *testing.T) {
	t.Parallel()
	dir := clitest.CharmDir(t, clitest.Metadata)
	u := newUser(t)
	u.Model.Returns.Refused = entity.WithHint(entity.Errorf(entity.Invalid, "cannot deploy \"webpage\": no such machine"),
		"Try another.")
	u.Types("deploy", dir)
	u.Asked("Status webpage")
	u.Sees(1, "", "ERROR cannot deploy \"webpage\": no such machine\nTry another.\n")

	u.Model.Returns.Refused = entity.Errorf(entity.NotImplemented, "no such method") // an older controller
	u.Model.Returns.Warnings = []string{"tags are ignored"}
	u.Types("deploy", dir)
	u.Sees(0, "", "Deploying charm \"webpage\" as service \"webpage\"\nWARNING tags are ignored\n"+
		"Service \"webpage\" is deployed from charm local:jammy/web-0 with 1 unit.\n")
	u.Types("add-machine", "-n", "2", "--constraints", "tags=x")
	u.Sees(0, "", "WARNING tags are ignored\ncreated machine 0\ncreated machine 1\n")
	u.Types("add-unit", "web")
	u.Sees(0, "", "WARNING tags are ignored\nAdded web/0.\n")
	u.Types("set-constraints", "web", "tags=x")
	u.Sees(0, "", "WARNING tags are ignored\n")
	u.Types("set-model-constraints", "tags=x", "-q")
	u.Sees(0, "", "")
}

func TestDeployRefusals(t *testing.T) {
	t.Parallel()
	dir := clitest.CharmDir(t, clitest.Metadata)
	subordinate := clitest.CharmDir(t, clitest.Metadata+"subordinate: true\nrequires:\n  host: {interface: juju-info, scope: container}\n")
	broken := clitest.CharmDir(t, "name: webpage\nsummary: x\ndescription: y\nprovides:\n  db: 7\n")
	file := filepath.Join(t.TempDir(), "settings")
	clitest.Write(t, file, "other: {z: 1}\n")
	notZip := filepath.Join(t.TempDir(), "web.zip")
	clitest.Write(t, notZip, "PK")
	taken := &entity.ModelStatus{Services: []entity.ServiceStatus{{Name: "webpage"}, {Name: "going", Life: entity.Dying}}}
	for _, test := range []struct {
		code  int
		want  string // the error's line and the hint's
		asked int
		args  []string
	}{
		{1, "ERROR cannot deploy charm \"local:mysql\": it is neither a path nor a charm of the model\n" +
			"To deploy a charm from its directory or archive: juju deploy ./DIRECTORY", 0,
			[]string{"local:mysql"}},
		{2, "ERROR the store of cs: charms is no more: \"cs:trusty/mysql-1\"\nIts charms are in Charmhub: ch:mysql", 0,
			[]string{"cs:trusty/mysql-1"}},
		{2, "ERROR cannot specify revision in a charm or bundle name. Please use --revision.\nFor usage: juju help deploy", 0,
			[]string{"mysql-3"}},
		{2, "ERROR specifying a revision requires a channel for future upgrades. Please use --channel\nFor usage: juju help deploy", 0,
			[]string{"mysql", "--revision", "3"}},
		{2, "ERROR risk in channel \"14/risky\" not valid\nA channel is TRACK/RISK, and a risk one of stable, candidate, beta, edge.", 0,
			[]string{"mysql", "--channel", "14/risky"}},
		{2, "ERROR Flags provided but not supported when deploying a local charm: --channel.\nFor usage: juju help deploy", 0,
			[]string{dir, "--channel", "edge"}},
		{1, "ERROR cannot read charm: stat ./none: no such file or directory", 0, []string{"./none"}},
		{2, "ERROR Flags provided but not supported when deploying a charm: --overlay, --map-machines.\n" +
			"For usage: juju help deploy", 0,
			[]string{dir, "--overlay", "x", "--map-machines", "existing"}},
		{2, "ERROR cannot use --num-units or --to with subordinate service\n" +
			"It gets a unit for each unit of the services it is related to.", 0,
			[]string{subordinate, "-n", "1"}},
		{2, "ERROR cannot use --num-units or --to with subordinate service\n" +
			"It gets a unit for each unit of the services it is related to.", 0,
			[]string{subordinate, "--to", "0"}},
		{2, "ERROR cannot use --constraints with subordinate service\n" +
			"It runs on the machines of the services it is related to.", 0,
			[]string{subordinate, "--constraints", "mem=1G"}},
		{2, "ERROR --num-units must be a positive integer\nFor usage: juju help deploy", 0, []string{dir, "-n", "0"}},
		{2, "ERROR invalid series \"J J\"\nA series name has lower-case letters and digits, and begins with a letter: " +
			"trusty, centos7", 0, []string{dir, "--series", "J J"}},
		{2, "ERROR invalid service name \"web/0\"\n" + entity.ServiceNames, 0, []string{dir, "web/0"}},
		{2, "ERROR invalid --to parameter \"@\"\nSpecify a machine, a new container, or a placement of the cloud: 3, lxd, " +
			"lxd:3, zone=eu-1", 0, []string{dir, "--to", "@"}},
		{2, "ERROR unknown constraint \"fast\"\nThe constraints there are: allocate-public-ip, arch, container, cores, " +
			"cpu-power, image-id, instance-role, " +
			"instance-type, mem, root-disk, root-disk-source, spaces, tags, virt-type, zones", 0,
			[]string{dir, "--constraints", "fast=1"}},
		{1, "ERROR cannot deploy \"webpage\": option \"port\" expected int, got \"x\"\n" +
			"The charm's config.yaml lists its options.", 0,
			[]string{dir, "--config", "port=x"}},
		{1, "ERROR cannot deploy \"webpage\": unknown option \"colour\"\nThe charm's config.yaml lists its options.", 0,
			[]string{dir, "--config", "colour=x"}},
		{1, "ERROR cannot deploy \"webpage\": no settings found for \"webpage\"\nThe charm's config.yaml lists its options.",
			0,
			[]string{dir, "--config", file}},
		{2, "ERROR only a single config YAML file can be specified, got 2\nFor usage: juju help deploy", 0,
			[]string{dir, "--config", file, "--config", file}},
		{1, "ERROR cannot add service \"webpage\": service already exists\nTo use another name: juju deploy " + dir +
			" NAME; to add units to the existing service: juju add-unit webpage", 1, []string{dir}},
		{1, "ERROR cannot add service \"going\": service already exists\n" +
			"It is still being destroyed. To wait until it is removed: juju wait-for going --gone", 1, []string{dir, "going"}},
	} {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			u := newUser(t)
			u.Freeze()
			u.Model.Returns.Statuses = []*entity.ModelStatus{taken}
			u.Types(append([]string{"deploy"}, test.args...)...)
			u.Sees(test.code, "", test.want+"\n")
			if len(u.Model.Calls) != test.asked {
				t.Errorf("asked %v", u.Model.Calls)
			}
		})
	}
	// The error of an invalid charm names the file and the field.
	u := newUser(t)
	u.Types("deploy", broken)
	if u.Code != 1 || !strings.Contains(u.Err.String(), "metadata.yaml:5: provides.db: ") ||
		!strings.HasSuffix(u.Err.String(), "\nFix the charm and deploy it again.\n") {
		t.Errorf("exit code %d, %s", u.Code, u.Err.String())
	}
	for _, name := range []string{"metadata.yaml", "config.yaml"} {
		clitest.Write(t, filepath.Join(broken, name), "name: web\n")
		u.Types("deploy", filepath.Join(broken, name))
		if said := u.Err.String(); u.Code != 2 || !strings.Contains(said, name+": it is a file of a charm\n") ||
			!strings.Contains(said, "To deploy the charm, specify its directory: juju deploy "+broken+"\n") {
			t.Errorf("exit code %d, %s", u.Code, said)
		}
	}
	u.Types("deploy", notZip)
	if u.Code != 1 || !strings.HasPrefix(u.Err.String(), "ERROR cannot read charm \""+notZip) {
		t.Errorf("exit code %d, %s", u.Code, u.Err.String())
	}
	u.Asked()
}
