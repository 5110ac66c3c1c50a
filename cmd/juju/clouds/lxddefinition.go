package clouds

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"juju/charm/safeyaml"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/cloudfiles"
	"juju/provider/lxd"
	"juju/state/entity"
)

// lxdConfigKeys are what the config of a user's LXD can have: what bootstrap's --cloud-config has, too.
var lxdConfigKeys = []string{"project", "profiles", "network", "pool", "image-server"}

// lxd returns how a controller reaches LXD.
func (d Definition) lxd() (lxd.Config, error) {
	config, err := lxdConfigOf(d.Cloud.Config)
	config.Endpoint = d.Region.Endpoint
	remote, err2 := lxd.CheckEndpoint(config.Endpoint)
	if err = errors.Join(err, err2); err != nil || !remote {
		return config, err
	}
	if d.Credential.AuthType != entity.AuthCertificate {
		return config, entity.Errorf(entity.Invalid, "LXD at %s needs a credential of auth-type %s", config.Endpoint,
			entity.AuthCertificate)
	}
	config.SetCredential(d.Credential)
	return config, nil
}

func lxdConfigOf(config map[string]any) (lxd.Config, error) {
	for _, key := range slices.Sorted(maps.Keys(config)) {
		if !slices.Contains(lxdConfigKeys, key) {
			return lxd.Config{}, entity.WithHint(entity.Errorf(entity.Invalid, "unknown key %q in config", key), "It can have: %s",
				strings.Join(lxdConfigKeys, ", "))
		}
	}
	text, err := safeyaml.Marshal(config, 4)
	if err != nil {
		return lxd.Config{}, err
	}
	return lxd.ParseConfig(text)
}

// CheckDefinition implements Home.
func (lxdCloud) CheckDefinition(c cloudfiles.Cloud) (types []string, err error) {
	if _, err := lxdConfigOf(c.Config); err != nil {
		return nil, err
	}
	if len(c.Regions) == 0 {
		c.Regions = cloudfiles.Regions{{}}
	}
	for _, r := range c.Regions {
		one := entity.AuthEmpty
		remote, err := lxd.CheckEndpoint(cmp.Or(r.Endpoint, c.Endpoint))
		if err != nil {
			return nil, err
		}
		if remote {
			one = entity.AuthCertificate
		}
		if !slices.Contains(types, one) {
			types = append(types, one)
		}
	}
	return types, nil
}

// maxPEM is the maximum size of a file with a certificate or key.
const maxPEM = 64 << 10

// CheckCredential implements Home.
func (lxdCloud) CheckCredential(_ cloudfiles.Cloud, one *entity.CloudCredential) error {
	if one.AuthType == entity.AuthEmpty {
		return checkAttributes(*one)
	}
	if err := checkAttributes(*one, lxd.ClientCert, lxd.ClientKey, lxd.ServerCert); err != nil {
		return err
	}
	attributes := maps.Clone(one.Attributes)
	for _, key := range slices.Sorted(maps.Keys(attributes)) { // in order, so that the same mistake gets the same error
		path := strings.TrimSpace(attributes[key])
		if path == "" || strings.HasPrefix(path, "-----BEGIN") || strings.Contains(path, "\n") {
			continue
		}
		if home, err := os.UserHomeDir(); err == nil && strings.HasPrefix(path, "~/") {
			path = filepath.Join(home, path[2:])
		}
		text, err := cli.ReadWhole(path, maxPEM)
		if err != nil {
			return entity.Errorf(entity.Invalid, "%s is neither PEM nor a file: %w", key, err)
		}
		attributes[key] = string(text)
	}
	for _, key := range []string{lxd.ClientCert, lxd.ClientKey} {
		if attributes[key] == "" {
			return entity.Errorf(entity.Invalid, "the credential has no %s", key)
		}
	}
	one.Attributes = attributes
	var config lxd.Config
	config.SetCredential(*one)
	return config.CheckCertificates()
}

// Questions implements Home.
func (lxdCloud) Questions() Questions {
	return Questions{"Enter the endpoint of the LXD, https://HOST:PORT [this host's]", []Attribute{
		{lxd.ClientCert, "Enter the path of the client's certificate"}, {lxd.ClientKey, "Enter the path of the client's key"},
		{lxd.ServerCert, "Enter the path of the server's certificate [a known authority's]"}}}
}

// FindCredentials implements Home: lxc has a client's certificate for all LXDs that it knows, and the certificates of
// these.
func (lxdCloud) FindCredentials(c cloudfiles.Cloud,
	getenv func(string) string) (map[string]entity.CloudCredential, error) {
	found := map[string]entity.CloudCredential{}
	for _, dir := range lxcDirs(getenv) {
		remotes, err := lxcRemotes(dir)
		if err != nil {
			return nil, err
		}
		for name, address := range remotes {
			known := slices.ContainsFunc(append(c.Regions, cloudfiles.Region{}), func(r cloudfiles.Region) bool {
				return strings.TrimRight(cmp.Or(r.Endpoint, c.Endpoint), "/") == strings.TrimRight(address, "/")
			})
			if !known || found[name].AuthType != "" || cloudfiles.CheckName("credential", name) != nil {
				continue
			}
			one := entity.CloudCredential{AuthType: entity.AuthCertificate, Attributes: map[string]string{
				lxd.ClientCert: filepath.Join(dir, "client.crt"), lxd.ClientKey: filepath.Join(dir, "client.key")}}
			server := filepath.Join(dir, "servercerts", name+".crt")
			if _, err := os.Stat(server); err == nil { // else an authority that this host trusts has signed it
				one.Attributes[lxd.ServerCert] = server
			}
			if err := (lxdCloud{}).CheckCredential(c, &one); err != nil {
				return nil, fmt.Errorf("cannot use what lxc has in %s: %w", dir, err)
			}
			found[name] = one
		}
	}
	return found, nil
}

// lxcDirs returns the directories in which lxc may have its configuration.
func lxcDirs(getenv func(string) string) []string {
	if dir := getenv("LXD_CONF"); dir != "" {
		return []string{dir}
	}
	home := getenv("HOME")
	if home == "" {
		return nil
	}
	return []string{filepath.Join(home, "snap/lxd/common/config"), filepath.Join(home, ".config/lxc")}
}

// lxcRemotes returns the addresses of the LXDs that lxc knows, by their names there.
func lxcRemotes(dir string) (map[string]string, error) {
	path := filepath.Join(dir, "config.yml")
	text, err := cli.ReadWhole(path, maxCloudConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var config struct {
		Remotes map[string]struct {
			Addr string `yaml:"addr"`
		} `yaml:"remotes"`
	}
	if err == nil {
		err = safeyaml.Unmarshal(text, &config, safeyaml.Default)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", path, err)
	}
	remotes := map[string]string{}
	for name, one := range config.Remotes {
		if strings.HasPrefix(one.Addr, "https://") {
			remotes[name] = one.Addr
		}
	}
	return remotes, nil
}

// SetCredential implements Home.
func (lxdCloud) SetCredential(dir string, one entity.CloudCredential) error {
	record, err := readLXDRecord(dir)
	if errors.Is(err, fs.ErrNotExist) { // another client bootstrapped the controller
		return nil
	} else if err != nil {
		return err
	}
	record.LXD.SetCredential(one)
	return record.write(dir)
}
