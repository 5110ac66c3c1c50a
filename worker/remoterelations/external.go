package remoterelations

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"juju/state/entity"
	"juju/state/entity/backoff"
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
	told   map[int]map[int]entity.Members // what the other controller has been told, by the relation there, and where a part begins
	// refused says what the other controller does not accept of a part that it has been told.
	refused map[int]map[int]error
}

// run goes on until ctx ends: a failure is shown as the status of the remote service.
func (s *session) run(ctx context.Context) {
	last := retryMost * s.Retry
	for pauses := backoff.New(s.Retry, last); ; {
		began := time.Now()
		err := s.once(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > last {
			pauses.Reset()
		}
		if err != nil {
			text := entity.Cut(err.Error(), shownError)
			_ = s.Model.Show(ctx, s.remote.Name, entity.Status{Status: entity.StatusError, // if it fails, the next may not
				Message: fmt.Sprintf("cannot use controller %q: %s", s.remote.External.Name, text)})
		}
		if pauses.Sleep(ctx) != nil {
			return
		}
	}
}

// once follows both sides until the connection ends.
func (s *session) once(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	other, err := s.Reach(ctx, s.remote)
	switch {
	case entity.IsNotFound(err):
		return s.gone(ctx)
	case entity.KindOf(err) == entity.Unauthorized:
		return cmp.Or(s.shutOut(ctx, err), err)
	case err != nil:
		return err
	}
	defer other.Close()
	s.told, s.refused = map[int]map[int]entity.Members{}, map[int]map[int]error{}
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

// shutOut suspends the remote service's relations when the other controller refuses the token, for the given reason: it has
// suspended them too, and goes on with them if the token is accepted again. Those that end do not wait for that.
func (s *session) shutOut(ctx context.Context, why error) error {
	ours, err := s.connections(ctx)
	if err != nil {
		return err
	}
	for _, c := range ours {
		var err error
		switch {
		case c.Life != entity.Alive:
			err = s.Model.Release(ctx, c.Relation)
		case !c.Joined:
			err = s.Model.End(ctx, c.Relation) // as if it were refused alone
		default:
			c.Suspended, c.Message = true, entity.Cut(fmt.Sprintf("controller %q: %v", s.remote.External.Name, why), shownError)
			err = cmp.Or(s.Model.Suspend(ctx, c, c.Relation), s.Model.Mirror(ctx, c.Relation, entity.Members{}))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// round compares both sides once. What goes wrong with one relation does not keep the others waiting.
func (s *session) round(ctx context.Context, other External) error {
	ours, err := s.connections(ctx)
	if err != nil {
		return err
	}
	var failed error
	joined, kept := map[int]bool{}, map[int]bool{} // of a kept one, the counterpart does not end
	for _, c := range ours {
		if c.Life != entity.Alive {
			continue
		}
		joined[c.Relation], err = s.join(ctx, c, other)
		kept[c.Relation], failed = err != nil, errors.Join(failed, err)
	}
	theirs, err := other.Relations(ctx) // after the new ones were made
	if err != nil {
		return err
	}
	for _, c := range ours {
		if !joined[c.Relation] {
			continue
		}
		there := counterpart(theirs, c.Relation)
		alive, shared, err := s.like(ctx, c, there, other)
		if err == nil && alive {
			err = s.tell(ctx, c, *there, other, shared)
		}
		kept[c.Relation], failed = alive || err != nil, errors.Join(failed, err)
	}
	for _, there := range theirs {
		if there.Life == entity.Alive && !kept[there.Counterpart] {
			failed = errors.Join(failed, other.End(ctx, there.Relation))
		}
	}
	for _, c := range ours {
		if c.Life != entity.Alive {
			failed = errors.Join(failed, s.Model.Release(ctx, c.Relation))
		}
	}
	if failed != nil {
		return failed
	}
	return s.showRefused(ctx, other, theirs)
}

// showRefused is show, with what the other controller has refused in the relations that there are.
func (s *session) showRefused(ctx context.Context, other External, theirs []entity.Connection) error {
	for _, there := range theirs {
		refused := s.refused[there.Relation]
		for _, first := range slices.Sorted(maps.Keys(refused)) {
			return s.Model.Show(ctx, s.remote.Name, entity.Status{Status: entity.StatusError, Message: entity.Cut(
				fmt.Sprintf("controller %q does not accept %v", s.remote.External.Name, refused[first]), shownError)})
		}
	}
	return s.show(ctx, s.remote, other)
}

// counterpart returns the relation of a list that mirrors one of ours; nil if there is none.
func counterpart(theirs []entity.Connection, relation int) *entity.Connection {
	i := slices.IndexFunc(theirs, func(there entity.Connection) bool { return there.Counterpart == relation })
	if i < 0 {
		return nil
	}
	return &theirs[i]
}

// tell makes who is in a relation at the other controller like ours. While it is suspended, no unit is in it there. Of the
// secrets that our units read it names those that are shared, again if the other takes other revisions for tracked.
func (s *session) tell(ctx context.Context, c, there entity.Connection, other External, shared map[string][]int) error {
	was, not := s.told[there.Relation], s.refused[there.Relation]
	told, refused := map[int]entity.Members{}, map[int]error{}
	s.told[there.Relation], s.refused[there.Relation] = told, refused
	if there.Suspended {
		return nil
	}
	return parts(ctx, s.Model, c.Relation, func(part entity.Members) error {
		maps.DeleteFunc(part.Secrets, func(id string, _ []int) bool { return shared[id] == nil })
		why := not[part.First]
		if before, is := was[part.First]; !is || part.Secrets != nil && !tracksAlike(part.Secrets, shared) || !reflect.DeepEqual(before, part) {
			var err error
			if why, err = send(ctx, there.Relation, part, other); err != nil {
				return err
			}
		}
		if told[part.First] = part; why != nil {
			refused[part.First] = why
		}
		return nil
	})
}

// tracksAlike reports whether the other controller knows which revisions our units track of the secrets that it shares.
func tracksAlike(ours, shared map[string][]int) bool {
	for id, revisions := range shared {
		if len(revisions) > 0 && !slices.Equal(ours[id], revisions[1:]) {
			return false
		}
	}
	return true
}

// send tells another controller a part of a relation's members. If one of them is not accepted, the others still are, and
// refused is about that one.
func send(ctx context.Context, relation int, part entity.Members, other External) (refused, err error) {
	err = other.Mirror(ctx, relation, part)
	if entity.KindOf(err) != entity.Invalid {
		return nil, err
	}
	smaller := part.Split()
	if len(smaller) == 0 {
		what := "the settings of the service"
		for n := range part.Units {
			what = fmt.Sprintf("the settings of unit %d", n)
		}
		return fmt.Errorf("%s in relation %d: %w", what, relation, err), nil
	}
	for _, p := range smaller {
		not, err := send(ctx, relation, p, other)
		if err != nil {
			return nil, err
		}
		refused = cmp.Or(refused, not)
	}
	return refused, nil
}
