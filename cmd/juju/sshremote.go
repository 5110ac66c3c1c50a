package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/crypto/ssh"

	"juju/cmd/juju/store"
	"juju/provider/cloudinit"
	"juju/provider/process"
	"juju/state/entity"
	"juju/state/entity/sshkey"
)

// sshUser is whom one logs in as, unless the target says otherwise.
const sshUser = cloudinit.User

// sshDir returns the directory with what SSH needs for a controller's machines: a key of this
// client's, if it created the controller, and the keys of the machines.
func sshDir(st *store.Store, controller string) string {
	return filepath.Join(st.Dir(), "ssh", controller)
}

// clientKeyName is the file in sshDir with this client's private key; the public one is in NAME.pub.
const clientKeyName = "juju_id_ed25519"

// clientKey makes this client's key for a controller, unless it is there, and returns the public one.
func clientKey(st *store.Store, controller string) (string, error) {
	path := filepath.Join(sshDir(st, controller), clientKeyName)
	text, err := os.ReadFile(path + ".pub")
	if err == nil {
		return strings.TrimSpace(string(text)), nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return "", err
	}
	block, err := ssh.MarshalPrivateKey(private, "juju-client-key")
	if err != nil {
		return "", err
	}
	sshPublic, err := ssh.NewPublicKey(public)
	if err != nil {
		return "", err
	}
	line := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(sshPublic))) + " juju-client-key"
	err = os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = process.WriteFile(path, pem.EncodeToMemory(block))
	}
	if err == nil {
		err = process.WriteFile(path+".pub", []byte(line+"\n"))
	}
	if err != nil {
		return "", fmt.Errorf("cannot make an SSH key: %w", err)
	}
	return line, nil
}

// ownKeys are the names of the user's private keys in ~/.ssh; the public ones are in NAME.pub.
var ownKeys = []string{"id_ed25519", "id_ecdsa", "id_rsa"}

// authorizedKeys returns given, the keys that a new model is to have, with this client's key and the
// user's own.
func (s *session) authorizedKeys(st *store.Store, controller, given string) (string, error) {
	all, err := sshkey.ParseAll(given)
	if err != nil {
		return "", usageError{fmt.Errorf("%s: %w", entity.ConfigKeys, err)}
	}
	line, err := clientKey(st, controller)
	if err != nil {
		return "", err
	}
	text := line
	for _, name := range ownKeys {
		if own, err := os.ReadFile(filepath.Join(s.getenv("HOME"), ".ssh", name+".pub")); err == nil {
			text += "\n" + string(own)
		}
	}
	known := map[string]bool{}
	for _, key := range all {
		known[key.Fingerprint] = true
	}
	for line := range strings.Lines(text) {
		// A file that has no key in it is the user's own business.
		if key, err := sshkey.Parse(line); err == nil && !known[key.Fingerprint] {
			known[key.Fingerprint] = true
			all = append(all, key)
		}
	}
	return sshkey.Join(all), nil
}

// withKeys returns the settings of a new model with the SSH keys of its creator, if the machines of the
// controller's cloud take keys and this client created the controller.
func (s *session) withKeys(st *store.Store, cloud, controller string, config map[string]string) (map[string]string, error) {
	if _, ok := homes[cloud]; !ok || cloud == localCloud {
		return config, nil
	}
	keys, err := s.authorizedKeys(st, controller, config[entity.ConfigKeys])
	if err != nil {
		return nil, err
	}
	config = maps.Clone(config)
	if config == nil {
		config = map[string]string{}
	}
	config[entity.ConfigKeys] = keys
	return config, nil
}

// forgetSSH removes what SSH needed for a controller's machines.
func forgetSSH(st *store.Store, controller string) error {
	if err := os.RemoveAll(sshDir(st, controller)); err != nil {
		return err
	}
	_ = os.Remove(filepath.Join(st.Dir(), "ssh")) // if it was the last
	return nil
}

// A remote is a machine that is reached by SSH.
type remote struct {
	user, address string
}

func (r remote) String() string { return r.user + "@" + r.address }

// path returns a path on the machine, for scp.
func (r remote) path(path string) string {
	if ip := net.ParseIP(r.address); ip != nil && ip.To4() == nil {
		return r.user + "@[" + r.address + "]:" + path
	}
	return r.String() + ":" + path
}

// remotes returns the machines of targets, by target, and the options with which ssh and scp reach
// them. check says that they must have the keys that their agents have reported.
func (s *session) remotes(ctx context.Context, api modelAPI, status *entity.ModelStatus, targets []string,
	check bool) (map[string]remote, []string, error) {
	addresses := map[string]string{}
	for _, m := range status.AllMachines() {
		if len(m.Addresses) > 0 {
			addresses[m.ID] = m.Addresses[0]
		}
	}
	found := map[string]remote{}
	var known strings.Builder
	for _, target := range targets {
		user, name, named := strings.Cut(target, "@")
		if !named {
			user, name = sshUser, target
		}
		machine, instance, err := instanceOf(status, name)
		if err != nil {
			return nil, nil, err
		}
		if entity.IsManualInstance(instance) {
			return nil, nil, entity.WithHint(entity.Errorf(entity.NotSupported, "machine %s is a host of a user's, on which "+
				"users and SSH keys are left alone", machine),
				"Use ssh itself: ssh %s", strings.TrimPrefix(instance, entity.ManualInstance("")))
		}
		r := remote{user, addresses[machine]}
		if net.ParseIP(r.address) == nil {
			return nil, nil, entity.WithHint(entity.Errorf(entity.NotFound, "machine %s has no address", machine),
				"Wait until its agent has started: juju status %s", machine)
		}
		found[target] = r
		if !check {
			continue
		}
		keys, err := api.HostKeys(ctx, entity.MachineTag(machine))
		if err != nil {
			return nil, nil, alsoHint(fmt.Errorf("cannot tell whether %s is machine %s: %w", r.address, machine, err),
				"To connect without that: --no-host-key-checks")
		}
		for _, line := range keys {
			key, err := sshkey.Parse(line)
			if err != nil {
				return nil, nil, fmt.Errorf("cannot use the keys of machine %s: %w", machine, err)
			}
			fmt.Fprintf(&known, "%s %s\n", r.address, key.Line)
		}
	}
	st, err := s.store()
	if err != nil {
		return nil, nil, err
	}
	contents, err := st.Read()
	if err != nil {
		return nil, nil, err
	}
	t, err := s.target(contents)
	if err != nil {
		return nil, nil, err
	}
	options := []string{"-o", "PasswordAuthentication=no", "-o", "ServerAliveInterval=30"}
	if check {
		// One file for each set of machines, since several commands may run at once.
		file := filepath.Join(sshDir(st, t.name), "known_hosts-"+strings.NewReplacer("/", "-", "@", "-").Replace(
			strings.Join(append([]string{t.ctrl.Models[t.model]}, targets...), "-")))
		err := os.MkdirAll(filepath.Dir(file), 0o700)
		if err == nil {
			err = process.WriteFile(file, []byte(known.String()))
		}
		if err != nil {
			return nil, nil, fmt.Errorf("cannot write the keys of machines: %w", err)
		}
		options = append(options, "-o", "StrictHostKeyChecking=yes", "-o", "UserKnownHostsFile="+quoteOption(file),
			"-o", "GlobalKnownHostsFile=/dev/null")
	} else {
		options = append(options, "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR")
	}
	if key := filepath.Join(sshDir(st, t.name), clientKeyName); isFile(key) {
		options = append(options, "-i", key)
	}
	return found, options, nil
}

// quoteOption quotes the value of an option of ssh that is a list of words.
func quoteOption(value string) string { return `"` + value + `"` }

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
