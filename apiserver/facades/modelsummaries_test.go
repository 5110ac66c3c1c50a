package facades_test

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"juju/apiserver/params"
	"juju/doc/tools/verify"
	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// A summaryWatcher adds up the summaries of models that a client gets.
type summaryWatcher struct {
	*caller
	id  string
	has map[string]params.ModelAbstract // by name
}

// watchesModels starts to watch the summaries of models.
func (c *caller) watchesModels(method string) *summaryWatcher {
	c.Helper()
	var id params.WatcherID
	c.ok(c.do("Controller", 12, method, struct{}{}, &id))
	return &summaryWatcher{c, id.ID, map[string]params.ModelAbstract{}}
}

// until asks until the summary of a model is as it should be; a removed one is the zero value.
func (s *summaryWatcher) until(model string, ok func(params.ModelAbstract) bool) params.ModelAbstract {
	s.Helper()
	for range 100 {
		if now := s.has[model]; ok(now) {
			return now
		}
		ctx, cancel := context.WithTimeout(s.ctx, verify.Patience)
		event, err := s.next(ctx, s.id)
		cancel()
		s.ok(err)
		for _, m := range event.Models {
			for name, was := range s.has {
				if was.UUID == m.UUID {
					delete(s.has, name)
				}
			}
			if !m.Removed {
				s.has[m.Name] = m
			}
		}
	}
	s.Fatalf("%s stays %+v", model, s.has[model])
	return params.ModelAbstract{}
}

func isThere(m params.ModelAbstract) bool { return m.UUID != "" }

// Who watches the summaries of models gets all that they may read first, then each that changes: what a model has, how it is,
// and which models there are.
func TestWatchModelSummaries(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	ctx := t.Context()
	s := w.root().watchesModels("WatchModelSummaries")
	m := s.until("default", isThere)
	if m.Size.Machines != 4 || m.Size.Applications != 2 || m.Size.Units != 4 || m.Size.Relations != 1 || m.Cloud == "" ||
		!reflect.DeepEqual(m.Admins, []string{"admin"}) {
		t.Errorf("the summary is %+v", m)
	}
	s.until("controller", isThere)

	u, err := w.st.Unit(ctx, "mysql/0")
	w.ok(err)
	w.ok(u.SetStatus(ctx, entity.Status{Status: entity.StatusBlocked, Message: "no password"}))
	m = s.until("default", func(m params.ModelAbstract) bool { return m.Status == "yellow" })
	if want := []params.ModelSummaryMessage{{Agent: "mysql/0", Message: "no password"}}; !reflect.DeepEqual(m.Messages, want) {
		t.Errorf("the messages are %+v, want %+v", m.Messages, want)
	}
	host, err := w.st.Machine(ctx, "3")
	w.ok(err)
	w.ok(host.SetStatus(ctx, entity.Status{Status: entity.StatusError, Message: "no room"}))
	s.until("default", func(m params.ModelAbstract) bool { return m.Status == "red" })
	w.ok(w.st.Annotations().Set(ctx, entity.ModelTag(w.st.UUID()), map[string]string{"team": "shop"}))
	s.until("default", func(m params.ModelAbstract) bool { return m.Annotations["team"] == "shop" })

	other, err := w.controller.AddModel(ctx, statetest.NamedModel("other"))
	w.ok(err)
	s.until("other", isThere)
	_, err = other.AddMachine(ctx, state.AddMachineParams{})
	w.ok(err)
	s.until("other", func(m params.ModelAbstract) bool { return m.Size.Machines == 1 })
}

// A user sees models only as long as they may read them, and their admins only if they are one. All models are for superusers.
func TestWatchModelSummariesOnlyOfWhatOneMayRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	ctx := t.Context()
	w.addUser("bob")
	w.ok(w.controller.GrantModel(ctx, w.st.UUID(), "bob", "read", ""))
	bob := w.user("bob", "")
	if err := bob.do("Controller", 12, "WatchAllModelSummaries", struct{}{}, nil); !errors.Is(err, entity.Unauthorized) {
		t.Errorf("bob watches all models: %v", err)
	}
	s := bob.watchesModels("WatchModelSummaries")
	if m := s.until("default", isThere); len(m.Admins) > 0 || len(s.has) != 1 {
		t.Errorf("bob gets %+v", s.has)
	}
	w.ok(w.controller.RevokeModel(ctx, w.st.UUID(), "bob", "read"))
	s.until("default", func(m params.ModelAbstract) bool { return !isThere(m) })
	all := w.root().watchesModels("WatchAllModelSummaries")
	all.until("controller", isThere)
	all.stop(all.id)
}
