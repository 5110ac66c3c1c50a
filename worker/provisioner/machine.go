package provisioner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"juju/provider"
	"juju/state/constraints"
	"juju/state/entity"
	"juju/state/limits"
	"juju/state/modelconfig"
	"juju/state/tracing"
)

// manualPause is the pause between two attempts to remove a manual machine.
const manualPause = time.Second

// A handler is the state of one machine's goroutine.
type handler struct {
	id       string
	lost     entity.Instance // an instance that the cloud no longer has; zero for none
	halfMade bool            // an unrecorded instance may exist
	cause    string          // why the last start failed; "" if the machine is to be started
	cleanups int             // how many failed in a row
	hint     string          // the cloud's hint about cause
	shown    string          // the message of the status pending; "" for none
}

// handle does what one machine's life requires, and retries until it succeeds. It reports whether the machine
// was removed while its instance could not be stopped.
func (p *provisioner) handle(ctx context.Context, t *handler, wake <-chan struct{}) (stray bool) {
	if t.lost.ID != "" && !p.lose(ctx, t) {
		return false
	}
	for ctx.Err() == nil {
		left, err := p.try(ctx, t)
		if errors.Is(err, entity.NotFound) {
			if t.halfMade { // stop it here: to a scan it would be a stray, which the harvest mode may keep
				if err := p.stopLeft(ctx, t); err != nil && ctx.Err() == nil {
					logger.Errorf("machine %s is removed: %v", t.id, err)
				}
			}
			return stray || left // left: the machine was removed while its instance was being stopped
		}
		if err == nil || ctx.Err() != nil {
			return false
		}
		if !errors.Is(err, errNoHost) {
			stray = left
			logger.Errorf("machine %s: %v; retrying in %v", t.id, err, p.Retry)
		}
		pause(ctx, p.Retry, wake)
	}
	return false
}

// lose clears the machine's lost instance, and reports whether it succeeded; if not, the next scan retries.
func (p *provisioner) lose(ctx context.Context, t *handler) bool {
	if err := p.API.LoseInstance(ctx, entity.MachineTag(t.id), t.lost); err != nil {
		if ctx.Err() == nil {
			logger.Warningf("the cloud no longer has instance %s, but cannot clear it from machine %s: %v", t.lost.ID, t.id, err)
		}
		return false
	}
	logger.Warningf("machine %s has lost its instance %s, starting another", t.id, t.lost.ID)
	// The instance may still be running; it must not run beside its replacement.
	if err := p.stop(ctx, t.lost.ID); err != nil && ctx.Err() == nil {
		logger.Errorf("cannot stop lost instance %s: %v", t.lost.ID, err)
	}
	return true
}

// try takes one step for the machine, and another if the first found that its life has changed. left means
// that the machine's instance could not be stopped. The error is NotFound if the machine is removed.
func (p *provisioner) try(ctx context.Context, t *handler) (left bool, err error) {
	left, err = p.step(ctx, t)
	if errors.Is(err, errUnwanted) {
		// Usually its life has changed. If it has not, the next step follows after a pause.
		left, err = p.step(ctx, t)
	}
	return left, err
}

func (p *provisioner) step(ctx context.Context, t *handler) (left bool, err error) {
	m, err := p.machine(ctx, t.id)
	if err != nil {
		return false, err
	}
	tag := entity.MachineTag(t.id)
	next := Next(m, false)
	if next == EnsureDead {
		err := p.API.EnsureDead(ctx, tag)
		switch {
		case err == nil:
			next = Remove
		case errors.Is(err, entity.InUse):
			next = Next(m, true)
		default:
			return false, err
		}
	}
	if t.halfMade && m.InstanceID == "" {
		if err := p.cleanUp(ctx, t); err != nil {
			return false, err
		}
	}
	switch next {
	case Wait:
		return false, nil
	case Start:
		return false, p.start(ctx, t, m)
	case Stop:
		if !p.model.Load().HarvestsDestroyed() {
			logger.Warningf("instance %s of destroyed machine %s is left running: %s is %s", m.InstanceID, m.ID,
				modelconfig.HarvestMode, p.harvest())
		} else if err := p.stop(ctx, m.InstanceID); err != nil {
			return true, errors.Join(fmt.Errorf("cannot stop instance %s: %w", m.InstanceID, err), p.reportStuck(ctx, tag, err))
		}
	}
	if m.IsManual() {
		return false, p.removeManual(ctx, tag)
	}
	return false, p.API.RemoveMachine(ctx, tag)
}

// removeManual removes a Dead manual machine. It retries, because the agent needs a moment to disconnect.
func (p *provisioner) removeManual(ctx context.Context, tag entity.Tag) error {
	for attempt := 1; ; attempt++ {
		err := p.API.RemoveMachine(ctx, tag)
		if attempt == p.Attempts || !errors.Is(err, entity.InUse) {
			return err
		}
		pause(ctx, manualPause, nil)
	}
}

// reportStuck records why the cloud can't stop the machine's instance, with the cloud's hint.
func (p *provisioner) reportStuck(ctx context.Context, tag entity.Tag, why error) error {
	if ctx.Err() != nil {
		return nil // the worker is stopping; it is not the cloud's failure
	}
	status := entity.Status{Status: entity.StatusError, Message: why.Error()}
	if hint := entity.Hint(why); hint != "" {
		status.Data = map[string]any{"hint": hint}
	}
	return p.API.SetInstanceStatus(ctx, tag, status)
}

// showPending sets the status of a machine without an instance to pending, with the reason if why is not nil.
func (p *provisioner) showPending(ctx context.Context, t *handler, why error) {
	text := ""
	if why != nil {
		text = fmt.Sprintf("cannot start an instance yet, trying again: %v", why)
	}
	if text != t.shown && p.setStatus(ctx, t, entity.StatusPending, text) == nil {
		t.shown = text
	}
}

func (p *provisioner) setStatus(ctx context.Context, t *handler, word entity.StatusWord, text string) error {
	status := entity.Status{Status: word, Message: text}
	if t.hint != "" && word == entity.StatusError {
		status.Data = map[string]any{"hint": t.hint}
	}
	err := p.API.SetMachineStatus(ctx, entity.MachineTag(t.id), limits.FitStatus(status))
	if err != nil && ctx.Err() == nil {
		logger.Warningf("cannot set the status of machine %s: %v", t.id, err)
	}
	return err
}

// giveUp records why the machine's instance can't be started. Only then does it remove the remains of the
// start, because that may take long and may fail.
func (p *provisioner) giveUp(ctx context.Context, t *handler, why error) error {
	logger.Errorf("cannot start an instance for machine %s: %v", t.id, why)
	t.cause = fmt.Sprintf("cannot start an instance: %v", why)
	t.hint = entity.Hint(why)
	if err := p.setStatus(ctx, t, entity.StatusError, t.cause); err != nil {
		return err
	}
	t.shown = ""
	return p.cleanUp(ctx, t)
}

// cleanUp removes the remains of an earlier start. While it fails, the machine's status shows the reason, after
// the reason why the start failed. A machine still to be started gets the status error after too many failures;
// shortages are not counted.
func (p *provisioner) cleanUp(ctx context.Context, t *handler) error {
	err := p.stopLeft(ctx, t)
	m, err2 := p.machine(ctx, t.id) // a user may have retried it in the meantime
	if err2 != nil {
		return err2
	}
	failed, inError := t.cleanups > 0, m.Status == entity.StatusError
	switch {
	case err == nil:
		t.cleanups = 0
	case inError:
		t.cleanups = 1 // a later retry gets the full number of attempts
	case entity.IsShortage(err):
		t.cleanups = max(t.cleanups, 1)
	default:
		t.cleanups++
	}
	if !inError {
		t.cause, t.hint = "", ""
	}
	switch {
	case !inError && t.cleanups < p.Attempts:
		p.showPending(ctx, t, err)
	case !inError:
		t.cleanups, t.shown = 0, ""
		err2 = p.setStatus(ctx, t, entity.StatusError, fmt.Sprintf("cannot start an instance: %v", err))
	case err != nil && t.cause != "":
		err2 = p.setStatus(ctx, t, entity.StatusError, fmt.Sprintf("%s; %v", t.cause, err))
	case failed && t.cause != "":
		err2 = p.setStatus(ctx, t, entity.StatusError, t.cause)
	}
	return errors.Join(err, err2)
}

// machine reads one machine. The error is NotFound if it is removed.
func (p *provisioner) machine(ctx context.Context, id string) (entity.MachineInfo, error) {
	machines, err := p.API.Machines(ctx, id)
	if err != nil {
		return entity.MachineInfo{}, err
	}
	if len(machines) == 0 {
		return entity.MachineInfo{}, entity.Errorf(entity.NotFound, "machine %s not found", id)
	}
	return machines[0], nil
}

// errUnwanted means that a machine may no longer need an instance.
var errUnwanted = errors.New("it no longer needs an instance")

// start starts the machine's instance, or records in the machine's status why it can't. If the machine is
// removed or must be read again, it returns errUnwanted.
func (p *provisioner) start(ctx context.Context, t *handler, m entity.MachineInfo) (err error) {
	ctx, span := p.work.Begin(ctx, "start machine", trace.WithAttributes(attribute.String("juju.machine", m.ID)))
	defer func() { tracing.End(span, err) }()
	parent, err := p.parent(ctx, m)
	if errors.Is(err, errNoHost) {
		return err
	}
	nonce := "machine-0:" + uuid.NewString()
	var params provider.StartParams
	if err == nil {
		params, err = p.startParams(ctx, m, nonce)
	}
	if err != nil {
		if !isGoing(err) && ctx.Err() == nil {
			p.showPending(ctx, t, err)
		}
		return err
	}
	params.Parent = parent
	instance, err := p.startInstance(ctx, t, m.Life, params)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil && params.Parent != "" && p.isLost(ctx, params.Parent) {
		err = errNoHost // wait until its host machine has another instance
	}
	if err != nil && !errors.Is(err, errUnwanted) && !errors.Is(err, errNoHost) {
		return p.giveUp(ctx, t, err)
	}
	if err == nil {
		made := entity.Instance{ID: instance.ID, Nonce: nonce, Addresses: instance.Addresses, Hardware: hardware(instance)}
		if p.Environ.Profiler() != nil {
			made.Profiles = entity.ProfileRefs(params.Profiles)
		}
		err = p.API.SetProvisioned(ctx, entity.MachineTag(m.ID), made)
	}
	if errors.Is(err, errNoHost) {
		return err
	}
	if errors.Is(err, errUnwanted) || isGoing(err) {
		return errUnwanted // the next step stops what the start has left
	}
	if err != nil {
		// The instance may have been recorded despite the error; only the next scan can tell.
		return fmt.Errorf("cannot record instance %s: %w", instance.ID, err)
	}
	logger.Infof("machine %s has instance %s", m.ID, instance.ID)
	if len(instance.Addresses) == 0 {
		select {
		case p.addressless <- struct{}{}:
		default:
		}
	}
	return nil
}

// startParams returns the parameters for starting the instance.
func (p *provisioner) startParams(ctx context.Context, m entity.MachineInfo,
	nonce string) (provider.StartParams, error) {
	constraints, err := constraints.Parse(m.Constraints)
	if err != nil {
		return provider.StartParams{}, err
	}
	spaces, err := p.API.MachineSpaces(ctx, entity.MachineTag(m.ID))
	if err != nil {
		return provider.StartParams{}, err
	}
	var profiles []entity.CharmProfile
	if p.Environ.Profiler() != nil {
		if profiles, err = p.API.CharmProfiles(ctx, entity.MachineTag(m.ID)); err != nil {
			return provider.StartParams{}, err
		}
	}
	password, err := p.API.NewPassword(ctx, entity.MachineTag(m.ID))
	if err != nil {
		return provider.StartParams{}, err
	}
	config, err := p.AgentConfig(m, password, nonce)
	if err != nil {
		return provider.StartParams{}, fmt.Errorf("cannot write its agent's configuration: %w", err)
	}
	settings, err := p.API.ModelConfig(ctx) // may be newer than what readConfig has read
	if err != nil {
		return provider.StartParams{}, err
	}
	params := provider.StartParams{
		MachineID: m.ID, Nonce: nonce, Series: m.Series,
		Constraints: constraints, Spaces: spaces, Placement: m.Placement, AgentConfig: config, RunsController: m.Manager,
		Profiles: profiles, UserData: settings[modelconfig.UserData].Value,
	}
	if p.Tools == nil {
		return params, nil
	}
	if params.Tools, err = p.Tools(ctx); err != nil {
		return provider.StartParams{}, fmt.Errorf("cannot choose its agent binaries: %w", err)
	}
	return params, nil
}

// startInstance starts an instance. It retries retryable errors. It retries shortages, such as a full disk, without
// limit and after longer and longer pauses. It returns errUnwanted if the machine's life changes. Meanwhile the
// machine's status shows the error of the first attempt before that of the latest, which may only be a consequence.
// All attempts use one nonce, so they create at most one instance. Each attempt waits for a slot, so a machine that
// never succeeds does not hold up the others.
func (p *provisioner) startInstance(ctx context.Context, t *handler, life entity.Life,
	params provider.StartParams) (provider.Instance, error) {
	var first error
	wait, counted := p.Pause, 0 // counted: the attempts since the last shortage
	for attempt := 1; ; attempt++ {
		var instance provider.Instance
		err := p.starts.do(ctx, func() (err error) {
			// Its life may have changed while it waited for the slot.
			if m, err := p.machine(ctx, t.id); isGoing(err) || err == nil && m.Life != life {
				return errUnwanted
			}
			t.halfMade = true
			instance, err = p.startInZone(ctx, params)
			return ofCloud(err)
		})
		if errors.Is(err, errUnwanted) || ctx.Err() != nil {
			return instance, err
		}
		if err == nil { // now, because once the instance is recorded the agent may set the status to started
			p.showPending(ctx, t, nil)
		}
		counted++
		givesUp := counted >= p.Attempts || !provider.IsRetryable(err)
		if first == nil || entity.IsShortage(first) {
			first = err
		}
		short := entity.IsShortage(err)
		if err != nil && err.Error() != first.Error() {
			err = fmt.Errorf("%w; then: %w", first, err)
		}
		if err == nil || givesUp && !short {
			return instance, err
		}
		logger.Warningf("cannot start an instance for machine %s at attempt %d: %v", t.id, attempt, err)
		p.showPending(ctx, t, err)
		pause(ctx, wait, nil)
		if short {
			counted, wait = 0, min(2*wait, max(p.Pause, p.Retry))
		}
	}
}

// stopLeft stops every instance that earlier starts left for the machine.
func (p *provisioner) stopLeft(ctx context.Context, t *handler) error {
	instances, err := p.Environ.Instances(ctx)
	if err != nil {
		return fmt.Errorf("cannot find what an earlier start left behind: %w", ofCloud(err))
	}
	for _, in := range instances {
		if in.MachineID == t.id {
			if err := p.stop(ctx, in.ID); err != nil {
				return fmt.Errorf("cannot remove what an earlier start left behind: %w", err)
			}
		}
	}
	t.halfMade = false
	return nil
}

// ofCloud hides the kind of a cloud's error that says that something is not found, so that callers don't take
// the machine itself for removed.
func ofCloud(err error) error {
	if !isGoing(err) {
		return err
	}
	plain := errors.New(err.Error())
	if hint := entity.Hint(err); hint != "" {
		return entity.WithHint(plain, "%s", hint)
	}
	return plain
}

// isGoing reports whether an error says that the machine is removed or no longer Alive.
func isGoing(err error) bool {
	return errors.Is(err, entity.NotFound) || errors.Is(err, entity.NotAlive)
}

// pause waits for d, or until it is woken or ctx is done.
func pause(ctx context.Context, d time.Duration, wake <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-wake:
	case <-timer.C:
	}
}
