package sshhost

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"juju/state/entity"
)

// Keys are the user's keys and known hosts.
type Keys struct {
	// File is the one key to use; "" for those of Agent and Defaults.
	File string
	// Agent is the socket of ssh-agent; "" for none.
	Agent string
	// Defaults are files that may have keys.
	Defaults []string
	// KnownHosts are files in OpenSSH's format; those that don't exist are ignored.
	KnownHosts []string
}

// maxKeyFile is the maximum size of a key's file.
const maxKeyFile = 1 << 20

// signers are the usable keys.
type signers struct {
	all     []ssh.Signer
	from    []string // their sources
	skipped error    // why other keys can't be used
	agent   net.Conn
}

func (s *signers) list() ([]ssh.Signer, error) { return s.all, nil }

// names lists the sources of the keys.
func (s *signers) names() string {
	if len(s.from) == 0 {
		return "there are none"
	}
	return strings.Join(s.from, ", ")
}

func (s *signers) close() {
	if s.agent != nil {
		s.agent.Close()
	}
}

func (k Keys) open(ctx context.Context) (*signers, error) {
	s := &signers{}
	if k.File != "" {
		key, err := readKey(k.File)
		if err != nil {
			return nil, err
		}
		s.all, s.from = []ssh.Signer{key}, []string{k.File}
		return s, nil
	}
	if k.Agent != "" {
		s.openAgent(ctx, k.Agent)
	}
	for _, path := range k.Defaults {
		key, err := readKey(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			s.skipped = errors.Join(s.skipped, err)
		default:
			s.all, s.from = append(s.all, key), append(s.from, path)
		}
	}
	if len(s.all) == 0 {
		s.close()
		return nil, entity.WithHint(errors.Join(entity.Errorf(entity.Unauthorized, "you have no SSH key"), s.skipped),
			"Create one with ssh-keygen, or specify one: --private-key FILE")
	}
	return s, nil
}

// openAgent adds the keys of ssh-agent. The connection to it stays open for signing.
func (s *signers) openAgent(ctx context.Context, socket string) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		s.skipped = fmt.Errorf("cannot use ssh-agent: %w", err)
		return
	}
	if deadline, ok := ctx.Deadline(); ok {
		conn.SetDeadline(deadline)
	}
	s.agent = conn
	keys, err := agent.NewClient(conn).Signers()
	if err != nil {
		s.skipped = fmt.Errorf("cannot use ssh-agent: %w", err)
		return
	}
	if len(keys) > 0 {
		s.all, s.from = append(s.all, keys...), append(s.from, fmt.Sprintf("%d of ssh-agent", len(keys)))
	}
}

func readKey(path string) (ssh.Signer, error) {
	info, err := os.Stat(path)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxKeyFile) {
		err = errors.New("it is not a key file")
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the key %s: %w", path, err)
	}
	key, err := ssh.ParsePrivateKey(text)
	var missing *ssh.PassphraseMissingError
	if errors.As(err, &missing) {
		return nil, entity.WithHint(fmt.Errorf("cannot use the key %s: it is encrypted", path),
			"To add it to ssh-agent: ssh-add %s", path)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot use the key %s: %w", path, err)
	}
	return key, nil
}
