package deployer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/juju/loggo"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"juju/state/entity"
	"juju/state/tracing"
	"juju/worker"
)

var logger = loggo.GetLogger("juju.worker.deployer")

// Config is what a deployer needs.
type Config struct {
	API    API
	Agents Agents
	Parent entity.Tag // a machine or a principal unit
	// Pause is the minimum time between restarts of an agent that keeps exiting, and the time until a failed
	// action is retried; 3 seconds if zero.
	Pause time.Duration
	// Tracer begins the spans of deployments, nil for none, and Started has the span in which the parent's agent was started.
	Tracer  trace.Tracer
	Started *tracing.Causes
}

// New returns the deployer of one machine or principal.
func New(config Config) worker.Func {
	if config.Pause == 0 {
		config.Pause = 3 * time.Second
	}
	return func(ctx context.Context) error {
		d := &deployer{Config: config}
		d.work, ctx = tracing.NewWork(ctx, config.Tracer, config.Started)
		return d.loop(ctx)
	}
}

type deployer struct {
	Config
	work *tracing.Work
}

func (d *deployer) loop(ctx context.Context) error {
	events, err := d.API.WatchDeployed(ctx, d.Parent)
	if err != nil {
		return err
	}
	// An agent that exits is restarted immediately. One that keeps exiting would take all of the deployer's
	// time, so further exits are handled only after a pause.
	ended := d.Agents.Ended()
	var resume <-chan time.Time
	for {
		rest := false
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case _, ok := <-events:
			if !ok {
				return worker.Ended(ctx)
			}
		case <-ended:
			ended, rest = nil, true
		case <-resume:
			ended, resume = d.Agents.Ended(), nil
		}
		failed, err := d.pass(ctx)
		if err != nil {
			return err
		}
		if !failed {
			d.work.Idle()
		}
		if resume == nil && (failed || rest) {
			resume = time.After(d.Pause)
		}
	}
}

// pass compares the deployed units with the assigned ones and acts on each difference. A unit that fails is
// logged and does not hold up the others; failed reports whether there was one.
func (d *deployer) pass(ctx context.Context) (failed bool, err error) {
	assigned, err := d.API.DeployedUnits(ctx, d.Parent)
	if err != nil {
		return false, err
	}
	deployed, err := d.Agents.Deployed()
	if err != nil {
		return false, fmt.Errorf("cannot list the agents: %w", err)
	}
	units := map[string]Step{}
	for _, name := range deployed {
		units[name] = Recall
	}
	for _, unit := range assigned {
		_, here := units[unit.Name]
		units[unit.Name] = Next(here, unit.Life)
	}
	for _, name := range entity.NaturalKeys(units) {
		if err := d.do(ctx, units[name], name); err != nil {
			if ctx.Err() != nil {
				return false, context.Cause(ctx)
			}
			logger.Errorf("cannot %s unit %s, retrying in %v: %v", units[name], name, d.Pause, err)
			failed = true
		}
	}
	return failed, nil
}

func (d *deployer) do(ctx context.Context, what Step, unit string) (err error) {
	tag := entity.UnitTag(unit)
	if what != Ensure && what != Drain {
		logger.Infof("%s: %s unit %s", d.Parent, what, unit)
	}
	switch what {
	case Ensure:
		err := d.Agents.Ensure(ctx, unit)
		if errors.Is(err, ErrEnded) {
			// The agent terminated because it could not find its unit, or because its password was invalid. The
			// unit exists and is not Dead, so deploy its agent again with a new password.
			return d.do(ctx, Deploy, unit)
		}
		return err
	case Drain:
		err := d.do(ctx, Ensure, unit)
		if err == nil || ctx.Err() != nil {
			return err
		}
		// An agent that never came up, and can't be started, has nothing to clean up.
		if d.API.RemoveUnit(ctx, tag) != nil {
			return err
		}
		return d.Agents.Recall(ctx, unit)
	case Deploy:
		ctx, span := d.work.Begin(ctx, "deploy unit", trace.WithAttributes(attribute.String("juju.unit", unit)))
		defer func() { tracing.End(span, err) }()
		password, err := d.API.NewPassword(ctx, tag)
		if err != nil {
			return err
		}
		return d.Agents.Deploy(ctx, unit, password)
	case Recall:
		return d.Agents.Recall(ctx, unit)
	case RecallAndRemove:
		if err := d.Agents.Recall(ctx, unit); err != nil {
			return err
		}
	case Remove:
		// A unit whose agent was on a lost machine may still be in relations. Only an agent of its own can leave
		// them in order.
		err := d.API.RemoveUnit(ctx, tag)
		if errors.Is(err, entity.InUse) || errors.Is(err, entity.HasSubordinates) {
			return d.do(ctx, Deploy, unit)
		}
		return err
	}
	return d.API.RemoveUnit(ctx, tag)
}
