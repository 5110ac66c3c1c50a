package dashboard

import (
	"context"
	"slices"
	"strings"
	"time"

	"juju/apiserver/client"
	"juju/apiserver/debuglog"
	"juju/state/entity"
)

// A Service is the page of a service.
type Service struct {
	ServiceRow
	Units     []UnitRow
	MinUnits  int
	Relations []Edge
	Settings  []Setting
	Storage   map[string]entity.StorageConstraints
	Actions   []Action
	Waits     []entity.Explanation
	Others    []string // services that it can be related to
}

// A Setting is a setting of a service.
type Setting struct {
	Name, Type, Description, Value, Source string
	Long                                   bool // its value takes several lines
}

// A Unit is the page of a unit.
type Unit struct {
	UnitRow
	Service   string
	Charm     string
	Version   string
	Relations []RelationData
	Storage   []entity.StorageStatus
	Hooks     []HookRun
	Waits     []entity.Explanation
	Actions   []Action
}

// Tag returns the tag of the unit.
func (u Unit) Tag() string { return entity.UnitTag(u.Name).String() }

// RelationData is what units have set in a relation, each with its settings sorted by key.
type RelationData struct {
	entity.RelationData
	Other []Pair // what the service at the other end has set
	Of    []UnitData
}

// UnitData is what a unit has set in a relation.
type UnitData struct {
	Unit    string
	InScope bool
	Set     []Pair
}

// A Pair is a key with its value.
type Pair struct{ Key, Value string }

// A HookRun is a hook, or an action, that a unit's agent has run, or runs.
type HookRun struct {
	Text   string // "running install hook"
	Began  time.Time
	Took   time.Duration // 0 while it runs
	Failed string        // why it has failed
	Output []debuglog.Message
}

// A Machine is the page of a machine.
type Machine struct {
	MachineRow
	Container string
	Hardware  *hardware
	Units     []UnitRow
	Waits     []entity.Explanation
	History   []entity.PastStatus // the newest first
}

// Tag returns the tag of the machine.
func (m Machine) Tag() string { return entity.MachineTag(m.ID).String() }

const (
	hooksShown = 30
	logShown   = 1000 // lines that hooks are looked up in
)

func (m *Mirror) part(kind, key string) (part, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	p, ok := m.parts[kind][key]
	if !ok {
		word := kind
		if w := kindWords[kind]; w != "" {
			word = w
		}
		return p, entity.Errorf(entity.NotFound, "there is no %s %s", word, entity.Named(key))
	}
	return p, nil
}

// rows returns the units that a function chooses, in their order.
func (m *Mirror) rows(which func(part) bool) []UnitRow {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var rows []UnitRow
	for _, u := range m.sorted("unit") {
		if which(u) {
			rows = append(rows, u.row())
		}
	}
	return rows
}

func servicePage(ctx context.Context, v Visit) (any, error) {
	name := v.Name
	if _, err := v.Mirror.part("application", name); err != nil {
		return nil, err
	}
	s := &Service{Units: v.Mirror.rows(func(u part) bool { return u.Service == name })}
	for _, row := range v.Mirror.Services().Rows {
		if row.Name == name {
			s.ServiceRow = row
		} else {
			s.Others = append(s.Others, row.Name)
		}
	}
	p, _ := v.Mirror.part("application", name)
	s.MinUnits = p.MinUnits
	for _, e := range v.Mirror.Picture().Edges {
		if e.From == name || e.To == name {
			s.Relations = append(s.Relations, e)
		}
	}
	return s, v.call(ctx, func(api *client.Conn) error {
		config, err := api.ServiceConfig(ctx, name)
		if err != nil {
			return err
		}
		s.Settings, s.Storage = settingsOf(config.Settings), config.Storage
		if s.Actions, err = actionsOf(ctx, api, name); err != nil {
			return err
		}
		s.Waits, err = explain(ctx, api, name)
		return err
	})
}

func unitPage(ctx context.Context, v Visit) (any, error) {
	p, err := v.Mirror.part("unit", v.Name)
	if err != nil {
		return nil, err
	}
	u := &Unit{UnitRow: p.row(), Service: p.Service, Charm: p.Charm}
	return u, v.call(ctx, func(api *client.Conn) error {
		info, err := api.UnitInfo(ctx, v.Name)
		if err != nil {
			return err
		}
		u.Version, u.Relations = info.WorkloadVersion, relationsOf(v.Name, info.Relations)
		all, err := api.Storage(ctx)
		if err != nil {
			return err
		}
		u.Storage = slices.DeleteFunc(all, func(s entity.StorageStatus) bool { return s.Unit != v.Name })
		if u.Hooks, err = hooksOf(ctx, api, v.Name); err != nil {
			return err
		}
		if u.Actions, err = actionsOf(ctx, api, p.Service); err != nil {
			return err
		}
		u.Waits, err = explain(ctx, api, v.Name)
		return err
	})
}

func relationsOf(unit string, all []entity.RelationData) []RelationData {
	var rows []RelationData
	for _, r := range all {
		row := RelationData{RelationData: r, Other: pairs(r.Application)}
		for name, data := range r.Units {
			row.Of = append(row.Of, UnitData{name, data.InScope, pairs(data.Settings)})
		}
		slices.SortFunc(row.Of, func(a, b UnitData) int {
			if (a.Unit == unit) != (b.Unit == unit) { // its own come first
				if a.Unit == unit {
					return -1
				}
				return 1
			}
			return entity.CompareNatural(a.Unit, b.Unit)
		})
		rows = append(rows, row)
	}
	return rows
}

func pairs(m map[string]string) []Pair {
	var all []Pair
	for key, value := range m {
		all = append(all, Pair{key, value})
	}
	slices.SortFunc(all, func(a, b Pair) int { return strings.Compare(a.Key, b.Key) })
	return all
}

// hooksOf returns the hooks that a unit has run, the newest first, with what they have printed. They are what its agent's
// status was.
func hooksOf(ctx context.Context, api *client.Conn, unit string) ([]HookRun, error) {
	past, err := api.StatusHistory(ctx, entity.HistoryUnit, entity.UnitTag(unit), client.HistoryQuery{Size: 4 * hooksShown})
	if err != nil {
		return nil, err
	}
	runs := hookRuns(past)
	var lines []debuglog.Message
	err = api.DebugLog(ctx, client.LogQuery{IncludeEntity: []string{entity.UnitTag(unit).String()}, IncludeModule: []string{"unit"},
		Backlog: logShown, NoTail: true}, func(m debuglog.Message) error {
		lines = append(lines, m)
		return nil
	})
	for i := range runs {
		runs[i].Output = during(lines, runs[i].Began, runs[i].Took)
	}
	return runs, err
}

// hookRuns returns the runs that a unit's statuses, the oldest first, tell of; the newest first. A run ends with the next
// status of the agent, and has failed if the unit is in error then.
func hookRuns(past []entity.PastStatus) (runs []HookRun) {
	running := false
	for _, s := range past {
		last := len(runs) - 1
		switch {
		case s.Kind == entity.HistoryWorkload && s.Status.Status == entity.StatusError && last >= 0:
			runs[last].Failed = s.Message
		case s.Kind != entity.HistoryUnitAgent:
		case running:
			runs[last].Took = max(s.Since.Sub(runs[last].Began), 1)
			running = false
		}
		if s.Kind == entity.HistoryUnitAgent && s.Status.Status == entity.StatusExecuting {
			runs, running = append(runs, HookRun{Text: s.Message, Began: s.Since}), true
		}
	}
	slices.Reverse(runs)
	return runs[:min(len(runs), hooksShown)]
}

// during returns the lines of a log that were written in a time. Agents tell their status a moment before the hook.
func during(lines []debuglog.Message, from time.Time, took time.Duration) (part []debuglog.Message) {
	for _, l := range lines {
		if !l.Timestamp.Before(from) && (took == 0 || !l.Timestamp.After(from.Add(took))) {
			part = append(part, l)
		}
	}
	return part
}

func machinePage(ctx context.Context, v Visit) (any, error) {
	p, err := v.Mirror.part("machine", v.Name)
	if err != nil {
		return nil, err
	}
	m := &Machine{Container: p.Container, Hardware: p.Hardware, Units: v.Mirror.rows(func(u part) bool { return u.Machine == v.Name })}
	for _, row := range v.Mirror.Machines().Rows {
		if row.ID == v.Name {
			m.MachineRow = row
		}
	}
	return m, v.call(ctx, func(api *client.Conn) error {
		var err error
		if m.Waits, err = explain(ctx, api, v.Name); err != nil {
			return err
		}
		for _, kind := range []entity.HistoryKind{entity.HistoryMachine, entity.HistoryMachineAgent} {
			past, err := api.StatusHistory(ctx, kind, entity.MachineTag(v.Name), client.HistoryQuery{Size: 20})
			if err != nil {
				return err
			}
			m.History = append(m.History, past...)
		}
		slices.SortStableFunc(m.History, func(a, b entity.PastStatus) int { return b.Since.Compare(a.Since) })
		return nil
	})
}
