// Package connect connects commands to controllers and models. It starts or waits for a controller that is not up, and
// explains why one does not respond.
package connect

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
		// It was destroyed, and perhaps recreated, since this client listed the models.
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

// The backoff between attempts to reach a controller: from MinPause, doubling up to MaxPause.
const (
	MinPause = 50 * time.Millisecond
	MaxPause = time.Second
)

// Dial connects to a model, or to the controller itself if model is "". It starts an unsupervised controller, and
// retries up to a timeout while a controller is starting. It gives up sooner if the cloud reports that the controller
// is stopped or no longer exists.
func Dial(ctx context.Context, s *cli.Session, st *store.Store, t cli.Target, model string) (*client.Conn, error) {
	if t.Controller.User == "" {
		return nil, cli.NotLoggedIn(t)
	}
	info := infoOf(t, model)
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
	poll := time.NewTicker(s.PollInterval)
	defer poll.Stop()
	foreign := 0 // how many answers were another server's
	stopped := 0 // in how many consecutive polls the controller was stopped
	slow := func() error {
		wait(client.ErrNoAnswer)
		if len(info.Addresses) > 1 {
			return nil // another controller may answer
		}
		down, gone := ctrl.IsDown(ctx)
		if stopped++; !down {
			stopped = 0
		}
		if gone || stopped == stoppedPolls {
			return unreachable(t, ctrl, client.ErrNoAnswer)
		}
		return nil
	}
	end := s.Now().Add(s.ReachTimeout)
	for pause := MinPause; ; pause = min(2*pause, MaxPause) {
		// Check on every attempt, since the controller may stop meanwhile.
		if kept, err := ctrl.IsKept(); err != nil {
			return nil, err
		} else if !kept {
			p.Done()
			p = nil
			if err := ctrl.Revive(ctx, s); err != nil {
				return nil, err
			}
			end = s.Now().Add(s.ReachTimeout)
		}
		logger.Debugf("connecting to controller %q at %s, model %q", t.Name, strings.Join(info.Addresses, ", "), model)
		bounded, cancel := context.WithDeadline(ctx, end)
		conn, err, hopeless := attempt(bounded, info, poll.C, slow)
		cancel()
		if hopeless != nil {
			return nil, hopeless
		}
		if errors.Is(err, entity.Unauthorized) {
			err = cli.WithHint(err, fmt.Sprintf("You are %s on controller %q. "+
				"If the password was changed: juju login -c %[2]s; if you need more access, ask a superuser.",
				t.Controller.User, t.Name))
		}
		if err == nil {
			noteLogin(ctx, st, t, conn)
			return conn, nil
		}
		if errors.Is(err, client.ErrForeign) && !errors.Is(err, entity.Unavailable) {
			if foreign++; foreign == foreignAnswers {
				return nil, err
			}
		} else if !errors.Is(err, entity.Unavailable) {
			return nil, err
		}
		if entity.Hint(err) != "" {
			// The controller responded, and its hint says what to do.
			return nil, entity.Errorf(entity.Unavailable, "cannot log in to controller %q: %w", t.Name, err)
		}
		logger.Debugf("%v", err)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if !s.Now().Before(end) && errors.Is(err, client.ErrSilent) {
			return nil, entity.WithHint(entity.Errorf(entity.Unavailable, "cannot log in to controller %q: %w",
				t.Name, err), silentHint)
		}
		if ctrl.LacksSpace() || !s.Now().Before(end) {
			return nil, unreachable(t, ctrl, err)
		}
		if !errors.Is(err, client.ErrForeign) { // that is soon over, one way or the other
			wait(err)
		}
		select {
		case <-ctx.Done():
		case <-poll.C:
			if err := slow(); err != nil {
				return nil, err
			}
		case <-time.After(min(pause, end.Sub(s.Now()))):
		}
	}
}

const silentHint = "It runs, but it is very busy, or its store does not respond: run the command again in a minute.\n" +
	"If that does not help, check its store, and its log."

// Once connects to a controller without waiting for it, starting it or printing anything.
func Once(ctx context.Context, t cli.Target) (*client.Conn, error) {
	if t.Controller.User == "" {
		return nil, cli.NotLoggedIn(t)
	}
	return client.Dial(ctx, infoOf(t, ""))
}

func infoOf(t cli.Target, model string) client.Info {
	return client.Info{Addresses: t.Controller.Addresses, CACert: t.Controller.CACert, Model: model,
		Tag: entity.UserTag(t.Controller.User), Password: t.Controller.Password}
}

// noteLogin stores what a controller says at a login: its addresses, to which it may have added some, for the next command.
func noteLogin(ctx context.Context, st *store.Store, t cli.Target, conn *client.Conn) {
	said := *t.Controller
	if addresses := conn.Addresses(); !slices.Equal(slices.Sorted(slices.Values(said.Addresses)),
		slices.Sorted(slices.Values(addresses))) {
		said.Addresses = addresses
	}
	said.Version, said.Release, said.Access = conn.ServerVersion(), conn.Release(), conn.ControllerAccess()
	if slices.Equal(said.Addresses, t.Controller.Addresses) && said.Version == t.Controller.Version &&
		said.Release == t.Controller.Release && said.Access == t.Controller.Access {
		return
	}
	err := st.Update(ctx, func(c *store.Contents) error {
		if ctrl, ok := c.Controllers[t.Name]; ok && ctrl.UUID == said.UUID {
			ctrl.Addresses, ctrl.Version, ctrl.Release, ctrl.Access = said.Addresses, said.Version, said.Release, said.Access
		}
		return nil
	})
	if err != nil {
		logger.Warningf("cannot store what controller %q says: %v", t.Name, err)
	}
}

// attempt connects once. On each tick of poll it calls slow, whose error, hopeless, aborts the attempt.
func attempt(ctx context.Context, info client.Info, poll <-chan time.Time,
	slow func() error) (conn *client.Conn, err, hopeless error) {
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
		case <-poll:
			if hopeless = slow(); hopeless == nil {
				continue
			}
			cancel()
			if <-done; err == nil { // it connected after all
				hopeless = nil
			}
			return conn, err, hopeless
		}
	}
}

// waitingText returns the progress text while the controller can't be reached, with its response or how it was killed.
func waitingText(s *cli.Session, t cli.Target, ctrl clouds.Controller, why error) string {
	text := fmt.Sprintf("Waiting up to %v for controller %q", s.ReachTimeout, t.Name)
	if !errors.Is(why, client.ErrNoAnswer) {
		return fmt.Sprintf("%s: it answers: %v", text, why)
	}
	if how := ctrl.Killed(); how != "" {
		return fmt.Sprintf("%s: %s", text, how)
	}
	return text
}

// unreachable adds to the error of an unresponsive controller what to do about it.
func unreachable(t cli.Target, ctrl clouds.Controller, why error) error {
	return ctrl.Unreachable(entity.Errorf(entity.Unavailable, "cannot reach controller %q: %w", t.Name, why))
}

// foreignAnswers is how many answers by another server than the controller are the last word. While LXD configures a bridge
// anew, connections to its containers leave by the default route, where something else may answer.
const foreignAnswers = 5

// stoppedPolls is how many consecutive polls must find a controller stopped: a restarting one is stopped briefly.
const stoppedPolls = 3
