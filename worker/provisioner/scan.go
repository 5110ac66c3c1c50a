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

// longestWait is the maximum time between scans while the cloud does not answer.
const longestWait = 15 * time.Minute

// stopBound limits how long a cloud may take to stop an instance.
const stopBound = 5 * time.Minute

// A view is a snapshot of the leftovers, the cloud's instances and the machines. They are read in that order,
// so an instance may be recorded in a machine after it was listed, but never the reverse; and a leftover that
// the cloud does not list no longer exists.
type view struct {
	leftovers map[string]bool // by instance
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

// stray reports whether an instance belongs to no machine. If the machine it was started for has no instance,
// this one may be about to be recorded, so it is not a stray.
func (v view) stray(in provider.Instance) bool {
	m, ok := v.machines[in.MachineID]
	return !ok || m.InstanceID != "" && m.InstanceID != in.ID
}

// A scanResult is the result of a scan.
type scanResult struct {
	machines []string                   // machines to handle
	lost     map[string]entity.Instance // lost instances, by machine
	strays   map[string]stray           // instances to stop
	err      error
	next     time.Duration // until the next scan
}

// A stray is an instance that belongs to no machine.
type stray struct {
	machine  string // the machine it was started for
	leftover bool   // it has a leftover record
}

// stopped is the result of stopping a stray.
type stopped struct {
	instance string
	err      error
}

// missing is a recorded instance that the cloud did not list.
type missing struct {
	entity.Instance
	since    time.Time
	recorded bool // the machine's instance status is missing
}

// firstScan starts the first scan. It returns the machines that have an instance in the cloud but none on
// record, because an earlier provisioner did not finish. The agent of such an instance will be locked out
// when the machine gets a new password.
func (p *provisioner) firstScan(ctx context.Context) (halfMade map[string]bool, err error) {
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
	p.scanning = true
	go func() { p.scanned <- p.scan(ctx, v) }()
	return halfMade, nil
}

// scanNow starts a scan, or requests another if one is running.
func (p *provisioner) scanNow(ctx context.Context) {
	if p.soon = p.scanning; p.scanning {
		return
	}
	p.scanning = true
	go func() {
		v, err := p.view(ctx)
		if err != nil {
			p.wait = min(max(2*p.wait, p.Retry), longestWait)
			p.scanned <- scanResult{err: fmt.Errorf("cannot list the cloud's instances: %w", err), next: p.wait}
			return
		}
		p.wait = 0
		p.scanned <- p.scan(ctx, v)
	}()
}

// scan records what the cloud reports about the instances, deletes obsolete leftovers, and finds stray and lost
// instances. It does nothing that the cloud may be slow at. The next scan retries whatever fails.
func (p *provisioner) scan(ctx context.Context, v view) scanResult {
	result := scanResult{next: p.ScanInterval, lost: map[string]entity.Instance{}, strays: map[string]stray{}}
	var errs []error
	there := map[string]bool{}
	leftovers, err := p.leftovers(ctx) // read again, to include machines removed while the cloud was listing
	if err != nil {
		errs = append(errs, fmt.Errorf("cannot read the leftovers: %w", err))
	}
	for _, in := range v.instances {
		there[in.ID] = true
		if v.stray(in) && p.harvests(in, leftovers[in.ID]) {
			result.strays[in.ID] = stray{in.MachineID, leftovers[in.ID]}
		}
	}
	if err := p.dropLeftovers(ctx, v.leftovers, there); err != nil {
		errs = append(errs, fmt.Errorf("cannot delete obsolete leftovers: %w", err))
	}
	missed := map[string]missing{}
	for id, m := range v.machines {
		switch {
		case m.InstanceID == entity.BootstrapInstance:
		case m.Life == entity.Dead, m.Life == entity.Dying && m.InstanceID == "":
			// The reason why it could not be removed may have passed without an event.
			result.machines = append(result.machines, id)
		case m.InstanceID == "" || m.IsManual() || there[m.InstanceID]:
		case m.Manager:
			p.markMissing(ctx, m) // enable-ha replaces it
		default:
			in := p.markMissing(ctx, m)
			if missed[id] = in; time.Since(in.since) >= p.LostAfter {
				result.lost[id] = in.Instance
			}
		}
	}
	if p.missed = missed; len(missed) > 0 {
		result.next = min(p.ScanInterval, p.LostAfter)
	}
	if poll := p.observe(ctx, v); poll > 0 {
		result.next = min(result.next, poll)
	}
	result.err = errors.Join(errs...)
	return result
}

// scanDone records a scan's error, stops the strays and replaces the lost instances it found.
func (p *provisioner) scanDone(ctx context.Context, l scanResult) {
	if p.failed = l.err; l.err == nil {
		maps.DeleteFunc(p.stuck, func(id string, _ error) bool { _, ok := l.strays[id]; return !ok && !p.stopping[id] })
	} else if ctx.Err() == nil {
		logger.Errorf("%v; retrying in %v", l.err, l.next)
	}
	p.report(ctx)
	for id, in := range l.strays {
		if !p.stopping[id] {
			p.stopping[id] = true
			go func() { p.stopped <- stopped{id, p.stopStray(ctx, id, in)} }()
		}
	}
	for id, in := range l.lost {
		p.dispatch(ctx, &handler{id: id, lost: in}, false)
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

// stopDone records the result of stopping a stray. The next scan retries a failure.
func (p *provisioner) stopDone(ctx context.Context, s stopped) {
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

// report reports the errors of the last scan and of stopping the strays it found.
func (p *provisioner) report(ctx context.Context) {
	errs := []error{p.failed}
	for _, id := range slices.Sorted(maps.Keys(p.stuck)) {
		errs = append(errs, p.stuck[id])
	}
	worker.Report(ctx, errors.Join(errs...))
}

// markMissing returns since when the machine's instance has been missing, and records that status.
func (p *provisioner) markMissing(ctx context.Context, m entity.MachineInfo) missing {
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

// harvests reports whether the model's settings allow stopping an instance that belongs to no machine.
// destroyed says whether it is known to have belonged to a destroyed machine.
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

// leftovers returns the instances that forced removals left running.
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

// dropLeftovers deletes the leftovers whose instances the cloud no longer has.
func (p *provisioner) dropLeftovers(ctx context.Context, leftovers, there map[string]bool) error {
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

// stop waits for a slot and stops an instance, within a time limit.
func (p *provisioner) stop(ctx context.Context, id string) error {
	return p.stops.do(ctx, func() error {
		ctx, cancel := context.WithTimeout(ctx, stopBound)
		defer cancel()
		return ofCloud(p.Environ.StopInstances(ctx, id))
	})
}
