package lxd

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/canonical/lxd/shared/api"
	"github.com/google/uuid"

	"juju/doc/tools/verify"
	"juju/provider"
	"juju/state/constraints"
)

// standIn replaces the machine agent: it just keeps running.
const standIn = `#!/bin/sh
[ -r "$1/agent.conf" ] || exit 1
echo "agent runs in $1"
sleep 1000000 &
wait
`

// serveTools serves the agent binaries on the host's address in the containers' network, as a
// controller does.
func serveTools(t *testing.T, ctx context.Context, c *Cloud) map[string]provider.Tools {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	err := w.WriteHeader(&tar.Header{Name: "machine-agent", Mode: 0o755, Size: int64(len(standIn))})
	if err == nil {
		_, err = w.Write([]byte(standIn))
	}
	if err := errors.Join(err, w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	ip := gateway(t, ctx, c)
	cert, key := selfSigned(t, ip)
	pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
	if err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", net.JoinHostPort(ip, "0"), &tls.Config{Certificates: []tls.Certificate{pair}})
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter,
		_ *http.Request) {
		rw.Write(b.Bytes())
	})}
	done := make(chan error)
	go func() { done <- server.Serve(l) }()
	t.Cleanup(func() { server.Close(); <-done })
	tools := provider.Tools{URLs: []string{"https://" + l.Addr().String() + "/tools"},
		SHA256: fmt.Sprintf("%x", sha256.Sum256(b.Bytes())), CACert: cert}
	return map[string]provider.Tools{"amd64": tools, "arm64": tools}
}

// gateway returns the host's address in the network of the profile default.
func gateway(t *testing.T, ctx context.Context, c *Cloud) string {
	t.Helper()
	var profile api.Profile
	if err := c.client.get(ctx, "/1.0/profiles/default", nil, &profile); err != nil {
		t.Fatal(err)
	}
	for _, device := range profile.Devices {
		if device["network"] == "" {
			continue
		}
		var n api.Network
		if err := c.client.get(ctx, "/1.0/networks/"+url.PathEscape(device["network"]), nil, &n); err != nil {
			t.Fatal(err)
		}
		ip, _, _ := strings.Cut(n.Config["ipv4.address"], "/")
		return ip
	}
	t.Fatal("the profile default has no network of LXD's")
	return ""
}

// A container of a real distribution runs its agent as a service from its first boot on, and only root can read the
// agent's configuration.
func TestAMachineOfDebian(t *testing.T) {
	path, ctx := socket(t), within(t)
	c := newCloud(t, Config{Endpoint: path, Controller: uuid.NewString()})
	e := environOf(t, c)
	have, err := e.Series(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(have, "bookworm") {
		t.Fatalf("LXD has images of %v; make verify-lxd makes one of bookworm", have)
	}
	p := params("3", "n")
	p.Series, p.Tools = "bookworm", serveTools(t, ctx, c)
	p.UserData = `
write_files: [{path: /etc/mode, permissions: 0640, content: "from the user\n"}]
preruncmd: [[mkdir, "/root/a b"], "! id ubuntu && echo before >>/root/order"]
postruncmd: ["id ubuntu && systemctl is-enabled jujud-machine-3 >>/root/order"]`
	if p.Constraints, err = constraints.Parse("mem=512M cores=1"); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	inst, err := e.StartInstance(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("an address after %v", time.Since(begin).Round(100*time.Millisecond))
	in := func(what, script string) {
		t.Helper()
		if _, err := c.exec(ctx, inst.ID, "timeout", fmt.Sprint(verify.Patience.Seconds()), "bash", "-c", script); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	const running = `until systemctl -q is-active jujud-machine-3 && grep -q runs /var/log/juju/machine-3.log
do sleep 0.3; done; `
	in("the agent runs", running)
	t.Logf("an agent after %v", time.Since(begin).Round(100*time.Millisecond))
	in("what the user tells cloud-init", `cloud-init status --wait; [ -d "/root/a b" ] && [ "$(xargs </root/order)" = "before enabled" ] &&
[ "$(stat -c %a /etc/mode; cat /etc/mode)" = "$(printf '640\nfrom the user')" ]`)
	const dir = "/var/lib/juju/agents/machine-3"
	in("its configuration", `[ "$(cat `+dir+`/agent.conf)" = "secret of 3" ]`)
	in("who reads that", `[ "$(stat -c %a-%U `+dir+` `+dir+`/agent.conf | xargs)" = "700-root 600-root" ]`)
	in("it is in no other file", `! grep -rqs "secret of 3" /etc /run /var --exclude=agent.conf`)
	in("nor in what LXD tells every user", `! python3 -c '
import socket
s = socket.socket(socket.AF_UNIX); s.connect("/dev/lxd/sock")
s.sendall(b"GET /1.0/config/cloud-init.user-data HTTP/1.0\r\n\r\n")
text = b""
while chunk := s.recv(65536): text += chunk
assert b"machine-agent" in text
print(text.decode())' | grep "secret of"`)
	in("an agent that is killed is restarted", `p() { systemctl show -p MainPID --value jujud-machine-3; }
old=$(p); kill -9 $old; until new=$(p); [ "$new" != 0 ] && [ "$new" != "$old" ]; do sleep 0.3; done`)
	in("the kernel limits its memory, in one of two files by the version of its control groups",
		`cd /sys/fs/cgroup; [ "$(cat memory.max || cat memory/memory.limit_in_bytes)" = 536870912 ]`)
	in("and its cores", `[ "$(nproc)" = 1 ]`)
	i, err := c.instance(ctx, inst.ID)
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range i.ExpandedConfig {
		if strings.Contains(value, "secret of") {
			t.Errorf("the configuration's %s holds %q", key, value)
		}
	}
	if _, err := c.client.do(ctx, http.MethodPut, instancePath(inst.ID, "state"), nil,
		api.InstanceStatePut{Action: "restart", Force: true, Timeout: -1}); err != nil {
		t.Fatal(err)
	}
	in("after a reboot", `until [ -S /run/dbus/system_bus_socket ]; do sleep 0.3; done; `+running)
	if err := e.StopInstances(ctx, inst.ID); err != nil {
		t.Error(err)
	}
}
