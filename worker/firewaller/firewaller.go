package firewaller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/juju/loggo"

	"juju/provider"
	"juju/state/entity"
	"juju/state/modelconfig"
	"juju/worker"
)

var logger = loggo.GetLogger("juju.worker.firewaller")

// API is what the worker needs of the controller, for one model.
type API interface {
	// WatchExposure fires when the result of Exposure may have changed.
	WatchExposure(ctx context.Context) (<-chan struct{}, error)
	// Exposure returns which ports should be open.
	Exposure(ctx context.Context) (entity.Exposure, error)
}

// Config is what the worker needs.
type Config struct {
	API   API
	Cloud provider.Firewall
	// Retry is the pause before newly set rules are compared with the cloud's. It doubles up to Check while
	// they differ. 5 seconds and 5 minutes if zero.
	Retry, Check time.Duration
	// Report shows users why the cloud does not filter, or "" if it does. It is called initially and on
	// change. It may be nil.
	Report func(ctx context.Context, why string) error
	// Bound limits each call to the cloud; 5 minutes if zero.
	Bound time.Duration
}

// New returns the worker for one model. It fails when the cloud does, so that it is restarted after a pause
// and persistent failures are reported.
func New(config Config) worker.Func {
	config.Retry = cmp.Or(config.Retry, 5*time.Second)
	config.Check = cmp.Or(config.Check, 5*time.Minute)
	config.Bound = cmp.Or(config.Bound, 5*time.Minute)
	return func(ctx context.Context) error {
		f := &firewaller{Config: config}
		return worker.NotifyAgain(ctx, f.API.WatchExposure, f.pass)
	}
}

// A firewaller's passes own its fields.
type firewaller struct {
	Config
	set      *provider.Ingress   // the rules last set or found; nil initially
	at       map[string][]string // the addresses of the instances at that time
	pause    time.Duration       // until the rules are compared with the cloud's
	next     time.Time           // when that is
	open     string              // why the cloud does not filter, as last logged; "" if it does
	reported *string             // the last argument of Report; nil initially
}

// pass applies the current rules if necessary, and returns the time until the next pass.
func (f *firewaller) pass(ctx context.Context) (time.Duration, error) {
	x, err := f.API.Exposure(ctx)
	if err != nil || x.Mode == modelconfig.FirewallNone {
		return 0, err
	}
	want := rules(x)
	changed := f.set != nil && !(want.Equal(*f.set) && maps.EqualFunc(x.Addresses, f.at, slices.Equal))
	if left := time.Until(f.next); f.set != nil && !changed && left > 0 {
		return left, nil // the event was about something else
	}
	f.pause = min(max(2*f.pause, f.Retry), f.Check)
	if changed {
		f.pause = f.Retry
	}
	bounded, cancel := context.WithTimeout(ctx, f.Bound)
	defer cancel()
	why := ""
	switch err := f.enforce(bounded, want, changed); {
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	case errors.Is(err, entity.NotSupported):
		f.pause = f.Check
		f.unenforced(x, err)
		why = err.Error()
	case err != nil:
		return 0, fmt.Errorf("cannot set which ports are open: %w", err)
	default:
		f.open = ""
	}
	if f.Report != nil && (f.reported == nil || *f.reported != why) {
		if err := f.Report(ctx, why); err != nil {
			return 0, err
		}
		f.reported = &why
	}
	f.set, f.at, f.next = &want, x.Addresses, time.Now().Add(f.pause)
	return f.pause, nil
}

// enforce makes the cloud's rules match want. If neither the rules nor the addresses have changed, it
// writes them only if the cloud's differ.
func (f *firewaller) enforce(ctx context.Context, want provider.Ingress, changed bool) error {
	if !changed {
		has, err := f.Cloud.Ingress(ctx)
		if err != nil {
			return err
		}
		if has.Equal(want) {
			f.pause = f.Check
			return nil
		}
	}
	if err := f.Cloud.SetIngress(ctx, want); err != nil {
		return err
	}
	logger.Debugf("the open ports are %v, and from some networks %v", want.Ports, want.From)
	return nil
}

// unenforced logs why the cloud does not filter, as a warning if the model exposes any ports.
func (f *firewaller) unenforced(x entity.Exposure, err error) {
	level := loggo.DEBUG
	for id, open := range x.Instances {
		if len(open)+len(x.From[id]) > 0 {
			level = loggo.WARNING
		}
	}
	if text := fmt.Sprint(level, err); text != f.open {
		f.open = text
		logger.Logf(level, "all ports are reachable, whether their services are exposed or not: %v", err)
	}
}

// rules returns the rules for a model, in normal form.
func rules(x entity.Exposure) provider.Ingress {
	want := provider.Ingress{Ports: x.Instances, From: x.From}
	if x.Mode == modelconfig.FirewallGlobal {
		var all []entity.PortRange
		var from []entity.PortsFrom
		for id, open := range x.Instances {
			all, from = append(all, open...), append(from, x.From[id]...)
		}
		want.From = map[string][]entity.PortsFrom{}
		for id := range want.Ports {
			want.Ports[id], want.From[id] = all, from
		}
	}
	if len(want.Ports) > 0 {
		want.Peers = x.Hosts
	}
	return want.Normal()
}
