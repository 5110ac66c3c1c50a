package bundles

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"juju/apiserver/bundlechanges"
	"juju/apiserver/client"
	"juju/charm"
	"juju/charm/bundle"
	"juju/cmd/juju/charms"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/wait"
	"juju/state/constraints"
	"juju/state/entity"
)

// nothingChanged is the hint of an error before the first change.
const nothingChanged = "Nothing was changed."

// A Deploy deploys a bundle, or makes the model what it declares.
type Deploy struct {
	*cli.Session
	bundleFlags
	Repo  string // the value of --repository
	Trust bool
	Force bool
	Wait  wait.Flag

	declared bool // the bundle is the whole model; for apply
	prune    bool // what it does not have is removed
}

// words returns how a command calls what it does: "deploy" or "apply", and "deploy bundle" or "apply".
func (d *Deploy) words() (command, what string) {
	if d.declared {
		return "apply", "apply"
	}
	return "deploy", "deploy bundle"
}

// cannot says that the bundle can't be deployed or applied.
func (d *Deploy) cannot(why error) error {
	_, what := d.words()
	return fmt.Errorf("cannot %s: %w", what, why)
}

// Run deploys the bundle at a path.
func (d *Deploy) Run(ctx context.Context, path string) error {
	b, err := d.read(d.Stdin, path, charms.RepositoryOf(d.Session, d.Repo))
	if err != nil {
		return err
	}
	defer b.close()
	d.Warn(b.Warnings...)
	if !b.needsModel() {
		// Report mistakes before connecting.
		if err := b.verify(ctx, d.Session, nil); err != nil {
			return cli.AlsoHint(err, nothingChanged)
		}
	}
	if !d.declared {
		if err := d.trusted(b.Bundle, nil); err != nil {
			return err
		}
	}
	return cli.WithModel(ctx, d.Session, func(api bundleAPI) error {
		if b.needsModel() {
			if err := b.verify(ctx, d.Session, api); err != nil {
				return cli.AlsoHint(err, nothingChanged)
			}
		}
		d.Warn(b.taken...)
		plan, err := d.plan(ctx, api, b)
		if err != nil {
			return err
		}
		if err := plan.run(ctx); err != nil {
			return err
		}
		return plan.wait(ctx)
	})
}

// trusted rejects a bundle with charms that request the cloud's credential, unless they have it or --trust was given.
func (d *Deploy) trusted(b *bundle.Bundle, m *bundlechanges.Model) error {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(b.Services)) {
		if b.Services[name].Trust && (m == nil || m.Services[name] == nil ||
			m.Services[name].Options[charm.Trust].Value != true) {
			names = append(names, name)
		}
	}
	if len(names) > 0 && !d.Trust {
		command, _ := d.words()
		//lint:ignore ST1005 Juju's words
		return fmt.Errorf("Bundle cannot be deployed without trusting applications with your cloud credentials.\n"+
			"Please repeat the %s command with the --trust argument if you consent to trust the following application(s):"+
			"\n  - %s", command, strings.Join(names, "\n  - "))
	}
	return nil
}

// wait waits, if asked to, for what was deployed, and for the end of what was removed.
func (p *bundlePlan) wait(ctx context.Context) error {
	err := p.Wait.Run(ctx, p.Session, p.api, wait.Condition{Names: slices.Sorted(maps.Keys(p.source.Services))})
	gone := map[string][]string{}
	for _, c := range p.changes {
		switch c := c.(type) {
		case *bundlechanges.RemoveService:
			gone["destroy-service"] = append(gone["destroy-service"], c.Service)
		case *bundlechanges.RemoveUnit:
			gone["destroy-unit"] = append(gone["destroy-unit"], c.Unit)
		case *bundlechanges.RemoveMachine:
			if !p.busy[c.Machine] {
				gone["destroy-machine"] = append(gone["destroy-machine"], c.Machine)
			}
		}
	}
	for _, command := range []string{"destroy-service", "destroy-unit", "destroy-machine"} {
		if names := gone[command]; err == nil && len(names) > 0 {
			err = p.Wait.Run(ctx, p.Session, p.api, wait.Gone(command, names))
		}
	}
	return err
}

// A bundlePlan has the changes that deploy a bundle.
type bundlePlan struct {
	*Deploy
	api     bundleAPI
	source  *bundleSource
	wanted  bundlechanges.Wanted
	model   *bundlechanges.Model
	target  string // the model's name, with its owner's
	changes []bundlechanges.Change
	left    []bundlechanges.Change // removals that were not asked for
	busy    map[string]bool        // machines that could not be removed because something is on them

	unusedBy *bundlechanges.AddMachine // added, and has no unit yet
}

// plan compares the bundle with the model, and checks with the cloud that it can start the new machines.
func (d *Deploy) plan(ctx context.Context, api bundleAPI, b *bundleSource) (*bundlePlan, error) {
	p := &bundlePlan{Deploy: d, api: api, source: b, busy: map[string]bool{}}
	var err error
	progress := d.Quickly("Reading the charms of the bundle")
	defer progress.Done()
	p.model, err = bundlechanges.ReadModel(ctx, modelReader{api, b.hasResources}, b.has)
	if err != nil {
		return nil, err
	}
	// Controllers of older versions do not say the numbers.
	if p.model.Next, err = api.Sequences(ctx); err != nil && !errors.Is(err, entity.NotImplemented) {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(b.Services)) {
		have := 0
		if s := p.model.Services[name]; s != nil {
			have = len(s.Units)
		}
		if err := cli.CheckMany("units", b.Services[name].Units-have, d.Force); err != nil {
			return nil, cli.AlsoHint(d.cannot(fmt.Errorf("application %q: %w", name, err)), nothingChanged)
		}
	}
	if p.wanted, err = b.wanted(ctx, api, p.model); err != nil {
		return nil, err
	}
	if p.wanted.Machines, err = b.machineMap(d.mapMachines, p.model); err != nil {
		return nil, err
	}
	if b.offers() || len(p.model.Offers) > 0 {
		if p.target, p.wanted.Owner, err = modelPath(d.Session); err != nil {
			return nil, err
		}
	}
	if d.declared {
		p.wanted.Declare(p.model)
		if err := d.trusted(b.Bundle, p.model); err != nil {
			return nil, cli.AlsoHint(err, nothingChanged)
		}
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
		return nil, cli.AlsoHint(d.cannot(err), nothingChanged)
	}
	if !d.prune {
		p.left, p.changes = split(p.changes)
	} else if err := p.usedOffers(); err != nil {
		return nil, err
	}
	progress.Done()
	d.Warn(warnings...)
	return p, nil
}

// usedOffers refuses the removal of offers that services of other models use.
func (p *bundlePlan) usedOffers() error {
	var refused []error
	for _, c := range p.changes {
		if c, ok := c.(*bundlechanges.RemoveOffer); ok && p.model.Offers[c.Name].Used > 0 {
			refused = append(refused, entity.Errorf(entity.InUse,
				"cannot remove offer %q: services of other models use it", c.Name))
		}
	}
	if len(refused) == 0 {
		return nil
	}
	return cli.AlsoHint(p.cannot(errors.Join(refused...)),
		"%s To see who uses them: juju offers. To remove one with its relations: "+
			"juju remove-offer --force", nothingChanged)
}

// split separates removals from other changes.
func split(all []bundlechanges.Change) (removals, others []bundlechanges.Change) {
	for _, c := range all {
		if bundlechanges.IsRemoval(c) {
			removals = append(removals, c)
		} else {
			others = append(others, c)
		}
	}
	return removals, others
}

// chooseSeries has the cloud choose the series of each service, and check that it can start machines for it.
func (p *bundlePlan) chooseSeries(ctx context.Context) error {
	p.wanted.Force = p.Force
	p.wanted.Series, p.wanted.MachineSeries = map[string]string{}, map[string]string{}
	var refused []error
	for _, name := range slices.Sorted(maps.Keys(p.source.Services)) {
		asked := p.source.askedSeries(name, p.Force)
		if has := p.source.charms[name].Charm.Meta; asked != "" && !has.Supports(asked) && !p.Force {
			refused = append(refused, fmt.Errorf("application %q: %w", name, has.Unsupported(asked)))
			continue
		}
		if err := p.source.charms[name].CheckUnforced("deploy", p.Force); err != nil {
			refused = append(refused, fmt.Errorf("application %q: %w", name, err))
			continue
		}
		if have := p.model.Services[name]; have != nil && (asked == "" || asked == have.Series) {
			if !newConstraints(p.source.Services[name], have) {
				continue // the service needs nothing new from the cloud
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
		p.wanted.Series[name] = series
	}
	for id, m := range p.source.Machines {
		if m.Series == "" || p.Force {
			continue
		}
		series, _, err := p.api.CheckDeploy(ctx, client.DeployArgs{Series: m.Series}, entity.Platforms{})
		if err != nil { // refused, where it is used, with the machine's name; or by an older controller
			series = m.Series
		}
		p.wanted.MachineSeries[id] = series
	}
	if len(refused) > 0 {
		command, _ := p.words()
		return cli.AlsoHint(p.cannot(errors.Join(refused...)),
			"%s To deploy to another series: juju %s --force", nothingChanged,
			command)
	}
	return nil
}

// newConstraints reports whether a bundle changes the constraints of a service.
func newConstraints(want *bundle.Service, have *bundlechanges.Service) bool {
	c, err := constraints.Parse(want.Constraints)
	return want.ConstraintsGiven && (err != nil || !c.Equal(have.Constraints))
}

// check checks with the cloud that it can start machines for a service, and returns their series.
func (p *bundlePlan) check(ctx context.Context, service, series, demands string) (string, error) {
	args := client.DeployArgs{Service: service, Series: series, Force: p.Force}
	for _, place := range p.source.Placements(service) {
		if place.Container != "" {
			args.Placement = append(args.Placement, entity.Placement{Container: bundlechanges.ContainerType(place.Container)})
			args.Units++
		}
	}
	var err error
	if args.Constraints, err = constraints.Parse(demands); err != nil {
		return "", err
	}
	chosen, warnings, err := p.api.CheckDeploy(ctx, args, p.source.charms[service].Charm.Meta.Platforms)
	if errors.Is(err, entity.NotImplemented) { // by an older controller
		return series, nil
	}
	p.Warn(warnings...) // a change that is made with what has been chosen does not return all of them
	return chosen, err
}

// checkMachines checks with the cloud that it can start the machines to be added.
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

// seriesOf returns the series of a new machine: that of the service it is added for.
func (p *bundlePlan) seriesOf(c *bundlechanges.AddMachine) string {
	if s := p.model.Services[c.For]; s != nil {
		return s.Series
	}
	if series := p.wanted.Series[c.For]; series != "" {
		return series
	}
	return p.source.Machines[c.ID].Series
}
