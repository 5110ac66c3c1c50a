package services_test

import (
	"path/filepath"
	"strings"
	"testing"

	"juju/cmd/juju/clitest"
)

// Files of resources are uploaded before the service is deployed or upgraded, and all mistakes are
// found before anything is uploaded.
func TestDeployWithResources(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	dir := clitest.CharmDir(t, clitest.Metadata+"resources:\n  site: {type: file, filename: s}\n  logo: {type: file, filename: l}\n")
	site, logo := filepath.Join(dir, "..", "site"), filepath.Join(dir, "..", "logo")
	clitest.Write(t, site, "pages")
	clitest.Write(t, logo, "picture")
	u.Types("deploy", dir, "-q", "--resource", "site="+site, "--resource", "logo="+logo)
	u.Asked("Status webpage", "UploadCharm", "AddPendingResources webpage local:jammy/web-0 [logo site]",
		"UploadResource webpage logo 0 picture", "UploadResource webpage site 1 pages",
		`Deploy {"Service":"webpage","CharmURL":"local:jammy/web-0","Series":"","Units":1,"Placement":null,`+
			`"Config":{},"ConfigYAML":"","Constraints":{},"Force":false,"Resources":{"logo":"0","site":"1"}}`)
	u.Sees(0, "", "")
	for value, want := range map[string]string{
		"site":          `expected name=value format, got "site"`,
		"=" + site:      "missing resource name in",
		"site=":         `missing resource value in "site="`,
		"Site=" + dir:   `invalid resource name "Site"`,
		"site=" + dir:   "is a directory, not a file",
		"other=" + site: `unrecognized resource "other"`,
		"site=3":        `cannot use revision 3 of resource "site"`,
	} {
		u.Types("deploy", dir, "--resource", value)
		u.Asked()
		if u.Code == 0 || !strings.Contains(u.Err.String(), want) {
			t.Errorf("--resource %s: %d %s", value, u.Code, u.Err.String())
		}
	}
	u.Types("deploy", dir, "--resource", "site="+site, "--resource", "site="+logo)
	u.Asked()
	u.Sees(2, "", "ERROR resource \"site\" specified more than once\nFor usage: juju help deploy\n")
}
