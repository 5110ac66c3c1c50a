package lxd

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"

	"gopkg.in/yaml.v3"

	"juju/state/entity"
)

// ParseConfig reads a Config as users write it, in YAML. The error is Invalid if a key is not known.
// New checks the values.
func ParseConfig(text []byte) (Config, error) {
	var config Config
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&config); err != nil && !errors.Is(err, io.EOF) {
		return Config{}, entity.WithHint(entity.Errorf(entity.Invalid, "cannot read the configuration of LXD: %w", err),
			"It can have: endpoint, client-cert, client-key, server-cert, project, profiles, network, pool, image-server")
	}
	return config, nil
}

// socketPaths are where LXD has its socket, by how it was installed.
var socketPaths = []string{"/var/snap/lxd/common/lxd/unix.socket", "/var/lib/lxd/unix.socket"}

// hostSocket returns the path of the socket of this host's LXD, "" if there is none. LXD's own
// variables can name one.
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
