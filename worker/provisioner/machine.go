package provisioner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"juju/provider"
	"juju/state/constraints"
	"juju/state/entity"
	"juju/state/modelconfig"
)

// manualPause is the pause between two attempts to remove a manual machine.
const manualPause = time.Second

// A tender is the goroutine of one machine.
type tender struct {
	id       string
	lost     entity.Instance // that the cloud does not have any more; "" for none
	halfMade bool            // an instance may be there that is not recorded
	cause    string          // why the last start failed; "" if the machine is to be started
	cleanups int             // that failed in a row
	hint     string          // what the cloud advises about that
	said     string          // what the machine's status says it waits for; "" for nothing
}

// tend does what one machine's life requires, and tries again until that succeeds. It reports
// whether the machine was removed while its instance could not be stopped.
func (p *provisioner) tend(ctx context.Context, t *tender, wake <-chan struct{}) (stray bool) {
	if t.lost.ID != "" && !p.lose(ctx, t) {
		return false
	}
	for ctx.Err() == nil {
		left, err := p.try(ctx, t)
		if errors.Is(err, entity.NotFound) {
			if t.halfMade { // no one else knows that it is not a stray, which the harvest mode may keep
				if err := p.stopLeft(ctx, t); err != nil && ctx.Err() == nil {
					logger.Errorf("machine %s is gone: %v", t.id, err)
				}
			}
			return stray || left // left: the machine was removed while its instance was being stopped
		}
		if err == nil || ctx.Err() != nil {
			return false
		}
		if !errors.Is(err, errNoHost) {
			stray = left
			logger.Errorf("machine %s: %v; again in %v", t.id, err, p.Retry)
		}
		pause(ctx, p.Retry, wake)
	}
	return false
}

// lose clears the machine's instance, and reports whether it did; if not, that is left to the next look.
func (p *provisioner) lose(ctx context.Context, t *tender) bool {
	if err := p.API.LoseInstance(ctx, entity.MachineTag(t.id), t.lost); err != nil {
		if ctx.Err() == nil {
			logger.Warningf("the cloud has no instance %s any more, but machine %s keeps it: %v", t.lost.ID, t.id, err)
		}
		return false
	}
	logger.Warningf("machine %s has lost its instance %s, and gets another", t.id, t.lost.ID)
	// The instance may still run; its successor must not meet it.
	if err := p.stop(ctx, t.lost.ID); err != nil && ctx.Err() == nil {
		logger.Errorf("cannot stop what is left of instance %s: %v", t.lost.ID, err)
	}
	return true
}

// try takes the machine as far as it can, and reads it again if it wants no instance any more.
// left means that it failed because the machine's instance can't be stopped. The error is NotFound
// when the machine is gone.
func (p *provisioner) try(ctx context.Context, t *tender) (left bool, err error) {
	left, err = p.step(ctx, t)
	if errors.Is(err, errUnwanted) {
		// Its life has changed. If that is not so, the next step comes after a pause.
		left, err = p.step(ctx, t)
	}
	return left, err
}

func (p *provisioner) step(ctx context.Context, t *tender) (left bool, err error) {
	m, err := p.machine(ctx, t.id)
	if err != nil || m.Manager {
		return false, err
	}
	tag := entity.MachineTag(t.id)
	switch {
	case m.IsManual():
		if m.Life != entity.Dead {
			return false, nil
		}
		return false, p.removeManual(ctx, tag)
	case m.Life == entity.Dead && m.InstanceID != "" && !p.model.Load().HarvestsDestroyed():
		logger.Warningf("instance %s of machine %s, which is destroyed, is left running: %s is %s", m.InstanceID, m.ID,
			modelconfig.HarvestMode, p.harvest())
	case m.Life == entity.Dead && m.InstanceID != "":
		if err := p.stop(ctx, m.InstanceID); err != nil {
			return true, errors.Join(fmt.Errorf("cannot stop instance %s: %w", m.InstanceID, err), p.reportStuck(ctx, tag, err))
		}
	case m.InstanceID != "":
		return false, nil
	default:
		if m.Life == entity.Dying {
			// The units still on it had agents on an instance that was lost.
			err := p.API.EnsureDead(ctx, tag)
			if err == nil {
				m.Life = entity.Dead
			} else if !errors.Is(err, entity.InUse) {
				return false, err
			}
		}
		if t.halfMade {
			if err := p.cleanUp(ctx, t); err != nil {
				return false, err
			}
		}
		if m.Life == entity.Dead {
			break
		}
		if m.Status == entity.StatusError {
			return false, nil // the user must act
		}
		return false, p.start(ctx, t, m)
	}
	return false, p.API.RemoveMachine(ctx, tag)
}

// removeManual removes a Dead manual machine. Its agent needs a moment to end.
func (p *provisioner) removeManual(ctx context.Context, tag entity.Tag) error {
	for attempt := 1; ; attempt++ {
		err := p.API.RemoveMachine(ctx, tag)
		if attempt == p.Attempts || !errors.Is(err, entity.InUse) {
			return err
		}
		pause(ctx, manualPause, nil)
	}
}

// reportStuck records why the cloud does not stop the machine's instance, with its advice.
func (p *provisioner) reportStuck(ctx context.Context, tag entity.Tag, why error) error {
	if ctx.Err() != nil {
		return nil // no one is to blame
	}
	status := entity.Status{Status: entity.StatusError, Message: why.Error()}
	if hint := entity.Hint(why); hint != "" {
		status.Data = map[string]any{"hint": hint}
	}
	return p.API.SetInstanceStatus(ctx, tag, status)
}

// says has the status of a machine that is to get an instance say why it has none yet; nil for nothing.
func (p *provisioner) says(ctx context.Context, t *tender, why error) {
	text := ""
	if why != nil {
		text = fmt.Sprintf("cannot start an instance yet, trying again: %v", why)
	}
	if text != t.said && p.setStatus(ctx, t, entity.StatusPending, text) == nil {
		t.said = text
	}
}

func (p *provisioner) setStatus(ctx context.Context, t *tender, word entity.StatusWord, text string) error {
	status := entity.Status{Status: word, Message: text}
	if t.hint != "" && word == entity.StatusError {
		status.Data = map[string]any{"hint": t.hint}
	}
	err := p.API.SetMachineStatus(ctx, entity.MachineTag(t.id), status.Fitted())
	if err != nil && ctx.Err() == nil {
		logger.Warningf("cannot set the status of machine %s: %v", t.id, err)
	}
	return err
}

// giveUp records why the machine's instance can't be started, and then removes what the start has
// left, which may take long, and fail.
func (p *provisioner) giveUp(ctx context.Context, t *tender, why error) error {
	logger.Errorf("cannot start an instance for machine %s: %v", t.id, why)
	t.cause = fmt.Sprintf("cannot start an instance: %v", why)
	t.hint = entity.Hint(why)
	if err := p.setStatus(ctx, t, entity.StatusError, t.cause); err != nil {
		return err
	}
	t.said = ""
	return p.cleanUp(ctx, t)
}

// cleanUp removes what an earlier start has left. While that fails, the machine's status says so, after the
// cause of a start that has failed. A machine that is only to be started is in error when it has failed too often.
func (p *provisioner) cleanUp(ctx context.Context, t *tender) error {
	err := p.stopLeft(ctx, t)
	m, err2 := p.machine(ctx, t.id) // a user may have had it tried again meanwhile
	if err2 != nil {
		return err2
	}
	failed, inError := t.cleanups > 0, m.Status == entity.StatusError
	switch {
	case err == nil:
		t.cleanups = 0
	case inError:
		t.cleanups = 1 // a retry has all its attempts
	default:
		t.cleanups++
	}
	if !inError {
		t.cause, t.hint = "", ""
	}
	switch {
	case !inError && t.cleanups < p.Attempts:
		p.says(ctx, t, err)
	case !inError:
		t.cleanups, t.said = 0, ""
		err2 = p.setStatus(ctx, t, entity.StatusError, fmt.Sprintf("cannot start an instance: %v", err))
	case err != nil && t.cause != "":
		err2 = p.setStatus(ctx, t, entity.StatusError, fmt.Sprintf("%s; %v", t.cause, err))
	case failed && t.cause != "":
		err2 = p.setStatus(ctx, t, entity.StatusError, t.cause)
	}
	return errors.Join(err, err2)
}

// machine reads one machine; NotFound when it is gone.
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

// errUnwanted means that a machine no longer needs an instance.
var errUnwanted = errors.New("it wants no instance any more")

// start starts the machine's instance, or records the status that says why it can't. It returns
// errUnwanted, and leaves nothing, when the machine is gone or must be read again.
func (p *provisioner) start(ctx context.Context, t *tender, m entity.MachineInfo) error {
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
			p.says(ctx, t, err)
		}
		return err
	}
	params.Parent = parent
	instance, err := p.startInstance(ctx, t, m.Life, params)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil && params.Parent != "" && p.isLost(ctx, params.Parent) {
		err = errNoHost // until its machine has another
	}
	if err != nil && !errors.Is(err, errUnwanted) && !errors.Is(err, errNoHost) {
		return p.giveUp(ctx, t, err)
	}
	if err == nil {
		err = p.API.SetProvisioned(ctx, entity.MachineTag(m.ID), entity.Instance{ID: instance.ID, Nonce: nonce,
			Addresses: instance.Addresses, Hardware: hardware(instance)})
	}
	if errors.Is(err, errUnwanted) || errors.Is(err, errNoHost) || isGoing(err) {
		if t.halfMade {
			if err := p.stopLeft(ctx, t); err != nil {
				return err
			}
		}
		if errors.Is(err, errNoHost) {
			return err
		}
		return errUnwanted
	}
	if err != nil {
		// The instance may have been recorded all the same; only the next look can tell.
		return fmt.Errorf("cannot record instance %s: %w", instance.ID, err)
	}
	t.halfMade = false
	logger.Infof("machine %s has instance %s", m.ID, instance.ID)
	if len(instance.Addresses) == 0 {
		select {
		case p.homeless <- struct{}{}:
		default:
		}
	}
	return nil
}

// startParams collects what is needed to start the instance.
func (p *provisioner) startParams(ctx context.Context, m entity.MachineInfo,
	nonce string) (provider.StartParams, error) {
	constraints, err := constraints.Parse(m.Constraints)
	if err != nil {
		return provider.StartParams{}, err
	}
	password, err := p.API.NewPassword(ctx, entity.MachineTag(m.ID))
	if err != nil {
		return provider.StartParams{}, err
	}
	config, err := p.AgentConfig(m, password, nonce)
	if err != nil {
		return provider.StartParams{}, fmt.Errorf("cannot write its agent's configuration: %w", err)
	}
	params := provider.StartParams{
		MachineID: m.ID, Nonce: nonce, Series: m.Series,
		Constraints: constraints, Placement: m.Placement, AgentConfig: config,
	}
	if p.Tools == nil {
		return params, nil
	}
	if params.Tools, err = p.Tools(ctx); err != nil {
		return provider.StartParams{}, fmt.Errorf("cannot choose the programs of its agent: %w", err)
	}
	return params, nil
}

// startInstance tries again while that can help and the machine's life has not changed;
// otherwise it returns errUnwanted. On a full disk it tries until there is room, however
// often that is. The machine's status says why, first of all why the first attempt failed: what a later one
// meets may only follow from that. All attempts use one nonce, so they make at most one instance. Each waits
// for its turn among the machines to be started, so that one that never succeeds does not hold up the others.
func (p *provisioner) startInstance(ctx context.Context, t *tender, life entity.Life,
	params provider.StartParams) (provider.Instance, error) {
	var first error
	for attempt := 1; ; attempt++ {
		var instance provider.Instance
		err := p.starts.do(ctx, func() (err error) {
			// Its life may have changed while it waited.
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
		if err == nil { // before its agent is let in, and says that it has started
			p.says(ctx, t, nil)
		}
		givesUp := attempt >= p.Attempts || !provider.IsRetryable(err)
		if first == nil || entity.IsDiskFull(first) {
			first = err
		}
		full := entity.IsDiskFull(err)
		if err != nil && err.Error() != first.Error() {
			err = fmt.Errorf("%w; then: %w", first, err)
		}
		if err == nil || givesUp && !full {
			return instance, err
		}
		logger.Warningf("cannot start an instance for machine %s at attempt %d: %v", t.id, attempt, err)
		p.says(ctx, t, err)
		pause(ctx, p.Pause, nil)
	}
}

// stopLeft stops every instance that a failed start has left for the machine.
func (p *provisioner) stopLeft(ctx context.Context, t *tender) error {
	instances, err := p.Environ.Instances(ctx)
	if err != nil {
		return fmt.Errorf("cannot find what an earlier start has left: %w", ofCloud(err))
	}
	for _, in := range instances {
		if in.MachineID == t.id {
			if err := p.stop(ctx, in.ID); err != nil {
				return fmt.Errorf("cannot remove what an earlier start has left: %w", err)
			}
		}
	}
	t.halfMade = false
	return nil
}

// ofCloud returns an error of the cloud for one that says that something of the cloud's is not found,
// which must not be taken for the machine.
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

// isGoing reports whether an error says that the machine no longer needs what was to be written
// to it.
func isGoing(err error) bool {
	return errors.Is(err, entity.NotFound) || errors.Is(err, entity.NotAlive)
}

// pause waits for d, or until wake.
func pause(ctx context.Context, d time.Duration, wake <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-wake:
	case <-timer.C:
	}
}
