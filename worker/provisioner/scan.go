package provisioner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"juju/provider"
	"juju/state/entity"
	"juju/state/modelconfig"
	"juju/worker"
)

// longestWait bounds the time between two looks while the cloud does not answer.
const longestWait = 15 * time.Minute

// stopBound is how long a cloud may take to stop an instance.
const stopBound = 5 * time.Minute

// A view is a snapshot of the leftovers, the cloud's instances and the machines, read in that
// order. So an instance whose machine has no instance recorded may be recorded a moment later,
// but never the other way round; and a leftover that the cloud does not list is gone.
type view struct {
	leftovers map[string]bool // instances
	instances []provider.Instance
	machines  map[string]entity.MachineInfo
}

func (p *provisioner) view(ctx context.Context) (v view, err error) {
	if v.leftovers, err = p.leftovers(ctx); err != nil {
		return v, err
	}
	p.zones.listing()
	if v.instances, err = p.Environ.Instances(ctx); err != nil {
		return v, err
	}
	p.zones.list(v.instances)
	machines, err := p.API.Machines(ctx)
	v.machines = map[string]entity.MachineInfo{}
	for _, m := range machines {
		v.machines[m.ID] = m
	}
	return v, err
}

// stray reports whether an instance belongs to no machine. If its machine has no instance
// recorded, it may be about to be.
func (v view) stray(in provider.Instance) bool {
	m, ok := v.machines[in.MachineID]
	return !ok || m.InstanceID != "" && m.InstanceID != in.ID
}

// looked is the result of a look.
type looked struct {
	machines []string                   // to attend to
	lost     map[string]entity.Instance // machines whose instance is lost
	strays   map[string]stray           // instances to stop
	err      error
	next     time.Duration // until the next look
}

// A stray is an instance that belongs to no machine.
type stray struct {
	machine  string // that it was started for
	leftover bool   // it is recorded as such
}

// A stopped stray, or one that can't be stopped.
type stopped struct {
	instance string
	err      error
}

// missing is an instance that the cloud did not list, since when, and whether that is recorded.
type missing struct {
	entity.Instance
	since    time.Time
	recorded bool
}

// firstLook begins the looks. It returns the machines that have an instance in the cloud but
// none on record, because an earlier provisioner did not finish. Such an instance's agent is
// about to lose its password to a new one.
func (p *provisioner) firstLook(ctx context.Context) (halfMade map[string]bool, err error) {
	v, err := p.view(ctx)
	if err != nil {
		return nil, err
	}
	halfMade = map[string]bool{}
	for _, in := range v.instances {
		if m, ok := v.machines[in.MachineID]; ok && m.InstanceID == "" {
			halfMade[in.MachineID] = true
		}
	}
	p.looking = true
	go func() { p.looked <- p.look(ctx, v) }()
	return halfMade, nil
}

// lookNow begins a look, or requests another if one is running.
func (p *provisioner) lookNow(ctx context.Context) {
	if p.soon = p.looking; p.looking {
		return
	}
	p.looking = true
	go func() {
		v, err := p.view(ctx)
		if err != nil {
			p.wait = min(max(2*p.wait, p.Retry), longestWait)
			p.looked <- looked{err: fmt.Errorf("cannot look at what the cloud has: %w", err), next: p.wait}
			return
		}
		p.wait = 0
		p.looked <- p.look(ctx, v)
	}()
}

// look records what the cloud reports of the instances, deletes leftovers that are gone, and finds stray
// instances and lost ones. What the cloud may be slow at is left to others, what fails to the next look.
func (p *provisioner) look(ctx context.Context, v view) looked {
	result := looked{next: p.Look, lost: map[string]entity.Instance{}, strays: map[string]stray{}}
	var errs []error
	there := map[string]bool{}
	leftovers, err := p.leftovers(ctx) // includes those of machines that were removed while the cloud answered
	if err != nil {
		errs = append(errs, fmt.Errorf("cannot read the leftovers: %w", err))
	}
	for _, in := range v.instances {
		there[in.ID] = true
		if v.stray(in) && p.harvests(in, leftovers[in.ID]) {
			result.strays[in.ID] = stray{in.MachineID, leftovers[in.ID]}
		}
	}
	if err := p.forget(ctx, v.leftovers, there); err != nil {
		errs = append(errs, fmt.Errorf("cannot forget what destructions have left: %w", err))
	}
	missed := map[string]missing{}
	for id, m := range v.machines {
		switch {
		case m.Manager:
		case m.Life == entity.Dead, m.Life == entity.Dying && m.InstanceID == "":
			// What the machine waits for may be gone without an event.
			result.machines = append(result.machines, id)
		case m.InstanceID == "" || m.IsManual() || there[m.InstanceID]:
		default:
			in := p.miss(ctx, m)
			if missed[id] = in; time.Since(in.since) >= p.Sure {
				result.lost[id] = in.Instance
			}
		}
	}
	if p.missed = missed; len(missed) > 0 {
		result.next = min(p.Look, p.Sure)
	}
	if poll := p.observe(ctx, v); poll > 0 {
		result.next = min(result.next, poll)
	}
	result.err = errors.Join(errs...)
	return result
}

// hasLooked starts what a look has found to be done, and notes what has failed in it.
func (p *provisioner) hasLooked(ctx context.Context, l looked) {
	if p.failed = l.err; l.err == nil {
		maps.DeleteFunc(p.stuck, func(id string, _ error) bool { _, ok := l.strays[id]; return !ok && !p.stopping[id] })
	} else if ctx.Err() == nil {
		logger.Errorf("%v; again in %v", l.err, l.next)
	}
	p.report(ctx)
	for id, in := range l.strays {
		if !p.stopping[id] {
			p.stopping[id] = true
			go func() { p.stopped <- stopped{id, p.stopStray(ctx, id, in)} }()
		}
	}
	for id, in := range l.lost {
		p.attend(ctx, &tender{id: id, lost: in}, false)
	}
}

// stopStray stops an instance that belongs to no machine.
func (p *provisioner) stopStray(ctx context.Context, id string, in stray) error {
	logger.Infof("stopping stray instance %s of machine %s", id, in.machine)
	err := p.stop(ctx, id)
	if err == nil && in.leftover {
		err = p.API.DropLeftovers(ctx, id)
	}
	return err
}

// hasStopped notes that a stray is stopped, or can't be, which is left to the next look.
func (p *provisioner) hasStopped(ctx context.Context, s stopped) {
	delete(p.stopping, s.instance)
	delete(p.stuck, s.instance)
	if s.err != nil {
		p.stuck[s.instance] = fmt.Errorf("cannot stop stray instance %s: %w", s.instance, s.err)
		if ctx.Err() == nil {
			logger.Errorf("%v", p.stuck[s.instance])
		}
	}
	p.report(ctx)
}

// report reports what has failed in the last look and in stopping what it has found, if anything has.
func (p *provisioner) report(ctx context.Context) {
	errs := []error{p.failed}
	for _, id := range slices.Sorted(maps.Keys(p.stuck)) {
		errs = append(errs, p.stuck[id])
	}
	worker.Report(ctx, errors.Join(errs...))
}

// miss notes the machine's instance as missing, and records that.
func (p *provisioner) miss(ctx context.Context, m entity.MachineInfo) missing {
	in := missing{Instance: entity.Instance{ID: m.InstanceID, Nonce: m.Nonce}, since: time.Now()}
	if before, ok := p.missed[m.ID]; ok && before.ID == in.ID && before.Nonce == in.Nonce {
		in.since, in.recorded = before.since, before.recorded
	}
	if !in.recorded {
		err := p.API.Observe(ctx, entity.MachineTag(m.ID), in.Instance, string(entity.StatusMissing))
		if in.recorded = err == nil; err != nil && ctx.Err() == nil {
			logger.Errorf("cannot record that the instance of machine %s is missing: %v", m.ID, err)
		}
	}
	return in
}

// harvests reports whether the model's settings allow stopping an instance that belongs to no
// machine. Destroyed means that it is known to have belonged to a destroyed machine.
func (p *provisioner) harvests(in provider.Instance, destroyed bool) bool {
	config := p.model.Load()
	if config.HarvestsUnknown() || destroyed && config.HarvestsDestroyed() {
		delete(p.kept, in.ID)
		return true
	}
	if !p.kept[in.ID] {
		p.kept[in.ID] = true
		logger.Warningf("stray instance %s of machine %s is left running: %s is %s", in.ID, in.MachineID,
			modelconfig.HarvestMode, p.harvest())
	}
	return false
}

// leftovers returns the instances that forced removals have left.
func (p *provisioner) leftovers(ctx context.Context) (map[string]bool, error) {
	all, err := p.API.Leftovers(ctx)
	instances := map[string]bool{}
	for _, r := range all {
		if r.Instance != "" {
			instances[r.Instance] = true
		}
	}
	return instances, err
}

// forget deletes the leftovers whose instances the cloud no longer has.
func (p *provisioner) forget(ctx context.Context, leftovers, there map[string]bool) error {
	for id := range leftovers {
		if there[id] {
			continue
		}
		if err := p.API.DropLeftovers(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// stop stops an instance in its turn, within a time limit.
func (p *provisioner) stop(ctx context.Context, id string) error {
	return p.stops.do(ctx, func() error {
		ctx, cancel := context.WithTimeout(ctx, stopBound)
		defer cancel()
		return ofCloud(p.Environ.StopInstances(ctx, id))
	})
}
