package state_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"juju/state"
	"juju/state/entity"
	"juju/state/simulationtest"
)

// simStores are the stores of the charms in simCharms: disk's, and those of a subordinate.
var simStores = simulationtest.Stores{
	"disk": {"data": {Min: 1, Max: 1}, "cache": {Max: 3}},
	"ship": {"buffer": {Min: 1, Max: 1}},
}

// storing is shipper with storage.
var storing = strings.TrimSuffix(shipper, "}") + ", storage: {buffer: {type: filesystem}}}"

// someStores picks the storage that the units of a service get.
func (s *sim) someStores(service string) map[string]entity.StorageConstraints {
	stores := map[string]entity.StorageConstraints{}
	if service == "disk" && s.rnd.IntN(2) == 0 {
		stores["data"] = entity.StorageConstraints{Pool: one(s, []string{"", entity.PoolRootFS}), Count: 1}
	}
	if n := s.rnd.IntN(3); service == "disk" && n > 0 {
		stores["cache"] = entity.StorageConstraints{Pool: one(s, []string{"", entity.PoolRootFS}), Count: uint64(n)}
	}
	return stores
}

// given gives a new unit of the model the storage that state has given it, if it is what its
// service's units get: s.gives, and simStores for what that does not name.
func (s *sim) given(u *simulationtest.Unit) {
	has, attached := map[string]int{}, map[string]int{}
	for _, key := range s.shadow.names("attachments") {
		a := s.shadow.docs["attachments"][key]
		if a.Unit != u.Name {
			continue
		}
		store := entity.StoreOf(a.storage())
		has[store]++
		onMachine := s.gives[u.Service.Name][store].Pool == entity.PoolRootFS
		switch x, d := s.model.Storage[a.storage()], s.shadow.docs["storage"][a.storage()]; {
		case x != nil && !slices.Contains(s.attaching, a.storage()):
			panic(fmt.Sprintf("%s was attached to %s", a.storage(), u.Name))
		case x != nil:
			attached[store]++
			s.model.Attach(x, u)
		case d == nil || (d.Machine != "") != onMachine:
			panic(fmt.Sprintf("%s of %s is %+v", a.storage(), u.Name, d))
		default:
			s.model.GiveStorage(a.storage(), u, onMachine)
		}
	}
	for store, c := range simStores[u.Service.Name] {
		want := c.Min
		if asked, ok := s.gives[u.Service.Name][store]; ok {
			want = int(asked.Count)
		}
		if want = max(want, attached[store]); has[store] != want {
			panic(fmt.Sprintf("%s has %d of %s, want %d", u.Name, has[store], store, want))
		}
	}
}

func (s *sim) someStorage() *simulationtest.Storage {
	return s.model.Storage[one(s, slices.Sorted(maps.Keys(s.model.Storage)))]
}

// onStorage returns an action on a storage instance.
func (s *sim) onStorage(by, what string, x *simulationtest.Storage, do func(*state.Storage) error,
	expect func() simulationtest.Answer, may ...entity.Kind) *simAction {
	return &simAction{what: what + " " + x.ID, by: by, may: may, expect: said(expect),
		run: func() error {
			handle, err := s.st.Storage(s.ctx, x.ID)
			if err == nil {
				err = do(handle)
			}
			return err
		}}
}

// useStorage picks a user's action on storage.
func (s *sim) useStorage() *simAction {
	x, u := s.someStorage(), s.someUnit()
	for i := 0; i < 4 && u != nil && u.Service.Name != "disk"; i++ {
		u = s.someUnit()
	}
	for i := 0; i < 3 && x != nil && x.Held != nil; i++ { // what no unit has can be attached
		x = s.someStorage()
	}
	switch n := s.rnd.IntN(10); {
	case u == nil:
	case n < 3:
		return s.addStorage(u, one(s, []string{"", entity.PoolRootFS}), 1+s.rnd.IntN(2))
	case x == nil:
	case n < 5:
		return s.attachStorage(x, u)
	case n < 8:
		return s.detach(s.someStorage(), s.destruction())
	default:
		return s.removeStorage(x, s.destruction(), s.rnd.IntN(4) == 0)
	}
	return nil
}

func (s *sim) addStorage(u *simulationtest.Unit, pool string, n int) *simAction {
	var ids []string
	return &simAction{what: fmt.Sprintf("add-storage %s cache=%s,%d", u.Name, pool, n), by: "user",
		may:   []entity.Kind{entity.Invalid, entity.NotAlive},
		rival: func() *simAction { return s.destroyUnit(u, s.destruction()) },
		run: func() error {
			handle, err := s.st.Unit(s.ctx, u.Name)
			if err == nil {
				ids, err = handle.AddStorage(s.ctx, "cache", entity.StorageConstraints{Pool: pool, Count: uint64(n)})
			}
			return err
		},
		expect: func(error) (simulationtest.Answer, error) {
			if why := s.model.MayAddStorage(u, "cache", n); why != nil {
				return why, nil
			}
			if pool == "" {
				pool = s.gives[u.Service.Name]["cache"].Pool
			}
			if len(ids) != n {
				return nil, fmt.Errorf("added %v", ids)
			}
			for _, id := range ids {
				s.model.GiveStorage(id, u, pool == entity.PoolRootFS)
			}
			return nil, nil
		}}
}

func (s *sim) attachStorage(x *simulationtest.Storage, u *simulationtest.Unit) *simAction {
	return &simAction{what: fmt.Sprintf("attach-storage %s %s", u.Name, x.ID), by: "user",
		may: []entity.Kind{entity.Invalid, entity.NotAlive, entity.InUse},
		rival: func() *simAction {
			if s.rnd.IntN(2) == 0 {
				return s.destroyUnit(u, s.destruction())
			}
			return s.removeStorage(x, s.destruction(), false)
		},
		run: func() error {
			handle, err := s.st.Unit(s.ctx, u.Name)
			if err == nil {
				err = handle.AttachStorage(s.ctx, x.ID)
			}
			return err
		},
		expect: said(func() simulationtest.Answer { return s.model.AttachStorage(x, u) })}
}

func (s *sim) detach(x *simulationtest.Storage, how entity.Destruction) *simAction {
	a := s.onStorage("user", fmt.Sprintf("detach-storage %v %v", how.Strength, how.Timeout), x,
		func(h *state.Storage) error { return h.Detach(s.ctx, how) },
		func() simulationtest.Answer { return s.model.Detach(x, s.model.Begin(how)) },
		entity.Invalid, entity.NotSupported)
	held := x.Held
	a.expect = func(err error) (simulationtest.Answer, error) {
		if s.raced && err == nil && held != nil && x.Held != held {
			return nil, nil // it was detached meanwhile
		}
		return s.model.Detach(x, s.model.Begin(how)), nil
	}
	a.rival = func() *simAction {
		if held == nil {
			return nil
		}
		return s.destroyUnit(held.Unit, s.destruction())
	}
	return a
}

func (s *sim) removeStorage(x *simulationtest.Storage, how entity.Destruction, keep bool) *simAction {
	a := s.onStorage("user", fmt.Sprintf("remove-storage %v %v keep=%t", how.Strength, how.Timeout, keep), x,
		func(h *state.Storage) error { return h.Destroy(s.ctx, how, keep) },
		func() simulationtest.Answer { return s.model.RemoveStorage(x, s.model.Begin(how), keep) }, entity.InUse, entity.NotAlive)
	a.rival = func() *simAction {
		if u := s.someUnit(); u != nil && x.Held == nil {
			return s.attachStorage(x, u)
		}
		return nil
	}
	return a
}

// giveUp is what the agent of a unit does once it has run its hooks about storage that goes.
func (s *sim) giveUp(u *simulationtest.Unit, id string) *simAction {
	held := s.model.Storage[id].Held
	a := s.onUnit("unit agent", "detach "+id+" from", u,
		func(h *state.Unit) error { return h.DetachStorage(s.ctx, id) }, nil, entity.Invalid)
	alive := u.Life.Life == entity.Alive
	a.expect = func(err error) (simulationtest.Answer, error) {
		if alive && s.raced && entity.KindOf(err) == entity.Invalid {
			return simulationtest.Answer{entity.Invalid}, nil // it has read the unit as Alive
		}
		return s.model.GiveUp(held), nil
	}
	return a
}

// storageProvisioner returns an action of the storage provisioner on what it has to do.
func (s *sim) storageProvisioner() (*simAction, error) {
	work, err := s.st.Provisioning().StorageWork(s.ctx)
	if err != nil {
		return nil, err
	}
	s.rnd.Shuffle(len(work), func(i, k int) { work[i], work[k] = work[k], work[i] })
	for _, w := range work {
		x := s.model.Storage[w.ID]
		if w.Life == entity.Gone && x == nil {
			continue // forgetLeftovers does the rest
		}
		if x == nil || x.Life.Life != w.Life || (w.Filesystem != "") != x.Made || w.Release != s.model.Keeps(x) {
			return nil, fmt.Errorf("the storage provisioner sees %+v, the model has %+v", w, x)
		}
		if w.Attachment != nil && (x.Held == nil || x.Held.Unit.Name != w.Attachment.Unit) {
			return nil, fmt.Errorf("the storage provisioner sees %+v, the model has %+v", w.Attachment, x.Held)
		}
		if !s.calm && s.rnd.IntN(8) == 0 {
			return s.storageErrs(x), nil
		}
		if a := s.provisionStorage(x, w); a != nil {
			return a, nil
		}
	}
	return nil, nil
}

// provisionStorage is what the storage provisioner does about one instance; nil if it waits.
func (s *sim) provisionStorage(x *simulationtest.Storage, w entity.StorageWork) *simAction {
	const by = "provisioner"
	held := x.Held
	switch a := w.Attachment; {
	case a != nil && a.Life == entity.Dead:
		return s.onStorage(by, "detached", x, func(h *state.Storage) error { return h.RemoveAttachment(s.ctx, a.Unit) },
			func() simulationtest.Answer {
				if s.raced && held.Life.Life == entity.Gone {
					return nil
				}
				return s.model.Detached(held)
			}, entity.Invalid)
	case w.Life == entity.Dying:
		return s.onStorage(by, "ensure dead", x, func(h *state.Storage) error { return h.EnsureDead(s.ctx) },
			func() simulationtest.Answer { return s.model.StorageDead(x) }, entity.InUse, entity.Invalid)
	case w.Life == entity.Dead:
		return s.onStorage(by, "remove", x, func(h *state.Storage) error { return h.Remove(s.ctx) },
			func() simulationtest.Answer { return s.model.StorageGone(x) }, entity.Invalid)
	case w.Filesystem == "":
		if w.OnMachine && (a == nil || a.Instance == "") {
			return nil
		}
		f := entity.Filesystem{ID: "fs-" + x.ID, Size: 1}
		if w.OnMachine {
			f.Instance = a.Instance
		}
		return s.onStorage(by, "make", x, func(h *state.Storage) error {
			return h.SetFilesystem(s.ctx, f)
		}, func() simulationtest.Answer { return s.model.Make(x) }, entity.NotAlive)
	case a != nil && a.Instance != "" && a.InUse == "":
		return s.onStorage(by, "attach", x, func(h *state.Storage) error {
			return h.SetAttached(s.ctx, a.Unit, a.Instance, "/here/"+x.ID)
		}, func() simulationtest.Answer { return s.model.Attached(held) }, entity.NotAlive)
	}
	return nil
}

func (s *sim) storageErrs(x *simulationtest.Storage) *simAction {
	return s.onStorage("provisioner", "cloud errs about", x, func(h *state.Storage) error {
		return h.SetStatus(s.ctx, entity.Status{Status: entity.StatusError, Message: "no room"})
	}, func() simulationtest.Answer { return s.model.StorageErrs(x) })
}

// storageUnasked is an action on storage out of turn.
func (s *sim) storageUnasked(x *simulationtest.Storage) *simAction {
	switch held := x.Held; s.rnd.IntN(4) {
	case 0:
		return s.provisionStorage(x, entity.StorageWork{Life: entity.Dying})
	case 1:
		return s.provisionStorage(x, entity.StorageWork{Life: entity.Dead})
	case 2:
		if held != nil && held.Unit.Life.Life != entity.Dead {
			return s.giveUp(held.Unit, x.ID)
		}
	case 3:
		if held != nil {
			return s.provisionStorage(x, entity.StorageWork{
				Attachment: &entity.AttachmentWork{Unit: held.Unit.Name, Life: entity.Dead}})
		}
	}
	return nil
}
