package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"juju/apiserver/client"
	"juju/charm/bundle"
	"juju/cmd/juju/bundlechanges"
	"juju/cmd/juju/display"
	"juju/state/entity"
)

// bundle deploys a bundle.
func (d *deploy) bundle(ctx context.Context, args []string) error {
	if len(args) > 1 {
		return usagef("a bundle has no name: unrecognized args: %q", args[1:])
	}
	if err := d.refuse("bundle", "config", "constraints", "num-units", "series", "to"); err != nil {
		return err
	}
	b, err := readBundle(args[0], d.bundleFlags.overlays, d.repository(d.repo))
	if err != nil {
		return err
	}
	defer b.close()
	d.warn(b.Warnings...)
	if !b.needsModel() {
		// Find mistakes before there is a connection.
		if err := b.verify(ctx, nil); err != nil {
			return err
		}
	}
	if err := d.trusted(b.Bundle); err != nil {
		return err
	}
	return d.withModel(ctx, func(api modelAPI) error {
		if b.needsModel() {
			if err := b.verify(ctx, api); err != nil {
				return err
			}
		}
		d.warn(b.taken...)
		plan, err := d.plan(ctx, api, b)
		if err != nil {
			return err
		}
		if err := plan.run(ctx, d.dryRun); err != nil || d.dryRun {
			return err
		}
		return d.wait.run(ctx, d.session, api, until{names: slices.Sorted(maps.Keys(b.Services))})
	})
}

// trusted refuses a bundle whose charms want the cloud's credential, unless --trust was given.
func (d *deploy) trusted(b *bundle.Bundle) error {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(b.Services)) {
		if b.Services[name].Trust {
			names = append(names, name)
		}
	}
	switch {
	case len(names) == 0:
	case d.trust:
		d.warn(fmt.Sprintf("trust of %s has no effect yet: charms get no credential of the cloud", strings.Join(names, ", ")))
	default:
		//lint:ignore ST1005 Juju's words
		return fmt.Errorf("Bundle cannot be deployed without trusting applications with your cloud credentials.\n"+
			"Please repeat the deploy command with the --trust argument if you consent to trust the following application(s):"+
			"\n  - %s", strings.Join(names, "\n  - "))
	}
	return nil
}

// A bundlePlan is what there is to do to deploy a bundle.
type bundlePlan struct {
	*deploy
	api     bundleAPI
	source  *bundleSource
	wanted  bundlechanges.Wanted
	model   *bundlechanges.Model
	changes []bundlechanges.Change

	warned   map[string]bool
	unusedBy *bundlechanges.AddMachine // added, and has no unit yet
}

// plan compares the bundle with the model, and asks the cloud about new machines.
func (d *deploy) plan(ctx context.Context, api bundleAPI, b *bundleSource) (*bundlePlan, error) {
	p := &bundlePlan{deploy: d, api: api, source: b, warned: map[string]bool{}}
	var err error
	p.model, err = readModel(ctx, api, func(name string) bool { return b.Services[name] != nil })
	if err != nil {
		return nil, err
	}
	if p.wanted, err = b.wanted(ctx, api, p.model); err != nil {
		return nil, err
	}
	if p.wanted.Machines, err = b.machineMap(d.bundleFlags.mapMachines, p.model); err != nil {
		return nil, err
	}
	if err := p.chooseSeries(ctx); err != nil {
		return nil, err
	}
	var warnings []string
	p.changes, warnings, err = bundlechanges.Plan(p.wanted, p.model)
	if err == nil {
		err = p.checkMachines(ctx)
	}
	if err != nil {
		return nil, alsoHint(fmt.Errorf("cannot deploy bundle: %w", err), "Nothing has been changed")
	}
	d.warn(warnings...)
	return p, nil
}

// chooseSeries asks the cloud for the series of each service, and whether it has machines for it.
func (p *bundlePlan) chooseSeries(ctx context.Context) error {
	p.wanted.Series, p.wanted.MachineSeries = map[string]string{}, map[string]string{}
	var refused []error
	for _, name := range slices.Sorted(maps.Keys(p.source.Services)) {
		asked := p.source.askedSeries(name)
		has := p.source.charms[name].charm.Meta.Series
		if asked != "" && len(has) > 0 && !slices.Contains(has, asked) && !p.force {
			refused = append(refused, fmt.Errorf("application %q: series %q not supported by charm, supported series are: %s",
				name, asked, strings.Join(has, ",")))
			continue
		}
		if have := p.model.Services[name]; have != nil && (asked == "" || asked == have.Series) {
			if !newConstraints(p.source.Services[name], have) {
				continue // the cloud is asked for nothing new
			}
			asked = have.Series
		}
		series, err := p.check(ctx, name, asked, p.source.Services[name].Constraints)
		if kind := entity.KindOf(err); kind == entity.Invalid || kind == entity.NotSupported {
			refused = append(refused, err)
			continue
		} else if err != nil {
			return err
		}
		if asked != "" && series != asked { // by force
			p.warn(fmt.Sprintf("application %q: series %q is not available: hooks run on %q", name, asked, series))
		}
		p.wanted.Series[name] = series
	}
	for id, m := range p.source.Machines {
		if m.Series != "" && !p.force {
			p.wanted.MachineSeries[id] = m.Series
		}
	}
	if len(refused) > 0 {
		return alsoHint(fmt.Errorf("cannot deploy bundle: %w", errors.Join(refused...)),
			"Nothing has been changed. To deploy it to another series: juju deploy --force")
	}
	return nil
}

// newConstraints reports whether a bundle changes the constraints of a service.
func newConstraints(want *bundle.Service, have *bundlechanges.Service) bool {
	c, err := entity.ParseConstraints(want.Constraints)
	return want.ConstraintsGiven && (err != nil || !c.Equal(have.Constraints))
}

// check asks the cloud whether it has machines for a service, and returns their series.
func (p *bundlePlan) check(ctx context.Context, service, series, constraints string) (string, error) {
	args := client.DeployArgs{Service: service, Series: series, Force: p.force}
	var err error
	if args.Constraints, err = entity.ParseConstraints(constraints); err != nil {
		return "", err
	}
	chosen, err := p.api.CheckDeploy(ctx, args, p.source.charms[service].charm.Meta.Series)
	if errors.Is(err, entity.NotImplemented) { // by an older controller
		return series, nil
	}
	return chosen, err
}

// checkMachines asks the cloud whether it has the machines that are to be added.
func (p *bundlePlan) checkMachines(ctx context.Context) error {
	for _, c := range p.changes {
		if c, ok := c.(*bundlechanges.AddMachine); ok {
			if _, err := p.check(ctx, c.For, p.seriesOf(c), p.source.Machines[c.ID].Constraints); err != nil {
				return fmt.Errorf("machine %q: %w", c.ID, err)
			}
		}
	}
	return nil
}

// seriesOf returns the series of a new machine: that of the service for which it is.
func (p *bundlePlan) seriesOf(c *bundlechanges.AddMachine) string {
	if s := p.model.Services[c.For]; s != nil {
		return s.Series
	}
	if series := p.wanted.Series[c.For]; series != "" {
		return series
	}
	return p.source.Machines[c.ID].Series
}

// run makes the changes, or only lists them.
func (p *bundlePlan) run(ctx context.Context, dry bool) error {
	switch {
	case len(p.changes) == 0:
		p.note("No changes to apply.")
		return nil
	case dry:
		fmt.Fprintln(p.stdout, "Changes to deploy bundle:")
		for _, c := range p.changes {
			p.say(c)
		}
		return nil
	}
	fmt.Fprintln(p.stdout, "Executing changes:")
	for i := 0; i < len(p.changes); {
		n := p.together(i)
		done, err := p.apply(ctx, p.changes[i:i+n])
		for _, c := range p.changes[i : i+done] {
			p.say(c)
		}
		if err != nil {
			return p.failed(ctx, i+done, err)
		}
		i += n
	}
	p.note("Deploy of bundle completed.")
	return nil
}

func (p *bundlePlan) say(c bundlechanges.Change) {
	fmt.Fprintf(p.stdout, "- %s\n", display.Line(c.String()))
}

// failed returns the error of the change with a number. The changes before it stay, except that
// a machine without a unit is removed, which the repeated command would not know.
func (p *bundlePlan) failed(ctx context.Context, number int, err error) error {
	err = fmt.Errorf("cannot deploy bundle: cannot %s: %w", p.changes[min(number, len(p.changes)-1)], err)
	if m := p.unusedBy; m != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		errs, failed := p.api.DestroyMachines(ctx, entity.Destruction{}, m.Spot.ID)
		if failed = errors.Join(append(errs, failed)...); failed == nil {
			p.note("Machine %s, which has no unit yet, is removed again.", m.Spot.ID)
		} else {
			err = alsoHint(err, "Machine %s is for machine %s of the bundle; when you repeat the command, add: "+
				"--map-machines %s=%s", m.Spot.ID, m.ID, m.ID, m.Spot.ID)
		}
	}
	return alsoHint(err, "%d of %d changes are done. To go on, mend the cause and repeat the command", number,
		len(p.changes))
}

// together returns how many changes from a number on are made by one request: units of a service
// that get machines of their own.
func (p *bundlePlan) together(from int) int {
	first, ok := p.changes[from].(*bundlechanges.AddUnit)
	n := 1
	for ok && first.Own && from+n < len(p.changes) {
		next, isUnit := p.changes[from+n].(*bundlechanges.AddUnit)
		if !isUnit || !next.Own || next.Service != first.Service {
			break
		}
		n++
	}
	return n
}

// apply makes one change, or those that are made together, and returns how many are made.
func (p *bundlePlan) apply(ctx context.Context, changes []bundlechanges.Change) (done int, err error) {
	switch c := changes[0].(type) {
	case *bundlechanges.AddCharm:
		err = p.addCharm(ctx, c)
	case *bundlechanges.AddService:
		err = p.addService(ctx, c)
	case *bundlechanges.SetOptions:
		err = p.setOptions(ctx, c)
	case *bundlechanges.SetConstraints:
		err = p.setConstraints(ctx, c)
	case *bundlechanges.SetExposed:
		if c.Exposed {
			err = p.api.Expose(ctx, c.Service)
		} else {
			err = p.api.Unexpose(ctx, c.Service)
		}
	case *bundlechanges.SetAnnotations:
		of := entity.ServiceTag(c.Service)
		if c.Service == "" {
			of = entity.MachineTag(c.Machine.ID)
		}
		err = p.api.SetAnnotations(ctx, of, c.Annotations)
	case *bundlechanges.AddMachine:
		err = p.addMachine(ctx, c)
	case *bundlechanges.AddUnit:
		return p.addUnits(ctx, c, changes)
	case *bundlechanges.AddRelation:
		_, err = p.api.AddRelation(ctx, c.Relation[0].String(), c.Relation[1].String())
	}
	if err != nil {
		return 0, err
	}
	return 1, nil
}

func (p *bundlePlan) addCharm(ctx context.Context, c *bundlechanges.AddCharm) (err error) {
	progress := p.progress("Uploading charm %q", c.Charm)
	defer progress.done()
	c.URL, err = p.source.charms[c.Of].upload(ctx, p.api, c.Series)
	return err
}

func (p *bundlePlan) addService(ctx context.Context, c *bundlechanges.AddService) (err error) {
	s := p.source.Services[c.Name]
	args := client.DeployArgs{Service: c.Name, CharmURL: c.Charm.URL, Series: c.Series, Force: p.force}
	if args.Constraints, err = entity.ParseConstraints(s.Constraints); err != nil {
		return err
	}
	if args.ConfigYAML, err = s.OptionsYAML(c.Name); err != nil {
		return err
	}
	warnings, err := p.api.Deploy(ctx, args)
	p.warnOnce(warnings)
	return err
}

// warnOnce prints warnings that have not been printed: those of one service are often those of
// its units and of others too.
func (p *bundlePlan) warnOnce(warnings []string) {
	for _, w := range warnings {
		if !p.warned[w] {
			p.warned[w] = true
			p.warn(w)
		}
	}
}

func (p *bundlePlan) setOptions(ctx context.Context, c *bundlechanges.SetOptions) error {
	yaml, err := p.source.Services[c.Service].OptionsYAML(c.Service)
	if err != nil {
		return err
	}
	return p.api.SetServiceConfig(ctx, c.Service, nil, yaml)
}

func (p *bundlePlan) setConstraints(ctx context.Context, c *bundlechanges.SetConstraints) error {
	constraints, err := entity.ParseConstraints(c.Constraints)
	if err != nil {
		return err
	}
	warnings, err := p.api.SetServiceConstraints(ctx, c.Service, constraints)
	p.warnOnce(warnings)
	return err
}

func (p *bundlePlan) addMachine(ctx context.Context, c *bundlechanges.AddMachine) (err error) {
	args := client.MachineArgs{Series: p.seriesOf(c)}
	if args.Constraints, err = entity.ParseConstraints(p.source.Machines[c.ID].Constraints); err != nil {
		return err
	}
	id, warnings, err := p.api.AddMachine(ctx, args)
	if err != nil {
		return err
	}
	c.Spot.ID, p.unusedBy = id, c
	p.warnOnce(warnings)
	return nil
}

// addUnits adds a unit, or several on new machines.
func (p *bundlePlan) addUnits(
	ctx context.Context, first *bundlechanges.AddUnit, changes []bundlechanges.Change,
) (done int, err error) {
	var to []string
	if !first.Own {
		to = []string{first.Spot.ID}
	}
	units, warnings, err := p.api.AddUnits(ctx, first.Service, len(changes), to)
	p.warnOnce(warnings)
	for i, name := range units {
		changes[i].(*bundlechanges.AddUnit).Unit = name
	}
	if len(units) > 0 && first.Own {
		err = errors.Join(err, p.findMachines(ctx, first.Service, changes[:len(units)]))
	}
	if err == nil {
		p.unusedBy = nil
	}
	return len(units), err
}

// findMachines notes on which machines new units are. They are new ones or ones that no unit has
// used.
func (p *bundlePlan) findMachines(ctx context.Context, service string, changes []bundlechanges.Change) error {
	status, err := p.api.Status(ctx, service)
	if err != nil {
		return err
	}
	on := map[string]string{}
	for _, s := range status.Services {
		for _, u := range s.Units {
			on[u.Name] = u.Machine
		}
	}
	for _, c := range changes {
		c := c.(*bundlechanges.AddUnit)
		if machine := on[c.Unit]; machine != "" {
			c.Spot.ID, c.Spot.New = machine, p.model.Machines[machine] == nil
		}
	}
	return nil
}
