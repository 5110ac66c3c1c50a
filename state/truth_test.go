package state_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// checkCounts counts what the model holds, and compares that with the model's own
// counts.
func (w *world) checkCounts() {
	w.Helper()
	dump, err := w.st.Dump(w.ctx)
	w.ok(err)
	docs := func(collection string) (all []map[string]any) {
		for _, raw := range dump[collection] {
			doc := map[string]any{}
			w.ok(json.Unmarshal(raw, &doc))
			all = append(all, doc)
		}
		return all
	}
	text := func(v any) string { s, _ := v.(string); return s }
	want := map[string]map[string]float64{}
	begin := func(key string, names ...string) {
		want[key] = map[string]float64{}
		for _, n := range names {
			want[key][n] = 0
		}
	}
	add := func(key, name string) {
		if want[key] == nil {
			w.Errorf("%s is referred to (%s) but does not exist", key, name)
			return
		}
		want[key][name]++
	}
	for _, m := range docs("machines") {
		begin("m#"+text(m["_id"]), "units", "alive-units", "containers", "storage")
	}
	for _, m := range docs("machines") {
		if host := text(m["host"]); host != "" {
			add("m#"+host, "containers")
		}
	}
	for _, s := range docs("services") {
		begin("s#"+text(s["_id"]), "units", "relations", "offers")
	}
	remote := map[string]bool{}
	for _, r := range docs("remotes") {
		begin("rs#"+text(r["_id"]), "relations")
		remote[text(r["_id"])] = true
	}
	for _, o := range docs("offers") {
		begin("o#"+text(o["_id"]), "connections")
		if o["life"] == float64(entity.Alive) {
			add("s#"+text(o["service"]), "offers")
		}
	}
	for _, u := range docs("units") {
		if text(u["principal"]) == "" {
			begin("u#"+text(u["_id"]), "subordinates", "scopes", "attachments")
		} else {
			begin("u#"+text(u["_id"]), "scopes", "attachments")
		}
	}
	byKey := map[string]string{}
	for _, r := range docs("relations") {
		key := fmt.Sprintf("r#%v", r["id"])
		begin(key, "scopes")
		byKey[text(r["_id"])] = key
		if offer := text(r["offer"]); offer != "" {
			add("o#"+offer, "connections")
		}
	}
	for _, u := range docs("units") {
		add("s#"+text(u["service"]), "units")
		if p := text(u["principal"]); p != "" {
			add("u#"+p, "subordinates")
		}
		if m := text(u["machine"]); m != "" {
			add("m#"+m, "units")
			if u["life"] == float64(entity.Alive) {
				add("m#"+m, "alive-units")
			}
		}
	}
	for _, e := range docs("endpoints") {
		switch service := text(e["service"]); {
		case remote[service]:
			add("rs#"+service, "relations")
		case !strings.HasPrefix(service, "remote-"):
			add("s#"+service, "relations")
		}
		if byKey[text(e["relation"])] == "" {
			w.Errorf("an endpoint of a removed relation: %v", e)
		}
	}
	for _, s := range docs("scopes") {
		add(fmt.Sprintf("r#%v", s["relation"]), "scopes")
		if unit := text(s["unit"]); unit != "" {
			add("u#"+unit, "scopes")
		}
	}
	for _, s := range docs("storage") {
		begin("st#"+text(s["_id"]), "attachments")
		if m := text(s["machine"]); m != "" {
			add("m#"+m, "storage")
		}
	}
	for _, a := range docs("attachments") {
		begin("at#" + text(a["unit"]) + ":" + text(a["storage"]))
		add("u#"+text(a["unit"]), "attachments")
		add("st#"+text(a["storage"]), "attachments")
	}
	for _, c := range docs("counts") {
		key := text(c["_id"])
		if want[key] == nil {
			w.Errorf("counts of %s, which does not exist", key)
			continue
		}
		for name, n := range want[key] {
			if c[name] != n {
				w.Errorf("%s counts %v %s, want %v", key, c[name], name, n)
			}
		}
		delete(want, key)
	}
	for key := range want {
		w.Errorf("%s has no counts", key)
	}
	for _, p := range docs("ports") {
		for _, open := range p["ports"].([]any) {
			unit := text(open.(map[string]any)["unit"])
			if _, err := w.st.Unit(w.ctx, unit); err != nil {
				w.Errorf("a port on machine %v is open: %v", p["_id"], err)
			}
		}
	}
}

// Concurrent actors do everything at once. Then everything is destroyed, the
// agents act, and nothing is left.
func TestCountsStayTrueUnderLoad(t *testing.T) {
	w := newWorld(t)
	seed := testSeed(t)
	charms := map[string]string{}
	for name, meta := range map[string]string{"mysql": statetest.MySQL, "wordpress": statetest.Wordpress,
		"riak": statetest.Riak, "logging": statetest.Logging} {
		charms[name] = statetest.Charm(t, w.st, meta)
	}
	names := []string{"mysql", "wordpress", "riak", "logging"}
	steps := 60
	if testing.Short() {
		steps = 25
	}
	var actors sync.WaitGroup
	for actor := range 6 {
		rnd := rand.New(rand.NewPCG(seed, uint64(actor)))
		actors.Go(func() {
			for range steps {
				if err := w.something(rnd, names, charms); err != nil && entity.KindOf(err) == "" {
					t.Errorf("an error of no kind: %v", err)
				}
			}
		})
	}
	actors.Wait()
	w.checkCounts()
	for _, name := range names {
		if s, err := w.st.Service(w.ctx, name); err == nil {
			w.ok(s.Destroy(w.ctx, entity.Destruction{}))
		}
	}
	for range 20 {
		if w.agents() == 0 {
			break
		}
		w.checkCounts()
	}
	machines, err := w.st.Machines(w.ctx)
	w.ok(err)
	for _, m := range machines {
		w.endMachine(m.ID())
	}
	w.empty()
}

// something runs one random step of a user or an agent.
func (w *world) something(rnd *rand.Rand, names []string, charms map[string]string) error {
	name := names[rnd.IntN(len(names))]
	switch rnd.IntN(12) {
	case 0, 1:
		units := rnd.IntN(3)
		if name == "logging" {
			units = 0
		}
		_, err := w.st.AddService(w.ctx, state.AddServiceParams{Name: name, CharmURL: charms[name], Units: units})
		return err
	case 2:
		s, err := w.st.Service(w.ctx, name)
		if err == nil && rnd.IntN(3) == 0 {
			err = s.Destroy(w.ctx, entity.Destruction{})
		}
		return err
	case 3, 4:
		s, err := w.st.Service(w.ctx, name)
		if err == nil {
			_, err = s.AddUnits(w.ctx, 1+rnd.IntN(2), nil)
		}
		return err
	case 5, 6:
		pairs := [][]string{{"wordpress", "mysql"}, {"mysql", "logging"}, {"wordpress", "logging"}, {"riak", "logging"}}
		pair := pairs[rnd.IntN(len(pairs))]
		if rnd.IntN(3) > 0 {
			_, err := w.st.AddRelation(w.ctx, pair...)
			return err
		}
		r, err := w.st.Relation(w.ctx, pair...)
		if err == nil {
			err = r.Destroy(w.ctx, entity.Destruction{})
		}
		return err
	case 7:
		_, _, err := w.st.Cleaner().Cleanup(w.ctx)
		return err
	}
	units := w.someUnits()
	if len(units) == 0 {
		return nil
	}
	u, err := w.st.Unit(w.ctx, units[rnd.IntN(len(units))])
	if err != nil {
		return err
	}
	switch rnd.IntN(5) {
	case 0:
		return u.Destroy(w.ctx, entity.Destruction{})
	case 1:
		if err := u.SetAgentStatus(w.ctx, entity.Status{Status: entity.StatusIdle}); err != nil {
			return err
		}
		port := 1 + rnd.IntN(100)
		return u.CommitHook(w.ctx, entity.HookChanges{OpenPorts: []entity.PortRange{{From: port, To: port, Protocol: "tcp"}}})
	}
	return w.agent(u)
}

// someUnits returns the names of all units.
func (w *world) someUnits() (names []string) {
	status, err := w.st.Status(w.ctx)
	if err != nil {
		w.Error(err)
		return nil
	}
	for _, s := range status.Services {
		for _, u := range s.Units {
			names = append(names, u.Name)
			for _, sub := range u.Subordinates {
				names = append(names, sub.Name)
			}
		}
	}
	return names
}

// agents lets the agent and the deployer of each unit act, and returns how many
// units are left.
func (w *world) agents() int {
	w.Helper()
	_, _, err := w.st.Cleaner().Cleanup(w.ctx)
	w.ok(err)
	for _, name := range w.someUnits() {
		if u, err := w.st.Unit(w.ctx, name); err == nil {
			if err := w.agent(u); err != nil && entity.KindOf(err) == "" {
				w.Error(err)
			}
		}
	}
	return len(w.someUnits())
}

// agent acts as a unit's agent and as its deployer, as far as possible now.
func (w *world) agent(u *state.Unit) error {
	info, err := u.Info(w.ctx)
	if err != nil {
		return err
	}
	if info.Life == entity.Dead || info.Life == entity.Dying && !info.Started {
		return u.Remove(w.ctx)
	}
	if err := u.SetAgentStatus(w.ctx, entity.Status{Status: entity.StatusIdle}); err != nil {
		return err
	}
	if info.Life == entity.Alive && (info.ServiceLife != entity.Alive || info.OrphanedBySubRel) {
		return u.DestroySelf(w.ctx)
	}
	relations, err := u.Relations(w.ctx)
	if err != nil {
		return err
	}
	for _, r := range relations {
		if info.Life == entity.Dying || r.Life == entity.Dying {
			err = u.LeaveScope(w.ctx, r.ID)
		} else {
			err = u.EnterScope(w.ctx, r.ID)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "cannot enter scope") {
			return err
		}
	}
	if info.Life == entity.Alive {
		return nil
	}
	if err := u.DestroySubordinates(w.ctx); err != nil {
		return err
	}
	err = u.EnsureDead(w.ctx)
	if errors.Is(err, entity.InUse) || errors.Is(err, entity.HasSubordinates) {
		return nil
	}
	return err
}
