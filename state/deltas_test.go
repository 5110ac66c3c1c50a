package state_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"juju/apiserver/deltas"
	"juju/apiserver/params"
	"juju/apiserver/presence"
	"juju/doc/tools/verify"
	"juju/state"
	"juju/state/constraints"
	"juju/state/entity"
	"juju/state/statetest"
)

// A follower adds up the deltas that a client gets.
type follower struct {
	mu      sync.Mutex
	has     map[string]string // what each entity is, by its kind and name
	strange []string
	takes   int
	told    chan struct{} // receives after takes; may be nil

	revision string      // the last one that it was told
	loses    func() bool // reports whether what was just sent is lost; nil if nothing ever is
}

// resume follows a model until ctx ends, over connections that are lost, each with what was sent last.
func (f *follower) resume(ctx context.Context, feeds *deltas.Feeds, st *state.State) (err error) {
	for sent := 0; err == nil && ctx.Err() == nil; {
		connected, lost := context.WithCancel(ctx)
		f.loses = func() bool {
			if sent++; sent%4 == 0 {
				lost()
			}
			return connected.Err() != nil
		}
		var takes <-chan deltas.Take
		if takes, err = feeds.Resume(connected, st, params.DeltaModel{UUID: st.UUID()}, f.revision); err == nil {
			f.follow(takes, func() {})
		}
		lost()
	}
	return err
}

// follow adds up what comes, until the channel closes.
func (f *follower) follow(takes <-chan deltas.Take, slow func()) {
	for take := range takes {
		slow()
		news, err := take()
		all, encoding := news.Deltas()
		if f.loses != nil && f.loses() {
			continue
		}
		f.mu.Lock()
		if news.Whole {
			f.has = map[string]string{}
		}
		if news.Revision != "" {
			f.revision = news.Revision
		}
		f.takes++
		if err := cmp.Or(err, encoding); err != nil {
			f.strange = append(f.strange, err.Error())
		}
		for _, d := range all {
			key := deltaName(d)
			if _, known := f.has[key]; d.Removed && !known && f.loses == nil {
				f.strange = append(f.strange, key+" was removed before it was there")
			}
			if d.Removed {
				delete(f.has, key)
			} else {
				f.has[key] = string(d.Data)
			}
		}
		f.mu.Unlock()
		select {
		case f.told <- struct{}{}:
		default:
		}
	}
}

// await waits until what the client has been told adds up to something, or for ctx.
func (f *follower) await(ctx context.Context, wanted map[string]string) {
	for len(differences(f.now(), wanted)) > 0 {
		select {
		case <-f.told:
		case <-ctx.Done():
			return
		}
	}
}

// deltaName returns the kind and the name by which clients tell entities apart.
func deltaName(d params.Delta) string {
	var names map[string]any
	if err := json.Unmarshal(d.Data, &names); err != nil {
		return err.Error()
	}
	key := map[string]string{"model": "model-uuid", "charm": "charm-url", "annotation": "tag", "application": "name", "unit": "name",
		"remoteApplication": "name", "applicationOffer": "offer-name"}[d.Kind]
	if key == "" {
		key = "id"
	}
	return fmt.Sprint(d.Kind, " ", names[key])
}

func (f *follower) now() map[string]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.has)
}

// shownBy returns what a new client gets first.
func shownBy(w *world, feeds *deltas.Feeds) map[string]string {
	w.T.Helper()
	ctx, cancel := context.WithCancel(w.ctx)
	defer cancel()
	takes, err := feeds.Watch(ctx, w.st, params.DeltaModel{UUID: w.st.UUID()})
	w.ok(err)
	f := &follower{has: map[string]string{}}
	one := make(chan deltas.Take, 1)
	one <- next(w.T, takes)
	close(one)
	f.follow(one, func() {})
	return f.has
}

// statusFacts returns what a status says, by the keys and in the words of deltas.
func statusFacts(s *entity.ModelStatus) map[string]string {
	facts := map[string]string{"model " + s.Model.UUID: fmt.Sprint(s.Model.Name, s.Model.Life, s.Model.Status.Status)}
	for _, m := range s.AllMachines() {
		facts["machine "+m.ID] = fmt.Sprint(m.Life, m.InstanceID, m.Status.Status, m.Status.Message, m.InstanceStatus.Status, m.Addresses)
	}
	for _, s := range s.Services {
		facts["application "+s.Name] = fmt.Sprint(s.Life, s.CharmURL, s.Exposed, s.MinUnits, s.Status.Status, s.Status.Message, s.WorkloadVersion)
	}
	for _, u := range s.AllUnits() {
		facts["unit "+u.Name] = fmt.Sprint(u.Life, u.Machine, u.PublicAddress, u.Workload.Status, u.Workload.Message, u.Agent.Status,
			u.Agent.Message, u.Leader, len(u.OpenedPorts))
	}
	for _, r := range s.Relations {
		facts[fmt.Sprint("relation ", r.ID)] = r.Key
	}
	for _, r := range s.Remotes {
		facts["remoteApplication "+r.Name] = fmt.Sprint(r.Life, r.URL, r.Status.Status, r.Status.Message)
	}
	for _, o := range s.Offers {
		facts["applicationOffer "+o.Name] = fmt.Sprint(o.Service, strings.Contains(o.CharmURL, "/"+o.Service+"-"), o.Total, o.Active)
	}
	return facts
}

// deltaFacts returns the same facts from what deltas add up to.
func deltaFacts(has map[string]string) map[string]string {
	type status struct{ Current, Message string }
	facts := map[string]string{}
	for key, text := range has {
		var d struct {
			Name, Life, Key string
			Status          any
			InstanceID      string `json:"instance-id"`
			AgentStatus     status `json:"agent-status"`
			WorkloadStatus  status `json:"workload-status"`
			InstanceStatus  status `json:"instance-status"`
			Addresses       []struct{ Value string }
			CharmURL        string `json:"charm-url"`
			Exposed, Leader bool
			MinUnits        int    `json:"min-units"`
			WorkloadVersion string `json:"workload-version"`
			MachineID       string `json:"machine-id"`
			PublicAddress   string `json:"public-address"`
			PortRanges      []any  `json:"port-ranges"`
			OfferURL        string `json:"offer-url"`
			Application     string `json:"application-name"`
			Charm           string `json:"charm-name"`
			Total           int    `json:"total-connected-count"`
			Active          int    `json:"active-connected-count"`
		}
		_ = json.Unmarshal([]byte(text), &d)
		of, _ := d.Status.(map[string]any)
		switch kind, _, _ := strings.Cut(key, " "); kind {
		case "model":
			facts[key] = fmt.Sprint(d.Name, d.Life, of["current"])
		case "machine":
			addresses := []string{}
			for _, a := range d.Addresses {
				addresses = append(addresses, a.Value)
			}
			facts[key] = fmt.Sprint(d.Life, d.InstanceID, d.AgentStatus.Current, d.AgentStatus.Message, d.InstanceStatus.Current, addresses)
		case "application":
			facts[key] = fmt.Sprint(d.Life, d.CharmURL, d.Exposed, d.MinUnits, of["current"], of["message"], d.WorkloadVersion)
		case "unit":
			facts[key] = fmt.Sprint(d.Life, d.MachineID, d.PublicAddress, d.WorkloadStatus.Current, d.WorkloadStatus.Message,
				d.AgentStatus.Current, d.AgentStatus.Message, d.Leader, len(d.PortRanges))
		case "relation":
			facts[key] = d.Key
		case "remoteApplication":
			facts[key] = fmt.Sprint(d.Life, d.OfferURL, of["current"], of["message"])
		case "applicationOffer":
			facts[key] = fmt.Sprint(d.Application, d.Charm == d.Application, d.Total, d.Active)
		}
	}
	return facts
}

// differences says how two maps differ.
func differences(got, want map[string]string) (all []string) {
	for key, text := range want {
		if got[key] != text {
			all = append(all, fmt.Sprintf("%s is\n  %s\nwant\n  %s", key, got[key], text))
		}
	}
	for key, text := range got {
		if _, there := want[key]; !there {
			all = append(all, fmt.Sprintf("%s is left: %s", key, text))
		}
	}
	slices.Sort(all)
	return all
}

// somethingSmall changes something that deltas show, beyond what something does.
func (w *world) somethingSmall(rnd *rand.Rand) error {
	status, err := w.st.Status(w.ctx)
	if err != nil {
		return err
	}
	units, machines, n := status.AllUnits(), status.AllMachines(), rnd.IntN(1000)
	if len(machines) == 0 {
		_, err := w.st.AddMachine(w.ctx, state.AddMachineParams{})
		return err
	}
	m, err := w.st.Machine(w.ctx, machines[rnd.IntN(len(machines))].ID)
	if err != nil {
		return err
	}
	switch rnd.IntN(14) {
	case 0:
		return m.SetProvisioned(w.ctx, entity.Instance{ID: fmt.Sprint("i-", n), Nonce: "n", Addresses: []string{fmt.Sprint("10.0.0.", n%250)}})
	case 1:
		return m.SetStatus(w.ctx, entity.Status{Status: entity.StatusStarted})
	case 2:
		return w.st.Settings().SetConfig(w.ctx, map[string]string{"update-status-hook-interval": fmt.Sprint(1+n%50, "m")}, nil)
	case 10, 11, 12, 13:
		return w.somethingAcross(rnd)
	case 3:
		return w.st.Annotations().Set(w.ctx, entity.MachineTag(m.ID()), map[string]string{"x": fmt.Sprint(n % 3)})
	}
	if len(units) == 0 {
		return nil
	}
	u, err := w.st.Unit(w.ctx, units[rnd.IntN(len(units))].Name)
	if err != nil {
		return err
	}
	s, err := w.st.Service(w.ctx, entity.UnitService(u.Name()))
	if err != nil {
		return err
	}
	switch rnd.IntN(9) {
	case 0:
		_, _, _, err = w.st.Tasks().Enqueue(w.ctx, []state.NewTask{{Receiver: u.Name(), Name: entity.CommandTask,
			Params: map[string]any{"command": fmt.Sprint("echo ", n), "timeout": 0}}})
		return err
	case 1:
		return w.st.Annotations().Set(w.ctx, entity.UnitTag(u.Name()), map[string]string{"$a.b": []string{"", "one", "two"}[n%3]})
	case 2:
		return u.SetStatus(w.ctx, entity.Status{Status: entity.StatusActive, Message: fmt.Sprint(n)})
	case 3:
		return s.SetMinUnits(w.ctx, n%3)
	case 4:
		_, err := u.ClaimLeadership(w.ctx, time.Hour)
		return err
	case 5:
		c, err := constraints.Parse(fmt.Sprint("mem=", n, "M"))
		if err != nil {
			return err
		}
		return s.SetConstraints(w.ctx, c)
	case 6:
		if err := u.SetCharm(w.ctx, fmt.Sprint("local:jammy/", s.Name(), "-", n%3)); err != nil {
			return err
		}
		_, err := s.SetCharm(w.ctx, state.SetCharmParams{URL: fmt.Sprint("local:jammy/", s.Name(), "-", n/3%3), Batch: 1,
			HealthTimeout: time.Second})
		return err
	case 7:
		if _, err := s.AdvanceRollout(w.ctx, noneLost); err != nil || n%3 > 0 {
			return err
		}
		_, err := s.RevertRollout(w.ctx, 0, 0)
		return err
	}
	if n%2 == 0 {
		return s.Expose(w.ctx, nil)
	}
	return s.Unexpose(w.ctx)
}

// somethingAcross changes something that the model shares with another one.
func (w *world) somethingAcross(rnd *rand.Rand) error {
	x, n := w.st.CrossModel(), rnd.IntN(1000)
	offer, remote := fmt.Sprint("offer", "abc"[n%3:n%3+1]), fmt.Sprint("far", "ab"[n%2:n%2+1])
	relations, err := x.Connections(w.ctx)
	if err != nil {
		return err
	}
	switch rnd.IntN(9) {
	case 0, 1:
		return x.AddOffer(w.ctx, entity.NewOffer{Name: offer, Service: "mysql", Endpoints: []string{"server"}})
	case 2:
		o, err := x.Offer(w.ctx, offer)
		if err != nil {
			return err
		}
		return o.Destroy(w.ctx, []entity.Destruction{plain, forced}[n%2])
	case 3:
		offers, err := x.Offers(w.ctx)
		if err != nil || len(offers) == 0 {
			return err
		}
		return x.Connect(w.ctx, elsewhere, entity.Connection{Relation: n, Offer: offers[n%len(offers)].UUID, User: "bob", Far: "server",
			Near: entity.NearEnd{Service: "blog", RemoteEndpoint: entity.RemoteEndpoint{Name: "db", Role: "requirer", Interface: "mysql"}}})
	case 4:
		if len(relations) == 0 {
			return nil
		}
		if n%3 > 0 {
			return x.Suspend(w.ctx, entity.Connection{Suspended: n%2 == 0}, relations[n%len(relations)].Relation)
		}
		return x.End(w.ctx, relations[n%len(relations)].Relation)
	case 5:
		return x.Consume(w.ctx, entity.Consumed{Name: remote, Model: elsewhere, Offer: fmt.Sprint(n % 4), URL: fmt.Sprint("bob/shop.db", n%4),
			User: "bob", Endpoints: []entity.RemoteEndpoint{{Name: "server", Role: "provider", Interface: "mysql"}}})
	case 6:
		r, err := x.Remote(w.ctx, remote)
		if err != nil {
			return err
		}
		return r.Destroy(w.ctx, entity.Destruction{})
	case 7:
		_, err := w.st.AddRelation(w.ctx, "wordpress", remote)
		return err
	}
	return x.Show(w.ctx, remote, entity.Status{Status: entity.StatusActive, Message: fmt.Sprint(n)})
}

// Whatever changes, whenever clients come and go, lose their connections and resume, however slowly they read, and whenever
// the connection to the store is lost: what a client has been told adds up to the status of the model, and to what a new client is told.
func TestDeltasAddUpToTheStatus(t *testing.T) {
	w, charms, loseTail := watchedWorld(t)
	st, seed := w.st, testSeed(t)
	for range 2 { // to which services are upgraded
		for _, meta := range []string{statetest.MySQL, statetest.Wordpress, statetest.Logging} {
			statetest.Charm(t, st, meta)
		}
	}
	steps := 200
	switch {
	case os.Getenv("JUJU_SOAK") != "":
		steps = 2000
	case testing.Short():
		steps = 80
	}
	var clock atomic.Int64 // of what is known about agents
	here := presence.New(func() time.Time { return time.Unix(clock.Load(), 0) })
	feeds := deltas.New(here)
	ctx, cancel := context.WithCancel(t.Context())
	var readers, actors sync.WaitGroup
	var mu sync.Mutex
	var followers []*follower
	open := func(rnd *rand.Rand) {
		ctx, end := context.WithCancel(ctx)
		takes, err := feeds.Watch(ctx, st, params.DeltaModel{UUID: st.UUID()})
		if err != nil {
			t.Error(err)
			end()
			return
		}
		f, slow, leaves := &follower{has: map[string]string{}, told: make(chan struct{}, 1)}, rnd.IntN(2) == 0, rnd.IntN(3) > 0
		if !leaves {
			mu.Lock()
			followers = append(followers, f)
			mu.Unlock()
		}
		readers.Go(func() {
			defer end()
			f.follow(takes, func() {
				if slow {
					st.Counts(ctx)
				}
				f.mu.Lock()
				defer f.mu.Unlock()
				if leaves && f.takes > 3 {
					end()
				}
			})
		})
	}
	open(rand.New(rand.NewPCG(seed, 100)))
	for range 2 {
		f := &follower{has: map[string]string{}, told: make(chan struct{}, 1)}
		followers = append(followers, f)
		readers.Go(func() {
			if err := f.resume(ctx, feeds, st); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		})
	}
	for actor := range 3 {
		rnd := rand.New(rand.NewPCG(seed, uint64(actor)))
		actors.Go(func() {
			for i := range steps {
				err := w.something(rnd, []string{"mysql", "wordpress", "logging"}, charms)
				if err == nil {
					err = w.somethingSmall(rnd)
				}
				if err != nil && entity.KindOf(err) == "" {
					t.Errorf("an error of no kind: %v", err)
				}
				if i%20 == 10 {
					open(rnd)
				}
				if actor == 0 && i%40 == 20 {
					loseTail()
					clock.Add(10) // in the end all agents are lost but those that come
					here.Arrive(st.UUID(), entity.MachineTag(fmt.Sprint(i/40)), &presence.Line{}, entity.Binaries{Version: "1.2.3"})
				}
			}
		})
	}
	actors.Wait()
	// From here on nothing changes.
	wanted := shownBy(w, deltas.New(here))
	status, err := st.Status(w.ctx)
	w.ok(err)
	here.Mark(status, entity.Binaries{})
	if wrong := differences(deltaFacts(wanted), statusFacts(status)); len(wrong) > 0 {
		t.Errorf("deltas do not say what the status says:\n%s", strings.Join(wrong, "\n"))
	}
	soon, end := context.WithTimeout(t.Context(), verify.Patience)
	defer end()
	for i, f := range followers {
		f.await(soon, wanted)
		if wrong := differences(f.now(), wanted); len(wrong) > 0 {
			t.Errorf("what client %d was told adds up to something else:\n%s", i, strings.Join(wrong, "\n"))
		}
		for _, what := range f.strange {
			t.Errorf("client %d: %s", i, what)
		}
	}
	kinds := map[string]int{}
	for key := range wanted {
		kind, _, _ := strings.Cut(key, " ")
		kinds[kind]++
	}
	t.Logf("%d clients stayed; in the end there are %v", len(followers), kinds)
	cancel()
	readers.Wait()
}
