package main

import (
	"context"
	"errors"

	"juju/apiserver/client"
	"juju/state/entity"
)

// withModel calls do with a connection to the target model. API names the methods that do calls; *client.Conn has them.
func withModel[API any](ctx context.Context, s *session, do func(API) error) error {
	conn, err := s.connect(ctx)
	if err != nil {
		return err
	}
	err = do(conn.(API))
	if errors.Is(err, entity.NotFound) {
		err = withHint(err, "To see what is in the model: juju status")
	}
	if closeErr := conn.Close(); err == nil {
		err = closeErr
	}
	return err
}

// withController calls do with a connection to the target controller. API names the methods that do calls;
// *client.Conn has them.
func withController[API any](ctx context.Context, s *session, do func(target, API) error) error {
	_, t, err := s.readTarget()
	if err != nil {
		return err
	}
	conn, err := s.connectController(ctx, t)
	if err != nil {
		return err
	}
	err = do(t, conn.(API))
	return errors.Join(err, conn.Close())
}

// A modelsAPI lists models.
type modelsAPI interface {
	Models(ctx context.Context) ([]client.Model, error)
}
