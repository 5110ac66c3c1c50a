package facades

import (
	"context"
	"fmt"
	"reflect"

	"juju/apiserver/params"
	"juju/state/entity"
)

// A Stream is a channel from state with a function that encodes its values. The watch behind it merges events until the
// client asks for one, so a client that does not ask costs nothing.
type Stream struct {
	Ch     reflect.Value // the channel
	Event  func(reflect.Value) (params.Event, error)
	Facade string // whose Next and Stop it has; "" for Watcher
}

// Watch returns the handler of a method that starts a watch.
func Watch[P any](f func(ctx context.Context, c *Caller, p P) (Stream, error)) Handler {
	return Do(func(_ context.Context, c *Caller, p P) (params.WatcherID, error) {
		return c.Request.Watch(c.who, func(ctx context.Context) (Stream, error) { return f(ctx, c, p) })
	})
}

// streamOf returns the stream for a channel of any type that state's watches use.
func streamOf(ch any) (Stream, error) {
	switch ch := ch.(type) {
	case <-chan struct{}:
		return Notify(ch, nil)
	case <-chan []string:
		return Names(ch, nil)
	case <-chan entity.RelationUnitsChange:
		return events(ch, nil, func(c entity.RelationUnitsChange) params.Event { return params.Event{RelationUnits: &c} })
	}
	panic(fmt.Sprintf("no event encodes the values of a %T", ch))
}

// events returns the stream for a channel from state.
func events[T any](ch <-chan T, err error, event func(T) params.Event) (Stream, error) {
	return Stream{Ch: reflect.ValueOf(ch), Event: func(v reflect.Value) (params.Event, error) {
		return event(v.Interface().(T)), nil
	}}, err
}

// Notify returns the stream for a channel that only signals changes.
func Notify(ch <-chan struct{}, err error) (Stream, error) {
	return events(ch, err, func(struct{}) params.Event { return params.Event{} })
}

// Names returns the stream for a channel that names what has changed.
func Names(ch <-chan []string, err error) (Stream, error) {
	return events(ch, err, func(ids []string) params.Event { return params.Event{Names: ids} })
}
