// Package connect connects commands to controllers and models: it starts or awaits a controller that is not up, and says
// why one does not answer.
package connect

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/juju/loggo"

	"juju/apiserver/client"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/clouds"
	"juju/cmd/juju/store"
	"juju/state/entity"
)

var logger = loggo.GetLogger("juju.cmd")

// Model connects to the target model.
func Model(ctx context.Context, s *cli.Session) (*client.Conn, error) {
	st, t, err := s.ReadModelTarget()
	if err != nil {
		return nil, err
	}
	uuid, ok := t.Controller.Models[t.Model]
	if !ok {
		if err := refreshModels(ctx, s, st, t); err != nil {
			return nil, err
		}
		if uuid, ok = t.Controller.Models[t.Model]; !ok {
			return nil, cli.NoModel(t)
		}
	}
	conn, err := Dial(ctx, s, st, t, uuid)
	if errors.Is(err, entity.NotFound) {
		// It was destroyed since this client listed the models, and perhaps created again.
		if err := refreshModels(ctx, s, st, t); err != nil {
			return nil, err
		}
		now, ok := t.Controller.Models[t.Model]
		if !ok {
			return nil, cli.NoModel(t)
		}
		if now != uuid {
			return Dial(ctx, s, st, t, now)
		}
	}
	return conn, err
}

// refreshModels stores the controller's list of models.
func refreshModels(ctx context.Context, s *cli.Session, st *store.Store, t cli.Target) error {
	conn, err := Dial(ctx, s, st, t, "")
	if err != nil {
		return err
	}
	defer conn.Close()
	models, err := conn.Models(ctx)
	if err != nil {
		return err
	}
	return s.NoteModels(ctx, t, models, nil)
}

// The pauses between attempts to reach a controller: from minPause, doubling up to maxPause.
const (
	MinPause = 50 * time.Millisecond
	MaxPause = time.Second
)

// Dial connects to a model, or to the controller itself if model is "". It starts a
// controller that nothing keeps running, and retries within a bound while a controller is starting. It gives up sooner
// if the cloud says that the controller is stopped or gone.
func Dial(ctx context.Context, s *cli.Session, st *store.Store, t cli.Target, model string) (*client.Conn, error) {
	if t.Controller.User == "" {
		return nil, cli.NotLoggedIn(t)
	}
	info := client.Info{Addresses: t.Controller.Addresses, CACert: t.Controller.CACert, Model: model,
		Tag: entity.UserTag(t.Controller.User), Password: t.Controller.Password}
	ctrl := clouds.ControllerOf(st, t.Name, t.Controller)
	s.Lost = ctrl.Lost
	var p *cli.Progress
	defer func() { p.Done() }()
	wait := func(why error) {
		if text := waitingText(s, t, ctrl, why); p == nil {
			p = s.Progress("%s", text)
		} else {
			p.Say("%s", text)
		}
	}
	look := time.NewTicker(s.LookPause)
	defer look.Stop()
	stopped := 0 // in how many looks, one after the other, the controller was stopped
	slow := func() error {
		wait(client.ErrNoAnswer)
		down, gone := ctrl.IsDown(ctx)
		if stopped++; !down {
			stopped = 0
		}
		if gone || stopped == stoppedLooks {
			return unreachable(t, ctrl, client.ErrNoAnswer)
		}
		return nil
	}
	end := s.Now().Add(s.ReachBound)
	for pause := MinPause; ; pause = min(2*pause, MaxPause) {
		// On every attempt, since the controller may have stopped meanwhile.
		if kept, err := ctrl.IsKept(); err != nil {
			return nil, err
		} else if !kept {
			p.Done()
			p = nil
			if err := ctrl.Revive(ctx, s); err != nil {
				return nil, err
			}
			end = s.Now().Add(s.ReachBound)
		}
		logger.Debugf("connecting to controller %q at %s, model %q", t.Name, strings.Join(info.Addresses, ", "), model)
		bounded, cancel := context.WithDeadline(ctx, end)
		conn, err, hopeless := attempt(bounded, info, look.C, slow)
		cancel()
		if hopeless != nil {
			return nil, hopeless
		}
		if errors.Is(err, entity.Unauthorized) {
			err = cli.WithHint(err, fmt.Sprintf("You are %s on controller %q. "+
				"If the password was changed: juju login -c %[2]s; if you need more access, ask a superuser.",
				t.Controller.User, t.Name))
		}
		if err == nil || !errors.Is(err, entity.Unavailable) {
			return conn, err
		}
		if entity.Hint(err) != "" {
			// The controller answered, and its hint says what to do.
			return nil, entity.Errorf(entity.Unavailable, "cannot log in to controller %q: %w", t.Name, err)
		}
		logger.Debugf("%v", err)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if ctrl.WaitsForRoom() || !s.Now().Before(end) {
			return nil, unreachable(t, ctrl, err)
		}
		wait(err)
		select {
		case <-ctx.Done():
		case <-look.C:
			if err := slow(); err != nil {
				return nil, err
			}
		case <-time.After(min(pause, end.Sub(s.Now()))):
		}
	}
}

// attempt connects once. Whenever look ticks before there is an answer, it calls slow, whose error is hopeless and ends
// the attempt.
func attempt(ctx context.Context, info client.Info, look <-chan time.Time, slow func() error) (conn *client.Conn, err, hopeless error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err = client.Dial(ctx, info)
	}()
	for {
		select {
		case <-done:
			return conn, err, nil
		case <-look:
			if hopeless = slow(); hopeless == nil {
				continue
			}
			cancel()
			if <-done; err == nil { // it has answered after all
				hopeless = nil
			}
			return conn, err, hopeless
		}
	}
}

// waitingText returns what to say while the controller can't be reached: what it answers, or how it ended.
func waitingText(s *cli.Session, t cli.Target, ctrl clouds.Controller, why error) string {
	text := fmt.Sprintf("Waiting up to %v for controller %q", s.ReachBound, t.Name)
	if !errors.Is(why, client.ErrNoAnswer) {
		return fmt.Sprintf("%s: it answers: %v", text, why)
	}
	if how := ctrl.Killed(); how != "" {
		return fmt.Sprintf("%s: %s", text, how)
	}
	return text
}

// unreachable adds to the error of a controller that did not answer what to do about it.
func unreachable(t cli.Target, ctrl clouds.Controller, why error) error {
	return ctrl.Unreachable(entity.Errorf(entity.Unavailable, "cannot reach controller %q: %w", t.Name, why))
}

// stoppedLooks is after how many looks a controller counts as stopped: one that restarts is stopped for a moment.
const stoppedLooks = 3
