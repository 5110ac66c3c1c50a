package ssh

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"

	"juju/agent/host/atomicfile"
	"juju/agent/install"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/clouds"
	"juju/cmd/juju/sshhost"
	"juju/cmd/juju/store"
	"juju/state/entity"
	"juju/state/entity/sshkey"
	"juju/state/limits"
	"juju/state/modelconfig"
)

// sshUser is the default user.
const sshUser = install.User

// sshDir returns the directory with the host keys of a controller's machines.
func sshDir(st *store.Store, controller string) string {
	return filepath.Join(keysDir(st), controller)
}

func keysDir(st *store.Store) string { return filepath.Join(st.Dir(), "ssh") }

// clientKey is the file with this client's private key; the public one is in NAME.pub. Others that read the store, such as
// libjuju, know it by this name, and that it is an RSA key.
func clientKey(st *store.Store) string { return filepath.Join(keysDir(st), "juju_id_rsa") }

// keyBits is the size of the key.
const keyBits = 3072

// MakeKey returns this client's public key, and makes the key pair if there is none. Others that read the store need it even
// if no cloud does.
func MakeKey(ctx context.Context, st *store.Store) (line string, err error) {
	path := clientKey(st)
	text, err := os.ReadFile(path + ".pub")
	if errors.Is(err, fs.ErrNotExist) {
		// Of several commands only one makes it.
		err = st.Update(ctx, func(*store.Contents) (err error) {
			text, err = makeKey(path)
			return err
		})
	}
	if err != nil {
		return "", fmt.Errorf("cannot make an SSH key: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// makeKey makes what is missing of the key pair, and returns the public key. The public one is written last.
func makeKey(path string) (public []byte, err error) {
	if public, err = os.ReadFile(path + ".pub"); err == nil {
		return public, nil // made meanwhile
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		var key *rsa.PrivateKey
		if key, err = rsa.GenerateKey(rand.Reader, keyBits); err != nil {
			return nil, err
		}
		text = pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
		if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
			err = atomicfile.WriteFile(path, text, 0o600)
		}
	}
	if err != nil {
		return nil, err
	}
	signer, err := ssh.ParsePrivateKey(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	public = append(bytes.TrimSpace(ssh.MarshalAuthorizedKey(signer.PublicKey())), " juju-client-key\n"...)
	return public, atomicfile.WriteFile(path+".pub", public, 0o600)
}

// ownKeys are the file names of the user's private keys in ~/.ssh; the public ones are in NAME.pub.
var ownKeys = []string{"id_ed25519", "id_ecdsa", "id_rsa"}

// UserKeys are the user's keys and known hosts, in OpenSSH's locations.
func UserKeys(s *cli.Session) sshhost.Keys {
	dir := filepath.Join(s.Getenv("HOME"), ".ssh")
	k := sshhost.Keys{Agent: s.Getenv("SSH_AUTH_SOCK"), KnownHosts: []string{filepath.Join(dir, "known_hosts"),
		filepath.Join(dir, "known_hosts2"), "/etc/ssh/ssh_known_hosts"}}
	for _, name := range ownKeys {
		k.Defaults = append(k.Defaults, filepath.Join(dir, name))
	}
	return k
}

// authorizedKeys returns the given keys for a new model, with this client's key and the user's own added.
func authorizedKeys(s *cli.Session, line, given string) (string, error) {
	all, err := sshkey.ParseAll(given)
	if err != nil {
		return "", cli.Usage(fmt.Errorf("%s: %w", modelconfig.AuthorizedKeys, err))
	}
	text := line
	for _, name := range ownKeys {
		if own, err := os.ReadFile(filepath.Join(s.Getenv("HOME"), ".ssh", name+".pub")); err == nil {
			text += "\n" + string(own)
		}
	}
	known := map[string]bool{}
	for _, key := range all {
		known[key.Fingerprint] = true
	}
	for line := range strings.Lines(text) {
		// Ignore files without a valid key.
		if key, err := sshkey.Parse(line); err == nil && !known[key.Fingerprint] {
			known[key.Fingerprint] = true
			all = append(all, key)
		}
	}
	return sshkey.Join(all), nil
}

// WithKeys adds its creator's SSH keys to the settings of a new model, if the machines of the controller's cloud accept
// keys.
func WithKeys(ctx context.Context, s *cli.Session, st *store.Store, cloud string,
	config map[string]string) (map[string]string, error) {
	if !clouds.Of(cloud).TakesKeys() {
		return config, nil
	}
	line, err := MakeKey(ctx, st)
	if err != nil {
		return nil, err
	}
	keys, err := authorizedKeys(s, line, config[modelconfig.AuthorizedKeys])
	if err != nil {
		return nil, err
	}
	config = maps.Clone(config)
	if config == nil {
		config = map[string]string{}
	}
	config[modelconfig.AuthorizedKeys] = keys
	return config, nil
}

// Forget removes the host keys of a controller's machines, and this client's key with the last controller.
func Forget(st *store.Store, controller string) error {
	if err := os.RemoveAll(sshDir(st, controller)); err != nil {
		return err
	}
	c, err := st.Read()
	if err != nil {
		return err
	}
	if delete(c.Controllers, controller); len(c.Controllers) > 0 {
		return nil
	}
	return os.RemoveAll(keysDir(st))
}

// A remote is a machine that is reachable by SSH.
type remote struct {
	sshhost.Host
	// manual means that it is a user's host. It has no user created by juju, and does not accept the model's keys.
	manual bool
}

// login returns USER@HOST, or HOST to have ssh and scp choose the user.
func (r remote) login() string {
	if r.User == "" {
		return r.Host.String()
	}
	return r.User + "@" + r.Host.String()
}

// String returns the destination for ssh.
func (r remote) String() string {
	if r.Port == sshhost.DefaultPort {
		return r.login()
	}
	return "ssh://" + r.login()
}

// path returns a path on the machine, for scp.
func (r remote) path(path string) string {
	if r.Port != sshhost.DefaultPort {
		return "scp://" + r.login() + "/" + strings.ReplaceAll(path, "%", "%25")
	}
	if ip := net.ParseIP(r.Name); ip != nil && ip.To4() == nil {
		return strings.TrimSuffix(r.login(), r.Name) + "[" + r.Name + "]:" + path
	}
	return r.login() + ":" + path
}

// remoteOf resolves a target, and also returns its machine.
func remoteOf(status *entity.ModelStatus, target string) (r remote, machine string, err error) {
	user, name, named := strings.Cut(target, "@")
	if !named {
		user, name = sshUser, target
	}
	machine, instance, err := instanceOf(status, name)
	if err != nil {
		return r, "", err
	}
	machines := status.AllMachines()
	m := machines[slices.IndexFunc(machines, func(m entity.MachineStatus) bool { return m.ID == machine })]
	if entity.IsManualInstance(instance) {
		r, err := manualHost(m)
		if err != nil {
			return r, "", fmt.Errorf("cannot reach machine %s: %w", machine, err)
		}
		if named {
			r.User = user
		}
		return r, machine, nil
	}
	if len(m.Addresses) == 0 || net.ParseIP(m.Addresses[0]) == nil {
		return r, "", entity.WithHint(entity.Errorf(entity.NotFound, "machine %s has no address", machine),
			"Wait until its agent has started: juju status %s", machine)
	}
	return remote{Host: sshhost.Host{User: user, Name: m.Addresses[0], Port: sshhost.DefaultPort}}, machine, nil
}

// HostOf returns the host of a manual machine, with the user who added it.
func HostOf(m entity.MachineStatus) (sshhost.Host, error) {
	r, err := manualHost(m)
	return r.Host, err
}

// manualHost returns the host of a manual machine, as given by the user who added it.
func manualHost(m entity.MachineStatus) (remote, error) {
	text := m.SSH
	if text == "" {
		text = strings.TrimPrefix(m.InstanceID, entity.ManualInstance(""))
	}
	host, err := sshhost.ParseHost(text)
	if err != nil {
		return remote{}, err
	}
	// The host's address may have changed.
	if net.ParseIP(host.Name) != nil && len(m.Addresses) > 0 && !slices.Contains(m.Addresses, host.Name) {
		host.Name = m.Addresses[0]
	}
	return remote{host, true}, limits.CheckAddresses([]string{host.Name})
}

// remotes returns the machines of targets, by target, and the options for ssh and scp. Unless w says otherwise, machines
// must have the host keys that their agents have reported; a user's host can also have a key from the user's known hosts.
func remotes(ctx context.Context, s *cli.Session, api sshAPI, status *entity.ModelStatus, targets []string,
	w way) (map[string]remote, []string, error) {
	found, check := map[string]remote{}, !w.noChecks
	var known strings.Builder
	anyManual, anyOwn := false, false
	for _, target := range targets {
		r, machine, err := remoteOf(status, target)
		if err != nil {
			return nil, nil, err
		}
		found[target] = r
		anyManual, anyOwn = anyManual || r.manual, anyOwn || !r.manual
		if !check {
			continue
		}
		if err := writeKnown(ctx, api, &known, r, machine); err != nil {
			return nil, nil, err
		}
	}
	proxy, err := w.proxyFor(ctx, s, api, &known)
	if err != nil {
		return nil, nil, err
	}
	st, t, err := s.ReadModelTarget()
	if err != nil {
		return nil, nil, err
	}
	options := []string{"-o", "PasswordAuthentication=no", "-o", "ServerAliveInterval=30"}
	own := UserKeys(s)
	if check {
		// One file for each set of machines, since several commands may run at once.
		file := filepath.Join(sshDir(st, t.Name), "known_hosts-"+strings.NewReplacer("/", "-", "@", "-").Replace(
			strings.Join(append([]string{t.Controller.Models[t.Model]}, targets...), "-")))
		if proxy != "" {
			file += "-proxy"
		}
		err := os.MkdirAll(filepath.Dir(file), 0o700)
		if err == nil {
			err = atomicfile.WriteFile(file, []byte(known.String()), 0o600)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("cannot write the machines' host keys: %w", err)
		}
		files := quoteOption(file)
		if anyManual {
			for _, file := range own.KnownHosts {
				files += " " + quoteOption(file)
			}
		}
		options = append(options, "-o", "StrictHostKeyChecking=yes", "-o", "UserKnownHostsFile="+files,
			"-o", "GlobalKnownHostsFile=/dev/null")
	} else {
		options = append(options, "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
			"-o", "LogLevel=ERROR")
	}
	if key := clientKey(st); (anyOwn || proxy != "") && isFile(key) {
		options = append(options, identity(key)...)
	}
	for _, key := range own.Defaults { // ssh does not try these if another key is given
		if anyManual && isFile(key) {
			options = append(options, identity(key)...)
		}
	}
	if proxy != "" {
		options = append(options, "-o", "ProxyCommand="+proxyCommand(options, proxy))
	}
	return found, options, nil
}

// writeKnown adds the host keys that a machine's agent has reported to a known_hosts file.
func writeKnown(ctx context.Context, api sshAPI, known *strings.Builder, r remote, machine string) error {
	keys, err := api.HostKeys(ctx, entity.MachineTag(machine))
	if err != nil && !(r.manual && errors.Is(err, entity.NotFound)) {
		return cli.AlsoHint(fmt.Errorf("cannot verify that %s is machine %s: %w", r.Name, machine, err),
			"To connect without verification: --no-host-key-checks")
	}
	for _, line := range keys {
		key, err := sshkey.Parse(line)
		if err != nil {
			return fmt.Errorf("cannot use the host keys of machine %s: %w", machine, err)
		}
		fmt.Fprintf(known, "%s %s\n", r.KnownAs(), key.Line)
	}
	return nil
}

// quoteOption quotes a path in an ssh option that is a list, and in which ssh replaces what begins with %.
func quoteOption(path string) string { return `"` + strings.ReplaceAll(path, "%", "%%") + `"` }

// identity is -i, but for paths with a % too: of -i, ssh looks for the path as it is, and replaces what begins with % later.
func identity(key string) []string { return []string{"-o", "IdentityFile=" + quoteOption(key)} }

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
