package state_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/simulationtest"
)

// adopt sets the model to what state holds, when the order of events is
// unknown.
func (s *sim) adopt() {
	m := simulationtest.New()
	m.Stores = simStores
	m.Now, m.Leftovers = s.now(), len(s.shadow.docs["leftovers"])
	for _, d := range s.shadow.docs["leftovers"] {
		if d.Filesystem != "" && !d.Release {
			m.Left++
		}
	}
	if s.model != nil {
		m.Barred, m.Happened = s.model.Barred, s.model.Happened
	}
	for key := range s.history.gone {
		m.Use(key)
	}
	for _, id := range s.shadow.names("machines") { // hosts come before their containers
		d := s.shadow.docs["machines"][id]
		x := &simulationtest.Machine{Life: d.life(), ID: id, Instance: d.Instance != "",
			Manager: slices.Contains(d.Jobs, modeldb.JobManageModel),
			Clean:   d.Clean, ForUnits: d.ForUnits, Units: map[*simulationtest.Unit]bool{},
			Containers: map[*simulationtest.Machine]bool{}, Storage: map[*simulationtest.Storage]bool{}}
		x.DeadSince, _ = d.More["since"].(time.Time)
		x.CloudErred = s.shadow.status("m#"+id+"#instance") == entity.StatusError
		if x.Host = m.Machines[d.Host]; x.Host != nil {
			x.Host.Containers[x] = true
		}
		m.Machines[id] = x
		m.Use("m#" + id)
	}
	for id, d := range s.shadow.docs["services"] {
		m.Services[id] = &simulationtest.Service{Life: d.life(), Name: id, Subordinate: isSubordinate(id),
			Units: map[*simulationtest.Unit]bool{}, Relations: map[*simulationtest.Relation]bool{}}
		s.adoptRollout(m.Services[id], d)
	}
	for id, d := range s.shadow.docs["remotes"] {
		m.Services[id] = simulationtest.NewRemote(id)
		m.Services[id].Life = d.life()
	}
	for id, d := range s.shadow.docs["offers"] {
		m.Offers[id] = &simulationtest.Offer{Life: d.life(), Name: id, Service: m.Services[d.Service],
			Relations: map[*simulationtest.Relation]bool{}}
	}
	for id, d := range s.shadow.docs["units"] {
		m.Units[id] = &simulationtest.Unit{Life: d.life(), Name: id, Service: m.Services[d.Service],
			Machine: m.Machines[d.Machine],
			Started: d.Started, Resolved: d.Resolved != "", Erred: s.shadow.status("u#"+id+"#workload") == entity.StatusError,
			Subs: map[*simulationtest.Unit]bool{}, Scopes: map[*simulationtest.Relation]bool{},
			Attached: map[*simulationtest.Attachment]bool{}}
		s.adoptTurn(m.Units[id], d)
		m.Use("u#" + id)
	}
	for id, d := range s.shadow.docs["units"] {
		u := m.Units[id]
		u.Service.Units[u] = true
		if u.Machine != nil {
			u.Machine.Units[u] = true
		} else if u.Principal = m.Units[d.Principal]; u.Principal != nil {
			u.Principal.Subs[u] = true
		}
	}
	for key, d := range s.shadow.docs["relations"] {
		r := &simulationtest.Relation{Life: d.life(), ID: d.Number, Key: key, In: map[*simulationtest.Unit]bool{},
			Offer: m.Offers[d.Offer], Suspended: d.Suspended, Interface: d.peers()}
		if r.Offer != nil {
			r.Offer.Relations[r] = true
		}
		for i := range r.Ends {
			name := d.Endpoints[min(i, len(d.Endpoints)-1)].Service
			if r.Ends[i] = m.Services[name]; r.Ends[i] == nil {
				r.Ends[i] = simulationtest.NewRemote(name)
			}
			r.Ends[i].Relations[r] = true
		}
		for i, p := range simRelations {
			if _, _, k := relationOf(i); k == key {
				r.Container = p.container
			}
		}
		m.Relations[r.ID] = r
		m.Use("r#" + strconv.Itoa(r.ID))
	}
	for _, d := range s.shadow.docs["scopes"] {
		n, _ := d.Relation.(int)
		u, r := m.Units[d.Unit], m.Relations[n]
		if d.Remote != "" {
			m.MirrorUnit(r, d.Remote)
			continue
		}
		u.Scopes[r], r.In[u] = true, true
	}
	for id, d := range s.shadow.docs["storage"] {
		x := &simulationtest.Storage{Life: d.life(), ID: id, Machine: m.Machines[d.Machine], Made: d.Filesystem != "",
			Kept: d.Release, Erred: s.shadow.status("st#"+id) == entity.StatusError}
		x.DeadSince, _ = d.More["since"].(time.Time)
		if x.Machine != nil {
			x.Machine.Storage[x] = true
		}
		m.Storage[id] = x
		m.Use("st#" + id)
	}
	for _, d := range s.shadow.docs["attachments"] {
		a := &simulationtest.Attachment{Life: d.life(), Unit: m.Units[d.Unit], Storage: m.Storage[d.storage()],
			There: d.Location != ""}
		a.Unit.Attached[a], a.Storage.Held = true, a
	}
	for _, d := range s.shadow.docs["tasks"] {
		id := strconv.Itoa(d.Task)
		m.Tasks[id] = &simulationtest.Task{ID: id, Operation: d.Operation, Unit: d.Unit,
			Status: entity.TaskStatus(d.Status), Completed: d.Completed}
	}
	for _, svc := range m.Services {
		s.adoptLeader(svc, m.Units)
	}
	s.adoptSecrets(m)
	m.Given, m.Peer = s.given, s.peer
	for _, u := range m.Units {
		if a := s.agents[unitTag(u)]; a != nil {
			a.failed = u.Erred
		}
	}
	s.model = m
}

// status returns the status word of an entity.
func (s *shadow) status(key string) entity.StatusWord {
	if d := s.docs["statuses"][key]; d != nil {
		return entity.StatusWord(d.Status)
	}
	return ""
}

// burst runs actions concurrently, each of which made sense beforehand.
func (s *sim) burst(actors, each int) error {
	turns := make([][]*simAction, actors)
	for n := range actors * each {
		s.clock.Add(1)
		a, err := s.any()
		if err != nil {
			return err
		}
		if a == nil {
			continue
		}
		if a.by == "cleaner" {
			a.run = func() error { _, _, err := s.st.Cleaner().Cleanup(s.ctx); return err }
		}
		s.tell(a, nil)
		turns[n%actors] = append(turns[n%actors], a)
	}
	var (
		group sync.WaitGroup
		mu    sync.Mutex
		wrong []error
	)
	for _, all := range turns {
		group.Go(func() {
			for _, a := range all {
				err := a.run()
				kind := entity.KindOf(err)
				right := err == nil || kind == entity.NotFound || kind == entity.Contention || slices.Contains(a.may, kind)
				if !right {
					mu.Lock()
					wrong = append(wrong, fmt.Errorf("%s: got error %w (kind %q), want one of %q", a.what, err, kind, a.may))
					mu.Unlock()
				}
			}
		})
	}
	group.Wait()
	if len(wrong) > 0 {
		return errors.Join(wrong...)
	}
	if _, err := s.shadow.readAll(s.ctx, s.st); err != nil {
		return err
	}
	found := append(s.shadow.check(), s.lackingPeers()...)
	for _, w := range s.history.check(s.shadow) {
		if !isReused(w) { // a name might have been removed and reused
			found = append(found, w)
		}
	}
	if len(found) > 0 {
		return errors.New(strings.Join(found, "\n"))
	}
	s.adopt()
	return nil
}

// Agents whose hooks fail in a burst know it afterwards: they would wait for ever otherwise.
func TestBurstsLeaveAgentsInError(t *testing.T) {
	s := newSim(t, 1)
	s.adopt()
	next := func(a *simAction, err error) {
		t.Helper()
		if err == nil && a != nil {
			err = s.do(a, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	next(s.deploy("db", 1, nil), nil)
	u := s.model.Units["db/0"]
	next(s.provisioner(u.Machine), nil)
	next(s.deployer(u))
	next(s.unitAgent(u))
	if err := errors.Join(s.fail(u).run(), s.burst(1, 0)); err != nil {
		t.Fatal(err)
	}
	if a := s.agents[unitTag(u)]; !s.model.Units["db/0"].Erred || !a.failed {
		t.Errorf("the unit is %+v, and its agent %+v", s.model.Units["db/0"], a)
	}
}

// Actors do everything concurrently. The order is unknown, but invariants hold,
// every error is one that the model expects, and everything ends.
func TestConcurrentSimulation(t *testing.T) {
	seeds, steps := simSizes(t)
	first := simFirst()
	for i := range uint64(seeds) {
		s := newSim(t, first+i)
		s.adopt()
		begin := time.Now()
		err := error(nil)
		for err == nil && s.steps < steps/4 {
			err = s.burst(6, 5)
		}
		if err == nil {
			err = s.cleaner().run()
		}
		if err == nil {
			err = s.burst(1, 0)
		}
		steps := s.steps
		if err == nil {
			err = s.end()
		}
		if err != nil {
			t.Fatalf("JUJU_SIM_SEED=%d: %v\n%s", first+i, err, strings.Join(s.story, "\n"))
		}
		t.Logf("seed %d: %d steps at once, %.0f a second", first+i, steps, float64(s.steps)/time.Since(begin).Seconds())
	}
}
