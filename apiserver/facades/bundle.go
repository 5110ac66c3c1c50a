package facades

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"

	"juju/apiserver/bundlechanges"
	"juju/apiserver/hub"
	"juju/apiserver/params"
	"juju/charm"
	"juju/charm/bundle"
	"juju/charm/safeyaml"
	"juju/state"
	"juju/state/constraints"
	"juju/state/entity"
)

// maxBundleUnits limits what one request makes the controller hold in memory.
const maxBundleUnits = 10_000

// bundleChanges returns the steps that deploy a bundle to an empty model, or all mistakes in it, for clients that deploy
// bundles themselves. They have added the charms to the model: the controller sees none of the client's files.
func bundleChanges(ctx context.Context, c *Caller,
	p params.BundleChanges) (r params.BundleChangesMapArgsResults, err error) {
	wanted, err := c.readBundle(ctx, p)
	var mistakes bundle.Errors
	switch {
	case errors.As(err, &mistakes):
		for _, m := range mistakes {
			r.Errors = append(r.Errors, m.Error())
		}
		return r, nil
	case err != nil:
		return r, err
	}
	changes, _, err := bundlechanges.Plan(wanted, &bundlechanges.Model{})
	if err != nil {
		return params.BundleChangesMapArgsResults{Errors: []string{err.Error()}}, nil
	}
	steps := bundleSteps{Wanted: wanted, of: map[any]string{}}
	for _, change := range changes {
		steps.change(change)
	}
	return params.BundleChangesMapArgsResults{Changes: steps.all}, nil
}

// exportBundle returns the bundle that describes the model.
func exportBundle(ctx context.Context, c *Caller,
	p params.ExportBundleParams) (r params.ExportBundleResult, err error) {
	m, err := bundlechanges.ReadModel(ctx, modelReader{c}, func(string) bool { return true })
	if err != nil {
		return r, err
	}
	b, warnings, err := bundlechanges.Export(m, p.IncludeCharmDefaults)
	if err != nil {
		return r, err
	}
	secrets, err := c.Model.Secrets().List(ctx, state.SecretFilter{Owner: entity.ModelTag(c.Model.UUID())}, true)
	if err != nil {
		return r, err
	}
	for _, s := range secrets {
		text := fmt.Sprintf("secret %q, %s, is omitted", s.Label, entity.SecretURI{ID: s.ID})
		for _, reader := range s.Readers() {
			text += fmt.Sprintf("; application %q may read it", reader)
		}
		warnings = append(warnings, text)
	}
	text, err := b.YAML(safeyaml.Marshal)
	return params.ExportBundleResult{Result: string(text), Warnings: warnings}, err
}

// A modelReader reads what a bundle can describe.
type modelReader struct{ *Caller }

func (r modelReader) Status(ctx context.Context) (*entity.ModelStatus, error) {
	return r.Model.Status(ctx)
}

func (r modelReader) ReadService(ctx context.Context, name string, s *bundlechanges.Service) error {
	svc, got, err := getService(ctx, r.Caller, name)
	if err != nil {
		return err
	}
	s.Storage, s.Constraints, s.Options = got.Storage, got.Constraints, map[string]entity.ConfigSetting{}
	maps.Copy(got.Config, got.ApplicationConfig)
	for option, setting := range got.Config {
		s.Options[option] = setting.ConfigSetting
	}
	files, err := svc.Resources(ctx)
	if err != nil {
		return err
	}
	s.Resources = files.Sums()
	return r.keep(ctx, s)
}

func (r modelReader) Offers(ctx context.Context, of entity.ModelHeader) (all []entity.Offer, err error) {
	row, err := r.Controller.ModelRow(ctx, of.UUID)
	if entity.IsNotFound(err) {
		return nil, nil // it is removed meanwhile
	} else if err != nil {
		return nil, err
	}
	found, err := r.offersIn(ctx, row)
	if err != nil {
		return nil, err
	}
	for _, o := range found {
		all = append(all, o.Offer)
	}
	return all, r.keep(ctx, all)
}

func (r modelReader) Annotations(ctx context.Context, of ...entity.Tag) (all []map[string]string, err error) {
	for _, tag := range of {
		one, err := r.Model.Annotations().Get(ctx, tag)
		if err != nil {
			return nil, err
		}
		if err := r.keep(ctx, one); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// readBundle reads and checks a bundle whose charms are in the model.
func (c *Caller) readBundle(ctx context.Context, p params.BundleChanges) (w bundlechanges.Wanted, err error) {
	hidden := func(path string) ([]byte, error) {
		return nil, fmt.Errorf("the controller has no access to the client's file %q", path)
	}
	w = bundlechanges.Wanted{Charms: map[string]*charm.Charm{}, Options: map[string]map[string]any{}, Series: map[string]string{}}
	w.Bundle, err = bundle.Read(bundle.Source{Name: cmp.Or(p.URL, "bundle"), Text: []byte(p.YAML), Include: hidden})
	if err != nil {
		return w, err
	}
	units := 0
	for name, s := range w.Services {
		for _, key := range s.Unsupported {
			return w, entity.Errorf(entity.NotSupported, "cannot deploy the bundle: %q of application %q is not supported", key,
				name)
		}
		if units += max(s.Units, 0); units > maxBundleUnits {
			return w, entity.WithHint(entity.Errorf(entity.Invalid, "the bundle has more than %d units", maxBundleUnits),
				"Deploy it with juju deploy")
		}
	}
	read := map[*bundle.Service]*charm.Charm{}
	w.Relations, err = w.Verify(bundle.Checks{
		Charm: func(s *bundle.Service) (ch *charm.Charm, err error) {
			if path := s.CharmPath(); path != "" {
				_, err = hidden(path)
			} else {
				var url string
				if url, err = hub.Stored(s.Charm); err == nil {
					ch, err = c.Model.Charms().Get(ctx, url)
				}
			}
			read[s] = ch
			return ch, err
		},
		File: func(bundle.File) error { return nil }, // clients upload resources
		Constraints: func(text string) error {
			_, err := constraints.Parse(text)
			return err
		},
		Series: entity.SeriesOf,
		Offer:  func(url string) (entity.Offer, error) { return c.consumable(ctx, url) },
		User: func(name string) error {
			if c.Roles&Admin == 0 {
				return nil // only those who may grant access learn who there is
			}
			_, err := c.Controller.User(ctx, name)
			return err
		},
	})
	if err != nil {
		return w, err
	}
	for name, s := range w.Services {
		url, err := charm.ParseURL(s.Charm)
		if err != nil {
			return w, err
		}
		w.Charms[name], w.Series[name] = read[s], cmp.Or(s.Series, url.Series, w.Bundle.Series)
		if w.Options[name], err = s.Settings(name, read[s]); err != nil {
			return w, err
		}
	}
	return w, nil
}

// bundleSteps collects steps in the form that clients of Juju read.
type bundleSteps struct {
	bundlechanges.Wanted
	// of has the id of the step that adds something, by the *AddCharm, the service's name or the *Spot.
	of    map[any]string
	offer string // the id of the step that adds the latest offer
	all   []params.BundleChange
}

// add appends a step, and returns its id. Empty arguments are left out. The step requires all that its arguments refer to.
func (b *bundleSteps) add(method string, requires []string, args map[string]any) string {
	maps.DeleteFunc(args, func(_ string, v any) bool { return v == "" })
	id := fmt.Sprintf("%s-%d", method, len(b.all))
	b.all = append(b.all, params.BundleChange{ID: id, Method: method, Args: args, Requires: requires})
	return id
}

func (b *bundleSteps) change(change bundlechanges.Change) {
	switch c := change.(type) {
	case *bundlechanges.AddCharm:
		b.of[c] = b.add("addCharm", []string{}, map[string]any{"charm": c.Charm, "series": c.Series, "base": baseText(c.Series)})
	case *bundlechanges.AddService:
		b.of[c.Name] = b.add("deploy", []string{b.of[c.Charm]}, b.service(c))
	case *bundlechanges.ConsumeOffer:
		b.of[c.Name] = b.add("consumeOffer", []string{}, map[string]any{"url": c.URL, "application-name": c.Name})
	case *bundlechanges.CreateOffer:
		b.offer = b.add("createOffer", []string{b.of[c.Service]}, map[string]any{"application": c.Service, "endpoints": c.Endpoints,
			"offer-name": c.Name})
	case *bundlechanges.GrantOfferAccess:
		b.add("grantOfferAccess", []string{b.offer}, map[string]any{"user": c.User, "access": c.Access, "offer": c.Offer})
	case *bundlechanges.Expose:
		args := map[string]any{"application": "$" + b.of[c.Service]}
		if !c.Endpoints.IsEverywhere() {
			args["exposed-endpoints"] = c.Endpoints
		}
		b.add("expose", []string{b.of[c.Service]}, args)
	case *bundlechanges.SetAnnotations:
		step, kind := b.of[c.Service], "application"
		if c.Machine != nil {
			step, kind = b.of[c.Machine], "machine"
		}
		b.add("setAnnotations", []string{step}, map[string]any{"id": "$" + step, "entity-type": kind, "annotations": c.Annotations})
	case *bundlechanges.AddMachine:
		// Whether a service fits on a machine is seen when it is deployed, perhaps by force.
		machine := b.Bundle.Machines[c.ID]
		series := cmp.Or(machine.Series, b.Bundle.Series)
		b.of[c.Spot] = b.add("addMachines", []string{}, map[string]any{"series": series, "base": baseText(series),
			"constraints": machine.Constraints})
	case *bundlechanges.AddUnit:
		b.unit(c)
	case *bundlechanges.AddRelation:
		one, other := c.Relation[0], c.Relation[1]
		b.add("addRelation", []string{b.of[one.Service], b.of[other.Service]}, map[string]any{
			"endpoint1": "$" + b.of[one.Service] + ":" + one.Name, "endpoint2": "$" + b.of[other.Service] + ":" + other.Name})
	}
}

// service returns the arguments that deploy a service.
func (b *bundleSteps) service(c *bundlechanges.AddService) map[string]any {
	s := b.Services[c.Name]
	args := map[string]any{"charm": "$" + b.of[c.Charm], "application": c.Name, "series": c.Series, "base": baseText(c.Series),
		"constraints": s.Constraints}
	if len(b.Options[c.Name]) > 0 {
		args["options"] = b.Options[c.Name]
	}
	if len(s.Storage) > 0 {
		args["storage"] = s.Storage
	}
	if len(s.Bindings) > 0 {
		args["endpoint-bindings"] = s.Bindings
	}
	if len(s.Resources) > 0 {
		args["local-resources"] = s.Resources
	}
	return args
}

// unit adds a unit, and before it the container that it gets.
func (b *bundleSteps) unit(c *bundlechanges.AddUnit) {
	spot := c.Spot
	if spot.Container != "" && b.of[spot] == "" {
		args, requires := map[string]any{"container-type": spot.Container}, []string{}
		if host := b.of[spot.On]; host != "" {
			args["parent-id"], requires = "$"+host, []string{host}
		}
		b.of[spot] = b.add("addMachines", requires, args)
	}
	args, requires := map[string]any{"application": "$" + b.of[c.Service]}, []string{b.of[c.Service]}
	if to := b.of[spot]; to != "" {
		args["to"], requires = "$"+to, append(requires, to)
	}
	if step := b.add("addUnit", requires, args); c.Own {
		b.of[spot] = step
	}
}

// baseText returns the base of a series as bundles write it, "" if there is none.
func baseText(series string) string {
	if series == "" {
		return ""
	}
	return entity.BaseOf(series).String()
}
