package clouds

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"juju/agent/host/process"
	"juju/cmd/juju/clitest"
	"juju/cmd/juju/cloudfiles"
	"juju/provider/local"
	"juju/state/constraints"
	"juju/state/entity"
)

// The local cloud is this host: it has the host's series, and nothing of it can be chosen.
func TestPrepareLocal(t *testing.T) {
	t.Parallel()
	memory, err := constraints.Parse("mem=1G")
	if err != nil {
		t.Fatal(err)
	}
	const nothing = `cannot use --cloud-config or --bootstrap-constraints on cloud "local"`
	for _, test := range []struct {
		params BootstrapParams
		err    string
	}{
		{BootstrapParams{}, ""}, {BootstrapParams{Series: local.HostSeries()}, ""},
		{BootstrapParams{Series: "precise"}, ""}, // one of Ubuntu's
		{BootstrapParams{Series: "win7"}, `cannot use default-series "win7": on the local cloud hooks run on this host`},
		{BootstrapParams{CloudConfig: "f"}, nothing}, {BootstrapParams{Machine: memory}, nothing},
	} {
		p := test.params
		if says(t, test.params, localCloud{}.Prepare(t.Context(), &p), test.err); test.err == "" && p.Series != local.HostSeries() {
			t.Errorf("%+v: series %q", test.params, p.Series)
		}
		if other := test.params.Series == "precise"; (len(p.Warnings) > 0) != other {
			t.Errorf("%+v: warnings %q", test.params, p.Warnings)
		}
	}
}

// The binaries are beside this program, or on PATH; those of agents are where jujud is.
func TestBinaries(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	says(t, "without binaries", CheckBinaries(), "cannot find jujud: it is neither in ")
	dir := clitest.BinariesOnPath(t)
	says(t, "with all", CheckBinaries(), "")
	if got, err := BinariesDir(); err != nil || got != dir {
		t.Errorf("they are in %s, %v", got, err)
	}
	if err := os.Chmod(filepath.Join(dir, "unit-agent"), 0o600); err != nil {
		t.Fatal(err)
	}
	says(t, "with one that is not executable", CheckBinaries(), "cannot find unit-agent: it is not in "+dir)
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if got, of := binary("juju"); err != nil || of != nil || got != self {
		t.Errorf("this program is %s, %v, %v; want %s", got, of, err, self)
	}
	config, err := keeperConfig("/d", "u")
	if err != nil || config.Jujud.Path != filepath.Join(dir, "jujud") || config.Controller != "u" || config.Dir != "/d" ||
		!reflect.DeepEqual(config.Keeper.Args, []string{"keeper", "--dir", "/d"}) {
		t.Errorf("the keeper's configuration is %+v, %v", config, err)
	}
}

// The configuration of a keeper says whose directory it is, wherever that is now.
func TestOwnerOfADirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if owner := ownerOf(dir); owner != "" {
		t.Errorf("an empty directory is of %q", owner)
	}
	clitest.Write(t, filepath.Join(dir, keeperName), `{"Controller":"u","controller":"u","Dir":"/elsewhere"}`)
	if config, err := readKeeperConfig(dir); err != nil || config.Dir != dir || ownerOf(dir) != "u" {
		t.Errorf("%+v, %v", config, err)
	}
	clitest.Write(t, filepath.Join(dir, keeperName), "{")
	_, err := readKeeperConfig(dir)
	says(t, "a damaged file", err, "cannot read the keeper's configuration: ")
}

func TestReleasedStorage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if paths, err := releasedStorage(dir); err != nil || paths != nil {
		t.Errorf("%q, %v", paths, err)
	}
	for _, path := range []string{"m/data-0/f", "m/data-1/f", "n/logs-0/f"} {
		clitest.Write(t, filepath.Join(local.Released(dir), path), "")
	}
	if paths, err := releasedStorage(dir); err != nil || !reflect.DeepEqual(paths, []string{"m/data-0", "m/data-1", "n/logs-0"}) {
		t.Errorf("%q, %v", paths, err)
	}
}

// Of a controller that does not answer, its directory tells whether it is lost, or why it does not run.
func TestALocalControllerThatIsUnreachable(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "prod")
	c := localCloud{}.Controller(At{dir, "prod", "u"}).(localController)
	err := c.Unreachable(errors.New("no answer"))
	says(t, "without its files", err, "no answer; the files in its directory "+local.ControllerDir(dir)+" are lost, and the controller's database with it")
	if hint := entity.Hint(err); !strings.Contains(hint, "juju destroy-environment prod") {
		t.Errorf("hint %q", hint)
	}
	err = c.Revive(t.Context(), clitest.NewUserOf(t, nil).Session)
	if says(t, "without its directory", err, `controller "prod" no longer exists: there is no `+dir); !errors.Is(err, entity.NotFound) {
		t.Errorf("%v is not of what is not found", err)
	}
	clitest.Write(t, filepath.Join(local.ControllerDir(dir), controllerConfig), "{}")
	clitest.Write(t, process.LogPath(local.ControllerDir(dir)), "it is over\n")
	err = c.Unreachable(errors.New("no answer"))
	says(t, "which does not run", err, "no answer; it is not running, and its log ends:\n")
	if !strings.Contains(err.Error(), "it is over") || !strings.Contains(entity.Hint(err), "To destroy the controller instead: juju destroy-environment prod") {
		t.Errorf("%v (%s)", err, entity.Hint(err))
	}
	if kept, err := c.IsKept(); kept || err != nil || c.LacksSpace() || c.Killed() != "" {
		t.Errorf("it is kept: %v, %v; lacks space: %v; was killed: %s", kept, err, c.LacksSpace(), c.Killed())
	}
	away := entity.Errorf(entity.Unavailable, "away")
	if got := c.Lost(away); got != error(away) {
		t.Errorf("with room on the disk a lost connection is %v", got)
	}
	for why, destroys := range map[error]bool{errors.New("no"): true, context.DeadlineExceeded: false} {
		err := c.notRevived(why)
		if says(t, why, err, fmt.Sprintf("controller \"prod\" is not running, and cannot be started: %v", why)); strings.Contains(entity.Hint(err), "destroy-environment prod") != destroys {
			t.Errorf("hint %q", entity.Hint(err))
		}
	}
}

// A controller on a user's LXD gets the endpoint of its region, and a credential if that is remote.
func TestDefinitionsOfLXD(t *testing.T) {
	t.Parallel()
	remote := cloudfiles.Region{Name: "r", Endpoint: "https://10.0.0.5:8443"}
	for _, test := range []struct {
		d   Definition
		err string
	}{
		{Definition{}, ""}, {Definition{Region: cloudfiles.Region{Endpoint: "/socket"}}, ""},
		{Definition{Region: remote, Credential: entity.CloudCredential{AuthType: entity.AuthCertificate}}, ""},
		{Definition{Region: remote}, "LXD at https://10.0.0.5:8443 needs a credential of auth-type certificate"},
		{Definition{Region: cloudfiles.Region{Endpoint: "ftp://h"}}, `"ftp://h" is neither`},
		{Definition{Cloud: cloudfiles.Cloud{Config: map[string]any{"a": 1}}}, `unknown key "a" in config`},
	} {
		config, err := test.d.lxd()
		if says(t, test.d, err, test.err); err == nil && config.Endpoint != test.d.Region.Endpoint {
			t.Errorf("%+v: endpoint %q", test.d, config.Endpoint)
		}
	}
}
