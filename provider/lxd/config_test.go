package lxd

import (
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"juju/state/entity"
)

func TestParseConfig(t *testing.T) {
	got, err := ParseConfig([]byte("endpoint: https://lxd.example:8443\nclient-cert: |\n  a\n  b\nprofiles: [default, big]\n" +
		"project: p\nnetwork: n\npool: fast\nimage-server: https://images.example\n"))
	want := Config{Endpoint: "https://lxd.example:8443", ClientCert: "a\nb\n", Profiles: []string{"default", "big"},
		Project: "p", Network: "n", Pool: "fast", ImageServer: "https://images.example"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	if got, err := ParseConfig(nil); err != nil || !cmp.Equal(got, Config{}) {
		t.Errorf("of nothing: %v, %v", got, err)
	}
	for _, text := range []string{"endpiont: /x", "controller: x", "profiles: 3", "- x", "endpoint: [", "addresswait: 3"} {
		if _, err := ParseConfig([]byte(text)); !errors.Is(err, entity.Invalid) ||
			!strings.Contains(entity.Hint(err), "client-cert, client-key") {
			t.Errorf("%s: got error %v, hint %q", text, err, entity.Hint(err))
		}
	}
}

// Without an endpoint, the host's LXD is used, at whichever path its socket is.
func TestEndpointOfThisHost(t *testing.T) {
	t.Setenv("LXD_DIR", "")
	t.Setenv("LXD_SOCKET", "")
	dir := t.TempDir()
	before := socketPaths
	defer func() { socketPaths = before }()
	socketPaths = []string{filepath.Join(dir, "snap"), filepath.Join(dir, "deb")}
	if _, err := New(Config{Controller: "c"}); !errors.Is(err, entity.NotFound) || entity.Hint(err) == "" {
		t.Errorf("without an LXD: %v", err)
	}
	l, err := net.Listen("unix", socketPaths[1])
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	is := func(want string) {
		t.Helper()
		c, err := New(Config{Controller: "c"})
		if err != nil {
			t.Fatal(err)
		}
		if c.config.Endpoint != want {
			t.Errorf("the endpoint is %s, want %s", c.config.Endpoint, want)
		}
		if inside := c.Inside().Endpoint; inside != "/var/lib/juju/lxd.socket" {
			t.Errorf("in the controller's container it is %s", inside)
		}
	}
	is(socketPaths[1])
	t.Setenv("LXD_DIR", "/srv/lxd")
	is("/srv/lxd/unix.socket")
	t.Setenv("LXD_SOCKET", "/srv/socket")
	is("/srv/socket")
}
