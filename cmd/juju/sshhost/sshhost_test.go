package sshhost

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh/knownhosts"

	"juju/doc/tools/verify"
	"juju/state/entity"
)

func TestHosts(t *testing.T) {
	for text, want := range map[string]Host{
		"db":                     {"", "db", 22},
		"root@db.example.com":    {"root", "db.example.com", 22},
		"a.b-c@10.0.0.1:2222":    {"a.b-c", "10.0.0.1", 2222},
		"fe80::1":                {"", "fe80::1", 22},
		"root@[fe80::1]:2222":    {"root", "fe80::1", 2222},
		"[fe80::1]":              {"", "fe80::1", 22},
		"me@corp.example@db:022": {"me@corp.example", "db", 22},
	} {
		if got, err := ParseHost(text); got != want || err != nil {
			t.Errorf("%q is %+v (%v), want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "@db", "root@", "db:", "db:0", "db:65536", "db:x", "-oProxyCommand=x@db", "a b@c",
		"a b", "-x", "a$(b)", "[db", "db]", "[a]b", "root@db:22:22", "a\nb", "\x1b[2J", strings.Repeat("a", 300), "a@b/c"} {
		if got, err := ParseHost(text); !errors.Is(err, entity.Invalid) {
			t.Errorf("%q is %+v (%v)", text, got, err)
		}
	}
}

func TestConnectingWithAKey(t *testing.T) {
	s := newSSHD(t)
	wrong, _ := newKey(t)
	privateKey(t, s.path("wrong"), wrong, "")
	privateKey(t, s.path("encrypted"), s.user, "secret")
	s.write("garbage", "-----BEGIN OPENSSH PRIVATE KEY-----\nx\n")
	for name, change := range map[string]func(*Keys){
		"of a file":                        func(*Keys) {},
		"that is set":                      func(k *Keys) { k.File, k.Defaults = s.path("id_ed25519"), nil },
		"of an agent":                      func(k *Keys) { k.Defaults, k.Agent = nil, serveAgent(t, wrong, s.user) },
		"of a file when the agent is gone": func(k *Keys) { k.Agent = s.path("none") },
		"of a file, after one that is encrypted": func(k *Keys) {
			k.Defaults = []string{s.path("encrypted"), s.path("id_ed25519")}
		},
	} {
		t.Run(name, func(t *testing.T) {
			keys := s.keys()
			change(&keys)
			c, err := Dial(within(t), s.host, keys)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if c.Address != "127.0.0.1" {
				t.Errorf("its address is %s", c.Address)
			}
			if out, err := c.run(within(t), verify.Patience, "printf %s "+quoted("it's")); out != "it's" || err != nil {
				t.Errorf("it prints %q (%v)", out, err)
			}
		})
	}
	for name, test := range map[string]struct {
		change     func(*Keys)
		want, hint string
	}{
		"wrong": {func(k *Keys) { k.File = s.path("wrong") }, "the host accepts none of your keys (" + s.path("wrong") + ")",
			"To try it manually: ssh -p "},
		"none":      {func(k *Keys) { k.Defaults = nil }, "you have no SSH key", "--private-key FILE"},
		"encrypted": {func(k *Keys) { k.File = s.path("encrypted") }, "it is encrypted", "ssh-add " + s.path("encrypted")},
		"only encrypted": {func(k *Keys) { k.Defaults = []string{s.path("encrypted")} },
			"you have no SSH key\ncannot use the key ", "ssh-keygen"},
		"missing":     {func(k *Keys) { k.File = s.path("none") }, "cannot read the key ", ""},
		"a directory": {func(k *Keys) { k.File = s.dir }, "it is not a key file", ""},
		"garbage":     {func(k *Keys) { k.File = s.path("garbage") }, "cannot use the key ", ""},
	} {
		t.Run(name, func(t *testing.T) {
			keys := s.keys()
			test.change(&keys)
			c, err := Dial(within(t), s.host, keys)
			if err == nil {
				c.Close()
			}
			if err == nil || !strings.HasPrefix(err.Error(), "cannot connect to "+s.host.User+"@127.0.0.1:") ||
				!strings.Contains(err.Error(), test.want) || !strings.Contains(entity.Hint(err), test.hint) {
				t.Errorf("got %v; %s", err, entity.Hint(err))
			}
		})
	}
}

func TestOnlyKnownHostsAreTrusted(t *testing.T) {
	s := newSSHD(t)
	_, another := newKey(t)
	line := func(host string) string { return knownhosts.Line([]string{host}, another) + "\n" }
	good, err := os.ReadFile(s.path("known_hosts"))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ text, want, hint string }{
		"no file":      {"", "its host key is not known: ", "To add it, connect manually and compare the fingerprint"},
		"another host": {line("10.0.0.1"), "its host key is not known: ssh-", "ssh -p "},
		"another port": {line("127.0.0.1"), "its host key is not known: ", "ssh -p "},
		"changed": {line(s.host.address()), "THE HOST KEY HAS CHANGED: it is ssh-ed25519 SHA256:",
			"ssh-keygen -R [127.0.0.1]:"},
		"revoked":        {"@revoked " + string(good) + string(good), "revoked", ""},
		"no known_hosts": {"\x00 a b\n", "cannot read the keys of known hosts", ""},
	} {
		t.Run(name, func(t *testing.T) {
			keys := s.keys()
			keys.KnownHosts = []string{s.path("none"), s.path("known")}
			if test.text == "" {
				keys.KnownHosts = keys.KnownHosts[:1]
			}
			s.write("known", test.text)
			c, err := Dial(within(t), s.host, keys)
			if err == nil {
				c.Close()
			}
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(entity.Hint(err), test.hint) {
				t.Errorf("got %v; %s", err, entity.Hint(err))
			}
		})
	}
	// A host that is known under a hash, among others, is known.
	hashed := strings.Replace(string(good), knownhosts.Normalize(s.host.address()), knownhosts.HashHostname(
		knownhosts.Normalize(s.host.address())), 1)
	s.write("known_hosts", "# mine\n"+line("10.0.0.1")+hashed)
	s.dial(s.keys())
}

// A host that accepts connections and says nothing is given up, and so is one that no one waits for.
func TestASilentHost(t *testing.T) {
	s := newSSHD(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	h, err := ParseHost("me@" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		if conn, err := l.Accept(); err == nil {
			defer conn.Close()
			cancel(errors.New("enough"))
			<-t.Context().Done()
		}
	}()
	if _, err := Dial(ctx, h, s.keys()); err == nil || !strings.HasSuffix(err.Error(), ": enough") {
		t.Errorf("got %v", err)
	}
	c := s.dial(s.keys())
	if _, err := c.run(t.Context(), 50*time.Millisecond, "sleep 60"); err == nil ||
		err.Error() != "it did not finish within 50ms" {
		t.Errorf("got %v", err)
	}
}

func TestBecomingRoot(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"id": "echo 1000",
		"sudo": `[ "$1 $2 $3" = "-n /bin/sh -s" ] && [ -e ` + dir + `/may ] || {
	echo "sudo: a password is required" >&2
	exit 1
}
shift
exec "$@"`,
	} {
		if err := os.WriteFile(dir+"/"+name, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s := newSSHD(t, "SetEnv PATH="+dir+":/usr/bin:/bin:/usr/sbin:/sbin")
	_, err := s.dial(s.keys()).Probe(within(t))
	want := "cannot become root on " + s.host.String() + " as user \"" + s.host.User + "\": sudo: a password is required"
	if !errors.Is(err, entity.Unauthorized) || err.Error() != want ||
		!strings.Contains(entity.Hint(err), "sudo without a password") {
		t.Errorf("got %v; %s", err, entity.Hint(err))
	}
	if err := os.WriteFile(dir+"/may", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := s.dial(s.keys()).run(within(t), verify.Patience, "echo root"); out != "root\n" || err != nil {
		t.Errorf("it prints %q (%v)", out, err)
	}
}

// The tests' own host may be anything; that it was looked at is seen by what it is called.
func TestProbingAHost(t *testing.T) {
	s := newSSHD(t)
	c := s.dial(s.keys())
	out, err := c.run(within(t), verify.Patience, probe)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"root\n", "\narch=", "\ncores=", "\nmem=", "\nroot-disk=", "\nID="} {
		if !strings.Contains(out, want) {
			t.Errorf("the host has no %q: %s", want, out)
		}
	}
	if os.Getuid() == 0 {
		facts, err := c.Probe(within(t))
		if err == nil && (facts.Hardware.Arch == "" || facts.Hardware.Mem == 0) {
			t.Errorf("the host is %+v (%v)", facts, err)
		}
	}
}

func TestFactsOfHosts(t *testing.T) {
	good := "root\narch=x86_64\ncores=2\nmem=2097152\nroot-disk=8388608\nPRETTY_NAME=\"Debian 12\"\n" +
		"VERSION_CODENAME=bookworm\nmem=7\n"
	f, err := readFacts(good)
	want := Facts{"bookworm", entity.Hardware{Arch: "amd64", Cores: 2, Mem: 2048, RootDisk: 8192}}
	if f != want || err != nil {
		t.Errorf("got %+v (%v), want %+v", f, err, want)
	}
	for old, test := range map[string][2]string{
		"arch=x86_64": {"used=/var/lib/juju/agents",
			`it is already a machine of a model: it has "/var/lib/juju/agents"`},
		"VERSION_CODENAME=bookworm": {"VERSION_CODENAME=sid", `its series is unknown: it identifies as "Debian 12"`},
		"cores=2":                   {"cores=", "it does not report its cores"},
		"mem=2097152":               {"mem=-1", "it does not report its mem"},
		"root-disk=8388608":         {"root-disk=99999999999999999999", "it does not report its root-disk"},
	} {
		if _, err := readFacts(strings.Replace(good, old, test[0], 1)); err == nil || err.Error() != test[1] {
			t.Errorf("with %q got %v, want %s", test[0], err, test[1])
		}
	}
}

func TestInstalling(t *testing.T) {
	s := newSSHD(t)
	c := s.dial(s.keys())
	secret := "of the agent"
	_, err := c.Install(within(t), "[ -z \"$(ps ax | grep '[o]f the agent')\" ] || exit 1\ntouch "+quoted(s.path("done"))+
		"\n: "+quoted(secret))
	if err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(s.path("done")); err != nil {
		t.Error(err)
	}
	_, err = c.Install(within(t), "yes | head -c 1000000 >&2; echo 'juju: no \x1b[2J room' >&2; exit 3")
	if err == nil || !strings.HasPrefix(err.Error(), "cannot install an agent on 127.0.0.1:") ||
		!strings.HasSuffix(err.Error(), ": no \x1b[2J room") {
		t.Errorf("got %v", err)
	}
	_, err = c.Install(within(t), "echo first >&2; echo 'juju: no room' >&2; exit 3")
	if err == nil || !strings.HasSuffix(err.Error(), ": no room") {
		t.Errorf("got %v", err)
	}
	if _, err := c.Install(within(t), "exit 3"); err == nil || !strings.HasSuffix(err.Error(), ": it exited with status 3") {
		t.Errorf("got %v", err)
	}
	if _, err := c.Install(within(t), "kill -9 $$"); err == nil {
		t.Error("a script that was killed has installed an agent")
	}
}
