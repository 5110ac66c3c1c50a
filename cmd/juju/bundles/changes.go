package bundles

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"juju/apiserver/bundlechanges"
	"juju/apiserver/client"
	"juju/apiserver/display"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/wait"
	"juju/state/constraints"
	"juju/state/entity"
	"juju/state/limits"
)

// run makes the changes, or plans them.
func (p *bundlePlan) run(ctx context.Context) error {
	switch {
	case p.Planning():
		return p.rehearse(ctx)
	case len(p.changes) == 0:
		p.Note("No changes to apply.")
		p.noteLeft()
		return p.api.CheckUnchanged(ctx)
	}
	if err := p.api.CheckUnchanged(ctx); err != nil {
		return err
	}
	p.WaitsFor("What was changed stays. To continue: repeat the command.")
	fmt.Fprintln(p.Stdout, "Executing changes:")
	for i := 0; i < len(p.changes); {
		n := p.together(i)
		done, err := p.apply(ctx, p.changes[i:i+n])
		for _, c := range p.changes[i : i+done] {
			if m, ok := c.(*bundlechanges.RemoveMachine); !ok || !p.busy[m.Machine] {
				p.say(c)
			}
		}
		if err != nil {
			return p.failed(ctx, i+done, err)
		}
		i += n
	}
	if p.declared {
		p.Note("Apply completed.")
	} else {
		p.Note("Deploy of bundle completed.")
	}
	p.noteLeft()
	return nil
}

// list prints the changes.
func (p *bundlePlan) list() {
	_, what := p.words()
	fmt.Fprintf(p.Stdout, "Changes to %s:\n", what)
	for _, c := range p.changes {
		p.say(c)
		if c, ok := c.(*bundlechanges.AddCharm); ok {
			p.Warn(p.source.charms[c.Of].Warnings()...)
		}
	}
}

// rehearse plans the changes: it lists them, and has the controller foresee what they lead to.
func (p *bundlePlan) rehearse(ctx context.Context) error {
	listed := len(p.changes) > 0 && p.PlanFormat() == "tabular"
	if listed {
		p.list()
	}
	p.noteLeft()
	p.api.KeepForPlan()
	for i := 0; i < len(p.changes); {
		n := p.together(i)
		if _, err := p.apply(ctx, p.changes[i:i+n]); err != nil && !errors.Is(err, client.ErrPlanned) {
			return p.cannot(fmt.Errorf("cannot %s: %w", p.changes[i], err))
		}
		i += n
	}
	err := p.api.PlanKept(ctx)
	switch {
	case listed && errors.Is(err, client.ErrPlanned):
		fmt.Fprintln(p.Stdout)
	case listed && (errors.Is(err, entity.NotSupported) || errors.Is(err, entity.NotImplemented)):
		p.Note("Which hooks would run is not known: this controller cannot plan changes.")
		return client.ErrPlanned
	}
	return err
}

// noteLeft names what the model has and a declared bundle has not.
func (p *bundlePlan) noteLeft() {
	for _, c := range p.left {
		p.Note("Left, as --prune is not given: %s", strings.TrimPrefix(c.String(), "remove "))
	}
}

func (p *bundlePlan) say(c bundlechanges.Change) {
	fmt.Fprintf(p.Stdout, "- %s\n", display.Line(c.String()))
}

// failed returns the error of the change with a number. Earlier changes are kept, except that a machine without a unit
// is removed, because a repeated deploy would not match it.
func (p *bundlePlan) failed(ctx context.Context, number int, err error) error {
	err = p.cannot(fmt.Errorf("cannot %s: %w", p.changes[min(number, len(p.changes)-1)], err))
	if m := p.unusedBy; m != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		errs, _, failed := p.api.DestroyMachines(ctx, entity.Destruction{}, m.Spot.ID)
		if failed = errors.Join(append(errs, failed)...); failed == nil {
			p.Note("Machine %s is removed, because it has no unit yet.", m.Spot.ID)
		} else {
			err = cli.AlsoHint(err, "Machine %s was added for machine %s of the bundle. When you repeat the command, add: "+
				"--map-machines %s=%s", m.Spot.ID, m.ID, m.ID, m.Spot.ID)
		}
	}
	return cli.AlsoHint(err, "%d of %d changes were made. To continue, fix the cause and repeat the command.", number,
		len(p.changes))
}

// together returns how many changes one request makes, starting at an index: units of a service on new machines.
func (p *bundlePlan) together(from int) int {
	first, ok := p.changes[from].(*bundlechanges.AddUnit)
	n := 1
	for ok && first.Own && n < limits.MaxAtOnce && from+n < len(p.changes) {
		next, isUnit := p.changes[from+n].(*bundlechanges.AddUnit)
		if !isUnit || !next.Own || next.Service != first.Service {
			break
		}
		n++
	}
	return n
}

// apply makes one change, or several in one request, and returns how many were made.
func (p *bundlePlan) apply(ctx context.Context, changes []bundlechanges.Change) (done int, err error) {
	switch c := changes[0].(type) {
	case *bundlechanges.AddCharm:
		err = p.addCharm(ctx, c)
	case *bundlechanges.AddService:
		err = p.addService(ctx, c)
	case *bundlechanges.UpgradeCharm:
		err = p.setCharm(ctx, c.Service, c.Charm.URL, c.Storage)
	case *bundlechanges.SetStorage:
		err = p.setCharm(ctx, c.Service, p.model.Services[c.Service].CharmURL, c.Storage)
	case *bundlechanges.SetOptions:
		err = p.setOptions(ctx, c)
	case *bundlechanges.AttachResource:
		err = p.attachOne(ctx, c)
	case *bundlechanges.SetBindings:
		err = p.api.Bind(ctx, c.Service, c.Bindings, false)
	case *bundlechanges.SetConstraints:
		err = p.setConstraints(ctx, c)
	case *bundlechanges.Expose:
		var warnings []string
		warnings, err = p.api.Expose(ctx, c.Service, c.Endpoints)
		p.Warn(warnings...)
	case *bundlechanges.Unexpose:
		err = p.api.Unexpose(ctx, c.Service, c.Endpoints...)
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
	case *bundlechanges.ConsumeOffer:
		err = p.api.Consume(ctx, c.URL, c.Name)
	case *bundlechanges.CreateOffer:
		err = p.api.AddOffer(ctx, p.model.UUID, entity.NewOffer{Name: c.Name, Service: c.Service, Endpoints: c.Endpoints})
	case *bundlechanges.GrantOfferAccess:
		err = only(p.api.ModifyOfferAccess(ctx, client.Grant, c.User, c.Access, p.offerURL(c.Offer)))
	case *bundlechanges.RevokeOfferAccess:
		err = only(p.api.ModifyOfferAccess(ctx, client.Revoke, c.User, bundlechanges.Above(c.Left), p.offerURL(c.Offer)))
	case *bundlechanges.ResetOptions:
		err = p.api.ResetServiceConfig(ctx, c.Service, c.Options...)
	default:
		err = p.remove(ctx, c)
	}
	if err != nil {
		return 0, err
	}
	return 1, nil
}

// remove makes a change that removes something. Machines that deploy or add-unit has added go with the last unit on them,
// and storage is kept.
func (p *bundlePlan) remove(ctx context.Context, c bundlechanges.Change) (err error) {
	var errs []error
	var info entity.DestroyInfo
	switch c := c.(type) {
	case *bundlechanges.RemoveRelation:
		err = p.api.DestroyRelation(ctx, entity.Destruction{}, c.Relation[0].String(), c.Relation[1].String())
	case *bundlechanges.RemoveOffer:
		err = only(p.api.RemoveOffers(ctx, entity.Destruction{}, p.offerURL(c.Name)))
	case *bundlechanges.RemoveSAAS:
		err = only(p.api.RemoveRemotes(ctx, entity.Destruction{}, c.Name))
	case *bundlechanges.RemoveService:
		how := p.withContainers(c.Service, "")
		// Units that are only destroyed with their service stay Alive for a while, and their machines can't be removed.
		for units := range slices.Chunk(p.model.Services[c.Service].Units, limits.MaxAtOnce) {
			var names []string
			for _, u := range units {
				names = append(names, u.Name)
			}
			if _, more, err := p.api.DestroyUnits(ctx, how, names...); err != nil && !errors.Is(err, client.ErrPlanned) {
				return err
			} else {
				info.Add(more)
			}
		}
		var more entity.DestroyInfo
		errs, more, err = p.api.DestroyServices(ctx, how, c.Service)
		info.Add(more)
	case *bundlechanges.RemoveUnit:
		service, _, _ := strings.Cut(c.Unit, "/")
		errs, info, err = p.api.DestroyUnits(ctx, p.withContainers(service, c.Unit), c.Unit)
	case *bundlechanges.RemoveMachine:
		if p.model.Machines[c.Machine].Hosts {
			errs = []error{entity.Errorf(entity.InUse, "machine %s has containers", c.Machine)}
			break
		}
		errs, info, err = p.api.DestroyMachines(ctx, entity.Destruction{}, c.Machine)
	}
	err = errors.Join(append(errs, err)...)
	wait.NoteStorage(p.Session, info)
	if c, ok := c.(*bundlechanges.RemoveMachine); ok && errors.Is(err, entity.InUse) {
		p.busy[c.Machine] = true
		p.Note("Machine %s stays for now: %s. To remove it later, repeat the command.", c.Machine, err)
		return nil
	}
	if entity.IsNotFound(err) {
		return nil // it went with what was removed before
	}
	return err
}

// only returns the error of a request about one thing.
func only(errs []error, err error) error { return errors.Join(append(errs, err)...) }

// offerURL returns the URL of an offer of the model.
func (p *bundlePlan) offerURL(name string) string { return p.target + "." + name }

// withContainers returns how to destroy a unit, or all of a service, so that their containers go with them: a machine of
// their own is removed by itself.
func (p *bundlePlan) withContainers(service, unit string) (how entity.Destruction) {
	for _, u := range p.model.Services[service].Units {
		kind, _ := entity.ContainerOf(u.Machine)
		how.Machines = how.Machines || kind != "" && (unit == "" || unit == u.Name)
	}
	return how
}

func (p *bundlePlan) addCharm(ctx context.Context, c *bundlechanges.AddCharm) (err error) {
	progress := p.Progress("Uploading charm %q", c.Charm)
	defer progress.Done()
	source := p.source.charms[c.Of]
	if c.URL, err = source.Upload(ctx, p.Session, p.api, c.Series); err != nil {
		return err
	}
	progress.Done()
	p.Warn(source.Warnings()...)
	return nil
}

func (p *bundlePlan) addService(ctx context.Context, c *bundlechanges.AddService) (err error) {
	s := p.source.Services[c.Name]
	args := client.DeployArgs{Service: c.Name, CharmURL: c.Charm.URL, Series: c.Series, Force: p.Force,
		Storage: p.wanted.Storage[c.Name], Bindings: s.Bindings}
	if args.Constraints, err = constraints.Parse(s.Constraints); err != nil {
		return err
	}
	if args.ConfigYAML, err = s.OptionsYAML(c.Name); err != nil {
		return err
	}
	if args.Resources, err = p.uploadResources(ctx, c.Name, c.Charm.URL); err != nil {
		return err
	}
	warnings, err := p.api.Deploy(ctx, args)
	p.Warn(warnings...)
	return err
}

func (p *bundlePlan) setCharm(
	ctx context.Context, service, url string, storage map[string]entity.StorageConstraints,
) error {
	warnings, err := p.api.SetCharm(ctx, client.SetCharmArgs{Service: service, CharmURL: url, ForceSeries: p.Force,
		Storage: storage})
	p.Warn(warnings...)
	return err
}

func (p *bundlePlan) setOptions(ctx context.Context, c *bundlechanges.SetOptions) error {
	yaml, err := p.source.Services[c.Service].OptionsYAML(c.Service)
	if err != nil {
		return err
	}
	return p.api.SetServiceConfig(ctx, c.Service, nil, yaml)
}

func (p *bundlePlan) setConstraints(ctx context.Context, c *bundlechanges.SetConstraints) error {
	constraints, err := constraints.Parse(c.Constraints)
	if err != nil {
		return err
	}
	warnings, err := p.api.SetServiceConstraints(ctx, c.Service, constraints)
	p.Warn(warnings...)
	return err
}

func (p *bundlePlan) addMachine(ctx context.Context, c *bundlechanges.AddMachine) (err error) {
	args := client.MachineArgs{Series: p.seriesOf(c)}
	if args.Constraints, err = constraints.Parse(p.source.Machines[c.ID].Constraints); err != nil {
		return err
	}
	id, warnings, err := p.api.AddMachine(ctx, args)
	if errors.Is(err, client.ErrPlanned) {
		c.Spot.ID, _ = p.api.PlanMachine()
	}
	if err != nil {
		return err
	}
	c.Spot.ID, p.unusedBy = id, c
	p.Warn(warnings...)
	return nil
}

// addUnits adds a unit, or several on new machines.
func (p *bundlePlan) addUnits(
	ctx context.Context, first *bundlechanges.AddUnit, changes []bundlechanges.Change,
) (done int, err error) {
	var to []entity.Placement
	switch {
	case first.New:
		to = slices.Repeat([]entity.Placement{{New: true}}, len(changes))
	case !first.Own:
		to = []entity.Placement{first.Spot.Placement()}
	}
	units, warnings, err := p.api.AddUnits(ctx, first.Service, len(changes), to)
	p.Warn(warnings...)
	if errors.Is(err, client.ErrPlanned) && (first.Own || first.Spot.Container != "") {
		for _, c := range changes {
			id, host := p.api.PlanMachine()
			if spot := c.(*bundlechanges.AddUnit).Spot; spot.Container == "" {
				spot.ID = id
			} else {
				spot.ID, spot.On.ID = id, host
			}
		}
		return 0, err
	}
	for i, name := range units {
		changes[i].(*bundlechanges.AddUnit).Unit = name
	}
	if len(units) > 0 && (first.Own || first.Spot.Container != "") {
		err = errors.Join(err, p.findMachines(ctx, first.Service, changes[:len(units)]))
	}
	if err == nil {
		p.unusedBy = nil
	}
	return len(units), err
}

// findMachines records which machines new units are on: new machines, or clean ones.
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
			c.Spot.Found(machine, p.model.Machines[machine] == nil)
		}
	}
	return nil
}
