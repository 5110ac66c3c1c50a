package mongo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/mongo/servertxn"
)

// A Form is a collection's metadata: its name, options and indexes.
type Form struct {
	DB      string   `bson:"db"`
	Name    string   `bson:"name"`
	Options bson.D   `bson:"options"` // such as capped and size
	Indexes []bson.D `bson:"indexes"` // as createIndexes takes them, except for that of _id
}

// String returns the collection's full name.
func (f Form) String() string { return f.DB + "." + f.Name }

// A Snapshot reads the whole store as of a single moment.
type Snapshot struct {
	Forms []Form // of all collections, sorted

	ctx              context.Context
	concern          []bson.DocElem // for the majority
	session          *mgo.Session
	one              *servertxn.Session
	opened           time.Time
	begun, confirmed bool
}

// snapshotAttempts limits how often a snapshot is restarted because a collection was created or removed.
const snapshotAttempts = 5

var errFormsChanged = errors.New("collections are created or removed all the time")

// canSnapshot returns an error if the store has no transactions.
func (s *Store) canSnapshot() error {
	if s.transactions {
		return nil
	}
	return entity.WithHint(entity.Errorf(entity.NotSupported,
		"cannot read the store at one moment: it has no transactions"),
		"A MongoDB has them from version 4.0, in a replica set.")
}

// Snapshot calls f with a snapshot of all databases. A store without transactions is refused. A MongoDB ends a
// transaction that is older than a minute, and so a snapshot; reading it then fails.
func (s *Store) Snapshot(ctx context.Context, f func(*Snapshot) error) error {
	if err := s.canSnapshot(); err != nil {
		return err
	}
	for range snapshotAttempts {
		if err := s.snapshot(ctx, f); !errors.Is(err, errFormsChanged) {
			return err
		}
	}
	return fmt.Errorf("cannot read the store at one moment: %w", errFormsChanged)
}

func (s *Store) snapshot(ctx context.Context, f func(*Snapshot) error) error {
	session := s.session.Copy()
	defer session.Close()
	snap := &Snapshot{ctx: ctx, concern: s.backend.concern(), session: session, one: servertxn.NewSession(), opened: time.Now()}
	defer snap.end()
	// Collections can't be listed in a transaction.
	var err error
	if snap.Forms, err = s.forms(ctx, session); err != nil {
		return err
	}
	for _, form := range snap.Forms[:min(1, len(snap.Forms))] {
		if _, err := snap.find(form, nil, 1); err != nil {
			return err
		}
	}
	after, err := s.forms(ctx, session)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(snap.Forms, after) {
		return errFormsChanged
	}
	if err := f(snap); err != nil {
		return err
	}
	return snap.confirm()
}

// confirm makes sure that nothing that was read will be rolled back: only the commit of a transaction guarantees that.
func (s *Snapshot) confirm() error {
	if !s.begun {
		return nil
	}
	if err := s.one.Commit(s.session, s.concern); err != nil {
		return fmt.Errorf("cannot read the store at one moment: %w", err)
	}
	s.confirmed = true
	return nil
}

// forms returns the forms of all collections.
func (s *Store) forms(ctx context.Context, session *mgo.Session) (forms []Form, err error) {
	names, err := s.Databases(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		db := session.DB(name)
		collections, err := list(db, "listCollections", 1)
		if err != nil {
			return nil, fmt.Errorf("cannot list the collections of %s: %w", name, s.Told(err))
		}
		for _, c := range collections {
			form := Form{DB: name}
			form.Name, _ = c.Map()["name"].(string)
			form.Options, _ = c.Map()["options"].(bson.D)
			if strings.HasPrefix(form.Name, "system.") {
				continue
			}
			indexes, err := list(db, "listIndexes", form.Name)
			if err != nil {
				return nil, fmt.Errorf("cannot list the indexes of %s: %w", form, s.Told(err))
			}
			for _, index := range indexes {
				if index.Map()["name"] != "_id_" {
					form.Indexes = append(form.Indexes, slices.DeleteFunc(index, func(e bson.DocElem) bool { return e.Name == "ns" }))
				}
			}
			forms = append(forms, form)
		}
	}
	slices.SortFunc(forms, func(a, b Form) int { return cmp.Or(cmp.Compare(a.DB, b.DB), cmp.Compare(a.Name, b.Name)) })
	return forms, nil
}

// maxListed limits the length of a list of collections or indexes. A store has far fewer.
const maxListed = 100_000

// list runs a command that lists collections or indexes.
func list(db *mgo.Database, command string, of any) ([]bson.D, error) {
	var reply struct {
		Cursor struct {
			First []bson.D `bson:"firstBatch"`
		}
	}
	err := db.Run(bson.D{{command, of}, {"cursor", bson.D{{"batchSize", maxListed}}}}, &reply)
	return reply.Cursor.First, err
}

// A snapBatch is one batch of a cursor's documents.
type snapBatch struct {
	Cursor struct {
		ID    int64      `bson:"id"`
		First []bson.Raw `bson:"firstBatch"`
		Next  []bson.Raw `bson:"nextBatch"`
	}
}

// find returns the first documents of a collection that match filter; nil matches all.
func (s *Snapshot) find(form Form, filter bson.D, n int) (*snapBatch, error) {
	return s.run(form, bson.D{{"find", form.Name}, {"filter", filter}, {"batchSize", n}})
}

// run runs a command of the snapshot's transaction.
func (s *Snapshot) run(form Form, command bson.D) (*snapBatch, error) {
	if err := context.Cause(s.ctx); err != nil {
		return nil, err
	}
	b := &snapBatch{}
	if err := s.session.DB(form.DB).Run(s.one.In(command, !s.begun), b); err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", form, s.ended(err))
	}
	s.begun = true
	return b, nil
}

// endedCodes are MongoDB's codes of a snapshot that it no longer has. SnapshotTooOld, SnapshotUnavailable, NoSuchTransaction.
var endedCodes = []int{239, 246, servertxn.CodeNoSuchTransaction}

// ended tells whether the server has ended the snapshot.
func (s *Snapshot) ended(err error) error {
	var q *mgo.QueryError
	if !errors.As(err, &q) || !slices.Contains(endedCodes, q.Code) {
		return err
	}
	return entity.WithHint(entity.Errorf(entity.Unavailable, "the store ended the snapshot after %v",
		time.Since(s.opened).Round(time.Second)),
		"Try again. If it takes more than a minute, raise the MongoDB's parameter transactionLifetimeLimitSeconds.")
}

// batchDocs is the number of documents requested at a time. A reply has fewer if they are large.
const batchDocs = 1000

// Each calls f with each document of a collection that matches filter; nil matches all.
func (s *Snapshot) Each(form Form, filter bson.D, f func(bson.Raw) error) error {
	b, err := s.find(form, filter, batchDocs)
	for err == nil {
		for _, doc := range append(b.Cursor.First, b.Cursor.Next...) {
			if err := f(doc); err != nil {
				return err
			}
		}
		if b.Cursor.ID == 0 {
			return nil
		}
		b, err = s.run(form, bson.D{{"getMore", b.Cursor.ID}, {"collection", form.Name}, {"batchSize", batchDocs}})
	}
	return err
}

// end ends the transaction and its session.
func (s *Snapshot) end() {
	if !s.begun {
		return
	}
	var err error
	if !s.confirmed {
		err = s.one.Abort(s.session)
	}
	if err == nil {
		err = servertxn.End(s.session, s.one)
	}
	if err != nil {
		logger.Debugf("cannot end a snapshot: %v", err)
	}
}
