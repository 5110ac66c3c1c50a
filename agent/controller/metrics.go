package controller

import (
	"context"
	"time"

	"juju/agent"
	"juju/agent/controller/metrics"
	"juju/agent/host/process"
	"juju/state"
	"juju/state/entity"
)

// poolsTime bounds the question to the cloud for how much room its pools have. A scrape waits for it.
const poolsTime = 2 * time.Second

// newMetrics returns the controller's metrics.
func (c *running) newMetrics() *metrics.Metrics {
	return metrics.New(agent.Version, agent.BuiltFrom(), c.reading)
}

// reading looks up what Prometheus asks for. It is called only while the API is served.
func (c *running) reading(ctx context.Context) (metrics.Reading, error) {
	load := c.server.Load()
	r := metrics.Reading{Connections: load.Connections, Requests: load.Requests, Logins: load.Logins,
		Leads: true, Failing: len(c.failures.list("")), Disk: diskOf(c.own)}
	if c.lead != nil {
		epoch, _ := c.lead.get()
		r.Leads = epoch != 0
	}
	if c.cloud.Room != nil {
		ctx, cancel := context.WithTimeout(ctx, poolsTime)
		r.Storage = map[string]metrics.Disk{}
		for pool, room := range c.cloud.Room(ctx) {
			r.Storage[pool] = metrics.Disk(room)
		}
		cancel()
	}
	models, err := c.ctrl.Models(ctx)
	if err != nil {
		return r, err
	}
	agents := c.server.Presence().Counts()
	for _, row := range models {
		if ctx.Err() != nil {
			return r, context.Cause(ctx)
		}
		st, err := c.ctrl.Opened(ctx, row.UUID)
		if entity.IsNotFound(err) {
			continue // it is being removed
		} else if err != nil {
			return r, err
		}
		m := metrics.Model{Name: row.Name, Present: agents[row.UUID].Present, FullDisks: agents[row.UUID].FullDisks,
			Failing: len(c.failures.list(row.UUID))}
		if m.Backlog, err = state.Backlog(ctx, st); err != nil {
			return r, err
		}
		r.Models = append(r.Models, m)
	}
	return r, nil
}

// diskOf returns the size and the room of a directory's file system; zeros if they can't be found out.
func diskOf(dir string) (d metrics.Disk) {
	d.Free, d.Size, _ = process.Space(dir)
	return d
}
