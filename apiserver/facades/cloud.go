package facades

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"juju/apiserver/params"
	"juju/state"
	"juju/state/constraints"
	"juju/state/entity"
	"juju/state/limits"
	"juju/state/modelconfig"
)

// A Cloud reports which machines a model can have. It is consulted before anything is written, so that users learn
// immediately what can't be started.
type Cloud interface {
	// Series returns the series that machines can have, the preferred one first; none if all are supported.
	Series(ctx context.Context) ([]string, error)
	// ConstraintRules returns, among other things, which constraints have no effect.
	ConstraintRules(ctx context.Context) (constraints.Rules, error)
	// Precheck returns an Invalid error if such a machine in these spaces, or such a container on one, is impossible. The
	// series may be "" for any.
	Precheck(ctx context.Context, series string, constraints constraints.Value, spaces entity.MachineSpaces,
		at entity.Placement) error
	// CheckFirewall returns a NotSupported error if the cloud does not close its machines' ports.
	CheckFirewall(ctx context.Context) error
	// TakesProfiles reports whether its machines can have the LXD profiles of charms.
	TakesProfiles() bool
	// Subnets returns the subnets in which the model's machines can have addresses.
	Subnets(ctx context.Context) ([]entity.Subnet, error)
	// InstancesOf returns all instances that the cloud has for the model, in the order of their ids.
	InstancesOf(ctx context.Context) ([]CloudInstance, error)
	// IsAttached reports whether storage that is recorded as attached to an instance is attached to it. The error is
	// NotProvisioned if the instance does not exist.
	IsAttached(ctx context.Context, a entity.Attached) (bool, error)
	// Detach detaches storage from an instance, if it is attached.
	Detach(ctx context.Context, a entity.Attached) error
	// Import imports a filesystem that belongs to no model, for a storage instance of a pool. It is idempotent, even
	// for another instance.
	Import(ctx context.Context, filesystem, storage string, pool entity.StoragePool) (entity.Filesystem, error)
	// CheckPool returns an Invalid error if a storage pool has attributes that the cloud does not know.
	CheckPool(pool entity.StoragePool) error
	// PoolSize returns the size in MiB of what a storage pool's filesystems are in, which none can exceed, and its name for
	// users; 0 if the cloud does not know.
	PoolSize(ctx context.Context, pool entity.StoragePool) (size uint64, of string, err error)
	// ReleaseFilesystem gives up ownership of a filesystem and keeps its data.
	ReleaseFilesystem(ctx context.Context, id string) error
	// ImportID returns the id with which Import can import a filesystem after the model has released it; "" if the
	// filesystem is destroyed with its instance.
	ImportID(id string) string
}

// A CloudInstance is an instance in a cloud.
type CloudInstance struct {
	ID      string
	Machine string // that it was started for
}

// askCloud calls ask with the cloud of the caller's model, or of the controller's own model if the caller is connected
// to the controller itself. Some tests have no cloud; then ask is not called.
func (c *Caller) askCloud(ctx context.Context, ask func(context.Context, Cloud) error) error {
	model := c.Model
	if model == nil {
		model = c.ControllerModel
	}
	return c.askCloudOf(ctx, model.UUID(), "what machines it has", ask)
}

// askCloudOf calls ask with the cloud of a model.
func (b *Backend) askCloudOf(
	ctx context.Context, model, what string, ask func(context.Context, Cloud) error,
) error {
	if b.Cloud == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, b.Limits.CloudTime)
	defer cancel()
	cloud, err := b.Cloud(ctx, model)
	if err == nil {
		err = ask(ctx, cloud)
	}
	switch {
	case err == nil || entity.KindOf(err) != "":
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return entity.WithHint(entity.Errorf(entity.Unavailable, "the cloud has not answered for %v",
			b.Limits.CloudTime),
			"Nothing was changed; try again when the cloud answers.")
	}
	return entity.WithHint(entity.Errorf(entity.Unavailable, "cannot ask the cloud %s: %w", what, err),
		"Nothing was changed; try again when the cloud answers.")
}

// warnings tell users how the result differs from what they requested.
type warnings []string

func (w *warnings) add(format string, args ...any) { *w = append(*w, fmt.Sprintf(format, args...)) }

// log also writes the warnings to the controller's log, for other readers.
func (w warnings) log(c *Caller) warnings {
	for _, text := range w {
		logger.Warningf("%s: model %s: %s", c.Request, c.Model.Name(), text)
	}
	return w
}

// ignored warns of constraints that the cloud accepts but ignores, and of those that it can't keep.
func (w *warnings) ignored(ctx context.Context, c *Caller, cloud Cloud, constraints constraints.Value) error {
	rules, err := cloud.ConstraintRules(ctx)
	if err != nil {
		return err
	}
	keys, err := rules.Check(constraints)
	if err == nil && len(keys) > 0 {
		w.add("unsupported constraints: %s: cloud %q ignores them", strings.Join(keys, ", "), c.cloudName())
	}
	for _, small := range rules.TooSmall(constraints) {
		w.add("constraint %s has no effect: an agent alone needs more, and cloud %q does not limit its machines", small,
			c.cloudName())
	}
	return err
}

// A seriesChoice is the input for choosing the series of new machines.
type seriesChoice struct {
	asked string // by the user; "" for none
	force bool   // use asked even if the cloud or the charm does not support it
	charm entity.Platforms
	cloud []string // available in the cloud, the preferred one first; none for any
	model modelconfig.Value
}

func (s seriesChoice) has(series string) bool {
	return len(s.cloud) == 0 || slices.Contains(s.cloud, series)
}

func isUbuntus(series string) bool { return entity.BaseOf(series).Name == "ubuntu" }

// lacksUbuntu reports whether all of these series are Ubuntu's, and the cloud has none of Ubuntu's. Juju knew few others, so most
// charms that name only these run on Debian, and the users of a host that is Debian's have nothing else.
func lacksUbuntu(cloud []string, series ...string) bool {
	others := func(series string) bool { return !isUbuntus(series) }
	return len(series) > 0 && len(cloud) > 0 && !slices.ContainsFunc(cloud, isUbuntus) && !slices.ContainsFunc(series, others)
}

// chooseBase is choose for a charm with a manifest, in Juju's order. The base that the user or the model asks for must be the
// charm's.
func (s seriesChoice) chooseBase() (series, warning string, err error) {
	asked := s.asked
	if asked == "" && s.model.Source == modelconfig.FromModel {
		asked = s.model.Value
	}
	var usable []string
	for _, series := range s.charm.Series {
		if s.has(series) {
			usable = append(usable, series)
		}
	}
	lacks := lacksUbuntu(s.cloud, s.charm.Series...)
	ask := func(series string) error {
		return entity.WithHint(entity.Errorf(entity.Invalid, "base: %s", entity.BaseOf(series)),
			"The cloud has %s.", strings.Join(baseNames(s.cloud), ", "))
	}
	switch lts := entity.DefaultBase.Series(); {
	case len(usable) == 0 && !lacks && !s.force:
		err := entity.Errorf(entity.NotSupported, "the charm defined bases %q not supported",
			strings.Join(s.charm.BaseNames(), ", "))
		if len(s.cloud) > 0 {
			err = entity.WithHint(err, "The cloud has %s. To run the charm on %s all the same: --base %[2]s --force",
				strings.Join(baseNames(s.cloud), ", "), entity.BaseOf(s.cloud[0]).Short())
		}
		return "", "", err
	case asked != "" && slices.Contains(usable, asked), asked != "" && s.force && s.has(asked):
		return asked, "", nil
	case asked != "" && lacks && s.has(asked):
		return asked, s.otherSeries(asked), nil
	case asked != "" && !s.charm.Supports(asked) && !s.force:
		return "", "", s.charm.Unsupported(asked)
	case asked != "" && !lacks && !s.force:
		return "", "", ask(asked)
	case asked == "" && slices.Contains(usable, lts):
		return lts, "", nil
	case asked == "" && len(usable) > 0:
		return usable[0], "", nil
	case len(s.cloud) == 0: // by force
		return entity.DefaultBase.Series(), "", nil
	}
	return s.cloud[0], s.otherSeries(s.cloud[0]), nil
}

// baseNames returns the bases of series as people write them.
func baseNames(series []string) []string { return entity.Platforms{Series: series}.BaseNames() }

// choose returns the series of new machines. A user who forces a series that the cloud does not have gets the cloud's
// preferred one, and a warning; so does one whose charm, command or model names only Ubuntu's, if the cloud has none of
// these. With a warning, the series need not be one of the charm's.
func (s seriesChoice) choose() (series, warning string, err error) {
	if len(s.charm.Bases) > 0 {
		return s.chooseBase()
	}
	has, charm := s.has, s.charm.Series
	lacks := func(what string) error { return notAvailable(what, s.cloud) }
	instead := func(what string) string { return fmt.Sprintf("%s not available: hooks run on %q", what, s.cloud[0]) }
	askedIs := fmt.Sprintf("series %q is", s.asked)
	lacksCharms := lacksUbuntu(s.cloud, charm...)
	switch {
	case s.asked != "" && has(s.asked) && lacksCharms:
		return s.asked, s.otherSeries(s.asked), nil
	case s.asked != "" && has(s.asked):
		return s.asked, "", nil
	case s.asked != "" && lacksCharms && slices.Contains(charm, s.asked):
		return s.cloud[0], s.otherSeries(s.cloud[0]), nil
	case s.asked != "" && (s.force || len(charm) == 0 && lacksUbuntu(s.cloud, s.asked)):
		return s.cloud[0], instead(askedIs), nil
	case s.asked != "":
		return "", "", entity.WithHint(lacks(askedIs), "Without a base or series it gets %s.", s.cloud[0])
	case len(charm) > 0:
		if slices.Contains(charm, s.model.Value) && has(s.model.Value) {
			return s.model.Value, "", nil
		}
		// The cloud's order of preference overrides the charm's: its first series is the host's.
		for _, series := range s.cloud {
			if slices.Contains(charm, series) {
				return series, "", nil
			}
		}
		if len(s.cloud) == 0 {
			return charm[0], "", nil
		}
		if s.force || lacksCharms { // by force, e.g. for a bundle
			return s.cloud[0], s.otherSeries(s.cloud[0]), nil
		}
		return "", "", entity.WithHint(lacks("the charm's series "+strings.Join(charm, ", ")+" are"),
			"To run the charm on %s all the same: --series %[1]s --force", s.cloud[0])
	case has(s.model.Value):
		return s.model.Value, "", nil
	case s.model.Source == modelconfig.FromModel && lacksUbuntu(s.cloud, s.model.Value):
		return s.cloud[0], instead(fmt.Sprintf("the model's default-series %q is", s.model.Value)), nil
	case s.model.Source == modelconfig.FromModel:
		return "", "", entity.WithHint(lacks(fmt.Sprintf("the model's default-series %q is", s.model.Value)),
			"Change it: juju model-config default-series=%s", s.cloud[0])
	}
	return s.cloud[0], "", nil // the user did not choose the controller's default
}

// notAvailable returns the error of a choice that is none of the cloud's series. what ends in a verb.
func notAvailable(what string, have []string) error {
	return entity.Errorf(entity.Invalid, "%s not available: the cloud has %s", what, strings.Join(have, ", "))
}

// checkSeries rejects a series that the cloud does not have. what says what the series is for.
func (c *Caller) checkSeries(ctx context.Context, what, series string) error {
	return c.askCloud(ctx, func(ctx context.Context, cloud Cloud) error {
		have, err := cloud.Series(ctx)
		if err != nil {
			return err
		}
		return checkAvailable(what, series, have)
	})
}

func checkAvailable(what, series string, have []string) error {
	if len(have) > 0 && !slices.Contains(have, series) {
		return notAvailable(fmt.Sprintf("%s %q is", what, series), have)
	}
	return nil
}

// otherSeries warns that a charm runs on a series that it does not name.
func (s seriesChoice) otherSeries(series string) string {
	if len(s.charm.Bases) > 0 {
		return fmt.Sprintf("the charm's bases %s are not available: hooks run on %s", strings.Join(s.charm.BaseNames(), ", "),
			entity.BaseOf(series).Short())
	}
	return fmt.Sprintf("the charm's series %s are not available: hooks run on %q",
		strings.Join(s.charm.Series, ", "), series)
}

// series chooses the series of new machines. It reports whether it need not be one of the charm's.
func (w *warnings) series(
	ctx context.Context, c *Caller, cloud Cloud, asked string, force bool, charm entity.Platforms,
) (series string, forced bool, err error) {
	config, err := c.Model.Settings().Config(ctx)
	if err != nil {
		return "", false, err
	}
	choice := seriesChoice{asked: asked, force: force, charm: charm, model: config[modelconfig.DefaultSeries]}
	if choice.cloud, err = cloud.Series(ctx); err != nil {
		return "", false, err
	}
	series, warning, err := choice.choose()
	if warning != "" {
		w.add("%s", warning)
	}
	return series, force || warning != "", err
}

// overModel merges own over the model's constraints, as state does for new machines.
func overModel(ctx context.Context, c *Caller, own constraints.Value) (constraints.Value, error) {
	model, err := c.Model.Settings().Constraints(ctx)
	return constraints.Merge(model, own), err
}

// placements returns placements of the wire format.
func (c *Caller) placements(list []*params.Placement) ([]entity.Placement, error) {
	var all []entity.Placement
	for _, one := range list {
		p, err := c.placement(one)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

func (c *Caller) placement(p *params.Placement) (entity.Placement, error) {
	return p.Read(c.Model.UUID(), c.Model.Name())
}

// newPlaces returns the distinct places of the new machines and containers for n units, as the cloud sees them. Units without
// a placement may be anywhere.
func newPlaces(n int, placements []entity.Placement) (all []entity.Placement) {
	if len(placements) < n {
		all = append(all, entity.Placement{})
	}
	for _, p := range placements[:min(n, len(placements))] {
		if p.Machine != "" && p.Container == "" {
			continue // it is there
		}
		if at := p.ForCloud(); !slices.Contains(all, at) {
			all = append(all, at)
		}
	}
	return all
}

// precheckMachine calls the cloud's Precheck for a machine in the spaces that its constraints demand.
func (c *Caller) precheckMachine(ctx context.Context, cloud Cloud, series string, constraints constraints.Value,
	at entity.Placement) error {
	spaces, err := c.demands(ctx, constraints, nil)
	if err != nil {
		return err
	}
	return cloud.Precheck(ctx, series, constraints, spaces, at)
}

// newUnits are units that a service is to get.
type newUnits struct {
	n           int
	at          []entity.Placement // of the first ones
	series      string
	constraints constraints.Value // merged with the model's
	bindings    map[string]string
	more        bool // others may be added later, anywhere
}

// precheck calls the cloud's Precheck for each place of the units once. The machines that are started for the units must be in
// the spaces that constraints and bindings demand. None is started for units that fit on machines that are there, such as
// hosts that users have added.
func (u newUnits) precheck(ctx context.Context, c *Caller, cloud Cloud) error {
	spaces, err := c.demands(ctx, u.constraints, u.bindings)
	if err != nil {
		return err
	}
	anywhere := entity.Placement{}
	places := newPlaces(u.n, u.at)
	need := slices.Contains(places, anywhere)
	more := u.more && !need
	if need && !spaces.IsEmpty() {
		there, err := c.Model.Settings().Networks().Unused(ctx, spaces)
		if err != nil {
			return err
		}
		if u.n-len(u.at) <= there {
			places = slices.DeleteFunc(places, func(p entity.Placement) bool { return p == anywhere })
			more = true
		}
	}
	if more {
		if err := cloud.Precheck(ctx, u.series, u.constraints, entity.MachineSpaces{}, anywhere); err != nil {
			return err
		}
	}
	for _, at := range places {
		if err := cloud.Precheck(ctx, u.series, u.constraints, spaces, at); err != nil {
			return err
		}
	}
	return nil
}

// checkNumUnits rejects a number of units below least, or above the limit.
func checkNumUnits(n, least int) error {
	if n < least {
		return entity.Errorf(entity.Invalid, "--num-units must be a positive integer")
	}
	return limits.CheckAtOnce("units", n)
}

// checkDeploy checks whether the cloud can supply machines for a service, and returns their series, and whether that need
// not be one of those in charm, which the charm supports.
func checkDeploy(
	ctx context.Context, c *Caller, a params.ApplicationDeploy, at []entity.Placement, charm entity.Platforms,
) (series string, forced bool, w warnings, err error) {
	if err := checkNumUnits(a.NumUnits, 0); err != nil { // a subordinate service starts with none
		return "", false, nil, err
	}
	if a.CharmOrigin != nil && a.CharmOrigin.Base != nil {
		series = a.CharmOrigin.Base.Series()
	}
	err = c.askCloud(ctx, func(ctx context.Context, cloud Cloud) error {
		if series, forced, err = w.series(ctx, c, cloud, series, a.Force, charm); err != nil {
			return err
		}
		constraints, err := overModel(ctx, c, a.Constraints)
		if err != nil {
			return err
		}
		if err := checkArch(ctx, cloud, charm, series, constraints); err != nil {
			return err
		}
		units := newUnits{n: a.NumUnits, at: at, series: series, constraints: constraints, bindings: a.EndpointBindings, more: true}
		if err := units.precheck(ctx, c, cloud); err != nil {
			return err
		}
		return w.ignored(ctx, c, cloud, a.Constraints)
	})
	if err != nil {
		return "", false, w, fmt.Errorf("cannot deploy %q: %w", a.ApplicationName, err)
	}
	return series, forced, w, nil
}

// checkArch rejects a charm that was built for other architectures than the machines which it would get.
func checkArch(ctx context.Context, cloud Cloud, charm entity.Platforms, series string,
	wanted constraints.Value) error {
	needs := charm.Architectures(series)
	if len(needs) == 0 {
		return nil
	}
	rules, err := cloud.ConstraintRules(ctx)
	if err != nil {
		return err
	}
	have := rules.Values[constraints.Arch]
	if arch, ok := wanted.Get(constraints.Arch); ok {
		have = []string{arch}
	}
	if len(have) == 0 || slices.ContainsFunc(have, func(arch string) bool { return slices.Contains(needs, arch) }) {
		return nil
	}
	return entity.WithHint(entity.Errorf(entity.NotSupported,
		"the charm was built for architecture %s, and the machines have %s",
		strings.Join(needs, ", "), strings.Join(have, ", ")),
		"Get the charm's file for %s; charmcraft pack makes one for each architecture.",
		have[0])
}

// applicationCheckDeploy returns the cloud's errors that Deploy would return, and the series that the service would
// have, before the client uploads the charm.
func applicationCheckDeploy(ctx context.Context, c *Caller, p params.CheckDeploy) (params.CheckDeployResult, error) {
	at, err := c.placements(p.Placement)
	if err != nil {
		return params.CheckDeployResult{}, fmt.Errorf("cannot deploy %q: %w", p.ApplicationName, err)
	}
	series, _, w, err := checkDeploy(ctx, c, p.ApplicationDeploy, at,
		entity.Platforms{Series: p.CharmSeries, Bases: p.CharmBases})
	return params.CheckDeployResult{Series: series, Warnings: w}, err
}

// checkUnits checks whether the cloud can supply machines for n more units of a service.
func checkUnits(ctx context.Context, c *Caller, svc *state.Service, n int,
	at []entity.Placement) (w warnings, err error) {
	if err := checkNumUnits(n, 1); err != nil {
		return nil, err
	}
	if len(newPlaces(n, at)) == 0 {
		return nil, nil // all units go to existing machines
	}
	units := newUnits{n: n, at: at, series: svc.Series()}
	own, err := svc.Constraints(ctx)
	if err != nil {
		return nil, err
	}
	if units.bindings, err = svc.Bindings(ctx); err != nil {
		return nil, err
	}
	err = c.askCloud(ctx, func(ctx context.Context, cloud Cloud) error {
		if units.constraints, err = overModel(ctx, c, own); err != nil {
			return err
		}
		have, err := cloud.Series(ctx)
		if err != nil {
			return err
		}
		// The service keeps its series, even if the host's series changed in an upgrade.
		if len(have) > 0 && !slices.Contains(have, units.series) {
			w.add("service %q has series %q, which is no longer available: hooks run on %q", svc.Name(), units.series, have[0])
			units.series = ""
		}
		return units.precheck(ctx, c, cloud)
	})
	if err != nil {
		return w, fmt.Errorf("cannot add a unit to service %q: %w", svc.Name(), err)
	}
	return w, nil
}

// checkMachine checks whether the cloud can supply such a machine, and returns its series.
func checkMachine(ctx context.Context, c *Caller, p params.AddMachineParams,
	at entity.Placement) (series string, w warnings,
	err error) {
	if p.Base != nil {
		series = p.Base.Series()
	}
	err = c.askCloud(ctx, func(ctx context.Context, cloud Cloud) error {
		if series, _, err = w.series(ctx, c, cloud, series, false, entity.Platforms{}); err != nil {
			return err
		}
		constraints, err := overModel(ctx, c, p.Constraints)
		if err != nil {
			return err
		}
		if err := c.precheckMachine(ctx, cloud, series, constraints, at); err != nil {
			return err
		}
		return w.ignored(ctx, c, cloud, p.Constraints)
	})
	if err != nil {
		return "", w, fmt.Errorf("cannot add a machine: %w", err)
	}
	return series, w, nil
}

// checkConstraints checks whether the cloud can satisfy the constraints judged. The warnings are about those in given,
// which the user has set.
func checkConstraints(ctx context.Context, c *Caller, judged, given constraints.Value) (w warnings, err error) {
	err = c.askCloud(ctx, func(ctx context.Context, cloud Cloud) error {
		if err := c.precheckMachine(ctx, cloud, "", judged, entity.Placement{}); err != nil {
			return err
		}
		return w.ignored(ctx, c, cloud, given)
	})
	if err != nil {
		return w, fmt.Errorf("cannot set constraints: %w", err)
	}
	return w, nil
}

// checkModelConstraints checks the rules of the cloud's constraints, as Juju does. That no machine of now meets them is a
// warning: they are of machines to come, which services may have constraints of their own for.
func checkModelConstraints(ctx context.Context, c *Caller, given constraints.Value) (w warnings, err error) {
	err = c.askCloud(ctx, func(ctx context.Context, cloud Cloud) error {
		if err := w.ignored(ctx, c, cloud, given); err != nil {
			return err
		}
		if _, err := c.demands(ctx, given, nil); err != nil {
			return err
		}
		err := c.precheckMachine(ctx, cloud, "", given, entity.Placement{})
		if errors.Is(err, entity.Invalid) {
			w.add("no machine can be added with these constraints: %v", err)
			return nil
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("cannot set constraints: %w", err)
	}
	return w, nil
}
