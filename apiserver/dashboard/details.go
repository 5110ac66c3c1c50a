package dashboard

import (
	"context"
	"maps"
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
	Storage   []ServiceStorage
	Actions   []Action
	Waits     []entity.Explanation
	Others    []string // services that it can be related to
}

// ServiceStorage is what each unit of a service gets for one of the charm's storages.
type ServiceStorage struct {
	Name string
	entity.StorageConstraints
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
	Waited time.Duration // before it began
	Took   time.Duration // 0 while it runs
	Failed string        // why it has failed
	Output []debuglog.Message
}

// Waits reports whether it has not begun, and Text says what for.
func (h HookRun) Waits() bool { return strings.HasPrefix(h.Text, "waiting ") }

// A Machine is the page of a machine.
type Machine struct {
	MachineRow
	Container string
	Hardware  entity.Hardware
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

func servicePage(ctx context.Context, v Visit) (any, error) {
	name := v.Name
	s, err := v.Mirror.service(name)
	if err != nil {
		return nil, err
	}
	return s, v.call(ctx, func(api *client.Conn) error {
		config, err := api.ServiceConfig(ctx, name)
		if err != nil {
			return err
		}
		s.Settings = settingsOf(config.Settings)
		for _, name := range slices.Sorted(maps.Keys(config.Storage)) {
			s.Storage = append(s.Storage, ServiceStorage{name, config.Storage[name]})
		}
		if s.Actions, err = actionsOf(ctx, api, name); err != nil {
			return err
		}
		s.Waits, err = explain(ctx, api, name)
		return err
	})
}

func unitPage(ctx context.Context, v Visit) (any, error) {
	p, err := v.Mirror.part(entity.PartUnit, v.Name)
	if err != nil {
		return nil, err
	}
	u := &Unit{UnitRow: rowOf(p.Unit), Service: p.Unit.Service, Charm: p.Unit.Charm}
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
		if u.Actions, err = actionsOf(ctx, api, p.Unit.Service); err != nil {
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
// status of the agent, and has failed if the unit is in error then. A wait is part of the run that follows; one that has not
// ended stands for it.
func hookRuns(past []entity.PastStatus) (runs []HookRun) {
	running := false // the last run has not ended
	for _, s := range past {
		last := len(runs) - 1
		if s.Kind == entity.HistoryWorkload && s.Status.Status == entity.StatusError && last >= 0 {
			runs[last].Failed = s.Message
		}
		if s.Kind != entity.HistoryUnitAgent {
			continue
		}
		run := HookRun{Text: s.Message, Began: s.Since}
		switch {
		case !running:
		case strings.HasPrefix(s.Message, runs[last].Text+","): // what the agent does afterwards
			continue
		case runs[last].Waits():
			run.Waited = runs[last].Waited + s.Since.Sub(runs[last].Began)
			runs = runs[:last]
		default:
			runs[last].Took = max(s.Since.Sub(runs[last].Began), 1)
		}
		if running = s.Status.Status == entity.StatusExecuting; running {
			runs = append(runs, run)
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
	m, err := v.Mirror.machine(v.Name)
	if err != nil {
		return nil, err
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
