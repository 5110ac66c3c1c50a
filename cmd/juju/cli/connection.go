package cli

import (
	"context"
	"errors"

	"juju/apiserver/client"
	"juju/state/entity"
)

// WithModel calls do with a connection to the target model. API names the methods that do calls; *client.Conn has them.
func WithModel[API any](ctx context.Context, s *Session, do func(API) error) error {
	conn, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	err = do(conn.(API))
	if errors.Is(err, entity.NotFound) {
		err = WithHint(err, "To see what is in the model: juju status")
	}
	if closeErr := conn.Close(); err == nil {
		err = closeErr
	}
	return err
}

// WithController calls do with a connection to the target controller. API names the methods that do calls;
// *client.Conn has them.
func WithController[API any](ctx context.Context, s *Session, do func(Target, API) error) error {
	_, t, err := s.ReadTarget()
	if err != nil {
		return err
	}
	conn, err := s.ConnectController(ctx, t)
	if err != nil {
		return err
	}
	err = do(t, conn.(API))
	return errors.Join(err, conn.Close())
}

// A ModelsAPI lists models.
type ModelsAPI interface {
	Models(ctx context.Context) ([]client.Model, error)
}
