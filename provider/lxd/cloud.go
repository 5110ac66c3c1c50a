package lxd

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/canonical/lxd/shared/api"
	"github.com/juju/loggo"

	"juju/provider"
	"juju/state/entity"
)

var logger = loggo.GetLogger("juju.provider.lxd")

// Machines is what the instances are.
var Machines = provider.Machines{OwnHost: true}

// Config configures a Cloud. Users write it as YAML or JSON.
type Config struct {
	// Endpoint is the path of LXD's unix socket, or "https://HOST:PORT"; "" for the socket of this host.
	Endpoint string `yaml:"endpoint" json:"endpoint"`
	// HostSocket is the path of that socket on the host, if Endpoint is what is passed into a container.
	HostSocket string `yaml:"-" json:"host-socket,omitempty"`
	ClientCert string `yaml:"client-cert" json:"client-cert,omitempty"` // PEM; for https
	ClientKey  string `yaml:"client-key" json:"client-key,omitempty"`   // PEM; for https
	// ServerCert is the only server certificate to accept, in PEM; "" to accept those signed by a CA that
	// this host trusts.
	ServerCert string `yaml:"server-cert" json:"server-cert,omitempty"`
	Controller string `yaml:"-" json:"-"` // UUID

	Project  string   `yaml:"project" json:"project,omitempty"`   // LXD's; "" for the default project
	Profiles []string `yaml:"profiles" json:"profiles,omitempty"` // of containers; none for "default"
	Network  string   `yaml:"network" json:"network,omitempty"`   // of containers; "" for the profiles' network
	// Pool is the pool for root disks and storage; "" for the pool of the profiles' root disk.
	Pool string `yaml:"pool" json:"pool,omitempty"`
	// ImageServer is the URL of a simplestreams server from which LXD copies missing images; "" for none.
	ImageServer string `yaml:"image-server" json:"image-server,omitempty"`
	// AddressWait is how long StartInstance waits for a container's address; 0 for two minutes, which
	// allows for a busy host. Without an address, the container still counts as started.
	AddressWait time.Duration `yaml:"-" json:"-"`
}

// Cloud manages one controller's resources on a server. Its methods are safe for concurrent use.
type Cloud struct {
	config Config
	client *client
	busy   provider.KeyedMutex // instances being started, changed or stopped, ACLs, profiles and images

	reporter Reporter // nil for none

	mu   sync.Mutex
	info *api.Server    // nil until fetched
	held map[string]int // how many calls are about to give a profile to a container
}

// New returns the cloud of one controller. It does not contact the server. The error is Invalid if the
// configuration is invalid.
func New(config Config) (*Cloud, error) {
	if config.Controller == "" {
		return nil, entity.Errorf(entity.Invalid, "cannot use LXD: no controller is named")
	}
	if len(config.Profiles) == 0 {
		config.Profiles = []string{"default"}
	}
	if config.AddressWait == 0 {
		config.AddressWait = 2 * time.Minute
	}
	if config.Endpoint == "" {
		if config.Endpoint = hostSocket(); config.Endpoint == "" {
			return nil, entity.WithHint(entity.Errorf(entity.NotFound, "cannot use LXD: it has no socket on this host"),
				"Install it and set it up: lxd init; or name another host's: juju help bootstrap")
		}
	}
	client, err := newClient(config)
	if err != nil {
		return nil, fmt.Errorf("cannot use LXD: %w", err)
	}
	return &Cloud{config: config, client: client}, nil
}

// SetCertificates makes all requests from now on present the client's certificate in config, and accept only the server's
// there. The error is Invalid if they can't be used.
func (c *Cloud) SetCertificates(config Config) error {
	config.Endpoint = c.config.Endpoint
	if err := c.client.transport.set(config); err != nil {
		return fmt.Errorf("cannot use LXD: %w", err)
	}
	return nil
}

// Ping contacts the server. The error is Unauthorized if it does not trust this client.
func (c *Cloud) Ping(ctx context.Context) error {
	_, err := c.server(ctx)
	return err
}

// Open opens a model; it is a provider.Open.
func (c *Cloud) Open(_ context.Context, config provider.Config) (provider.Environ, error) {
	if config.Controller != c.config.Controller {
		return nil, entity.Errorf(entity.Invalid, "cannot open a model of controller %q in the cloud of %q",
			config.Controller, c.config.Controller)
	}
	if config.Model == "" {
		return nil, entity.Errorf(entity.Invalid, "cannot open a model without a UUID")
	}
	return &environ{cloud: c, config: config}, nil
}

// extensions are the API extensions required of the server.
var extensions = []string{"instances", "cloud_init", "image_types", "resources_v2", "projects"}

// server returns the server's information. The error is Unauthorized if it does not trust this client,
// and NotSupported if it is too old.
func (c *Cloud) server(ctx context.Context) (*api.Server, error) {
	c.mu.Lock()
	known := c.info
	c.mu.Unlock()
	if known != nil {
		return known, nil
	}
	var s api.Server
	if err := c.client.get(ctx, "/1.0", nil, &s); err != nil {
		return nil, err
	}
	if s.Auth != "trusted" {
		return nil, entity.WithHint(entity.Errorf(entity.Unauthorized, "LXD at %s does not trust this client's certificate",
			c.config.Endpoint), "On the server: lxc config trust add CERTIFICATE-FILE")
	}
	for _, name := range extensions {
		if !slices.Contains(s.APIExtensions, name) {
			return nil, entity.Errorf(entity.NotSupported, "LXD %s at %s lacks the API extension %q",
				s.Environment.ServerVersion, c.config.Endpoint, name)
		}
	}
	c.mu.Lock()
	c.info = &s
	c.mu.Unlock()
	return &s, nil
}

// members returns the online members of the cluster; none without a cluster.
func (c *Cloud) members(ctx context.Context) ([]api.ClusterMember, error) {
	s, err := c.server(ctx)
	if err != nil || !s.Environment.ServerClustered {
		return nil, err
	}
	var all []api.ClusterMember
	if err := c.client.get(ctx, "/1.0/cluster/members", recursion(1), &all); err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(m api.ClusterMember) bool { return m.Status != "Online" })
	slices.SortFunc(all, func(a, b api.ClusterMember) int { return strings.Compare(a.ServerName, b.ServerName) })
	return all, nil
}

// architectures maps LXD's architecture names to juju's.
var architectures = map[string]string{"x86_64": "amd64", "aarch64": "arm64", "armv7l": "armhf", "i686": "i386",
	"ppc64le": "ppc64el", "riscv64": "riscv64", "s390x": "s390x"}

// arch returns juju's name for an architecture of LXD's.
func arch(lxd string) string {
	if name, ok := architectures[lxd]; ok {
		return name
	}
	return lxd
}
