package lxd

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"juju/charm/safeyaml"
	"juju/state/entity"
)

// configKeys are the valid keys of a Config.
var configKeys = []string{"endpoint", "client-cert", "client-key", "server-cert", "project", "profiles", "network",
	"pool", "image-server"}

// ParseConfig parses a Config in YAML. The error is Invalid for unknown keys. New checks the values.
func ParseConfig(text []byte) (Config, error) {
	config, err := parseConfig(text)
	if err != nil {
		return Config{}, entity.WithHint(entity.Errorf(entity.Invalid, "cannot read the configuration of LXD: %w", err),
			"It can have: %s", strings.Join(configKeys, ", "))
	}
	return config, nil
}

func parseConfig(text []byte) (config Config, err error) {
	root, err := safeyaml.Parse(text, safeyaml.Default)
	if err != nil || root == nil {
		return config, err
	}
	if root.Kind != yaml.MappingNode {
		return config, entity.Errorf(entity.Invalid, "line %d: it is not a map", root.Line)
	}
	for i := 0; i < len(root.Content); i += 2 {
		if key := root.Content[i]; !slices.Contains(configKeys, key.Value) {
			return config, entity.Errorf(entity.Invalid, "line %d: unknown key %q", key.Line, key.Value)
		}
	}
	return config, root.Decode(&config)
}

// CheckEndpoint rejects an endpoint at which a controller in a container can't reach LXD. It does not contact it. remote
// reports whether a certificate is needed there.
func CheckEndpoint(endpoint string) (remote bool, err error) {
	if endpoint == "" {
		return false, nil
	}
	host, err := hostOf(endpoint)
	if err != nil || host == "" {
		return false, err
	}
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if ip := net.ParseIP(strings.Trim(host, "[]")); host == "localhost" || ip != nil &&
		(ip.IsLoopback() || ip.IsUnspecified()) {
		return true, entity.WithHint(entity.Errorf(entity.Invalid,
			"the controller, in a container, can't reach %q", endpoint),
			"Name an address of the LXD host that its containers can reach. For this host's LXD, no endpoint is needed.")
	}
	return true, nil
}

// CheckCertificates rejects certificates and a key that can't be used. It does not contact LXD.
func (c Config) CheckCertificates() error {
	_, err := tlsConfig(c)
	return err
}

// socketPaths are the paths of LXD's socket: as a snap, and otherwise.
var socketPaths = []string{"/var/snap/lxd/common/lxd/unix.socket", "/var/lib/lxd/unix.socket"}

// hostSocket returns the socket path of this host's LXD, or "". LXD's environment variables override
// the defaults.
func hostSocket() string {
	if path := os.Getenv("LXD_SOCKET"); path != "" {
		return path
	}
	if dir := os.Getenv("LXD_DIR"); dir != "" {
		return filepath.Join(dir, "unix.socket")
	}
	for _, path := range socketPaths {
		if info, err := os.Stat(path); err == nil && info.Mode().Type() == os.ModeSocket {
			return path
		}
	}
	return ""
}
