package lxd

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/canonical/lxd/shared/api"
	"github.com/google/uuid"

	"juju/doc/tools/verify"
	"juju/provider"
	"juju/provider/providertest"
)

// The tests use a real LXD, at the socket JUJU_LXD or below LXD_DIR. Without either they are
// skipped, or fail if JUJU_NEED_LXD is set. `make verify-lxd` sets one up.
//
// Most run in an LXD project of their own, with an image that starts in a second: a busybox whose init only gets an
// address and starts a process in place of the agent.
const (
	socketVariable = "JUJU_LXD"
	needVariable   = "JUJU_NEED_LXD"
)

var project = fmt.Sprintf("juju-test-%d", os.Getpid())

// testBridge is the tests' network, which makeBridge creates.
var testBridge = fmt.Sprintf("jt%d", os.Getpid())

func TestMain(m *testing.M) {
	code := m.Run()
	if made {
		if err := removeProject(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, "cannot remove LXD's project", project, err)
			code = 1
		}
	}
	os.Exit(code)
}

// socket returns the path of LXD's socket. Without an LXD it skips the test.
func socket(t *testing.T) string {
	t.Helper()
	verify.Only(t, "needs an LXD")
	path := os.Getenv(socketVariable)
	if dir := os.Getenv("LXD_DIR"); path == "" && dir != "" {
		path = filepath.Join(dir, "unix.socket")
	}
	if path == "" {
		if os.Getenv(needVariable) != "" {
			t.Fatalf("%s is set, and neither %s nor LXD_DIR says where LXD is", needVariable, socketVariable)
		}
		t.Skipf("no LXD: neither %s nor LXD_DIR is set; make verify-lxd sets one up", socketVariable)
	}
	return path
}

// rawClient returns a client of LXD's socket; project may be "".
func rawClient(path, project string) *client {
	c, err := newClient(Config{Endpoint: path, Project: project})
	if err != nil {
		panic(err)
	}
	return c
}

var (
	makeOnce  sync.Once
	makeErr   error
	made      bool
	bridged   bool
	bridgeErr error
)

// tiny returns a cloud in the tests' project, for a controller of its own. Anything left of it at the end of the test
// is an error, and is removed.
func tiny(t *testing.T, change func(*Config)) *Cloud {
	t.Helper()
	path := socket(t)
	makeOnce.Do(func() {
		made = true
		ctx, cancel := context.WithTimeout(context.Background(), verify.Patience)
		defer cancel()
		makeErr = makeProject(ctx, path)
	})
	if makeErr != nil {
		t.Fatal(makeErr)
	}
	config := Config{Endpoint: path, Project: project, Controller: uuid.NewString()}
	if change != nil {
		change(&config)
	}
	return newCloud(t, config)
}

func newCloud(t *testing.T, config Config) *Cloud {
	t.Helper()
	c, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), verify.Patience)
		defer cancel()
		if left, err := c.find(ctx, ""); len(left) > 0 || err != nil {
			t.Errorf("left are %d containers (%v)", len(left), err)
		}
		if left, err := c.acls(ctx, ""); len(left) > 0 || err != nil {
			t.Errorf("left are %d ACLs (%v)", len(left), err)
		}
		if err := c.destroy(ctx, "", true); err != nil {
			t.Error(err)
		}
		c.client.http.CloseIdleConnections()
	})
	return c
}

var bridgeOnce sync.Once

// ownBridge gives a cloud's containers a network of their own.
func ownBridge(t *testing.T) func(*Config) {
	t.Helper()
	path := socket(t)
	bridgeOnce.Do(func() {
		bridgeErr = makeBridge(within(t), newCloud(t, Config{Endpoint: path, Controller: uuid.NewString()}))
		bridged = bridgeErr == nil
	})
	if bridgeErr != nil {
		t.Fatal(bridgeErr)
	}
	return func(c *Config) { c.Network = testBridge }
}

// makeBridge creates the tests' network. In a cluster, each member has a bridge of that name.
func makeBridge(ctx context.Context, c *Cloud) error {
	members, err := c.members(ctx)
	if err != nil {
		return err
	}
	network := api.NetworksPost{Name: testBridge, Type: "bridge"}
	for _, m := range members {
		target := url.Values{"target": {m.ServerName}}
		if _, err := c.client.do(ctx, http.MethodPost, "/1.0/networks", target, network); err != nil {
			return err
		}
	}
	network.Config = map[string]string{"ipv6.address": "none", "ipv4.nat": "true",
		"ipv4.address": fmt.Sprintf("198.18.%d.1/24", os.Getpid()%256)}
	_, err = c.client.do(ctx, http.MethodPost, "/1.0/networks", nil, network)
	return err
}

func environOf(t *testing.T, c *Cloud) *environ {
	t.Helper()
	e, err := c.Open(t.Context(), provider.Config{Controller: c.config.Controller, Model: providertest.ModelA})
	if err != nil {
		t.Fatal(err)
	}
	return e.(*environ)
}

// within returns a context for one test.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), verify.Patience)
	t.Cleanup(cancel)
	return ctx
}

// tools are never downloaded: the tiny image has no cloud-init.
func tools() map[string]provider.Tools {
	some := provider.Tools{URLs: []string{"https://192.0.2.1/tools"}, SHA256: strings.Repeat("0", 64)}
	return map[string]provider.Tools{"amd64": some, "arm64": some}
}

func params(machine, nonce string) provider.StartParams {
	return provider.StartParams{MachineID: machine, Nonce: nonce, AgentConfig: []byte("secret of " + machine),
		Tools: tools()}
}

// makeProject creates the project, its profile, and the tiny image.
func makeProject(ctx context.Context, path string) error {
	var server api.Server
	var profile api.Profile
	top, own := rawClient(path, ""), rawClient(path, project)
	err := errors.Join(top.get(ctx, "/1.0", nil, &server), top.get(ctx, "/1.0/profiles/default", nil, &profile))
	if err != nil {
		return err
	}
	_, err = top.do(ctx, http.MethodPost, "/1.0/projects", nil, api.ProjectsPost{Name: project, ProjectPut: api.ProjectPut{
		Config: map[string]string{"features.images": "true", "features.profiles": "true",
			"features.storage.volumes": "true"}}})
	if err != nil {
		return err
	}
	if _, err = own.do(ctx, http.MethodPut, "/1.0/profiles/default", nil, profile.Writable()); err != nil {
		return err
	}
	image, err := tinyImage(server.Environment.KernelArchitecture)
	if err != nil {
		return err
	}
	resp, err := own.send(ctx, http.MethodPost, "/1.0/images", nil,
		http.Header{"Content-Type": {"application/octet-stream"}},
		bytes.NewReader(image))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	op, err := own.wait(ctx, between(string(text), `"operation":"`, `"`))
	if err != nil {
		return err
	}
	_, err = own.do(ctx, http.MethodPost, "/1.0/images/aliases", nil,
		api.ImageAliasesPost{ImageAliasesEntry: api.ImageAliasesEntry{
			Name: "juju/bookworm", ImageAliasesEntryPut: api.ImageAliasesEntryPut{Target: op.Metadata["fingerprint"].(string)}}})
	return err
}

func between(text, before, after string) string {
	_, text, _ = strings.Cut(text, before)
	text, _, _ = strings.Cut(text, after)
	return text
}

func removeProject(ctx context.Context) error {
	path := os.Getenv(socketVariable)
	if path == "" {
		path = filepath.Join(os.Getenv("LXD_DIR"), "unix.socket")
	}
	own := rawClient(path, project)
	var images []api.Image
	err := own.get(ctx, "/1.0/images", recursion(1), &images)
	for _, image := range images {
		_, err2 := own.do(ctx, http.MethodDelete, "/1.0/images/"+image.Fingerprint, nil, nil)
		err = errors.Join(err, err2)
	}
	_, err2 := rawClient(path, "").do(ctx, http.MethodDelete, "/1.0/projects/"+url.PathEscape(project), nil, nil)
	err = errors.Join(err, err2)
	if bridged {
		_, err2 := rawClient(path, "").do(ctx, http.MethodDelete, "/1.0/networks/"+testBridge, nil, nil)
		err = errors.Join(err, err2)
	}
	return err
}

// tinyInit is the first process of a tiny container.
const tinyInit = `#!/bin/sh
if [ -s /var/lib/juju/agents/machine-*/agent.conf ]; then
	sleep 1000000 &
	echo $! >/run/agent
fi
ip link set lo up
for card in /sys/class/net/eth*; do
	card=${card##*/}
	ip link set "$card" up
	udhcpc -q -i "$card" -t 30 -T 1 -s /etc/udhcpc.script
done
while :; do sleep 1000; done
`

const tinyAddress = `#!/bin/sh
[ "$1" != bound ] || { ip addr add "$ip/$mask" dev "$interface"; ip route add default via "$router"; }
`

// tinyImage returns an LXD image that contains only the host's busybox.
func tinyImage(architecture string) ([]byte, error) {
	busybox, err := os.ReadFile("/bin/busybox")
	if err != nil {
		return nil, fmt.Errorf("the tests need /bin/busybox, linked statically (Debian's busybox-static): %w", err)
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	file := func(name, content string, mode int64) {
		err = errors.Join(err, w.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: int64(len(content))}))
		_, err2 := io.WriteString(w, content)
		err = errors.Join(err, err2)
	}
	file("metadata.yaml", fmt.Sprintf("architecture: %s\ncreation_date: 1\nproperties: {description: tests of juju}\n",
		architecture), 0o644)
	for _, dir := range []string{"", "bin", "sbin", "etc", "dev", "proc", "sys", "run", "tmp", "root", "var", "var/lib",
		"usr"} {
		err = errors.Join(err, w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: "rootfs/" + dir, Mode: 0o755}))
	}
	file("rootfs/bin/busybox", string(busybox), 0o755)
	for _, name := range strings.Fields("sh cat sleep ip udhcpc kill ln mkdir rm readlink dirname ls stat echo test [") {
		err = errors.Join(err, w.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: "rootfs/bin/" + name,
			Linkname: "busybox", Mode: 0o777}))
	}
	file("rootfs/sbin/init", tinyInit, 0o755)
	file("rootfs/etc/udhcpc.script", tinyAddress, 0o755)
	file("rootfs/etc/passwd", "root:x:0:0:root:/root:/bin/sh\n", 0o644)
	err = errors.Join(err, w.Close())
	return b.Bytes(), err
}

// agents returns the machines, as "MODEL/MACHINE", whose agents are running and have their configuration.
func agents(t *testing.T, c *Cloud) (living []string) {
	t.Helper()
	found, err := c.find(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range found {
		if i.StatusCode != api.Running {
			continue
		}
		machine := i.Config[machineKey]
		_, err := c.exec(t.Context(), i.Name, "sh", "-c",
			`[ "$(cat /var/lib/juju/agents/machine-*/agent.conf)" = "secret of $1" ] && kill -0 "$(cat /run/agent)"`, "sh",
			machine)
		if err != nil {
			t.Log(err)
			continue
		}
		living = append(living, i.Config[modelKey]+"/"+machine)
	}
	return living
}

// answeredBy returns the cloud of a fake LXD whose requests the handler serves.
func answeredBy(t *testing.T, handler http.Handler) *Cloud {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "socket")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: handler}
	ended := make(chan error)
	go func() { ended <- server.Serve(l) }()
	t.Cleanup(func() { server.Close(); <-ended })
	c, err := New(Config{Endpoint: socket, Controller: "c"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
