package rehearsal

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"sync/atomic"
	"time"

	"juju/hooks"
	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/mongo"
	"juju/worker/deployer"
	"juju/worker/provisioner"
	"juju/worker/storageprovisioner"
)

// patience is how long a rehearsal may take, once it has begun. Its work grows with the model, so this limits what can be
// planned.
const patience = 2 * time.Minute

// maxHooks is how many hooks are foreseen: as many take some 50 MB here, and are an answer of some 10 MB.
const maxHooks = 100_000

// A Stage makes rehearsals, in turns, because each has a model in memory.
type Stage struct {
	Store      *mongo.Store
	Controller *controller.Controller
	// Temp is the directory of temporary files.
	Temp string

	turns turns
}

// Plan returns what a user's change of a model would lead to. Its error is that of the change, which then would change
// nothing. Units whose agents are lost do nothing.
func (s *Stage) Plan(ctx context.Context, user, model string, lost func(unit string) bool,
	change func(ctx context.Context, ctrl *controller.Controller, st *state.State) error) (plan entity.Plan, err error) {
	done, err := s.turns.take(ctx, user, model)
	if err != nil {
		return plan, err
	}
	defer done()
	tooLong := entity.Errorf(entity.Unavailable, "cannot plan: it takes longer than %v", patience)
	ctx, cancel := context.WithTimeoutCause(apart{ctx}, patience, tooLong)
	defer cancel()
	r := s.rehearsal(lost)
	if r.real, err = s.Controller.Model(ctx, model); err != nil {
		return plan, err
	}
	store, err := mongo.OpenMemory(mongo.Options{Hooks: func(string) mongo.Hooks { return r.changes }})
	if err != nil {
		return plan, err
	}
	defer store.Close()
	own := controller.DB
	err = mongo.CopyParts(ctx, s.Store, store, func(f mongo.Form) (there, full bool) {
		return f.DB == own || f.DB == model, !slices.Contains(unread, f.Name)
	})
	if err != nil {
		return plan, fmt.Errorf("cannot copy the model: %w", err)
	}
	ctrl, err := controller.Open(ctx, store, controller.Options{Now: r.now})
	if err != nil {
		return plan, err
	}
	defer ctrl.Close()
	if r.st, err = ctrl.Model(ctx, model); err != nil {
		return plan, err
	}
	if plan.Token, err = r.st.Transactions().Token(ctx); err != nil {
		return plan, err
	}
	follow, err := r.st.Watches().Status(ctx) // while someone follows the copy, what agents read stays in memory
	if err != nil {
		return plan, err
	}
	defer func() {
		cancel()
		for range follow {
		}
	}()
	before, err := lookCloser(ctx, r.st)
	if err != nil {
		return plan, err
	}
	if err := r.meet(ctx, before.units); err != nil {
		return plan, err
	}
	for _, u := range r.sorted() {
		if !u.isSettled() {
			plan.Unsettled = append(plan.Unsettled, u.tag.ID)
		}
	}
	if err := change(ctx, ctrl, r.st); err != nil {
		return plan, err
	}
	if err := r.play(ctx); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return plan, err
	}
	after, err := lookCloser(ctx, r.st)
	if err != nil {
		return plan, err
	}
	plan.Changes, plan.Hooks = r.withKept(after.since(before)), r.hooks
	plan.Waits, err = r.waits(ctx, before, after)
	return plan, err
}

// unread are the collections whose documents a rehearsal does not read: they are large.
var unread = []string{"statushistory", mongo.TxnsC, mongo.LogC, mongo.RefusalsC, "charmblobs.chunks", "audit"}

// apart is a request's context without what transactions read in it.
type apart struct{ context.Context }

func (apart) Value(any) any { return nil }

// A rehearsal is the copy of a model with its agents.
type rehearsal struct {
	*Stage
	real    *state.State    // the model itself, only to read charms
	st      *state.State    // its copy
	later   atomic.Int64    // how far the copy's clock is ahead
	changes *state.Follower // of the copy
	view    *view           // as of viewed transactions
	viewed  int64
	scopes  map[state.Scope]*scope
	known   int // members of scopes, by all units
	charms  map[string]hooks.Implemented
	units   map[string]*unit
	leaders map[string]string // by service
	hooks   []entity.PlannedHook
	isLost  func(unit string) bool
	lost    map[string]bool   // units
	kept    map[string]bool   // storage that is removed without its data
	refused map[string]string // storage that the cloud can't attach, and why
	// contested are the services that lose their leader, and of which some units are stuck.
	contested map[string]bool
}

func (s *Stage) rehearsal(lost func(unit string) bool) *rehearsal {
	return &rehearsal{Stage: s, changes: state.NewFollower(), scopes: map[state.Scope]*scope{}, isLost: lost, lost: map[string]bool{},
		charms: map[string]hooks.Implemented{}, units: map[string]*unit{}, leaders: map[string]string{}, kept: map[string]bool{},
		refused: map[string]string{}, contested: map[string]bool{}}
}

// look returns the copy as its users see it.
func (r *rehearsal) look(ctx context.Context) (*view, error) {
	now := r.changes.Count()
	if r.view == nil || r.viewed != now {
		view, err := look(ctx, r.st)
		if err != nil {
			return nil, err
		}
		r.view, r.viewed = view, now
	}
	return r.view, nil
}

func (r *rehearsal) now() time.Time { return time.Now().Add(time.Duration(r.later.Load())) }

// leads reports whether another unit leads a service.
func (r *rehearsal) leads(service string) bool {
	leader := r.units[r.leaders[service]]
	return leader != nil && leader.remote.Unit.Life == entity.Alive
}

// sorted returns the units with agents, by name.
func (r *rehearsal) sorted() (all []*unit) {
	for _, name := range entity.NaturalKeys(r.units) {
		all = append(all, r.units[name])
	}
	return all
}

// meet starts the agents of units that have none. A unit's agent starts when its machine has.
func (r *rehearsal) meet(ctx context.Context, units map[string]entity.UnitStatus) error {
	machines, err := r.st.Provisioning().MachineInfos(ctx)
	if err != nil {
		return err
	}
	started := map[string]bool{}
	for _, m := range machines {
		started[m.ID] = m.InstanceID != ""
	}
	for _, name := range entity.NaturalKeys(units) {
		if r.units[name] != nil || !started[units[name].Machine] || r.lost[name] {
			continue
		}
		u, err := r.newUnit(ctx, name, units[name])
		switch {
		case err != nil:
			return err
		case u == nil:
			r.lost[name] = true
		default:
			r.units[name] = u
		}
	}
	return nil
}

// play has everyone act until nothing is left to do. If only the time of a forced removal is awaited, it passes. The next
// batch of an upgrade has its turn when all hooks of the one before have run: only then is it healthy.
func (r *rehearsal) play(ctx context.Context) error {
	actors := []func(context.Context) (bool, error){r.machines, r.profiles, r.storage, r.minUnits, r.across, r.deploy, r.end}
	seen, due := int64(-1), time.Duration(0)
	for {
		moved := false
		if now := r.changes.Count(); now != seen {
			seen = now
			var err error
			if _, due, err = r.st.Cleaner().Cleanup(ctx); err != nil {
				return err
			}
			for _, act := range actors {
				did, err := act(ctx)
				if err != nil {
					return err
				}
				moved = moved || did
			}
		}
		did, err := r.agents(ctx)
		switch {
		case err != nil:
			return err
		case len(r.hooks) > maxHooks:
			return entity.WithHint(entity.Errorf(entity.Unavailable, "cannot plan: more than %d hooks would run", maxHooks),
				"Units run hooks for each of those that they are related to. Plan fewer units.")
		case moved || did || r.changes.Count() != seen:
		case due > 0:
			r.later.Add(int64(due))
			seen = -1
		default:
			if moved, err = r.rollouts(ctx); err != nil || !moved {
				return err
			}
		}
	}
}

// agents has each unit's agent act once.
func (r *rehearsal) agents(ctx context.Context) (moved bool, err error) {
	for _, u := range r.sorted() {
		did, err := u.act(ctx)
		if err != nil {
			return moved, fmt.Errorf("cannot foresee what unit %s does: %w", u.tag.ID, err)
		}
		moved = moved || did
	}
	return moved, nil
}

// deploy has the deployers of the machines and principals act: they remove the units whose agents are done, and start the
// agents of those that have none.
func (r *rehearsal) deploy(ctx context.Context) (moved bool, err error) {
	now, err := r.look(ctx)
	if err != nil {
		return false, err
	}
	maps.DeleteFunc(r.units, func(name string, _ *unit) bool { _, there := now.units[name]; return !there })
	without := map[string]entity.UnitStatus{} // an agent
	for name, unit := range now.units {
		step := deployer.Next(r.units[name] != nil || r.lost[name], unit.Life)
		switch step {
		case deployer.Deploy:
			without[name] = unit
			continue
		case deployer.Remove, deployer.RecallAndRemove:
		default:
			continue
		}
		u, err := r.st.Unit(ctx, name)
		if err == nil {
			err = u.Remove(ctx)
		}
		did, failed := done(err)
		switch {
		case failed != nil:
			return moved, failed
		case did:
			moved = true
		case step == deployer.Remove && !errors.Is(err, entity.NotFound):
			without[name] = unit // only an agent can have it leave its relations
		}
	}
	if moved { // what was read is not true any more
		return true, nil
	}
	before := len(r.units)
	err = r.meet(ctx, without)
	return len(r.units) > before, err
}

// done reports whether something was done that the state of the copy may refuse for now.
func done(err error) (bool, error) {
	for _, kind := range []entity.Kind{entity.NotFound, entity.NotAlive, entity.InUse, entity.HasSubordinates} {
		if errors.Is(err, kind) {
			return false, nil
		}
	}
	return err == nil, err
}

// minUnits adds the units that services lack.
func (r *rehearsal) minUnits(ctx context.Context) (moved bool, err error) {
	now, err := r.look(ctx)
	if err != nil {
		return false, err
	}
	before := r.changes.Count()
	for name, svc := range now.services {
		if svc.MinUnits == 0 {
			continue
		}
		if _, err := done(r.st.MinUnits().EnsureMinUnits(ctx, name)); err != nil {
			return false, err
		}
	}
	return r.changes.Count() > before, nil
}

// end has the model end, once it is empty.
func (r *rehearsal) end(ctx context.Context) (moved bool, err error) {
	if life, err := r.st.Life(ctx); err != nil || life != entity.Dying {
		return false, err
	}
	return done(r.st.EnsureDead(ctx))
}

// across has relations with services of other models end there, where that is reached, and their units leave.
func (r *rehearsal) across(ctx context.Context) (moved bool, err error) {
	x := r.st.CrossModel()
	all, err := x.Connections(ctx)
	if err != nil {
		return false, err
	}
	for _, c := range all {
		if c.Life == entity.Alive {
			continue
		}
		before := r.changes.Count()
		if err := x.Mirror(ctx, c.Relation, entity.Members{}); err != nil {
			return moved, err
		}
		if err := x.Release(ctx, c.Relation); err != nil {
			return moved, err
		}
		moved = moved || r.changes.Count() != before
	}
	return moved, nil
}

// rollouts continues the upgrades in batches.
func (r *rehearsal) rollouts(ctx context.Context) (moved bool, err error) {
	now, err := r.look(ctx)
	if err != nil {
		return false, err
	}
	before := r.changes.Count()
	for name, of := range now.services {
		if of.Rollout == nil {
			continue
		}
		svc, err := r.st.Service(ctx, name)
		if err == nil {
			_, err = svc.AdvanceRollout(ctx, func(string) bool { return false })
		}
		if _, err := done(err); err != nil {
			return false, err
		}
	}
	return r.changes.Count() > before, nil
}

// machines has the cloud and the machines' agents act.
func (r *rehearsal) machines(ctx context.Context) (moved bool, err error) {
	infos, err := r.st.Provisioning().MachineInfos(ctx)
	if err != nil {
		return false, err
	}
	for _, info := range slices.Backward(infos) { // containers before their hosts
		act := r.machineStep(info)
		if act == nil {
			continue
		}
		m, err := r.st.Machine(ctx, info.ID)
		if err == nil {
			err = act(ctx, m)
		}
		did, err := done(err)
		if err != nil {
			return moved, err
		}
		moved = moved || did
	}
	return moved, nil
}

// machineStep returns what the provisioner and the cloud do next for a machine, or else its agent; nil for nothing.
func (r *rehearsal) machineStep(info entity.MachineInfo) func(context.Context, *state.Machine) error {
	switch provisioner.Next(info, false) {
	case provisioner.Start:
		return r.start
	case provisioner.Stop, provisioner.Remove:
		return func(ctx context.Context, m *state.Machine) error { return m.Remove(ctx) }
	case provisioner.EnsureDead:
		return func(ctx context.Context, m *state.Machine) error {
			err := m.EnsureDead(ctx)
			if errors.Is(err, entity.InUse) && provisioner.Next(info, true) == provisioner.Start {
				err = r.start(ctx, m)
			}
			return err
		}
	}
	if info.Life == entity.Dying && info.InstanceID != "" {
		return func(ctx context.Context, m *state.Machine) error { return m.EnsureDead(ctx) }
	}
	return nil
}

// profiles has the cloud give instances the profiles of charms, where they can have any.
func (r *rehearsal) profiles(ctx context.Context) (moved bool, err error) {
	work, err := r.st.Provisioning().ProfileWork(ctx)
	for _, w := range work {
		if err != nil || !w.Recorded {
			continue
		}
		var m *state.Machine
		if m, err = r.st.Machine(ctx, w.Machine); err == nil {
			err = m.SetCharmProfiles(ctx, entity.ProfilesSet{Instance: w.Instance, Has: w.Wanted})
			moved = true
		}
	}
	return moved, err
}

// start gives a machine an instance.
func (r *rehearsal) start(ctx context.Context, m *state.Machine) error {
	return m.SetProvisioned(ctx, entity.Instance{ID: "rehearsed-" + m.ID(), Nonce: "rehearsed",
		Addresses: []string{"127.0.0.1"}})
}

// storage has the cloud's storage act.
func (r *rehearsal) storage(ctx context.Context) (moved bool, err error) {
	work, err := r.st.Provisioning().StorageWork(ctx)
	if err != nil {
		return false, err
	}
	for _, w := range work {
		act := r.storageStep(w)
		if act == nil {
			continue
		}
		var one *state.Storage
		if w.Life != entity.Gone {
			if one, err = r.st.Storage(ctx, w.ID); err != nil {
				return moved, err
			}
		}
		did, err := done(act(ctx, one))
		if err != nil {
			return moved, err
		}
		moved = moved || did
	}
	return moved, nil
}

// withKept says of which removed storage the data is kept.
func (r *rehearsal) withKept(changes []entity.PlannedChange) []entity.PlannedChange {
	for i, c := range changes {
		if c.Kind == "storage" && c.Action == entity.PlanRemove && r.kept[c.Name] {
			changes[i].Detail = "its data is kept"
		}
	}
	return changes
}

// storageStep returns what worker/storageprovisioner does next, and the cloud with it; nil for nothing.
func (r *rehearsal) storageStep(w entity.StorageWork) func(context.Context, *state.Storage) error {
	next := storageprovisioner.Next(w)
	if why := storageprovisioner.Refusal(next, w); why != nil {
		r.refused[w.ID] = why.Error()
		return nil
	}
	delete(r.refused, w.ID)
	switch next {
	case storageprovisioner.Create:
		f := entity.Filesystem{ID: "rehearsed-" + w.ID, Size: max(w.Size, 1)}
		if w.OnMachine {
			f.Instance = w.Attachment.Instance
		}
		return func(ctx context.Context, s *state.Storage) error { return s.SetFilesystem(ctx, f) }
	case storageprovisioner.Attach:
		return func(ctx context.Context, s *state.Storage) error {
			return s.SetAttached(ctx, w.Attachment.Unit, w.Attachment.Instance, "/"+w.ID)
		}
	case storageprovisioner.Detach:
		return func(ctx context.Context, s *state.Storage) error { return s.RemoveAttachment(ctx, w.Attachment.Unit) }
	case storageprovisioner.EnsureDead:
		return func(ctx context.Context, s *state.Storage) error { return s.EnsureDead(ctx) }
	case storageprovisioner.End:
		r.kept[w.ID] = w.Release && w.Filesystem != ""
		if w.Life == entity.Gone {
			return func(ctx context.Context, _ *state.Storage) error {
				return r.st.Provisioning().DropFilesystem(ctx, w.Filesystem)
			}
		}
		return func(ctx context.Context, s *state.Storage) error { return s.Remove(ctx) }
	}
	return nil
}

// implemented returns the hooks of a charm, from its archive: in the copy only if the change has added the charm.
func (r *rehearsal) implemented(ctx context.Context, url string) (i hooks.Implemented, err error) {
	if i, known := r.charms[url]; known {
		return i, nil
	}
	archive, _, err := r.real.Charms().Archive(ctx, url)
	if errors.Is(err, entity.NotFound) {
		archive, _, err = r.st.Charms().Archive(ctx, url)
	}
	if err != nil {
		return i, err
	}
	defer archive.Close()
	file, err := os.CreateTemp(r.Temp, "juju-charm-*")
	if err != nil {
		return i, err
	}
	defer file.Close()
	if err := os.Remove(file.Name()); err != nil {
		return i, err
	}
	size, err := io.Copy(file, archive)
	if err != nil {
		return i, fmt.Errorf("cannot read charm %q: %w", url, err)
	}
	z, err := zip.NewReader(file, size)
	if err != nil {
		return i, fmt.Errorf("cannot read charm %q: %w", url, err)
	}
	i.Files = map[string]bool{}
	for _, f := range z.File {
		name := path.Clean(f.Name)
		i.Dispatch = i.Dispatch || name == "dispatch"
		if path.Dir(name) == "hooks" && !f.Mode().IsDir() {
			i.Files[path.Base(name)] = true
		}
	}
	r.charms[url] = i
	return i, nil
}
