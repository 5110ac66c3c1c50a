package controller

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"juju/agent/controller/clouds"
	"juju/agent/host/atomicfile"
	"juju/apiserver"
	"juju/state/entity"
)

// configName is the file with a controller's configuration. Only its owner can read it.
const configName = "controller.conf"

// A config is what a controller must know before it can open its store.
type config struct {
	Controller string `json:"controller"` // UUID
	Cloud      string `json:"cloud"`      // its kind
	// CloudName, Region and CredentialName are those of BootstrapParams.
	CloudName      string `json:"cloud-name,omitempty"`
	Region         string `json:"region,omitempty"`
	CredentialName string `json:"credential-name,omitempty"`

	Series  string `json:"series"`
	Address string `json:"address"` // where the API listens, host:port
	// Addresses are the API's addresses for agents and clients, best first; if empty, Address is used.
	Addresses []string          `json:"addresses,omitempty"`
	CA        apiserver.KeyPair `json:"ca"`
	Server    apiserver.KeyPair `json:"server"`
	Model     string            `json:"model"`    // UUID of the controller's own model
	Password  string            `json:"password"` // of the controller's machine in that model
	// Machine is that machine, and Nonce its nonce; "" for machine 0, which bootstrap starts.
	Machine string `json:"machine,omitempty"`
	Nonce   string `json:"nonce,omitempty"`
	// MongoURL is the URL of the store's MongoDB, unless mongo.conf has it.
	MongoURL string `json:"mongo-url,omitempty"`
	// LogFormat is the format of the logs of controllers and agents.
	LogFormat entity.LogFormat `json:"log-format,omitempty"`
	// Tracing says where controllers and agents send traces.
	Tracing entity.Tracing `json:"tracing,omitzero"`
	// SecretKey seals the content of secrets, as sealing.Key.Text returns it. If it is replaceSecretKey, a new one is made.
	SecretKey string `json:"secret-key,omitempty"`
	// Restored means that the controller was restored from a backup.
	Restored bool `json:"restored,omitempty"`
	clouds.Access
}

// kind returns the controller's cloud.
func (c config) kind() clouds.Kind { return clouds.Of(c.Cloud) }

// machine returns the id of the controller's machine in its own model.
func (c config) machine() string { return cmp.Or(c.Machine, "0") }

// nonce returns the nonce of that machine.
func (c config) nonce() string { return cmp.Or(c.Nonce, entity.BootstrapInstance) }

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

// listenOn makes the API listen at all addresses of its machine, which are those of hosts, best first.
func (c *config) listenOn(hosts []string) {
	c.Address, c.Addresses = net.JoinHostPort("", apiPort), nil
	for _, host := range hosts {
		c.Addresses = append(c.Addresses, net.JoinHostPort(host, apiPort))
	}
}

// ofNode returns the configuration of another controller with the same store, on a machine of this one's model.
func (c config) ofNode(machine, password, nonce, mongoURL string) config {
	c.Address, c.Addresses, c.Server = "", nil, apiserver.KeyPair{}
	c.Machine, c.Password, c.Nonce, c.MongoURL = machine, password, nonce, mongoURL
	return c
}

// settings returns the settings that users see, chosen at bootstrap.
func (c config) settings() map[string]any {
	shown := map[string]any{"ca-cert": c.CA.Cert}
	if _, text, err := net.SplitHostPort(c.addresses()[0]); err == nil {
		if n, err := strconv.Atoi(text); err == nil {
			shown["api-port"] = n
		}
	}
	maps.Copy(shown, c.Tracing.Settings())
	return shown
}

// cloudSpec returns how to use the cloud.
func (c config) cloudSpec() entity.CloudSpec {
	one := c.kind().Credential(c.Access)
	return entity.CloudSpec{Type: c.Cloud, Name: cmp.Or(c.CloudName, c.Cloud), Region: cmp.Or(c.Region, entity.CloudRegion),
		IsControllerCloud: true, Credential: &one, Endpoint: c.kind().Endpoint(c.Access)}
}

// complete chooses where a controller that bootstrap did not start listens, and makes its certificate. host is the
// address of its machine on a cloud whose machines share the host.
func (c *config) complete(host string) error {
	if c.Address != "" {
		return nil
	}
	hosts := []string{host}
	if !c.kind().Machines().ShareHost {
		var err error
		if hosts, err = ownHosts(); err != nil {
			return err
		}
		host = ""
	} else if host == "" { // it would listen at all addresses
		return entity.Errorf(entity.Invalid, "cannot run the controller: the address of its machine is not known")
	}
	c.Address = net.JoinHostPort(host, apiPort)
	for _, host := range hosts {
		c.Addresses = append(c.Addresses, net.JoinHostPort(host, apiPort))
	}
	var err error
	c.Server, err = apiserver.NewServerCert(c.CA, hosts, time.Now())
	return err
}

// ownHosts returns the addresses of this host that others can reach, IPv4 first.
func ownHosts() (hosts []string, err error) {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("cannot list the addresses of this host: %w", err)
	}
	var v6 []string
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); !ok || !n.IP.IsGlobalUnicast() {
			continue
		} else if n.IP.To4() != nil {
			hosts = append(hosts, n.IP.String())
		} else {
			v6 = append(v6, n.IP.String())
		}
	}
	if hosts = append(hosts, v6...); len(hosts) == 0 {
		return nil, entity.Errorf(entity.Unavailable, "cannot run the controller: this host has no address yet")
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

func (c config) marshal() ([]byte, error) { return json.MarshalIndent(c, "", "  ") }

func (c config) write(dir string) error {
	text, err := c.marshal()
	if err != nil {
		return err
	}
	if err := atomicfile.WriteFile(filepath.Join(dir, configName), text, 0o600); err != nil {
		return fmt.Errorf("cannot write the controller's configuration: %w", err)
	}
	return nil
}
