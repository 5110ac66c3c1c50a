package clouds

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"sync"

	"github.com/juju/loggo"

	"juju/provider"
	"juju/provider/lxd"
	"juju/state/entity"
	"juju/worker"
)

var logger = loggo.GetLogger("juju.controller.clouds")

func (a Access) lxd() lxd.Config {
	if a.LXD == nil {
		return lxd.Config{}
	}
	return *a.LXD
}

// The lxdCloud is an LXD server or cluster, whose containers are machines.
type lxdCloud struct{}

// Machines implements Kind.
func (lxdCloud) Machines() provider.Machines { return lxd.Machines }

// MachineDir implements Kind.
func (lxdCloud) MachineDir(string, string, string) string { return "" }

// Check implements Kind.
func (lxdCloud) Check(p Params) error {
	if p.Access.LXD == nil || p.Controller == "" || len(p.Hosts) == 0 {
		return entity.Errorf(entity.Invalid, "cloud %q needs the controller's UUID and addresses, and LXD's", "lxd")
	}
	return nil
}

// Credential implements Kind.
func (lxdCloud) Credential(access Access) entity.CloudCredential { return access.lxd().Credential() }

// WithCredential implements Kind.
func (lxdCloud) WithCredential(access Access, one entity.CloudCredential) Access {
	config := access.lxd()
	config.SetCredential(one)
	return Access{LXD: &config}
}

// CheckCredential implements Kind. A controller that reaches LXD by its socket goes on without a credential.
func (k lxdCloud) CheckCredential(ctx context.Context, access Access, controller string,
	one entity.CloudCredential, try bool) error {
	authType := k.Credential(access).AuthType
	if authType == entity.AuthEmpty {
		return checkKeys(one, authType)
	}
	if err := checkKeys(one, authType, lxd.ClientCert, lxd.ClientKey, lxd.ServerCert); err != nil {
		return err
	}
	config := *k.WithCredential(access, one).LXD
	config.Controller = controller
	cloud, err := lxd.New(config)
	if err != nil || !try {
		return err
	}
	return cloud.Ping(ctx)
}

// Endpoint implements Kind.
func (lxdCloud) Endpoint(access Access) string {
	return cmp.Or(access.lxd().HostSocket, access.lxd().Endpoint)
}

// Open implements Kind.
func (lxdCloud) Open(ctx context.Context, c Controller) (*Cloud, error) {
	all := &lxds{Controller: c, opened: map[string]*lxd.Cloud{}}
	if _, err := all.get(ctx, ""); err != nil {
		return nil, err
	}
	return &Cloud{Open: all.open, Follow: all.follow, Room: all.room}, nil
}

// lxds opens LXD with each of the cloud's credentials that models use, once.
type lxds struct {
	Controller
	mu     sync.Mutex            // held while a credential is read and used, so that none is older than the last event
	opened map[string]*lxd.Cloud // by the credential's name
}

// config returns how LXD is reached with the credential of that name.
func (l *lxds) config(ctx context.Context, credential string) (lxd.Config, error) {
	access, err := l.Access(ctx, credential)
	if err != nil {
		return lxd.Config{}, err
	}
	if access.LXD == nil {
		return lxd.Config{}, entity.Errorf(entity.Invalid, "the controller's configuration does not name it")
	}
	config := *access.LXD
	config.Controller = l.UUID
	return config, nil
}

// get returns LXD as it is reached with a credential.
func (l *lxds) get(ctx context.Context, credential string) (*lxd.Cloud, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if cloud, ok := l.opened[credential]; ok {
		return cloud, nil
	}
	config, err := l.config(ctx, credential)
	if err != nil {
		return nil, fmt.Errorf("cannot use LXD: %w", err)
	}
	cloud, err := lxd.New(config)
	if err == nil {
		l.opened[credential] = cloud
	}
	return cloud, err
}

// open is a provider.Open.
func (l *lxds) open(ctx context.Context, config provider.Config) (provider.Environ, error) {
	cloud, err := l.get(ctx, config.Credential)
	if err != nil {
		return nil, err
	}
	return cloud.Open(ctx, config)
}

// room returns the room of the pool that is reached with the cloud's first credential.
func (l *lxds) room(ctx context.Context) map[string]Room {
	cloud, err := l.get(ctx, "")
	if err != nil {
		return nil
	}
	pool, free, size, err := cloud.Space(ctx)
	if err != nil {
		logger.Debugf("cannot find out how much room LXD's pool has: %v", err)
		return nil
	}
	return map[string]Room{pool: {Size: size, Free: free}}
}

// follow makes LXD be reached with the credentials that a superuser sets, in all controllers that share the store.
func (l *lxds) follow(ctx context.Context) error {
	return worker.Notify(ctx, l.WatchCredentials, func(ctx context.Context) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		for name, cloud := range maps.Clone(l.opened) {
			config, err := l.config(ctx, name)
			if entity.IsNotFound(err) { // no model uses it
				delete(l.opened, name)
				continue
			}
			if err == nil {
				err = cloud.SetCertificates(config)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}
