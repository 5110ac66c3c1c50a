package sshhost

import (
	"bufio"
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
	"golang.org/x/crypto/ssh/knownhosts"
)

// An sshd is a real OpenSSH server on this host, for the user who runs the tests.
type sshd struct {
	t    *testing.T
	dir  string
	host Host
	key  ssh.PublicKey // its host key, of type ed25519
	user ed25519.PrivateKey
}

// privateKey writes a key in OpenSSH's format.
func privateKey(t *testing.T, path string, key crypto.PrivateKey, passphrase string) {
	t.Helper()
	block, err := ssh.MarshalPrivateKey(key, "")
	if passphrase != "" {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(key, "", []byte(passphrase))
	}
	if err == nil {
		err = os.WriteFile(path, pem.EncodeToMemory(block), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func newKey(t *testing.T) (ed25519.PrivateKey, ssh.PublicKey) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return key, signer.PublicKey()
}

// newSSHD runs a server; more is added to its configuration.
func newSSHD(t *testing.T, more ...string) *sshd {
	t.Helper()
	program := "/usr/sbin/sshd"
	if _, err := os.Stat(program); err != nil {
		t.Skip("no sshd: Debian has it in the package openssh-server")
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	if me.Uid == "0" { // as Debian's service does
		if err := os.Mkdir("/run/sshd", 0o755); err == nil {
			t.Cleanup(func() { os.Remove("/run/sshd") })
		} else if !errors.Is(err, os.ErrExist) {
			t.Fatal(err)
		}
	}
	s := &sshd{t: t, dir: t.TempDir(), host: Host{User: me.Username, Name: "127.0.0.1", Port: freePort(t)}}
	hostKey, public := newKey(t)
	s.key = public
	privateKey(t, s.path("host_ed25519"), hostKey, "")
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	privateKey(t, s.path("host_rsa"), other, "")
	var authorized ssh.PublicKey
	s.user, authorized = newKey(t)
	privateKey(t, s.path("id_ed25519"), s.user, "")
	s.write("authorized_keys", string(ssh.MarshalAuthorizedKey(authorized)))
	s.write("known_hosts", knownhosts.Line([]string{s.host.address()}, public)+"\n")
	s.write("config", strings.Join(append([]string{"ListenAddress " + s.host.address(), "HostKey " + s.path("host_rsa"),
		"HostKey " + s.path("host_ed25519"), "AuthorizedKeysFile " + s.path("authorized_keys"), "StrictModes no", "UsePAM no",
		"PidFile none", "PasswordAuthentication no", "KbdInteractiveAuthentication no", "PermitRootLogin prohibit-password",
		"LogLevel VERBOSE"}, more...), "\n")+"\n")
	s.start(program)
	return s
}

func freePort(t *testing.T) uint16 {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, text, _ := net.SplitHostPort(l.Addr().String())
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	return uint16(port)
}

// start returns when the server listens. At the end of the test it ends with all its sessions.
func (s *sshd) start(program string) {
	s.t.Helper()
	cmd := exec.Command(program, "-D", "-e", "-f", s.path("config"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	said, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	lines := bufio.NewReader(said)
	for all := ""; ; {
		line, err := lines.ReadString('\n')
		if all += line; err != nil {
			s.t.Fatalf("sshd ends: %s", all)
		}
		if strings.HasPrefix(line, "Server listening on ") {
			break
		}
	}
	go io.Copy(io.Discard, lines) // ends with the server
}

func (s *sshd) path(name string) string { return filepath.Join(s.dir, name) }

func (s *sshd) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(s.path(name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// keys are the key that the server accepts, and the server's.
func (s *sshd) keys() Keys {
	return Keys{Defaults: []string{s.path("none"), s.path("id_ed25519")}, KnownHosts: []string{s.path("known_hosts"),
		s.path("none")}}
}

// dial connects, and closes the connection when the test ends.
func (s *sshd) dial(keys Keys) *Conn {
	s.t.Helper()
	c, err := Dial(within(s.t), s.host, keys)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	return c
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// serveAgent serves an ssh-agent that has the keys.
func serveAgent(t *testing.T, keys ...crypto.PrivateKey) (socket string) {
	t.Helper()
	ring := agent.NewKeyring()
	for _, key := range keys {
		if err := ring.Add(agent.AddedKey{PrivateKey: key}); err != nil {
			t.Fatal(err)
		}
	}
	dir, err := os.MkdirTemp("", "agent") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket = filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				agent.ServeAgent(ring, conn)
				conn.Close()
			}()
		}
	}()
	return socket
}

// quoted is an argument for the shell.
func quoted(text string) string { return fmt.Sprintf("'%s'", strings.ReplaceAll(text, "'", `'\''`)) }
