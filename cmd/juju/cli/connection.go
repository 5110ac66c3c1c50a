package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"juju/apiserver/client"
	"juju/cmd/juju/store"
	"juju/state/entity"
)

// SeeModel is the hint for what is not found in a model.
const SeeModel = "To see what is in the model: juju status"

// WithModel calls do with a connection to the target model. *client.Conn implements API.
func WithModel[API any](ctx context.Context, s *Session, do func(API) error) error {
	conn, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	err = s.planned(conn, func() error { return do(conn.(API)) })
	if errors.Is(err, entity.NotFound) {
		err = WithHint(err, SeeModel)
	}
	if closeErr := conn.Close(); err == nil {
		err = closeErr
	}
	return err
}

// WithController calls do with a connection to the target controller. *client.Conn implements API.
func WithController[API any](ctx context.Context, s *Session, do func(Target, API) error) error {
	_, t, err := s.ReadTarget()
	if err != nil {
		return err
	}
	return atController(ctx, s, t, do)
}

// WithModelsController is WithController for the controller of the target model, which is in the Target too.
func WithModelsController[API any](ctx context.Context, s *Session, do func(Target, API) error) error {
	_, t, err := s.ReadModelTarget()
	if err != nil {
		return err
	}
	return atController(ctx, s, t, do)
}

func atController[API any](ctx context.Context, s *Session, t Target, do func(Target, API) error) error {
	conn, err := s.ConnectController(ctx, Target{Name: t.Name, Controller: t.Controller})
	if err != nil {
		return err
	}
	err = do(t, conn.(API))
	return errors.Join(err, conn.Close())
}

// queryTimeout limits the queries before a controller is destroyed: it may be destroyed because it does not respond.
const queryTimeout = 15 * time.Second

// EachModel calls do with a connection to each model of a controller, all within queryTimeout. model is the qualified
// name.
func EachModel[API any](ctx context.Context, s *Session, name string, ctrl *store.Controller,
	do func(ctx context.Context, model string, api API) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, queryTimeout, fmt.Errorf("no answer within %v", queryTimeout))
	defer cancel()
	conn, err := s.ConnectController(ctx, Target{Name: name, Controller: ctrl})
	if err != nil {
		return err
	}
	defer conn.Close()
	models, err := conn.(ModelsAPI).Models(ctx)
	if err != nil {
		return err
	}
	for _, m := range models {
		qualified := m.Owner + "/" + m.Name
		err := InModel(ctx, s, name, qualified, func(api API) error { return do(ctx, qualified, api) })
		if err != nil {
			return err
		}
	}
	return nil
}

// InModel calls do with a connection to a model of a controller.
func InModel[API any](ctx context.Context, s *Session, controller, model string, do func(API) error) error {
	before := s.Model
	defer func() { s.Model = before }()
	s.Model = controller + ":" + model
	return WithModel(ctx, s, do)
}

type ModelsAPI interface {
	Models(ctx context.Context) ([]client.Model, error)
}
