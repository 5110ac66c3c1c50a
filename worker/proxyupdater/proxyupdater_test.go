package proxyupdater

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"juju/agent/host/atomicfile"
	"juju/state/modelconfig"
)

// A machine is a host in a directory.
type machine struct {
	t *testing.T
	Host
}

func newMachine(t *testing.T, files map[string]string) *machine {
	t.Helper()
	m := &machine{t: t, Host: Host{Root: t.TempDir(), Keep: t.TempDir()}}
	for _, dir := range []string{"etc/profile.d", "etc/apt/apt.conf.d", "etc/apt/sources.list.d"} {
		if err := os.MkdirAll(filepath.Join(m.Root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files {
		m.put(name, text)
	}
	return m
}

func (m *machine) put(name, text string) {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.Root, name), []byte(text), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

// want checks a file; "" means that there is none.
func (m *machine) want(name, want string) {
	m.t.Helper()
	got, err := os.ReadFile(filepath.Join(m.Root, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.t.Fatal(err)
	}
	if string(got) != want {
		m.t.Errorf("%s has\n%s\nwant\n%s", name, got, want)
	}
}

func (m *machine) set(set map[string]string) {
	m.t.Helper()
	if err := m.apply(modelconfig.New(set, "")); err != nil {
		m.t.Fatal(err)
	}
}

func TestProxiesOfLoginsAndOfApt(t *testing.T) {
	m := newMachine(t, nil)
	m.set(map[string]string{"http-proxy": "http://p:1", "no-proxy": "localhost,10.0.0.0/8", "https-proxy": "it's"})
	// The last is none that a user can set.
	m.want(profile, "# "+header+`
export http_proxy=http://p:1
export HTTP_PROXY=http://p:1
export https_proxy='it'\''s'
export HTTPS_PROXY='it'\''s'
export no_proxy=localhost,10.0.0.0/8
export NO_PROXY=localhost,10.0.0.0/8
`)
	m.want(apt, "// "+header+`
Acquire::http::Proxy "http://p:1";
Acquire::http::Proxy::localhost "DIRECT";
Acquire::http::Proxy::10.0.0.0/8 "DIRECT";
`)

	if info, err := os.Stat(filepath.Join(m.Root, profile)); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("not all who log in can read %s: %v, %v", profile, info.Mode(), err)
	}

	// Those of apt come before those of charms, and these before those of all programs.
	m.set(map[string]string{"juju-http-proxy": "http://c:1", "http-proxy": "http://p:1"})
	m.want(apt, "// "+header+"\nAcquire::http::Proxy \"http://c:1\";\n")
	m.set(map[string]string{"juju-http-proxy": "http://c:1", "apt-http-proxy": "a:1", "apt-no-proxy": "mirror"})
	m.want(apt, "// "+header+"\nAcquire::http::Proxy \"http://a:1\";\nAcquire::http::Proxy::mirror \"DIRECT\";\n")
	m.want(profile, "")
	m.set(nil)
	m.want(apt, "")
}

const (
	classic = "# deb http://deb.debian.org/debian bookworm main\n" +
		"deb http://deb.debian.org/debian bookworm main\ndeb-src [a=b]\thttp://deb.debian.org/debian/ bookworm main\n" +
		"deb http://security.debian.org/debian-security bookworm-security main\n"
	deb822 = "Types: deb\nURIs: http://deb.debian.org/debian\nSuites: bookworm\n\n" +
		"Types: deb\nURIs: http://security.debian.org/debian-security\n"
	other = "deb https://packages.example.com/debian stable main\n"
)

func TestTheMirrorReplacesTheArchive(t *testing.T) {
	const list, main, more = "etc/apt/sources.list", "etc/apt/sources.list.d/debian.sources", "etc/apt/sources.list.d/x.list"
	m := newMachine(t, map[string]string{list: classic, main: deb822, more: other})
	if err := os.Chmod(filepath.Join(m.Root, list), 0o640); err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"http://m.example/debian", "http://m.example/debian", "http://n.example/d"} {
		m.set(map[string]string{modelconfig.AptMirror: address})
		text := strings.ReplaceAll(classic, "http://deb.debian.org/debian/", "http://deb.debian.org/debian")
		text = strings.ReplaceAll(text, "http://deb.debian.org/debian ", address+" ")
		m.want(list, strings.Replace(text, "# deb "+address, "# deb http://deb.debian.org/debian", 1))
		m.want(main, strings.Replace(deb822, "http://deb.debian.org/debian\n", address+"\n", 1))
		m.want(more, other)
	}

	// A file that someone has changed keeps the change.
	m.put(main, "# ours\nURIs: http://n.example/d\n")
	if err := m.Restore(); err != nil {
		t.Fatal(err)
	}
	m.want(list, classic)
	if info, err := os.Stat(filepath.Join(m.Root, list)); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%s had mode 0640, and has %v, %v", list, info.Mode(), err)
	}
	m.want(main, "# ours\nURIs: http://deb.debian.org/debian\n")
	m.want(more, other)
	if left, err := os.ReadDir(m.Keep); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
	if err := m.Restore(); err != nil {
		t.Error(err)
	}
}

// A mirror that the host uses already, beside its archive, is not taken for ours when it is restored.
func TestAMirrorThatWasThere(t *testing.T) {
	const list = "etc/apt/sources.list"
	m := newMachine(t, map[string]string{list: classic})
	for range 2 {
		m.set(map[string]string{modelconfig.AptMirror: "http://security.debian.org/debian-security"})
		m.set(nil)
		m.want(list, classic)
	}
	// Nor when its restoration was interrupted.
	m.set(map[string]string{modelconfig.AptMirror: "http://security.debian.org/debian-security"})
	m.put(list, classic)
	m.set(nil)
	m.want(list, classic)
}

// A change that was interrupted anywhere is completed or undone by the next.
func TestAnInterruptedChangeOfTheMirror(t *testing.T) {
	const list, more = "etc/apt/sources.list", "etc/apt/sources.list.d/x.sources"
	m := newMachine(t, map[string]string{list: classic, more: deb822})
	m.set(map[string]string{modelconfig.AptMirror: "http://m.example/debian"})
	m.put(more, deb822) // as before it was changed
	m.set(map[string]string{modelconfig.AptMirror: "http://m.example/debian"})
	m.want(more, strings.Replace(deb822, "http://deb.debian.org/debian\n", "http://m.example/debian\n", 1))
	m.put(list, classic) // as after it was restored
	m.set(nil)
	m.want(list, classic)
	m.want(more, deb822)
}

// draftOf returns the name of what a kill leaves of a write.
func draftOf(name string) string { return strings.Replace(atomicfile.Drafts(name), "*", "123", 1) }

// A kill in the middle of a write leaves nothing on the host for ever, and what its owner keeps there stays.
func TestWhatAKillHasLeftIsRemoved(t *testing.T) {
	const list, kept = "etc/apt/sources.list", "etc/apt/sources.list.new"
	m := newMachine(t, map[string]string{list: classic, kept: "mine"})
	m.set(map[string]string{modelconfig.AptMirror: "http://m.example/debian", "http-proxy": "http://p:1"})
	for _, name := range []string{list, profile, apt} {
		m.put(draftOf(name), "half of someth")
	}
	m.put(list, classic) // as before it was changed
	m.set(nil)
	for _, name := range []string{list, profile, apt} {
		m.want(draftOf(name), "")
	}
	m.want(kept, "mine")
}

// A file of sources that is a link to one elsewhere stays a link, and one that leads nowhere does no harm.
func TestSourcesThatAreALink(t *testing.T) {
	const list, real = "etc/apt/sources.list", "etc/real.list"
	m := newMachine(t, map[string]string{real: classic})
	if err := errors.Join(os.Symlink("../real.list", filepath.Join(m.Root, list)),
		os.Symlink("nowhere", filepath.Join(m.Root, "etc/apt/sources.list.d/gone.list"))); err != nil {
		t.Fatal(err)
	}
	m.set(map[string]string{modelconfig.AptMirror: "http://m.example/debian"})
	m.want(real, swap(classic, "http://deb.debian.org/debian", "http://m.example/debian"))
	m.set(nil)
	m.want(real, classic)
	if to, err := os.Readlink(filepath.Join(m.Root, list)); err != nil || to != "../real.list" {
		t.Errorf("it leads to %q (%v)", to, err)
	}
}

// A system without apt has no use for its settings.
func TestASystemWithoutApt(t *testing.T) {
	m := &machine{t: t, Host: Host{Root: t.TempDir(), Keep: t.TempDir()}}
	m.set(map[string]string{"http-proxy": "p:1", modelconfig.AptMirror: "http://m.example/"})
	m.want(apt, "")
}

func TestChangesAreWritten(t *testing.T) {
	m := newMachine(t, nil)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		changed, done := make(chan struct{}), make(chan error)
		var config modelconfig.Config
		go func() { done <- New(m.Host, func() modelconfig.Config { return config }, changed)(ctx) }()
		synctest.Wait()
		config = modelconfig.New(map[string]string{"apt-http-proxy": "http://p:1"}, "")
		changed <- struct{}{}
		synctest.Wait()
		m.want(apt, "// "+header+"\nAcquire::http::Proxy \"http://p:1\";\n")
		cancel()
		<-done
	})
}
