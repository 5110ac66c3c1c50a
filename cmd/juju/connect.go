package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"juju/agent/host/process"
	"juju/apiserver/client"
	"juju/cmd/juju/display"
	"juju/cmd/juju/store"
	"juju/provider/local"
	"juju/state/entity"
)

// A target is the controller, and the model if any, that a command works with.
type target struct {
	name  string // of the controller
	ctrl  *store.Controller
	model string // qualified name, "" for the controller itself
}

// target returns the controller and model to work with: given by -m, else by JUJU_MODEL, else
// the model selected on the controller of JUJU_CONTROLLER, else the model selected on the
// selected controller.
func (s *session) target(c *store.Contents) (target, error) {
	spec := s.model
	if spec == "" {
		spec = s.getenv("JUJU_MODEL")
	}
	name, model, named := strings.Cut(spec, ":")
	if !named {
		name, model = s.getenv("JUJU_CONTROLLER"), spec
	}
	name, ctrl, err := c.Controller(name)
	if err != nil {
		return target{}, err
	}
	t := target{name, ctrl, ctrl.Qualify(model)}
	if ctrl.User == "" {
		return t, notLoggedIn(t)
	}
	if t.model == "" {
		t.model, err = s.selectedModel(t)
	}
	return t, err
}

// selectedModel returns the qualified name of the model selected on a controller.
func (s *session) selectedModel(t target) (string, error) {
	if t.ctrl.User == "" {
		return "", notLoggedIn(t)
	}
	if t.ctrl.Model == "" {
		return "", entity.WithHint(entity.Errorf(entity.NotFound, "no model is selected on controller %q", t.name),
			"Select one: juju switch MODEL; or choose one with -m MODEL or JUJU_MODEL")
	}
	return t.ctrl.Model, nil
}

// dialModel connects to the target model.
func (s *session) dialModel(ctx context.Context) (*client.Conn, error) {
	st, t, err := s.readModelTarget()
	if err != nil {
		return nil, err
	}
	uuid, ok := t.ctrl.Models[t.model]
	if !ok {
		if err := s.refreshModels(ctx, st, t); err != nil {
			return nil, err
		}
		if uuid, ok = t.ctrl.Models[t.model]; !ok {
			return nil, noModel(t)
		}
	}
	conn, err := s.dial(ctx, st, t, uuid)
	if errors.Is(err, entity.NotFound) {
		// It was destroyed since this client listed the models, and perhaps created again.
		if err := s.refreshModels(ctx, st, t); err != nil {
			return nil, err
		}
		now, ok := t.ctrl.Models[t.model]
		if !ok {
			return nil, noModel(t)
		}
		if now != uuid {
			return s.dial(ctx, st, t, now)
		}
	}
	return conn, err
}

func noModel(t target) error {
	var known []string
	for _, model := range slices.Sorted(maps.Keys(t.ctrl.Models)) {
		known = append(known, display.Line(t.ctrl.Unqualify(model)))
	}
	err := entity.Errorf(entity.NotFound, "model %q not found", t.name+":"+t.ctrl.Unqualify(t.model))
	if len(known) == 0 {
		return entity.WithHint(err,
			"You have access to no model. Create one: juju add-model NAME; or ask an administrator for access to one.")
	}
	return entity.WithHint(err, "Available models: %s", strings.Join(known, ", "))
}

// refreshModels stores the controller's list of models.
func (s *session) refreshModels(ctx context.Context, st *store.Store, t target) error {
	conn, err := s.dial(ctx, st, t, "")
	if err != nil {
		return err
	}
	defer conn.Close()
	models, err := conn.Models(ctx)
	if err != nil {
		return err
	}
	return s.noteModels(ctx, t, models, nil)
}

// The pauses between attempts to reach a controller: from minPause, doubling up to maxPause.
const (
	minPause = 50 * time.Millisecond
	maxPause = time.Second
)

// dial connects to a model, or to the controller itself if model is "". It starts a local
// controller that is not running, and retries within a bound while a controller is starting. It gives up sooner if LXD
// says that the container of the controller is stopped or gone.
func (s *session) dial(ctx context.Context, st *store.Store, t target, model string) (*client.Conn, error) {
	if t.ctrl.User == "" {
		return nil, notLoggedIn(t)
	}
	info := client.Info{Addresses: t.ctrl.Addresses, CACert: t.ctrl.CACert, Model: model,
		Tag: entity.UserTag(t.ctrl.User), Password: t.ctrl.Password}
	if t.ctrl.Cloud == localCloud {
		s.dialled = localDir(st, t.name)
	}
	var p *progress
	defer func() { p.done() }()
	wait := func(why error) {
		if text := s.waitingText(t, why); p == nil {
			p = s.progress("%s", text)
		} else {
			p.say("%s", text)
		}
	}
	look := time.NewTicker(s.lookPause)
	defer look.Stop()
	stopped := 0 // in how many looks, one after the other, the controller's container was stopped
	slow := func() error {
		wait(client.ErrNoAnswer)
		down, gone := s.containerIsDown(ctx, st, t)
		if stopped++; !down {
			stopped = 0
		}
		if gone || stopped == stoppedLooks {
			return s.unreachable(st, t, client.ErrNoAnswer)
		}
		return nil
	}
	end := s.now().Add(s.reachBound)
	for pause := minPause; ; pause = min(2*pause, maxPause) {
		// On every attempt, since the controller may have stopped meanwhile.
		if kept, err := s.isKept(st, t); err != nil {
			return nil, err
		} else if !kept {
			p.done()
			p = nil
			if err := s.revive(ctx, st, t); err != nil {
				return nil, err
			}
			end = s.now().Add(s.reachBound)
		}
		logger.Debugf("connecting to controller %q at %s, model %q", t.name, strings.Join(info.Addresses, ", "), model)
		bounded, cancel := context.WithDeadline(ctx, end)
		conn, err, hopeless := attempt(bounded, info, look.C, slow)
		cancel()
		if hopeless != nil {
			return nil, hopeless
		}
		if errors.Is(err, entity.Unauthorized) {
			err = withHint(err, fmt.Sprintf("You are %s on controller %q. "+
				"If the password was changed: juju login -c %[2]s; if you need more access, ask a superuser.",
				t.ctrl.User, t.name))
		}
		if err == nil || !errors.Is(err, entity.Unavailable) {
			return conn, err
		}
		if entity.Hint(err) != "" {
			// The controller answered, and its hint says what to do.
			return nil, entity.Errorf(entity.Unavailable, "cannot log in to controller %q: %w", t.name, err)
		}
		logger.Debugf("%v", err)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if s.waitsForRoom() || !s.now().Before(end) {
			return nil, s.unreachable(st, t, err)
		}
		wait(err)
		select {
		case <-ctx.Done():
		case <-look.C:
			if err := slow(); err != nil {
				return nil, err
			}
		case <-time.After(min(pause, end.Sub(s.now()))):
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

// killedLately is for how long users who wait for a controller are told that the one before was killed.
const killedLately = 10 * time.Minute

// waitingText returns what to say while the controller can't be reached: what it answers, or how it ended.
func (s *session) waitingText(t target, why error) string {
	text := fmt.Sprintf("Waiting up to %v for controller %q", s.reachBound, t.name)
	if !errors.Is(why, client.ErrNoAnswer) {
		return fmt.Sprintf("%s: it answers: %v", text, why)
	}
	if s.dialled != "" {
		if how, ago := process.Killed(local.ControllerDir(s.dialled)); how != "" && ago < killedLately {
			return fmt.Sprintf("%s: %s", text, how)
		}
	}
	return text
}

// unreachable adds to the error of a controller that did not answer what to do about it.
func (s *session) unreachable(st *store.Store, t target, why error) error {
	why = entity.Errorf(entity.Unavailable, "cannot reach controller %q: %w", t.name, why)
	if t.ctrl.Cloud == lxdCloud {
		return s.unreachableOnLXD(st, t, why)
	} else if t.ctrl.Cloud != localCloud {
		return entity.WithHint(why, "Ask its administrator; to forget it: juju unregister %s", t.name)
	}
	dir := local.ControllerDir(s.dialled)
	if lives, err := runs(dir); err == nil && !lives && !s.waitsForRoom() {
		if tail := process.LogTail(dir); tail != "" {
			why = fmt.Errorf("%w; it is not running, and its log ends:\n%s", why, tail)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, controllerConfig)); s.dialled != "" && errors.Is(err, fs.ErrNotExist) {
		return lost(why, t.name, "the files of its directory "+dir+" are gone")
	}
	if err := local.CheckLoopback(); err != nil {
		return entity.WithHint(fmt.Errorf("%w: %w", why, err), "%s", entity.Hint(err))
	}
	return entity.WithHint(why,
		"Its log: %s\nOnce the cause is fixed, run the command again; it starts the controller if needed.\n"+
			"To give up and destroy it: juju destroy-environment %s", controllerLog(st, t.name), t.name)
}

// controllerConfig is a file that every local controller has in its directory.
const controllerConfig = "controller.conf"

// lostController is the page about a controller that is gone.
const lostController = "doc/lost-controller.md"

// askLXDBound is how long LXD may take to say what has become of a controller's container.
const askLXDBound = 5 * time.Second

// unreachableOnLXD adds to the error of a controller that did not answer what LXD says of its container.
func (s *session) unreachableOnLXD(st *store.Store, t target, why error) error {
	name, status, err := s.container(context.Background(), st, t)
	switch {
	case err != nil || status == "running":
		return entity.WithHint(why, "Is its container up, and can this host reach its address? lxc list\n"+
			"To give up and destroy it: juju destroy-environment %s", t.name)
	case status == "":
		return lost(why, t.name, fmt.Sprintf("LXD has no container %s any more", name))
	}
	return entity.WithHint(fmt.Errorf("%w; its container %s is %s", why, name, status),
		"Start it on the LXD host: lxc start %s", name)
}

// container returns the container of a controller, and what LXD says of it: "" if there is none any more.
func (s *session) container(ctx context.Context, st *store.Store, t target) (name, status string, err error) {
	ctx, cancel := context.WithTimeout(ctx, askLXDBound)
	defer cancel()
	record, err := readLXDRecord(homeDir(st, lxdCloud, t.name))
	if err != nil {
		return "", "", err
	}
	cloud, err := record.cloud()
	if err != nil {
		return "", "", err
	}
	return cloud.Controller(ctx)
}

// stoppedLooks is after how many looks a controller's container counts as stopped: one that restarts is stopped for a moment.
const stoppedLooks = 3

// containerIsDown reports whether LXD says that a controller's container is stopped, or even gone.
func (s *session) containerIsDown(ctx context.Context, st *store.Store, t target) (down, gone bool) {
	if t.ctrl.Cloud != lxdCloud {
		return false, false
	}
	_, status, err := s.container(ctx, st, t)
	gone = err == nil && status == ""
	return gone || status == "stopped" || status == "frozen", gone
}

// lost adds to the error of a controller whose database is gone what is left.
func lost(why error, name, what string) error {
	return entity.WithHint(fmt.Errorf("%w; %s, and the controller's database went with it", why, what),
		"Units go on, and their data is there. To save it first, see %s\n"+
			"To remove all that is left: juju destroy-environment %s", lostController, name)
}

// waitsForRoom reports whether the keeper of the last dialled controller cannot start it
// because the disk is full.
func (s *session) waitsForRoom() bool {
	if s.dialled == "" || process.CheckRoom(s.dialled, local.ControllerRoom) == nil {
		return false
	}
	lives, err := runs(local.ControllerDir(s.dialled))
	return err == nil && !lives
}

// noRoom adds to the error of a lost or refused connection that the local controller's disk is
// full, if it is.
func (s *session) noRoom(err error) error {
	if s.dialled == "" || !errors.Is(err, entity.Unavailable) || errors.Is(err, syscall.ENOSPC) {
		return err
	}
	full := process.CheckRoom(s.dialled, local.ControllerRoom)
	if full == nil {
		return err
	}
	return entity.WithHint(fmt.Errorf("%w: %w", full, err),
		"Free some space there; the controller's keeper then starts it again by itself.")
}
