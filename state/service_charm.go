package state

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"gopkg.in/mgo.v2/bson"

	"juju/charm"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/networks"
	"juju/state/internal/resources"
	"juju/state/internal/rollout"
	"juju/state/internal/storage"
)

// SetCharmParams specify a service's new charm, and how its units are upgraded to it.
type SetCharmParams struct {
	URL         string
	Origin      *entity.CharmOrigin // where the charm came from; nil: as now, if that is a store and so is the charm from one
	ForceUnits  bool                // upgrade units in error too, without waiting until they are resolved
	ForceSeries bool                // allow a charm that does not support the service's series
	Config      map[string]any      // settings to change with it, as for SetConfig
	Resources   map[string]string   // ids of uploads, by the names of the charm's resources
	// Bindings are merged into the service's: names of spaces by the new charm's endpoints, "" for the default. With
	// ForceBindings also to spaces in which machines of its units have no address.
	Bindings      map[string]string
	ForceBindings bool
	// Storage replaces the storage constraints of new units.
	Storage map[string]entity.StorageConstraints
	// Batch, if it is not 0, upgrades this many units at a time, and the next ones once these are healthy: see package
	// rollout. HealthTimeout is how long they have for that.
	Batch         int
	HealthTimeout time.Duration
}

// An Upgraded is what another charm leaves of a service; all sorted.
type Upgraded struct {
	// Unused are settings that the old charm used, and for which the new one has no option, or one of another type. They are
	// kept: a later charm may have the option again.
	Unused []string
	// Unbound are endpoints that the new charm lacks: their bindings are dropped, after an upgrade in batches once it ends.
	Unbound []string
}

// SetCharm changes the charm of a service; its units' agents upgrade them. Peer relations that the new charm does not have
// are removed, once the units have run their last hooks, and those that only it has are added, unless the service is Dying:
// then the charm is to fix failed hooks. The error is entity.Invalid if the new
// charm can't replace the old one, for example because it lacks an endpoint that is in use.
func (s *Service) SetCharm(ctx context.Context, p SetCharmParams) (Upgraded, error) {
	var err error
	c := s.charmChange(p)
	if c.charm, err = s.st.db.Charm(ctx, p.URL); err == nil {
		err = s.st.change(ctx, func(o *ops) error {
			if err := s.refresh(ctx); err != nil {
				return err
			}
			return c.add(ctx, o)
		})
	}
	if err != nil {
		return Upgraded{}, fmt.Errorf("cannot upgrade service %q to charm %q: %w", s.doc.Name, p.URL, err)
	}
	return c.left, nil
}

// RevertRollout reverts an upgrade in batches, whether it goes on or has stopped: the units that have the new charm get
// the former one again, in batches; those in error at once, and their hook runs again. 0 keeps the batch or the timeout.
//
// The settings that were changed with it are restored, unless they have been changed since.
func (s *Service) RevertRollout(ctx context.Context, batch int, timeout time.Duration) (result Reverted, err error) {
	c := s.charmChange(SetCharmParams{ForceUnits: true, ForceSeries: true})
	c.reverts = true
	err = s.st.change(ctx, func(o *ops) error {
		if err := s.refresh(ctx); err != nil {
			return err
		}
		now := s.doc.Rollout
		switch {
		case now == nil:
			return rollout.None(s.doc.Name)
		case now.Reverts:
			return entity.WithHint(entity.Errorf(entity.Invalid, "it is being reverted"),
				"To change its pace, or to continue it if it "+
					"has stopped: juju upgrade-charm %s --resume", s.doc.Name)
		}
		c.URL, c.Batch, c.HealthTimeout = now.Former, cmp.Or(batch, now.Batch), cmp.Or(timeout, now.Timeout)
		err := s.st.db.UseCharm(ctx, o.Ops, c.URL)
		if err == nil {
			c.charm, err = s.st.db.Charm(ctx, c.URL)
		}
		if entity.IsNotFound(err) {
			return entity.WithHint(err, "Let the upgrade go on; if it has stopped, continue it (juju upgrade-charm %s --resume), "+
				"or upgrade to another charm (juju upgrade-charm %[1]s --path DIR).", s.doc.Name)
		} else if err != nil {
			return err
		}
		return c.add(ctx, o)
	})
	if err != nil {
		return Reverted{}, fmt.Errorf("cannot revert the upgrade of service %q: %w", s.doc.Name, err)
	}
	for _, names := range [][]string{c.restored, c.kept} {
		if i := slices.Index(names, modeldb.TrustSetting); i >= 0 {
			names[i] = charm.Trust
		}
	}
	return Reverted{c.left, c.restored, c.kept}, nil
}

// A Reverted lists settings of a service whose upgrade is reverted, sorted.
type Reverted struct {
	Upgraded
	Restored []string // they are as before the upgrade
	Kept     []string // they were changed with the upgrade, and then again: they stay as they are
}

// ResumeRollout is rollout.Resume.
func (s *Service) ResumeRollout(ctx context.Context, batch int, timeout time.Duration) error {
	return rollout.Resume(ctx, s.st.db, s.doc.Name, batch, timeout)
}

// AdvanceRollout is rollout.Advance.
func (s *Service) AdvanceRollout(ctx context.Context, lost func(unit string) bool) (again time.Duration, err error) {
	return rollout.Advance(ctx, s.st.db, s.doc.Name, lost)
}

func (s *Service) charmChange(p SetCharmParams) *charmChange {
	return &charmChange{SetCharmParams: p, Service: s, peers: newPeers{},
		begun: s.st.begin(entity.Destruction{})}
}

// A charmChange is a SetCharm in progress.
type charmChange struct {
	SetCharmParams
	*Service
	charm *charm.Charm
	peers newPeers

	reverts bool        // back to the former charm of a rollout
	begun   destruction // of peer relations that the charm does not have

	settings       []modeldb.Setting // changed with a rollout
	left           Upgraded
	restored, kept []string
}

// origin returns where the charm comes from, and whether that is something new.
func (c *charmChange) origin() (origin *entity.CharmOrigin, changes bool) {
	now := c.doc.Origin
	switch {
	case c.reverts:
		origin = c.doc.Rollout.Origin
	case c.SetCharmParams.Origin != nil:
		origin = c.SetCharmParams.Origin
	case modeldb.IsStored(c.URL):
		origin = now
	}
	return origin, (origin == nil) != (now == nil) || origin != nil && *origin != *now
}

// add adds the change of the charm of the service as it was last read.
func (c *charmChange) add(ctx context.Context, o *ops) error {
	if err := c.check(ctx); err != nil {
		return err
	}
	if err := c.checkRollout(ctx, o); err != nil {
		return err
	}
	if err := c.configOps(ctx, o); err != nil {
		return err
	}
	same := append(bson.D{{"life", c.doc.Life}, {"series", c.doc.Series}}, c.doc.KeepsCharm()...)
	if c.reverts { // at the pace of what it reverts
		same = append(same, c.doc.KeepsPace()...)
	}
	version, err := resources.Give(ctx, c.st.db, o.Ops, c.doc, c.charm.Meta, c.SetCharmParams.Resources)
	if err != nil {
		return err
	}
	bindings, unbound := networks.Usable(c.charm.Meta, c.doc.Bindings)
	switch c.left.Unbound = unbound; {
	case c.URL == c.doc.CharmURL:
		bindings, c.left.Unbound = c.doc.Bindings, nil
	case c.Batch > 0: // they may be those of the charm after a revert: see rollout.Advance
		bindings = c.doc.Bindings
	}
	if len(c.SetCharmParams.Bindings) > 0 {
		now := c.doc
		now.Bindings = bindings
		other := networks.Rebinding{Token: c.begun.id, Meta: c.charm.Meta, Bindings: c.SetCharmParams.Bindings, Force: c.ForceBindings}
		if bindings, err = other.Of(ctx, c.st.db, o.Ops, now); err != nil {
			return err
		}
	}
	bound := !slices.Equal(bindings, c.doc.Bindings)
	if bound {
		same = append(same, c.doc.KeepsBindings())
	}
	// Changing storage, resources or bindings with the same charm does not revoke force.
	origin, moved := c.origin()
	other := len(c.Storage) > 0 || moved || version != c.doc.Resources || bound
	force := c.ForceUnits || other && c.URL == c.doc.CharmURL && c.doc.ForceCharm
	if c.doc.CharmURL == c.URL && c.doc.ForceCharm == force && !other {
		if o.Len() > 0 { // the settings were checked against this charm
			o.Assert(modeldb.ServicesC, c.doc.Name, same)
		}
		return nil
	}
	old, err := c.st.db.Charm(ctx, c.doc.CharmURL)
	if err != nil {
		return err
	}
	if err := c.relationOps(ctx, o, old.Meta); err != nil {
		return err
	}
	if err := c.offerOps(ctx, o, old.Meta); err != nil {
		return err
	}
	storage, err := c.storageOps(ctx, o, old.Meta)
	if err != nil {
		return err
	}
	if err := c.st.db.UseCharm(ctx, o.Ops, c.URL); err != nil {
		return err
	}
	set := bson.D{{"charm", c.URL}, {"forcecharm", force}}
	if len(storage) > 0 || c.reverts && len(c.doc.Stores) > 0 {
		set = append(set, bson.DocElem{Name: "stores", Value: storage})
	}
	if version != c.doc.Resources {
		set = append(set, bson.DocElem{Name: "resources", Value: version})
	}
	var unset bson.D
	if moved && origin == nil {
		unset = append(unset, bson.DocElem{Name: "origin", Value: 1})
	} else if moved {
		set = append(set, bson.DocElem{Name: "origin", Value: origin})
	}
	if moved || c.URL != c.doc.CharmURL { // it is asked for again
		unset = append(unset, bson.DocElem{Name: "newer", Value: 1})
	}
	if bound && len(bindings) == 0 {
		unset = append(unset, bson.DocElem{Name: "bindings", Value: 1})
	} else if bound {
		set = append(set, bson.DocElem{Name: "bindings", Value: bindings})
	}
	switch {
	case c.Batch > 0:
		former, origin := c.former()
		set = append(set, bson.DocElem{Name: "rollout", Value: modeldb.Rollout{ID: c.begun.id, Former: former, Origin: origin,
			Reverts: c.reverts, Batch: c.Batch, Timeout: c.HealthTimeout, Since: c.begun.now, Settings: c.settings}})
	case c.URL != c.doc.CharmURL: // all units at once, in place of a rollout that has stopped
		unset = append(unset, bson.DocElem{Name: "rollout", Value: 1})
	}
	update := bson.D{{"$set", set}}
	if len(unset) > 0 {
		update = append(update, bson.DocElem{Name: "$unset", Value: unset})
	}
	o.Update(modeldb.ServicesC, c.doc.Name, same, update)
	return nil
}

// checkRollout refuses another charm during a rollout, unless that has stopped, and a new rollout that could not be
// reverted.
func (c *charmChange) checkRollout(ctx context.Context, o *ops) error {
	// During a rollout some units have the former charm and some the new one: a third charm has to wait until the rollout has
	// stopped, and no storage is added that only one of the two may know.
	another := c.Batch > 0 || c.URL != c.doc.CharmURL
	if now := c.doc.Rollout; now != nil && !c.reverts && (another && now.Stopped == "" || !another && len(c.Storage) > 0) {
		return entity.WithHint(entity.Errorf(entity.InUse,
			"its units are being upgraded in batches to charm %q", c.doc.CharmURL),
			"Wait until that ends: juju wait-for %s; or revert it: juju upgrade-charm %[1]s --revert", c.doc.Name)
	}
	if c.Batch == 0 {
		return nil
	}
	if err := rollout.Check(c.Batch, c.HealthTimeout); err != nil || c.reverts {
		return err
	}
	switch {
	case c.doc.Life != entity.Alive:
		return entity.Errorf(entity.NotAlive, "service is not alive")
	case c.URL == c.doc.CharmURL:
		return entity.WithHint(entity.Errorf(entity.Invalid, "its units have or get that charm already"),
			"To continue an upgrade that has stopped: juju upgrade-charm %s --resume", c.doc.Name)
	case len(c.SetCharmParams.Resources) > 0:
		return entity.WithHint(entity.Errorf(entity.Invalid, "a resource is for all units at once"),
			"Upload it before or after the upgrade: juju attach-resource %s NAME=FILE", c.doc.Name)
	}
	old, err := c.st.db.Charm(ctx, c.doc.CharmURL)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(old.Meta.Storage)) {
		if store, ok := c.charm.Meta.Storage[name]; ok {
			err = cmp.Or(err, checkSameStore(store, old.Meta.Storage[name]))
		}
	}
	url, _ := c.former()
	former, ferr := c.st.db.Charm(ctx, url)
	if ferr = cmp.Or(ferr, c.st.db.UseCharm(ctx, o.Ops, url)); ferr != nil {
		return fmt.Errorf("the upgrade could not be reverted: %w", ferr)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Storage)) {
		if _, ok := former.Meta.Storage[name]; !ok {
			err = cmp.Or(err, entity.Errorf(entity.Invalid, "charm %q has no store called %q", url, name))
		}
	}
	if err != nil {
		return entity.WithHint(fmt.Errorf("the upgrade could not be reverted: %w", err),
			"Without --batch all units are upgraded at once.")
	}
	return nil
}

// former returns the charm to which a rollout can be reverted, and where that came from: if the rollout replaces one that has
// stopped, that one's.
func (c *charmChange) former() (url string, origin *entity.CharmOrigin) {
	if now := c.doc.Rollout; now != nil && !now.Reverts && !c.reverts && now.Former != c.URL {
		return now.Former, now.Origin
	}
	return c.doc.CharmURL, c.doc.Origin
}

// check checks the charm against the immutable properties of a service.
func (c *charmChange) check(ctx context.Context) error {
	old, err := c.st.db.Charm(ctx, c.doc.CharmURL)
	if err != nil {
		return err
	}
	// A charm that runs on a series which it does not name can be followed by another one.
	why, hint := c.charm.Meta.Unfit(c.doc.Series, c.doc.Subordinate, c.ForceSeries || !old.Meta.Supports(c.doc.Series))
	if why == "" {
		return nil
	}
	return entity.WithHint(entity.Errorf(entity.Invalid, "%s", why), "%s", hint)
}

// configOps changes the settings that come with the charm, or restores those from before it, and finds those that it does
// not use.
func (c *charmChange) configOps(ctx context.Context, o *ops) error {
	changes, err := checkSettings(c.charm.Config, c.Config)
	if err != nil {
		return err
	}
	old, err := c.st.db.Charm(ctx, c.doc.CharmURL)
	if err != nil {
		return err
	}
	doc, err := c.st.db.Settings(ctx, modeldb.ServiceKey(c.doc.Name))
	if err != nil {
		return err
	}
	switch {
	case c.reverts:
		changes, c.restored, c.kept = rollout.Restore(c.doc.Rollout, doc.Settings)
	case c.Batch > 0:
		c.settings = rollout.Settings(c.doc.Rollout, doc.Settings, changes)
	}
	c.left.Unused = nil
	used := c.charm.Config.UsableSettings(doc.Settings)
	for _, name := range slices.Sorted(maps.Keys(old.Config.UsableSettings(doc.Settings))) {
		if _, ok := used[name]; !ok {
			c.left.Unused = append(c.left.Unused, name)
		}
	}
	return o.ChangeSettings(doc, changes)
}

// offerOps rejects a charm that lacks an endpoint that is offered. That no other offer is added meanwhile, relationOps asserts.
func (c *charmChange) offerOps(ctx context.Context, o *ops, old *charm.Meta) error {
	offers, err := c.st.offers(ctx, bson.D{{"service", c.doc.Name}, {"life", entity.Alive}})
	if err != nil {
		return err
	}
	ends := modeldb.EndpointsOf(c.doc.Name, c.charm.Meta)
	for _, offer := range offers {
		for _, end := range modeldb.EndpointsOf(c.doc.Name, old) {
			if slices.Contains(offer.doc.Endpoints, end.Name) && !slices.Contains(ends, end) {
				return entity.WithHint(entity.Errorf(entity.Invalid, "would break offer %q", offer.doc.Name),
					"The charm has no endpoint like %s. To remove the offer first: juju remove-offer %s.%s", end.Name,
					c.st.db.Name, offer.doc.Name)
			}
		}
		o.Assert(modeldb.OffersC, offer.doc.Name, offer.asserts())
	}
	return nil
}

// storageOps rejects a charm whose stores are incompatible with those that units already have, and returns the storage
// constraints of new units: for stores that only the new charm has, what the charm needs unless the user overrides it.
func (c *charmChange) storageOps(ctx context.Context, o *ops,
	old *charm.Meta) (map[string]entity.StorageConstraints, error) {
	for _, name := range slices.Sorted(maps.Keys(old.Storage)) {
		store, ok := c.charm.Meta.Storage[name]
		if !ok && c.reverts { // there is none: see charmOf
			continue
		}
		if !ok {
			return nil, entity.Errorf(entity.Invalid, "storage %q removed", name)
		}
		if err := checkSameStore(old.Storage[name], store); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.charm.Meta.Storage)) {
		if _, ok := old.Storage[name]; !ok && c.charm.Meta.Storage[name].CountMin > 0 {
			return nil, entity.Errorf(entity.Invalid, "required storage %q added", name)
		}
	}
	model, err := c.st.db.Model(ctx)
	if err != nil {
		return nil, err
	}
	asked := map[string]entity.StorageConstraints{}
	maps.Copy(asked, c.doc.Stores)
	maps.Copy(asked, c.Storage)
	if c.reverts {
		maps.DeleteFunc(asked, func(name string, _ entity.StorageConstraints) bool {
			_, has := c.charm.Meta.Storage[name]
			return !has
		})
	}
	all, err := storage.Constraints(model, c.charm.Meta, asked)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(c.Storage)) {
		if _, err := o.pools.Pool(ctx, c.st.db, o.Ops, model, all[name].Pool); err != nil {
			return nil, fmt.Errorf("charm %q store %q: %w", c.charm.Meta.Name, name, err)
		}
	}
	return all, nil
}

// checkSameStore rejects a store that differs from an old one in what units depend on.
func checkSameStore(old, now charm.Storage) error {
	fail := func(format string, args ...any) error {
		return entity.Errorf(entity.Invalid, "existing storage %q %s", old.Name, fmt.Sprintf(format, args...))
	}
	single := func(s charm.Storage) bool { return s.CountMin == 1 && s.CountMax == 1 }
	switch {
	case now.Type != old.Type:
		return fail("type changed from %q to %q", old.Type, now.Type)
	case now.Shared != old.Shared:
		return fail("shared changed from %v to %v", old.Shared, now.Shared)
	case now.ReadOnly != old.ReadOnly:
		return fail("read-only changed from %v to %v", old.ReadOnly, now.ReadOnly)
	case now.Location != old.Location:
		return fail("location changed from %q to %q", old.Location, now.Location)
	case now.CountMin > old.CountMin:
		return fail("range contracted: min increased from %d to %d", old.CountMin, now.CountMin)
	case now.CountMax >= 0 && (old.CountMax < 0 || now.CountMax < old.CountMax):
		before := any(old.CountMax)
		if old.CountMax < 0 {
			before = "<unbounded>"
		}
		return fail("range contracted: max decreased from %v to %d", before, now.CountMax)
	case old.Location != "" && single(old) && !single(now):
		// The location of one is the directory of several.
		return fail("with location changed from single to multiple")
	}
	return nil
}
