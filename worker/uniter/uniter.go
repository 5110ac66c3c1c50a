package uniter

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/juju/loggo"
	"go.opentelemetry.io/otel/trace"

	"juju/hooks"
	"juju/state/entity"
	"juju/state/modelconfig"
	"juju/state/tracing"
	"juju/worker"
	"juju/worker/leadership"
	"juju/worker/uniter/charmdir"
	"juju/worker/uniter/operation"
	"juju/worker/uniter/resolver"
)

var logger = loggo.GetLogger("juju.worker.uniter")

// API is what a uniter and its parts need of the controller. Every method is about the unit named first, whose
// agent is logged in.
type API interface {
	remoteAPI
	operation.API
	charmdir.Source

	SetAgentStatus(ctx context.Context, unit entity.Tag, status entity.Status) error
	// RequestReboot asks the machine's agent to restart the machine, unless it has restarted since the given
	// boot.
	RequestReboot(ctx context.Context, unit entity.Tag, boot string) error
}

// Config is what a uniter needs.
type Config struct {
	API        API
	Leadership leadership.API
	Unit       entity.Tag
	// StateDir holds the unit's state. Charms are unpacked there, so it must be on the same file system as the
	// charm directory, Hooks.CharmDir.
	StateDir string
	// Hooks says where hooks run. The uniter fills the tools directory.
	Hooks hooks.RunnerParams
	// Context has the parameters that the environments of all hooks share.
	Context hooks.ContextParams
	// Configured is called with the model's settings initially and when they may have changed. It may be nil.
	Configured func(modelconfig.Config)
	// IdleDelay is how long the agent must have had nothing to do before its status becomes idle; 2 seconds if
	// zero.
	IdleDelay time.Duration
	// Tracer begins the spans of hooks, nil for none, and Started has the span in which the agent was started.
	Tracer  trace.Tracer
	Started *tracing.Causes

	newHost func(Config) (*host, error) // replaced in tests
}

// New returns the uniter of one unit. It fails with worker.ErrTerminateAgent when the unit is Dead or removed.
// When its context ends, it lets a running hook finish, however long that takes, and then releases the
// leadership.
func New(config Config) worker.Func {
	if config.IdleDelay == 0 {
		config.IdleDelay = 2 * time.Second
	}
	if config.Configured == nil {
		config.Configured = func(modelconfig.Config) {}
	}
	if config.newHost == nil {
		config.newHost = newHost
	}
	tracker := leadership.NewTracker(config.Leadership, config.Unit, leadership.Term)
	config.Context.Leadership = tracker
	return func(ctx context.Context) error {
		err := run(ctx, config, tracker)
		var gone *goneError
		if errors.As(err, &gone) {
			return fmt.Errorf("unit %s is removed: %w", config.Unit.ID, worker.ErrTerminateAgent)
		}
		return err
	}
}

// run runs a uniter until it ends.
func run(ctx context.Context, config Config, tracker *leadership.Tracker) error {
	defer track(ctx, tracker)()
	work, ctx := tracing.NewWork(ctx, config.Tracer, config.Started)
	remote, err := newRemote(ctx, config.API, config.Unit, tracker, config.Configured)
	if err != nil {
		return err
	}
	defer remote.close()
	host, err := config.newHost(config)
	if err != nil {
		return err
	}
	defer host.close()
	remote.commands, remote.snapshot.Boot = host.commands, host.boot
	state, err := host.store.Read()
	if err != nil {
		return err
	}
	u := &uniter{Config: config, host: host, remote: remote, executor: operation.NewExecutor(host.store, state),
		work: work, busy: time.Now(), updated: time.Now(), jitter: newJitter()}
	u.executor.Full = u.showFull
	u.factory = operation.Factory{
		API: config.API, Unit: config.Unit,
		Runner: host.runner, EndInterrupted: host.runner.EndInterrupted, Deploy: host.deploy,
		SetAgentStatus: u.setAgentStatus,
		Hook:           config.Context,
	}
	return u.loop(ctx)
}

// track runs the tracker until the returned function is called, which must be when no hook is running. If ctx is
// done, that function also releases the leadership.
func track(ctx context.Context, tracker *leadership.Tracker) (end func()) {
	during, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		tracker.Run(during)
	}()
	return func() {
		cancel()
		<-done
		if ctx.Err() != nil {
			tracker.Release(ctx)
		}
	}
}

// A uniter's fields are owned by its loop.
type uniter struct {
	Config
	host     *host
	remote   *remote
	executor *operation.Executor
	factory  operation.Factory
	work     *tracing.Work
	busy     time.Time // when the last operation ended
	updated  time.Time // when update-status last ran, or the agent started
	jitter   jitter    // of the pause since then
	reported bool      // the workload's status shows the failure
	asked    bool      // a restart of the machine has been requested
	retry    retry     // of the failed hook
	status   shown     // the agent's status as last set
	hidden   shown     // the status to restore when the disk is no longer full
}

// shown is an agent's status.
type shown struct {
	word    entity.StatusWord
	message string
}

func (u *uniter) loop(ctx context.Context) error {
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := u.remote.refresh(ctx); err != nil {
			return err
		}
		var err error
		if u.remote.snapshot.Hooks, err = u.host.hooks(); err != nil {
			// The next hook will fail with this error. A unit that is removed by force runs none, so continue.
			logger.Warningf("unit %s: cannot look up the charm's hooks: %v", u.Unit.ID, err)
		}
		u.remote.snapshot.UpdateStatusDue = u.remote.snapshot.Hooks.Has(string(hooks.UpdateStatus)) &&
			!time.Now().Before(u.nextUpdate())
		op := resolver.NextOp(u.executor.State(), u.remote.snapshot)
		logger.Debugf("unit %s: %s", u.Unit.ID, op)
		switch op.Verb {
		case resolver.Terminate:
			return fmt.Errorf("unit %s is dead: %w", u.Unit.ID, worker.ErrTerminateAgent)
		case resolver.AwaitResolution:
			err = u.awaitResolution(ctx)
		case resolver.AwaitReboot:
			err = u.awaitReboot(ctx)
		case resolver.Wait:
			err = u.idle(ctx)
		default:
			err = u.carryOut(ctx, op)
		}
		if err != nil {
			return err
		}
	}
}

// idle waits until something changes or update-status is due. After IdleDelay it sets the agent's status to idle.
func (u *uniter) idle(ctx context.Context) error {
	if !u.remote.complete() {
		return u.remote.wait(ctx, nil)
	}
	u.work.Idle()
	if profile := u.awaitedProfile(); profile != "" {
		if err := u.setAgentStatus(ctx, entity.StatusExecuting,
			"waiting until the machine has LXD profile "+profile); err != nil {
			return err
		}
	} else if u.status.word != entity.StatusIdle {
		err := u.waitUntil(ctx, u.busy.Add(u.IdleDelay))
		if errors.Is(err, errTimeout) {
			return u.setAgentStatus(ctx, entity.StatusIdle, "")
		}
		return err
	}
	if due := u.remote.snapshot.UpdateStatusDue; due || !u.remote.snapshot.Hooks.Has(string(hooks.UpdateStatus)) {
		return u.remote.wait(ctx, nil) // the resolver has decided that it can't run now
	}
	if err := u.waitUntil(ctx, u.nextUpdate()); !errors.Is(err, errTimeout) {
		return err
	}
	return nil
}

// awaitedProfile returns the profile for which the unit waits with deploying its charm; "" for none.
func (u *uniter) awaitedProfile() string {
	local, unit := u.executor.State(), u.remote.snapshot.Unit
	if local.Installed && local.Op == nil && local.Charm == unit.ServiceCharmURL {
		return ""
	}
	return unit.AwaitedProfile
}

// nextUpdate returns when the next update-status hook is due.
func (u *uniter) nextUpdate() time.Time {
	return u.updated.Add(u.jitter.of(u.remote.config.UpdateStatusInterval()))
}

// waitUntil waits until something changes. It returns errTimeout if nothing does before at.
func (u *uniter) waitUntil(ctx context.Context, at time.Time) error {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	return u.remote.wait(ctx, timer.C)
}

// awaitResolution shows the failure in the unit's status, and waits until something changes or a retry is due.
func (u *uniter) awaitResolution(ctx context.Context) error {
	if !u.reported {
		if err := u.executor.Run(ctx, u.factory.Report()); err != nil {
			return err
		}
		u.reported = true
	}
	if err := u.setAgentStatus(ctx, entity.StatusIdle, ""); err != nil {
		return err
	}
	return u.awaitRetry(ctx)
}

// awaitReboot requests a restart of the machine and waits. The agent is stopped before the machine restarts.
func (u *uniter) awaitReboot(ctx context.Context) error {
	if !u.asked {
		if err := u.API.RequestReboot(ctx, u.Unit, u.remote.snapshot.Boot); err != nil {
			return err
		}
		u.asked = true
		logger.Infof("unit %s: waiting for the machine to restart", u.Unit.ID)
	}
	if err := u.setAgentStatus(ctx, entity.StatusRebooting, ""); err != nil {
		return err
	}
	return u.remote.wait(ctx, nil)
}

// showFull sets the agent's status to say that the disk is too full to record the unit's state. If err is nil, it
// restores the previous status.
func (u *uniter) showFull(ctx context.Context, err error) {
	word, message := u.hidden.word, u.hidden.message
	if err != nil {
		u.hidden = u.status
		word, message = entity.StatusExecuting, fmt.Sprintf("waiting for disk space: %v", err)
	}
	if err := u.setAgentStatus(ctx, word, message); err != nil {
		logger.Warningf("unit %s: cannot set its status to say that the disk is full: %v", u.Unit.ID, err)
	}
}

// setAgentStatus sets the agent's status if it differs from the current one.
func (u *uniter) setAgentStatus(ctx context.Context, word entity.StatusWord, message string) error {
	if u.status.word == word && u.status.message == message {
		return nil
	}
	err := u.API.SetAgentStatus(ctx, u.Unit, entity.Status{Status: word, Message: message})
	if err == nil {
		u.status.word, u.status.message = word, message
	}
	return err
}

// carryOut runs one operation and records what it changes.
func (u *uniter) carryOut(ctx context.Context, next resolver.Op) (err error) {
	before := u.executor.State()
	u.factory.Hook.Settings = u.remote.config.Values()
	u.factory.Hook.Zone = u.remote.snapshot.Unit.Zone
	exempted := make(chan struct{})
	exempt := sync.OnceFunc(func() { close(exempted) })
	service := u.remote.snapshot.Unit.Service
	if u.remote.config.LockExempt(service) {
		exempt()
	}
	u.factory.Hook.LockExempt, u.factory.Hook.HostLock = exempted, u.remote.config.HostLock(service)
	if next.Verb == resolver.RunCommand {
		u.factory.Command = u.remote.command
		defer func() { u.remote.endCommand(err) }()
	}
	op, err := u.factory.New(next, before, u.remote.copy())
	if err != nil {
		return err
	}
	err = u.remote.runWatched(ctx, next.Task, exempt, func(ctx context.Context) error { return u.execute(ctx, next, op) })
	u.busy, u.reported = time.Now(), false
	u.remote.snapshot.RetryDue = false
	if next.Hook.Kind == hooks.UpdateStatus {
		u.updated, u.jitter = u.busy, newJitter()
	}
	u.retry = u.retry.after(next, u.executor.State())
	// A failure from before the operation, to which a forced upgrade or a task returns, is not logged again.
	failed := u.executor.State().Failed()
	if failed == before.Op || before.Op != nil && failed == before.Op.After {
		failed = nil
	}
	if failed != nil {
		logger.Errorf("unit %s: %s", u.Unit.ID, operation.Failure(failed))
	}
	if message := op.History(); message != "" {
		if failed != nil {
			message += " (failed)"
		}
		if err := u.host.record(message); err != nil {
			logger.Warningf("%v", err)
		}
	}
	if errors.Is(err, operation.ErrBarred) {
		logger.Debugf("unit %s: %v", u.Unit.ID, err)
		u.remote.barred(next)
		return nil
	}
	if err != nil {
		return err
	}
	u.remote.done(next, before, u.executor.State())
	return nil
}
