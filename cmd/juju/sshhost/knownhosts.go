package sshhost

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"slices"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"juju/state/entity"
)

// knownHost checks the key of one host.
type knownHost struct {
	host     Host
	callback ssh.HostKeyCallback // nil if there is no known_hosts file
	accepted bool
	rejected error // why the host's key was rejected
}

// readKnownHosts reads the files that exist.
func readKnownHosts(files []string, h Host) (*knownHost, error) {
	k := &knownHost{host: h}
	existing := slices.DeleteFunc(slices.Clone(files), func(path string) bool {
		_, err := os.Stat(path)
		return errors.Is(err, fs.ErrNotExist)
	})
	if len(existing) == 0 {
		return k, nil
	}
	var err error
	if k.callback, err = knownhosts.New(existing...); err != nil {
		return nil, fmt.Errorf("cannot read the keys of known hosts: %w", err)
	}
	return k, nil
}

// check is an ssh.HostKeyCallback.
func (k *knownHost) check(address string, remote net.Addr, key ssh.PublicKey) error {
	k.rejected = k.judge(address, remote, key)
	k.accepted = k.rejected == nil
	return k.rejected
}

func (k *knownHost) judge(address string, remote net.Addr, key ssh.PublicKey) error {
	var err error = &knownhosts.KeyError{}
	if k.callback != nil {
		err = k.callback(address, remote, key)
	}
	var wrong *knownhosts.KeyError
	switch {
	case err == nil || !errors.As(err, &wrong):
		return err // nil, or a key that is revoked
	case len(wrong.Want) == 0:
		return entity.WithHint(entity.Errorf(entity.Unauthorized, "its host key is not known: %s %s", key.Type(),
			ssh.FingerprintSHA256(key)),
			"To add it, connect manually and compare the fingerprint with the host's: ssh %s%s@%s",
			portFlag(k.host), k.host.User,
			k.host.Name)
	}
	known := wrong.Want[0]
	return entity.WithHint(entity.Errorf(entity.Unauthorized, "THE HOST KEY HAS CHANGED: it is %s %s, and %s:%d has "+
		"another. Someone may be intercepting the connection", key.Type(), ssh.FingerprintSHA256(key),
		known.Filename, known.Line),
		"If the host was reinstalled, remove its old key: ssh-keygen -R %s", k.host.KnownAs())
}

// algorithms returns the algorithms of the host's known keys, so that the host presents one of them; nil for any.
func (k *knownHost) algorithms() []string {
	if k.callback == nil {
		return nil
	}
	var wrong *knownhosts.KeyError
	if err := k.callback(k.host.address(), &net.TCPAddr{IP: net.IPv4zero}, noKey{}); !errors.As(err, &wrong) {
		return nil
	}
	var all []string
	for _, want := range wrong.Want {
		switch kind := want.Key.Type(); kind {
		case ssh.KeyAlgoRSA:
			all = append(all, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256)
		default:
			all = append(all, kind)
		}
	}
	return all
}

// noKey is a key that no host has.
type noKey struct{}

func (noKey) Type() string                        { return "none" }
func (noKey) Marshal() []byte                     { return []byte("none") }
func (noKey) Verify([]byte, *ssh.Signature) error { return errors.New("no key") }
