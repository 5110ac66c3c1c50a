package facades

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	"juju/apiserver/params"
	"juju/state/controller"
	"juju/state/entity"
)

// controllerWatchSummaries sends what has changed in the models that the caller may read, beginning with all of them.
func controllerWatchSummaries(ctx context.Context, c *Caller, _ None) (Stream, error) {
	return c.watchSummaries(ctx, func() ([]controller.ModelRow, error) {
		rows, _, err := c.Controller.ModelsOf(ctx, c.Tag.ID)
		return rows, err
	})
}

// controllerWatchAllSummaries does so for all models.
func controllerWatchAllSummaries(ctx context.Context, c *Caller, _ None) (Stream, error) {
	return c.watchSummaries(ctx, func() ([]controller.ModelRow, error) { return c.Controller.Models(ctx) })
}

// Summaries are read at most this often, so that changes come together.
const summaryPause = 100 * time.Millisecond

// summaries follows models, for one watch. It reads a model when it has changed, but none while the client has yet to take
// what was read before.
type summaries struct {
	c     *Caller
	list  func() ([]controller.ModelRow, error)
	rows  map[string]controller.ModelRow  // by UUID
	stop  map[string]context.CancelFunc   // of the watches of models
	told  map[string]params.ModelAbstract // what the client knows
	stale map[string]bool                 // what is to be read
	woken chan string                     // the UUID of a model that may have changed
	out   chan []params.ModelAbstract
}

func (c *Caller) watchSummaries(ctx context.Context, list func() ([]controller.ModelRow, error)) (Stream, error) {
	listed, err := c.Controller.WatchModelsOf(ctx, c.Tag.ID)
	if err != nil {
		return Stream{}, err
	}
	s := &summaries{c: c, list: list, rows: map[string]controller.ModelRow{}, stop: map[string]context.CancelFunc{},
		told: map[string]params.ModelAbstract{}, stale: map[string]bool{}, woken: make(chan string), out: make(chan []params.ModelAbstract)}
	go func() {
		defer close(s.out)
		if err := s.follow(ctx, listed); err != nil && ctx.Err() == nil {
			logger.Warningf("%s: a watch of model summaries has ended: %v", c.Request, err)
		}
	}()
	return Stream{Facade: "ModelSummaryWatcher", Ch: reflect.ValueOf(s.out), Event: func(v reflect.Value) (params.Event, error) {
		return params.Event{Models: v.Interface().([]params.ModelAbstract)}, nil
	}}, nil
}

// follow sends changes until ctx or the watch of the list ends.
func (s *summaries) follow(ctx context.Context, listed <-chan struct{}) error {
	pause := time.NewTimer(0)
	defer pause.Stop()
	var due <-chan time.Time // set while something is to be read
	var gone []params.ModelAbstract
	for {
		select {
		case <-ctx.Done():
			return nil
		case _, open := <-listed:
			if !open {
				return nil
			}
			more, err := s.relist(ctx)
			if err != nil {
				return err
			}
			gone = append(gone, more...)
			due = pause.C
			continue
		case uuid := <-s.woken:
			s.stale[uuid] = true
			due = pause.C
			continue
		case <-due:
		}
		began := time.Now()
		changed := append(gone, s.read(ctx)...)
		if len(changed) > 0 {
			select {
			case s.out <- changed:
			case <-ctx.Done():
				return nil
			}
		}
		due, gone = nil, nil
		pause.Reset(max(time.Since(began), summaryPause))
	}
}

// relist reads the list of models: any of them may have changed. It returns those that the client knows and that have gone.
func (s *summaries) relist(ctx context.Context) (gone []params.ModelAbstract, err error) {
	rows, err := s.list()
	if err != nil {
		return nil, err
	}
	now := map[string]controller.ModelRow{}
	for _, row := range rows {
		now[row.UUID], s.stale[row.UUID] = row, true
		if _, watched := s.stop[row.UUID]; !watched && !row.IsRemoving() {
			if err := s.watch(ctx, row); err != nil {
				return nil, err
			}
		}
	}
	for uuid := range s.rows {
		if _, stays := now[uuid]; stays {
			continue
		}
		if stop := s.stop[uuid]; stop != nil {
			stop()
		}
		delete(s.stop, uuid)
		delete(s.stale, uuid)
		if _, known := s.told[uuid]; known {
			delete(s.told, uuid)
			gone = append(gone, params.ModelAbstract{UUID: uuid, Removed: true})
		}
	}
	s.rows = now
	return gone, nil
}

// watch follows a model until ctx ends, the model does, or it is stopped.
func (s *summaries) watch(ctx context.Context, row controller.ModelRow) error {
	st, err := s.c.Controller.Model(ctx, row.UUID)
	if errors.Is(err, entity.NotFound) {
		return nil // the list will change
	} else if err != nil {
		logger.Warningf("%s: model %q can't be watched: %v", s.c.Request, row.Name, err)
		return nil // its summary says so
	}
	ctx, stop := context.WithCancel(ctx)
	changes, err := st.Watches().Summary(ctx)
	if err != nil {
		stop()
		return err
	}
	changes = s.c.Presence.Watch(ctx, row.UUID, changes)
	s.stop[row.UUID] = stop
	go func() {
		defer stop()
		for range changes {
			select {
			case s.woken <- row.UUID:
			case <-ctx.Done():
				return
			}
		}
	}()
	return nil
}

// read returns the summaries that are not as the client knows them.
func (s *summaries) read(ctx context.Context) (changed []params.ModelAbstract) {
	for _, row := range s.rows {
		if !s.stale[row.UUID] {
			continue
		}
		now, err := s.summary(ctx, row)
		if errors.Is(err, entity.NotFound) {
			continue // the list will change
		} else if err != nil {
			now = params.ModelAbstract{UUID: row.UUID, Name: row.Name, Controller: s.c.Controller.Name(), Status: "red",
				Messages: []params.ModelSummaryMessage{{Agent: "controller", Message: s.c.wireError("WatchModelSummaries", err).Message}}}
		}
		if was, known := s.told[row.UUID]; !known || !reflect.DeepEqual(was, now) {
			s.told[row.UUID] = now
			changed = append(changed, now)
		}
	}
	clear(s.stale)
	slices.SortFunc(changed, func(a, b params.ModelAbstract) int { return strings.Compare(a.Name, b.Name) })
	return changed
}

func (s *summaries) summary(ctx context.Context, row controller.ModelRow) (params.ModelAbstract, error) {
	c := s.c
	status, err := modelStatus(ctx, c, row)
	if err != nil {
		return params.ModelAbstract{}, err
	}
	m := params.ModelAbstract{UUID: row.UUID, Name: row.Name, Controller: c.Controller.Name(), Cloud: status.Model.ShownCloud(),
		Region: c.region(), Credential: c.cloudName() + "/" + row.Owner + "/" + c.credentialName(row),
		Status: "green"}
	if row.IsRemoving() {
		return m, nil
	}
	st, err := c.Controller.Model(ctx, row.UUID)
	if err != nil {
		return params.ModelAbstract{}, err
	}
	wanted, err := st.Settings().Binaries(ctx)
	if err != nil {
		return params.ModelAbstract{}, err
	}
	c.Presence.Mark(status, wanted)
	users, err := modelUsers(ctx, c, params.TagOf(entity.ModelTag(row.UUID)))
	if err != nil {
		return params.ModelAbstract{}, err
	}
	for _, u := range users {
		if u.Access == controller.AccessAdmin {
			m.Admins = append(m.Admins, u.UserName)
		}
	}
	if m.Annotations, err = st.Annotations().Get(ctx, entity.ModelTag(row.UUID)); err != nil {
		return params.ModelAbstract{}, err
	}
	for _, machine := range status.AllMachines() {
		m.Size.Machines++
		if kind, _ := entity.ContainerOf(machine.ID); kind != "" {
			m.Size.Containers++
		}
		note(&m, machine.ID, machine.Status, machine.InstanceStatus)
	}
	for _, u := range status.AllUnits() {
		m.Size.Units++
		note(&m, u.Name, u.Workload, u.Agent)
	}
	m.Size.Applications, m.Size.Relations = len(status.Services), len(status.Relations)
	return m, nil
}

// note makes a summary tell of the first status of a machine or unit that is not well, if one is not.
func note(m *params.ModelAbstract, agent string, statuses ...entity.Status) {
	for _, s := range statuses {
		switch s.Status {
		case entity.StatusError, entity.StatusFailed:
			m.Status = "red"
		case entity.StatusBlocked, entity.StatusLost, entity.StatusDown:
			if m.Status == "green" {
				m.Status = "yellow"
			}
		default:
			continue
		}
		m.Messages = append(m.Messages, params.ModelSummaryMessage{Agent: agent, Message: cmp.Or(s.Message, string(s.Status))})
		return
	}
}
