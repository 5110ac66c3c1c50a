// Package modeltest gives the packages that work on a model's database one to test themselves on: a real database in an
// embedded store in memory, with the documents that a test puts there. It does not depend on package state, so that these
// tests compile in seconds.
package modeltest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/mongo"
	"juju/state/mongo/embedded"
	"juju/state/watcher"
)

// UUID is the model's.
const UUID = "4a1c0b5e-70fd-4f35-8c5d-2f0a4a6b9c01"

// A Model is the database of a model, until the test ends.
type Model struct {
	*modeltxn.DB
	Ctx context.Context
	// Time is what the model's clock says.
	Time time.Time
	// Hub has the model's watches.
	Hub   *watcher.Hub
	Store *mongo.Store

	t     testing.TB
	hooks *hooks
	revno int // of the last counts, above all that transactions reach
}

// New returns a model that is called "default" and is Alive, with more documents.
func New(t testing.TB, docs ...any) *Model {
	t.Helper()
	m := &Model{t: t, Ctx: t.Context(), Time: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), hooks: &hooks{}, revno: 1000}
	store, err := mongo.OpenEmbedded("store", mongo.Options{Embedded: embedded.Options{FS: vfs.NewMem()},
		Hooks: func(string) mongo.Hooks { return m.hooks }})
	m.OK(err)
	m.Store = store
	m.OK(store.Make(m.Ctx, UUID, mongo.Schema{LogSize: 1 << 20, Capped: map[string]int{modeldb.HistoryC: 1 << 20}}))
	hub, tail := watcher.Follow(func(ctx context.Context, hub *watcher.Hub) {
		watcher.Tail(ctx, m.Tail, store.Barrier, hub)
	})
	m.Hub = hub
	m.DB = modeltxn.New(store.Open(UUID), UUID, "default", func() time.Time { return m.Time }, hub.Copies())
	t.Cleanup(func() {
		tail.End()
		m.Close(errors.New("the test has ended"))
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	m.Put(modeldb.Model{ID: modeldb.ModelC, Name: "default", UUID: UUID, Series: "jammy", Cloud: "dummy"})
	m.Put(docs...)
	return m
}

// OK ends the test if err is not nil.
func (m *Model) OK(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

// Refused checks that err has this kind, and contains text in what it or its hint says.
func (m *Model) Refused(err error, kind entity.Kind, text string) {
	m.t.Helper()
	Refused(m.t, err, kind, text)
}

// Refused checks that err has this kind, and contains text in what it or its hint says.
func Refused(t testing.TB, err error, kind entity.Kind, text string) {
	t.Helper()
	if err == nil || entity.KindOf(err) != kind || !strings.Contains(err.Error()+"\n"+entity.Hint(err), text) {
		t.Errorf("got error %v (kind %q, hint %q), want kind %q with %q in it", err, entity.KindOf(err), entity.Hint(err), kind, text)
	}
}

// Same checks what a function returned. Nil and empty are the same, as they are in the store.
func Same(t testing.TB, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// Do runs a transaction, which must succeed.
func (m *Model) Do(build func(*modeltxn.Ops) error) {
	m.t.Helper()
	m.OK(m.Change(m.Ctx, build))
}

// Nothing checks that a transaction changes nothing.
func (m *Model) Nothing(build func(*modeltxn.Ops) error) {
	m.t.Helper()
	m.NoCommit(func() error { return m.Change(m.Ctx, build) })
}

// NoCommit is Nothing for a call that runs a transaction of its own.
func (m *Model) NoCommit(call func() error) {
	m.t.Helper()
	m.hooks.commits = 0
	if err := call(); err != nil || m.hooks.commits != 0 {
		m.t.Errorf("the transaction was committed %d times and returned %v, want nothing to do", m.hooks.commits, err)
	}
}

// Race calls a function that runs a transaction, and calls between when that has read what it depends on and is about to
// be committed. The transaction must assert something of what between changes: Race fails the test if it is committed. It
// returns what call does, which has found out and tried again.
func (m *Model) Race(between func(), call func() error) error {
	m.t.Helper()
	m.hooks.before, m.hooks.refused = between, false
	err := call()
	switch {
	case m.hooks.before != nil:
		m.t.Errorf("there was no transaction; the call returned %v", err)
	case !m.hooks.refused:
		m.t.Error("the transaction asserts nothing of what was changed before its commit")
	}
	m.hooks.before = nil
	return err
}

// RaceOps is Race for the builder of a transaction.
func (m *Model) RaceOps(between func(), build func(*modeltxn.Ops) error) error {
	m.t.Helper()
	return m.Race(between, func() error { return m.Change(m.Ctx, build) })
}

// Between is Race without a check whether the transaction is refused.
func (m *Model) Between(between func(), call func() error) error {
	m.hooks.before = between
	err := call()
	m.hooks.before = nil
	return err
}

// Ignores is Race for a change in between of which the transaction must assert nothing: it is not to be disturbed.
func (m *Model) Ignores(between func(), call func() error) {
	m.t.Helper()
	m.hooks.before, m.hooks.refused = between, false
	if err := call(); err != nil || m.hooks.refused {
		m.t.Errorf("the transaction was refused, although the change is none of its business; the call returned %v", err)
	}
	m.hooks.before = nil
}

// hooks are called for each attempt at a transaction. A test runs one transaction at a time.
type hooks struct {
	before  func() // of the next attempt
	refused bool   // the attempt after before
	commits int
}

// Next implements mongo.Hooks.
func (h *hooks) Next() mongo.Hook {
	before := h.before
	h.before = nil
	return func(ops []txn.Op, run func([]txn.Op) error) error {
		h.commits++
		if before != nil {
			before()
		}
		err := run(ops)
		if before != nil {
			h.refused = errors.Is(err, txn.ErrAborted)
		}
		return err
	}
}

// Counts are the counts of the entity with a key.
type Counts struct {
	Key string
	Of  map[string]int
}

// PutCharm adds a charm with a URL, this metadata and more files (name and text, alternating).
func (m *Model) PutCharm(url, metadata string, files ...string) {
	m.t.Helper()
	all := map[string]string{"metadata.yaml": metadata}
	for i := 0; i < len(files); i += 2 {
		all[files[i]] = files[i+1]
	}
	m.Put(modeldb.Charm{URL: url, Base: url, Files: modeldb.EscapeKeys(all)})
}

// Set changes fields of a document, outside any transaction.
func (m *Model) Set(collection, id string, fields ...bson.DocElem) {
	m.t.Helper()
	m.update(collection, id, bson.D{{"$set", bson.D(fields)}})
}

// Unset removes a field of a document.
func (m *Model) Unset(collection, id, field string) {
	m.t.Helper()
	m.update(collection, id, bson.D{{"$unset", bson.D{{field, 1}}}})
}

// Kill changes the life of an entity.
func (m *Model) Kill(collection, id string, life entity.Life) {
	m.t.Helper()
	m.Set(collection, id, bson.DocElem{Name: "life", Value: life})
}
