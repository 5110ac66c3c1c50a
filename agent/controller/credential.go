package controller

import (
	"context"

	"juju/agent/controller/clouds"
	"juju/apiserver/client"
	"juju/provider"
	"juju/state"
	"juju/state/entity"
	"juju/worker"
)

// access returns how the cloud is reached with the credential of that name: as bootstrap or a restore said, with what a
// superuser has set since.
func (c *running) access(ctx context.Context, credential string) (clouds.Access, error) {
	one, err := c.ctrl.CloudCredential(ctx, credential)
	if err != nil || one == nil {
		return c.conf.Access, err
	}
	return c.conf.kind().WithCredential(c.conf.Access, *one), nil
}

// checkCredential rejects a credential that can't be used or, if try is set, that the cloud does not accept.
func (c *running) checkCredential(ctx context.Context, one entity.CloudCredential, try bool) error {
	return c.conf.kind().CheckCredential(ctx, c.conf.Access, c.conf.Controller, one, try)
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
