package controller

import (
	"context"
	"fmt"
	"maps"
	"sync"

	"juju/agent/controller/metrics"
	"juju/apiserver/client"
	"juju/provider"
	"juju/provider/lxd"
	"juju/state"
	"juju/state/entity"
	"juju/worker"
)

// credentialOf returns the first credential of a controller's cloud: that with which LXD is reached, or none.
func credentialOf(config *lxd.Config) *entity.CloudCredential {
	one := entity.CloudCredential{AuthType: entity.AuthEmpty}
	if config != nil {
		one = config.Credential()
	}
	return &one
}

// lxd returns how LXD is reached with the credential of that name: as bootstrap or a restore said, with what a superuser has
// set since.
func (c *running) lxd(ctx context.Context, credential string) (lxd.Config, error) {
	config := *c.conf.LXD
	config.Controller = c.conf.Controller
	one, err := c.ctrl.CloudCredential(ctx, credential)
	if err == nil && one != nil {
		config.SetCredential(*one)
	}
	return config, err
}

// lxds opens LXD with each of the cloud's credentials that models use, once.
type lxds struct {
	*running
	mu     sync.Mutex            // held while a credential is read and used, so that none is older than the last event
	opened map[string]*lxd.Cloud // by the credential's name
}

// get returns LXD as it is reached with a credential.
func (l *lxds) get(ctx context.Context, credential string) (*lxd.Cloud, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if cloud, ok := l.opened[credential]; ok {
		return cloud, nil
	}
	config, err := l.lxd(ctx, credential)
	if err != nil {
		return nil, fmt.Errorf("cannot use LXD: %w", err)
	}
	cloud, err := lxd.New(config)
	if err == nil {
		l.opened[credential] = cloud
	}
	return cloud, err
}

// Open is a provider.Open.
func (l *lxds) Open(ctx context.Context, config provider.Config) (provider.Environ, error) {
	cloud, err := l.get(ctx, config.Credential)
	if err != nil {
		return nil, err
	}
	return cloud.Open(ctx, config)
}

// pools returns the room of the pool that is reached with the cloud's first credential; nothing if LXD does not say.
func (l *lxds) pools(ctx context.Context) map[string]metrics.Disk {
	cloud, err := l.get(ctx, "")
	if err != nil {
		return nil
	}
	pool, free, size, err := cloud.Space(ctx)
	if err != nil {
		logger.Debugf("cannot find out how much room LXD's pool has: %v", err)
		return nil
	}
	return map[string]metrics.Disk{pool: {Size: size, Free: free}}
}

// follow makes LXD be reached with the credentials that a superuser sets, in all controllers that share the store.
func (l *lxds) follow(ctx context.Context) error {
	return worker.Notify(ctx, l.ctrl.WatchCloudCredentials, func(context.Context) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		for name, cloud := range maps.Clone(l.opened) {
			config, err := l.lxd(ctx, name)
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

// checkCredential rejects a credential that can't be used or, if try is set, that LXD does not accept.
func (c *running) checkCredential(ctx context.Context, one entity.CloudCredential, try bool) error {
	if credentialOf(c.conf.LXD).AuthType != one.AuthType {
		return entity.Errorf(entity.Invalid, "the cloud takes no credential of auth-type %q", one.AuthType)
	}
	for key := range one.Attributes {
		if one.AuthType == entity.AuthEmpty || key != lxd.ClientCert && key != lxd.ClientKey && key != lxd.ServerCert {
			return entity.Errorf(entity.Invalid, "unknown key %q in a credential of auth-type %q", key, one.AuthType)
		}
	}
	if one.AuthType == entity.AuthEmpty {
		return nil
	}
	config := *c.conf.LXD
	config.SetCredential(one)
	config.Controller = c.conf.Controller
	cloud, err := lxd.New(config)
	if err != nil || !try {
		return err
	}
	return cloud.Ping(ctx)
}

// at returns what to open for a model that uses a credential.
func (c *running) at(model, credential string) provider.Config {
	return provider.Config{Controller: c.conf.Controller, Model: model, Credential: credential}
}

// openModel opens the cloud of a model that may be ready or not.
func (c *running) openModel(ctx context.Context, open provider.Open, model string) (provider.Environ, error) {
	row, err := c.ctrl.ModelRow(ctx, model)
	if err != nil {
		return nil, err
	}
	return open(ctx, c.at(model, row.Credential))
}

// inCloud returns a worker that uses a model's API and its cloud. When the model gets another credential, work begins anew
// with that.
func (c *running) inCloud(
	st *state.State, open provider.Open, work func(context.Context, *client.Conn, provider.Environ) error,
) worker.Func {
	return c.connected(st, func(ctx context.Context, conn *client.Conn) error {
		for {
			row, err := c.ctrl.ModelRow(ctx, st.UUID())
			if err != nil {
				return err
			}
			environ, err := open(ctx, c.at(st.UUID(), row.Credential))
			if err != nil {
				return err
			}
			changed := make(chan struct{})
			during, end := endsWith(ctx, changed)
			watched := make(chan struct{})
			go func() {
				defer close(watched)
				// If the watch fails, so does the connection to the store, and with it the work.
				if c.awaitOther(during, st.UUID(), row.Credential) == nil {
					close(changed)
				}
			}()
			err = work(during, conn, environ)
			again := during.Err() != nil && ctx.Err() == nil
			end()
			<-watched
			if !again {
				return err
			}
			logger.Infof("model %q uses another credential of the cloud", st.Name())
		}
	})
}

// awaitOther returns nil once a model uses another credential than this one.
func (c *running) awaitOther(ctx context.Context, model, credential string) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	events, err := c.ctrl.WatchModelRow(ctx, model)
	if err != nil {
		return err
	}
	for range events {
		row, err := c.ctrl.ModelRow(ctx, model)
		if err != nil {
			return err
		}
		if row.Credential != credential {
			return nil
		}
	}
	return worker.Ended(ctx)
}
