package apiserver

import (
	"context"
	"errors"
	"time"

	"juju/apiserver/params"
	"juju/state"
	"juju/state/entity"
)

// machineDo reads a machine and does something with it. The routes see to it
// that the caller may.
func machineDo(ctx context.Context, c *caller, subject entity.Tag, f func(*state.Machine) error) error {
	m, err := c.model.Machine(ctx, subject.ID)
	if err != nil {
		return err
	}
	return f(m)
}

// ignoreGone is for what has no more to do when its entity is gone: an agent
// that asks again, because it did not hear the answer, has got what it wants.
func ignoreGone(err error) error {
	if errors.Is(err, entity.NotFound) {
		return nil
	}
	return err
}

func machineInfo(ctx context.Context, c *caller, p params.Agent) (info entity.MachineInfo, err error) {
	err = machineDo(ctx, c, p.Tag.Tag, func(m *state.Machine) error {
		info, err = m.Info(ctx)
		return err
	})
	return info, err
}

func machineWatch(ctx context.Context, c *caller, p params.Agent) (stream, error) {
	return notify(c.model.WatchMachine(ctx, p.Tag.ID))
}

func machineSetAddresses(ctx context.Context, c *caller, p params.AgentAddresses) error {
	return machineDo(ctx, c, p.Tag.Tag, func(m *state.Machine) error { return m.SetAddresses(ctx, p.Addresses) })
}

func machineSetStatus(ctx context.Context, c *caller, p params.AgentStatus) error {
	status, err := said(p, entity.MachineWords)
	if err != nil {
		return err
	}
	return machineDo(ctx, c, p.Tag.Tag, func(m *state.Machine) error { return m.SetStatus(ctx, status) })
}

// said returns the status that an agent sets, which must be one of words. It is set
// now, by the controller's clock, unless the agent gives a time in the past: a status
// that a failed hook has hidden is shown again with the time it had.
func said(p params.AgentStatus, words []entity.StatusWord) (entity.Status, error) {
	status := p.Status
	if status.Since.Before(firstSince) || status.Since.After(time.Now()) {
		status.Since = time.Time{}
	}
	return status, status.CheckWord(words)
}

// firstSince is earlier than any status.
var firstSince = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func machineEnsureDead(ctx context.Context, c *caller, p params.Agent) error {
	return ignoreGone(machineDo(ctx, c, p.Tag.Tag, func(m *state.Machine) error { return m.EnsureDead(ctx) }))
}
