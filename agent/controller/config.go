package controller

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"juju/agent/host/atomicfile"
	"juju/apiserver"
	"juju/provider/lxd"
)

// configName is the file with a controller's configuration. Only its owner can read it.
const configName = "controller.conf"

// A config is what a controller must know before it can open its store.
type config struct {
	Controller string `json:"controller"` // UUID
	Cloud      string `json:"cloud"`
	Series     string `json:"series"`
	Address    string `json:"address"` // where the API listens, host:port
	// Addresses are the API's addresses for agents and clients, best first; if empty, Address is used.
	Addresses []string          `json:"addresses,omitempty"`
	CA        apiserver.KeyPair `json:"ca"`
	Server    apiserver.KeyPair `json:"server"`
	Model     string            `json:"model"`    // UUID of the controller's own model
	Password  string            `json:"password"` // of machine 0 of that model
	// LXD is how the cloud lxd is reached; nil on another cloud.
	LXD *lxd.Config `json:"lxd,omitempty"`
}

// addresses returns the API's addresses for agents and clients.
func (c config) addresses() []string {
	if len(c.Addresses) == 0 {
		return []string{c.Address}
	}
	return c.Addresses
}

// hosts returns the hosts of the API's addresses.
func (c config) hosts() ([]string, error) {
	var hosts []string
	for _, address := range c.addresses() {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		hosts = append(hosts, host)
	}
	return hosts, nil
}

func readConfig(dir string) (config, error) {
	var c config
	text, err := os.ReadFile(filepath.Join(dir, configName))
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		return c, fmt.Errorf("cannot read the controller's configuration: %w", err)
	}
	return c, nil
}

func (c config) write(dir string) error {
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	if err := atomicfile.WriteFile(filepath.Join(dir, configName), text, 0o600); err != nil {
		return fmt.Errorf("cannot write the controller's configuration: %w", err)
	}
	return nil
}
