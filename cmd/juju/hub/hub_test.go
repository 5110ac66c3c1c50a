package hub_test

import (
	"archive/zip"
	"bytes"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"juju/charm/charmstore"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/clitest"
	"juju/cmd/juju/hub"
)

// A visitor is a user of the commands of this package, with a store that has one charm in two channels.
type visitor struct {
	*testing.T
	user     *clitest.User
	url, dir string
}

// types runs a command on the store, and returns its exit code and what it has printed and said.
func (v *visitor) types(args ...string) (code int, stdout, stderr string) {
	v.Helper()
	v.user.Types(append(args, "--charmhub-url", v.url)...)
	return v.user.Code, v.user.Out.String(), v.user.Err.String()
}

func newVisitor(t *testing.T) *visitor {
	t.Helper()
	v := &visitor{T: t, dir: t.TempDir(), user: clitest.NewUser(t, func(s *cli.Session) []*cobra.Command {
		return []*cobra.Command{hub.InfoCommand(s), hub.FindCommand(s), hub.DownloadCommand(s), hub.CharmResourcesCommand(s)}
	})}
	store, err := charmstore.Open(t.TempDir())
	v.ok(err)
	for _, one := range []struct{ marker, base, channel string }{{"1", "22.04", "2/stable"}, {"2", "24.04", "2/beta"}} {
		up, err := store.Upload(t.Context(), bytes.NewReader(v.packed(one.marker, one.base)))
		v.ok(err)
		_, err = store.UploadResource(t.Context(), "web", "page", strings.NewReader("page "+one.marker))
		v.ok(err)
		v.ok(store.Release(t.Context(), "web", up.Revision, []string{one.channel}, nil))
	}
	server := httptest.NewServer(charmstore.NewServer(store, ""))
	t.Cleanup(server.Close)
	v.url = server.URL
	return v
}

func (v *visitor) ok(err error) {
	v.Helper()
	if err != nil {
		v.Fatal(err)
	}
}

func (v *visitor) packed(marker, base string) []byte {
	v.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for name, text := range map[string]string{
		"metadata.yaml": "name: web\nsummary: Serves pages\ndescription: Serves the pages that it is given.\nprovides: {site: {interface: http}}\n" +
			"requires: {db: {interface: sql}}\nresources: {page: {type: file, filename: page.html, description: the page}}\n# " + marker + "\n",
		"config.yaml":   "options: {title: {type: string, default: hello, description: its title}}\n",
		"manifest.yaml": "bases: [{name: ubuntu, channel: \"" + base + "\", architectures: [amd64, arm64]}]\n",
	} {
		w, err := z.Create(name)
		v.ok(err)
		_, err = w.Write([]byte(text))
		v.ok(err)
	}
	v.ok(z.Close())
	return out.Bytes()
}

// says runs a command on the store, and compares what it prints. Times and ids are left out.
func (v *visitor) says(line, want string) {
	v.Helper()
	code, stdout, stderr := v.types(strings.Fields(line)...)
	if code != 0 {
		v.Errorf("juju %s: %d, %s", line, code, stderr)
	}
	for _, part := range strings.Split(want, "…") {
		before, after, found := strings.Cut(stdout, part)
		if !found {
			v.Errorf("juju %s prints\n%s\nwithout\n%s", line, before, part)
			return
		}
		stdout = after
	}
}

func (v *visitor) fails(line, want string) {
	v.Helper()
	if code, _, stderr := v.types(strings.Fields(line)...); code == 0 || !strings.Contains(stderr, want) {
		v.Errorf("juju %s: %d, %s; want %s", line, code, stderr, want)
	}
}

// info shows each channel of a charm, and what has none.
func TestInfo(t *testing.T) {
	v := newVisitor(t)
	v.says("info web", "name: web\nsummary: Serves pages\ndescription: Serves the pages that it is given.\ncharm-id: …\n"+
		"supports: ubuntu@22.04, ubuntu@24.04\nsubordinate: false\nrelations:\n  provides: {site: http}\n  requires: {db: sql}\nchannels: |\n"+
		"  2/stable:     1  …  (1)  …  amd64, arm64  ubuntu@22.04\n  2/candidate:  ↑\n  2/beta:       2  …  (2)  …  amd64, arm64  ubuntu@24.04\n  2/edge:       ↑\n")
	v.says("info ch:web --channel 2/beta --unicode never --config", "config:\n  title:\n    type: string\n    description: its title\n    default: hello\n…2/stable:     --\n  2/candidate:  --\n  2/beta:       2")
	v.says("info web --base ubuntu@24.04 --arch arm64 --format json", `"supports":[{"name":"ubuntu","channel":"24.04"}]…"relations":{"provides":{"site":"http"},"requires":{"db":"sql"}}…`+
		`"channels":{"2":{"beta":[{"track":"2","risk":"beta","version":"2","revision":2,…"architectures":["arm64"],"bases":[{"name":"ubuntu","channel":"24.04"}]}]}},"tracks":["2"]`)
	v.says("info web --track 3 --format yaml", "channels: {}")
	v.fails("info nosuch", `No information found for charm or bundle with the name "nosuch"`)
	v.fails("info", "expected a charm or bundle name")
	v.fails("info a b", `expected one charm or bundle name, got ["a" "b"]`)
	v.fails("info ./web", `"./web" is not the name of a charm in a store`)
	v.fails("info web --channel a/b/c/d", "too many components")
	v.fails("info web --base jammy", `--base "jammy": expected SYSTEM@RELEASE`)
	v.fails("info web --unicode perhaps", "expected auto, never or always")
	v.url = "ftp://x"
	v.fails("info web", `charm-hub url "ftp://x" not valid`)
}

func TestFind(t *testing.T) {
	v := newVisitor(t)
	v.says("find", "Name  Bundle  Version  Publisher  Summary\nweb   -       1                   Serves pages\n")
	v.says("find page --columns naoS", "Name  Architectures  OS      Supports\nweb   amd64,arm64    ubuntu  ubuntu@22.04\n")
	v.says("find page --format json", `[{"type":"charm","id":"…","name":"web","summary":"Serves pages","version":"1","architectures":["amd64","arm64"],"os":["ubuntu"],"supports":["ubuntu@22.04"]}]`)
	v.says("find nosuch", "")
	if _, stdout, stderr := v.types("find", "nosuch"); stdout != "" || !strings.Contains(stderr, `Nothing found for query "nosuch".`) {
		t.Errorf("%q, %q", stdout, stderr)
	}
	v.fails("find --columns nx", `there is no column 'x'`)
}

// A download is a whole file, or none; and it replaces nothing.
func TestDownload(t *testing.T) {
	v := newVisitor(t)
	t.Chdir(v.dir)
	code, _, stderr := v.types("download", "web")
	if want := "Install the \"web\" charm with:\n    juju deploy ./web_r1.charm"; code != 0 || !strings.Contains(stderr, want) ||
		!strings.Contains(stderr, `Fetching charm "web" revision 1 using "2/stable" channel and base "amd64/ubuntu/22.04"`) {
		t.Errorf("%d, %s", code, stderr)
	}
	v.fails("download web", "web_r1.charm exists")
	code, _, stderr = v.types("download", "web", "--channel", "2/edge", "--base", "ubuntu@24.04", "--resources", "--filepath", "sub.charm")
	if code != 0 || !strings.Contains(stderr, "juju deploy ./sub.charm --resource page=./resource_page_r2.html") {
		t.Errorf("%d, %s", code, stderr)
	}
	page, err := os.ReadFile("resource_page_r2.html")
	if err != nil || string(page) != "page 2" {
		t.Errorf("the resource is %q, %v", page, err)
	}
	code, stdout, _ := v.types("download", "web", "-")
	saved, err := os.ReadFile("web_r1.charm")
	if code != 0 || err != nil || stdout != string(saved) || !strings.HasPrefix(stdout, "PK") {
		t.Errorf("%d, %v: %d bytes go to standard output, %d to the file", code, err, len(stdout), len(saved))
	}
	v.fails("download web --base ubuntu@20.04", "charm or bundle not found for channel \"stable\", base \"ubuntu@20.04\"")
	v.fails("download web --revision 9", "not found for revision 9")
	v.fails("download nosuch", `No charm or bundle with name "nosuch" was found`)
	v.fails("download web - --resources", "leave out - or the flag")
	left, err := filepath.Glob(".*part*")
	if err != nil || left != nil {
		t.Errorf("left are %q, %v", left, err)
	}
}

func TestCharmResources(t *testing.T) {
	v := newVisitor(t)
	v.says("charm-resources web --channel 2/beta", "Resource  Revision\npage      2\n")
	v.says("charm-resources web --format json", `[{"name":"page","type":"file","path":"page.html","revision":1,"fingerprint":"…","size":6,"origin":"store"}]`)
}
