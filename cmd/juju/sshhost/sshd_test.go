package sshhost

import (
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
	"golang.org/x/crypto/ssh/knownhosts"

	"juju/doc/tools/verify"
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
	s := &sshd{t: t, dir: t.TempDir(), host: Host{User: me.Username, Name: "127.0.0.1"}}
	l, err := net.Listen("tcp", net.JoinHostPort(s.host.Name, "0"))
	if err != nil {
		t.Fatal(err)
	}
	s.host.Port = l.Addr().(*net.TCPAddr).AddrPort().Port()
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
	s.write("config", strings.Join(append([]string{"HostKey " + s.path("host_rsa"),
		"HostKey " + s.path("host_ed25519"), "AuthorizedKeysFile " + s.path("authorized_keys"), "StrictModes no", "UsePAM no",
		"PidFile none", "PasswordAuthentication no", "KbdInteractiveAuthentication no", "PermitRootLogin prohibit-password",
		"LogLevel ERROR"}, more...), "\n")+"\n")
	s.serve(program, l)
	return s
}

// serve runs a process of the server for each connection, as inetd does, so the server needs no port of its own. At the end
// of the test all of them end.
func (s *sshd) serve(program string, l net.Listener) {
	var all sync.WaitGroup
	ctx, end := context.WithCancel(context.Background())
	s.t.Cleanup(func() {
		l.Close()
		end()
		all.Wait()
	})
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				if err := s.session(ctx, program, conn.(*net.TCPConn)); err != nil && ctx.Err() == nil {
					s.t.Log("sshd: ", err) // a client that goes away is an error, too
				}
			})
		}
	})
}

// session serves a connection until it ends.
func (s *sshd) session(ctx context.Context, program string, conn *net.TCPConn) error {
	file, err := conn.File()
	conn.Close()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, program, "-i", "-e", "-f", s.path("config"))
	cmd.Stdin, cmd.Stdout = file, file
	err = cmd.Start()
	file.Close()
	if err != nil {
		return err
	}
	return cmd.Wait()
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
	ctx, cancel := context.WithTimeout(t.Context(), verify.Patience)
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
