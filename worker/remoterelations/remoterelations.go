package remoterelations

import (
	"context"
	"errors"
	"sync"
	"time"

	"juju/state/entity"
	"juju/worker"
)

// An Offering is what a model that consumes an offer needs of the model that has it. Its methods can be repeated.
type Offering interface {
	// WatchShared fires when anything that other models see may have changed.
	WatchShared(ctx context.Context) (<-chan struct{}, error)
	// Shown returns the status of an offered service; the error is entity.NotFound if there is no such offer.
	Shown(ctx context.Context, offer string) (entity.Status, error)
	// Connect adds the relation that mirrors one of a model that consumes an offer. The errors entity.NotFound,
	// entity.NotAlive and entity.Unauthorized are final.
	Connect(ctx context.Context, model string, c entity.Connection) error
	End(ctx context.Context, relation int) error
	// Members returns the members of a relation from a number on: those after a part begin with its End.
	Members(ctx context.Context, relation, first int) (entity.Members, error)
	Mirror(ctx context.Context, relation int, m entity.Members) error
}

// A Model is what the worker needs of the state of a model of its controller, its own or another.
type Model interface {
	Offering

	// WatchRemotes fires when the relations with services of other models may have changed, or the remote services.
	WatchRemotes(ctx context.Context) (<-chan struct{}, error)
	// WatchUsers fires when who may consume offers may have changed.
	WatchUsers(ctx context.Context) (<-chan struct{}, error)
	// MayConsume reports whether the user who consumed the offer that a relation uses still may.
	MayConsume(ctx context.Context, c entity.Connection) (bool, error)
	Connections(ctx context.Context) ([]entity.Connection, error)
	// Counterpart returns the relation that mirrors one of a model that consumes an offer; nil if there is none.
	Counterpart(ctx context.Context, model string, relation int) (*entity.Connection, error)
	// Consuming returns the relation with a number if it consumes an offer; nil if there is none.
	Consuming(ctx context.Context, relation int) (*entity.Connection, error)
	// Consumed returns the remote services.
	Consumed(ctx context.Context) ([]entity.Consumed, error)
	Show(ctx context.Context, remote string, status entity.Status) error
	Join(ctx context.Context, relation int) error
	// Suspend makes a relation suspended, or not, as another is.
	Suspend(ctx context.Context, like entity.Connection, relation int) error
	// Release lets a Dying relation with an offer of another controller go, whose counterpart there has ended.
	Release(ctx context.Context, relation int) error
}

// Config is what the worker needs.
type Config struct {
	UUID  string // of the model
	Model Model
	// Open returns another model; the error is entity.NotFound if it does not exist.
	Open func(ctx context.Context, uuid string) (Model, error)
	// Reach connects to the controller that has the offer of a remote service; the error is entity.NotFound if the model
	// or the offer there does not exist any more, and entity.Unauthorized if the offer may not be consumed any more. It
	// returns within a minute.
	Reach func(ctx context.Context, r entity.Consumed) (External, error)
	// Retry is how long the first attempt to reach a controller again waits; later ones wait up to retryMost times as long.
	Retry time.Duration
}

// New returns the worker of one model. It watches other models only while the model has to do with them.
func New(config Config) worker.Func {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		m := &mirror{Config: config, changed: make(chan struct{}, 1), ended: make(chan string), watched: map[string]context.CancelFunc{},
			sessions: map[string]context.CancelFunc{}}
		defer m.wait()
		defer cancel()
		if err := m.watch(ctx, "", config.Model.WatchRemotes); err != nil {
			return err
		}
		for {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case of := <-m.ended:
				m.running--
				if of == "" {
					return worker.Ended(ctx)
				}
				m.watched[of]() // the other model was closed; it may be opened again
				delete(m.watched, of)
			case <-m.changed:
			}
			if err := m.round(ctx); err != nil {
				return err
			}
		}
	}
}

type mirror struct {
	Config

	changed chan struct{}
	ended   chan string // the watches that ended
	watched map[string]context.CancelFunc
	running int

	sessions map[string]context.CancelFunc // with other controllers, by remote service and how its controller is reached
	active   sync.WaitGroup
}

// watch makes the events of a watch reach changed.
func (m *mirror) watch(ctx context.Context, name string, start func(context.Context) (<-chan struct{}, error)) error {
	ctx, cancel := context.WithCancel(ctx)
	events, err := start(ctx)
	if err != nil {
		cancel()
		return err
	}
	m.watched[name] = cancel
	m.running++
	go func() {
		for range events {
			select {
			case m.changed <- struct{}{}:
			default:
			}
		}
		m.ended <- name
	}()
	return nil
}

// wait ends all watches, and waits for that.
func (m *mirror) wait() {
	for _, cancel := range m.watched {
		cancel()
	}
	for ; m.running > 0; m.running-- {
		<-m.ended
	}
	m.active.Wait() // they end with the worker's context
}

// round compares everything once. What goes wrong with one relation does not keep the others waiting.
func (m *mirror) round(ctx context.Context) error {
	remotes, err := m.Model.Consumed(ctx)
	if err != nil {
		return err
	}
	connections, err := m.Model.Connections(ctx)
	if err != nil {
		return err
	}
	others := map[string]Model{} // nil for one that is gone
	open := func(id string) (Model, error) {
		if other, known := others[id]; known {
			return other, nil
		}
		other, err := m.Open(ctx, id)
		if entity.IsNotFound(err) {
			other, err = nil, nil
		}
		if err == nil {
			others[id] = other
		}
		if err != nil || other == nil || m.watched[id] != nil {
			return other, err
		}
		return other, m.watch(ctx, id, other.WatchShared)
	}
	away := m.follow(ctx, remotes)
	for _, r := range remotes {
		if r.External != nil {
			continue
		}
		other, failed := open(r.Model)
		if failed == nil {
			failed = m.show(ctx, r, other)
		}
		err = errors.Join(err, failed)
	}
	for _, c := range connections {
		if c.Life != entity.Alive { // it ends even if the other model can't be opened
			err = errors.Join(err, m.Model.Mirror(ctx, c.Relation, entity.Members{}))
			continue
		}
		if !c.Consumes {
			others[users] = nil
			err = errors.Join(err, m.permit(ctx, c))
		}
		if c.Token != "" || away[c.Remote] {
			continue // the consuming controller compares
		}
		other, failed := open(c.Model)
		if failed == nil {
			failed = m.compare(ctx, c, other)
		}
		err = errors.Join(err, failed)
	}
	for id, cancel := range m.watched {
		if _, used := others[id]; !used && id != "" {
			cancel() // its end removes it
		}
	}
	return err
}

// users is the name, among those of other models, of the watch of who may consume offers.
const users = "users"

// permit suspends a relation that uses an offer if the user who consumed that no longer may.
func (m *mirror) permit(ctx context.Context, c entity.Connection) error {
	if m.watched[users] == nil {
		if err := m.watch(ctx, users, m.Model.WatchUsers); err != nil {
			return err
		}
	}
	if c.Suspended {
		return nil
	}
	may, err := m.Model.MayConsume(ctx, c)
	if err != nil || may {
		return err
	}
	c.Suspended, c.Message = true, entity.UserOf(c.User)+" may no longer consume the offer"
	return m.Model.Suspend(ctx, c, c.Relation)
}

// show shows how the service is that a remote service stands for.
func (m *mirror) show(ctx context.Context, r entity.Consumed, other Offering) error {
	gone := entity.Status{Status: entity.StatusTerminated, Message: "offer has been removed"}
	if other == nil {
		return m.Model.Show(ctx, r.Name, gone)
	}
	status, err := other.Shown(ctx, r.Offer)
	if entity.IsNotFound(err) {
		status, err = gone, nil
	}
	if err != nil {
		return err
	}
	return m.Model.Show(ctx, r.Name, status)
}

// compare makes an Alive relation like its counterpart in another model, nil if that is gone. One that consumes an offer
// makes its counterpart, once.
func (m *mirror) compare(ctx context.Context, c entity.Connection, other Model) error {
	if other == nil {
		return m.Model.End(ctx, c.Relation)
	}
	if c.Consumes {
		joined, err := m.join(ctx, c, other)
		if err != nil || !joined {
			return err
		}
		there, err := other.Counterpart(ctx, m.UUID, c.Relation)
		if err != nil {
			return err
		}
		_, _, err = m.like(ctx, c, there, other)
		return err
	}
	there, err := other.Consuming(ctx, c.Counterpart)
	if err != nil {
		return err
	}
	if there == nil || there.Life != entity.Alive {
		return m.Model.End(ctx, c.Relation)
	}
	_, err = m.copyMembers(ctx, c, *there, other)
	return err
}

// join makes the counterpart of a relation that consumes an offer, once. It returns false if there can be none: the
// relation ends.
func (m *mirror) join(ctx context.Context, c entity.Connection, other Offering) (bool, error) {
	if c.Joined {
		return true, nil
	}
	err := other.Connect(ctx, m.UUID, c)
	switch entity.KindOf(err) {
	case entity.NotFound, entity.NotAlive, entity.Unauthorized:
		return false, m.Model.End(ctx, c.Relation)
	}
	if err == nil {
		err = m.Model.Join(ctx, c.Relation)
	}
	return err == nil, err
}

// like makes a relation that consumes an offer like its counterpart, nil if there is none. It returns whether that is Alive,
// and the secrets that it shares.
func (m *mirror) like(ctx context.Context, c entity.Connection, there *entity.Connection,
	other Offering) (alive bool, shared map[string][]int, err error) {
	if there == nil || there.Life != entity.Alive {
		return false, nil, m.Model.End(ctx, c.Relation)
	}
	if c.Suspended != there.Suspended || c.Message != there.Message {
		if err := m.Model.Suspend(ctx, *there, c.Relation); err != nil {
			return false, nil, err
		}
	}
	shared, err = m.copyMembers(ctx, c, *there, other)
	return true, shared, err
}

// copyMembers makes who is in a relation like its counterpart in another model, and returns the secrets that the relation
// shares there or that units there read.
func (m *mirror) copyMembers(ctx context.Context, c, there entity.Connection,
	other Offering) (secrets map[string][]int, err error) {
	err = parts(ctx, other, there.Relation, func(part entity.Members) error {
		if part.Secrets != nil {
			secrets = part.Secrets
		}
		return m.Model.Mirror(ctx, c.Relation, part)
	})
	return secrets, err
}

// parts calls do with the parts of a relation's members.
func parts(ctx context.Context, of Offering, relation int, do func(entity.Members) error) error {
	for first := 0; ; {
		part, err := of.Members(ctx, relation, first)
		if err == nil {
			err = do(part)
		}
		if err != nil || part.End <= first {
			return err
		}
		first = part.End
	}
}
