package remoterelations

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"juju/state/entity"
)

// An External is the model of another controller that has an offer, as far as a token shows it. That controller can't reach
// this one, so this one makes both sides alike.
type External interface {
	Offering

	// Relations returns the relations that were made with the token.
	Relations(ctx context.Context) ([]entity.Connection, error)
	Close() error
}

// retryMost is how many times longer than the first the last attempts to reach a controller wait.
const retryMost = 60

// shownError limits the length of an error in the status of a remote service.
const shownError = 300

// follow keeps a session with the controller of each remote service of another controller, and returns their names.
func (m *mirror) follow(ctx context.Context, remotes []entity.Consumed) map[string]bool {
	away, wanted := map[string]bool{}, map[string]bool{}
	for _, r := range remotes {
		if r.External == nil {
			continue
		}
		key := fmt.Sprint(r.Name, *r.External)
		away[r.Name], wanted[key] = true, true
		if m.sessions[key] != nil {
			continue
		}
		ctx, cancel := context.WithCancel(ctx)
		m.sessions[key] = cancel
		m.active.Go(func() { (&session{mirror: m, remote: r}).run(ctx) })
	}
	for key, cancel := range m.sessions {
		if !wanted[key] {
			cancel()
			delete(m.sessions, key)
		}
	}
	return away
}

// A session makes the relations of one remote service like those of its offer at another controller, and those like ours.
type session struct {
	*mirror
	remote entity.Consumed
	told   map[int]entity.Members // what the other controller has been told, by the relation there
}

// run goes on until ctx ends: a failure is shown as the status of the remote service.
func (s *session) run(ctx context.Context) {
	last := retryMost * s.Retry
	for wait := s.Retry; ; wait = min(2*wait, last) {
		began := time.Now()
		err := s.once(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > last {
			wait = s.Retry
		}
		if err != nil {
			text := entity.Cut(err.Error(), shownError)
			_ = s.Model.Show(ctx, s.remote.Name, entity.Status{Status: entity.StatusError, // if it fails, the next may not
				Message: fmt.Sprintf("cannot use controller %q: %s", s.remote.External.Name, text)})
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// once follows both sides until the connection ends.
func (s *session) once(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	other, err := s.Reach(ctx, s.remote)
	if entity.IsNotFound(err) {
		return s.gone(ctx)
	} else if err != nil {
		return err
	}
	defer other.Close()
	s.told = map[int]entity.Members{}
	theirs, err := other.WatchShared(ctx)
	if err != nil {
		return err
	}
	remotes, err := s.Model.WatchRemotes(ctx)
	if err != nil {
		return err
	}
	ours, err := s.Model.WatchShared(ctx)
	if err != nil {
		return err
	}
	for {
		var open bool
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case _, open = <-theirs:
			if !open {
				return entity.Errorf(entity.Unavailable, "the connection was lost")
			}
		case _, open = <-remotes:
		case _, open = <-ours:
		}
		if !open {
			return entity.Errorf(entity.Unavailable, "the watch of the model has ended")
		}
		if err := s.round(ctx, other); err != nil {
			return err
		}
	}
}

// connections returns the model's relations with the remote service.
func (s *session) connections(ctx context.Context) ([]entity.Connection, error) {
	all, err := s.Model.Connections(ctx)
	return slices.DeleteFunc(all, func(c entity.Connection) bool { return !c.Consumes || c.Remote != s.remote.Name }), err
}

// gone ends what is left of the remote service's relations after its model was removed.
func (s *session) gone(ctx context.Context) error {
	if err := s.show(ctx, s.remote, nil); err != nil {
		return err
	}
	ours, err := s.connections(ctx)
	if err != nil {
		return err
	}
	for _, c := range ours {
		if c.Life == entity.Alive {
			err = s.Model.End(ctx, c.Relation)
		}
		if err == nil {
			err = s.Model.Release(ctx, c.Relation)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// round compares both sides once.
func (s *session) round(ctx context.Context, other External) error {
	if err := s.show(ctx, s.remote, other); err != nil {
		return err
	}
	ours, err := s.connections(ctx)
	if err != nil {
		return err
	}
	joined := map[int]bool{}
	for _, c := range ours {
		if c.Life != entity.Alive {
			continue
		}
		if joined[c.Relation], err = s.join(ctx, c, other); err != nil {
			return err
		}
	}
	theirs, err := other.Relations(ctx) // after the new ones were made
	if err != nil {
		return err
	}
	alive := map[int]bool{}
	for _, c := range ours {
		if !joined[c.Relation] {
			continue
		}
		there := counterpart(theirs, c.Relation)
		if alive[c.Relation], err = s.like(ctx, c, there, other); err == nil && alive[c.Relation] {
			err = s.tell(ctx, c, *there, other)
		}
		if err != nil {
			return err
		}
	}
	for _, there := range theirs {
		if there.Life == entity.Alive && !alive[there.Counterpart] {
			if err := other.End(ctx, there.Relation); err != nil {
				return err
			}
		}
	}
	for _, c := range ours {
		if c.Life != entity.Alive {
			if err := s.Model.Release(ctx, c.Relation); err != nil {
				return err
			}
		}
	}
	return nil
}

// counterpart returns the relation of a list that mirrors one of ours; nil if there is none.
func counterpart(theirs []entity.Connection, relation int) *entity.Connection {
	i := slices.IndexFunc(theirs, func(there entity.Connection) bool { return there.Counterpart == relation })
	if i < 0 {
		return nil
	}
	return &theirs[i]
}

// tell makes who is in a relation at the other controller like ours. While it is suspended, no unit is in it there.
func (s *session) tell(ctx context.Context, c, there entity.Connection, other External) error {
	if there.Suspended {
		delete(s.told, there.Relation)
		return nil
	}
	members, err := s.Model.Members(ctx, c.Relation)
	if err != nil {
		return err
	}
	if was, told := s.told[there.Relation]; told && reflect.DeepEqual(was, members) {
		return nil
	}
	if err := other.Mirror(ctx, there.Relation, members); err != nil {
		return err
	}
	s.told[there.Relation] = members
	return nil
}
