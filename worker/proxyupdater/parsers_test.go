package proxyupdater

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/juju/loggo"

	"juju/doc/tools/verify"
	"juju/state/modelconfig"
)

// hostile are parts of values that mean something to one of the programs that read the files.
var hostile = []string{" ", "//", "/*", "#", "#x", "#clear", `"`, "'", `\`, "`", "$", "$(ARCH)", "${x}", ";", "{", "}",
	"<", ">", "&", "|", "!", "(", ")", "*", "?", "[", "]", "::", "%", "%0a", "=", ",", "é", "\u2028", "\t", "\n", "\x7f"}

// quietly keeps the warnings of a test out of its output.
func quietly(t *testing.T) {
	was := logger.LogLevel()
	logger.SetLogLevel(loggo.CRITICAL)
	t.Cleanup(func() { logger.SetLogLevel(was) })
}

// values returns sound values, each with every hostile part at some place, and with some of them at random.
func values(t *testing.T, sound ...string) (all []string) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	insert := func(value, part string) string {
		at := random.IntN(len(value) + 1)
		return value[:at] + part + value[at:]
	}
	more := 10
	if os.Getenv("JUJU_SOAK") != "" {
		more = 1000
	}
	for i, part := range hostile {
		all = append(all, insert(sound[i%len(sound)], part))
	}
	for range more {
		value := sound[random.IntN(len(sound))]
		for range 1 + random.IntN(4) {
			value = insert(value, hostile[random.IntN(len(hostile))])
		}
		all = append(all, value)
	}
	return append(all, sound...)
}

// allowed reports whether a user can give a setting this value.
func allowed(key, value string) bool {
	_, err := modelconfig.Parse(map[string]string{key: value})
	return err == nil
}

// need skips a test on a system without a program that it asks.
func need(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Skipf("there is no %s here", program)
	}
	return path
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Whatever the settings are, apt can read its own and all others. Those that a user can set, it reads as they are.
func TestAptReadsItsSettings(t *testing.T) {
	verify.Only(t, "runs apt for each case")
	quietly(t)
	program := need(t, "apt-config")
	dump := func(text string) (string, error) {
		cmd := exec.Command(program, "-c", write(t, "apt.conf", text+"Acquire::ftp::Proxy \"http://last\";\n"), "dump")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	check := func(key, value string, wants ...string) {
		t.Helper()
		config := map[string]string{"http-proxy": "http://p:1", "https-proxy": "http://q:1", "no-proxy": "localhost"}
		config[key] = value
		read, err := dump(aptText(modelconfig.New(config, "")))
		wants = append(wants, `Acquire::ftp::Proxy "http://last";`, `Acquire::https::Proxy "http://q:1";`)
		for _, want := range wants {
			if err != nil || !strings.Contains(read, want+"\n") {
				t.Errorf("%s=%q: apt has not %s: %v\n%s", key, value, want, err, read[max(0, len(read)-300):])
				return
			}
		}
	}
	for _, value := range values(t, "localhost,10.0.0.0/8", "*.example.com", "[::1]:80,host") {
		hosts := []string{}
		if allowed("no-proxy", value) {
			for host := range strings.SplitSeq(value, ",") {
				if host = strings.TrimSpace(host); host != "" {
					hosts = append(hosts, "Acquire::https::Proxy::"+aptEscapes.Replace(host)+` "DIRECT";`)
				}
			}
		}
		check("no-proxy", value, hosts...)
	}
	for _, value := range values(t, "http://u:w@p:80/x", "p:3128") {
		if !allowed("http-proxy", value) {
			check("http-proxy", value)
		} else if strings.Contains(value, "://") {
			check("http-proxy", value, `Acquire::http::Proxy "`+value+`";`)
		} else {
			check("http-proxy", value, `Acquire::http::Proxy "http://`+value+`";`)
		}
	}
}

// aptEscapes is how apt-config shows the names of settings.
var aptEscapes = strings.NewReplacer("é", "%c3%a9")

// Whatever the mirror is, apt can read its sources, of either form.
func TestAptReadsItsSources(t *testing.T) {
	verify.Only(t, "runs apt for each case")
	quietly(t)
	program := need(t, "apt-get")
	files := map[string]string{
		"etc/apt/sources.list":                  classic,
		"etc/apt/sources.list.d/debian.sources": "Types: deb\nURIs: http://deb.debian.org/debian\nSuites: x\nComponents: main\n",
	}
	for _, value := range values(t, "http://m.example/debian") {
		m := newMachine(t, files)
		m.set(map[string]string{modelconfig.AptMirror: value})
		cmd := exec.Command(program, "indextargets", "-o", "Dir::Etc="+filepath.Join(m.Root, "etc/apt"),
			"-o", "Dir::State="+m.Keep)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s=%q: apt cannot read its sources: %v\n%s", modelconfig.AptMirror, value, err, out)
		}
		m.set(nil)
		for name, text := range files {
			m.want(name, text)
		}
	}
}

// Whatever the settings are, a shell takes them from the profile as they are, and does nothing else.
func TestShellsReadTheProfile(t *testing.T) {
	for _, value := range values(t, "http://u:w@p:80/x", "localhost,10.0.0.0/8") {
		config := modelconfig.New(map[string]string{"http-proxy": value, "no-proxy": value}, "")
		script := `. "$1" && printf '%s|%s|%s|%s' "$http_proxy" "$HTTP_PROXY" "$no_proxy" "$NO_PROXY"`
		cmd := exec.Command("/bin/sh", "-eu", "-c", script, "sh", write(t, "profile.sh", profileText(config)))
		out, err := cmd.CombinedOutput()
		if want := strings.Join([]string{value, value, value, value}, "|"); err != nil || string(out) != want {
			t.Errorf("a shell reads %q as %q, %v", value, out, err)
		}
	}
}
