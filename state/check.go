package state

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
	"juju/state/mongo"
)

// A rule says what can be wrong with one document, of which there are many.
type rule struct {
	of string // the collection of the documents
	// ids are what is judged instead of the documents that are there.
	ids   func(v *view) []string
	judge func(v *view, id string) *wrong
}

// wrong is what a rule finds. It is judged anew each time, from what is there
// then: nothing of it depends on the time.
type wrong struct {
	where  docID
	what   string
	repair string // what ops or act do; "" when there is nothing they could do
	// ops mend it, if all that was looked at is as it was; each concerns another
	// document. What follows from them is another finding.
	ops []txn.Op
	act func(context.Context) error // for what is not a transaction's
}

func (w *wrong) finding() entity.Finding {
	return entity.Finding{Where: w.where.String(), What: w.what, Repair: w.repair}
}

func (w *wrong) same(o *wrong) bool {
	return o != nil && w.where == o.where && w.what == o.what && w.repair == o.repair
}

// A checker holds the records of one database against rules, and mends them.
type checker struct {
	db     *mongo.Database
	model  string // its name, for findings
	now    time.Time
	rules  []rule
	fields map[string][]string
}

// stuckAge is how old a transaction is when the resumer must have come across it.
const stuckAge = 2 * time.Minute

// passesMost bounds how often a repair looks again: to mend one thing may show
// another, never for long.
const passesMost = 20

// run returns what is wrong, and mends it if it should.
func (k *checker) run(ctx context.Context, repair bool) (all []entity.Finding, err error) {
	known := map[entity.Finding]bool{} // those that can't be mended
	for range passesMost {
		found, mended, err := k.pass(ctx, repair, known)
		all = append(all, found...)
		if err != nil || !mended {
			return all, err
		}
	}
	return all, fmt.Errorf("cannot mend all of %s: something is wrong again each time", k.db.Name())
}

// pass looks at everything once. It reports whether anything was mended.
func (k *checker) pass(ctx context.Context, repair bool, known map[entity.Finding]bool) (all []entity.Finding, mended bool, err error) {
	note := func(f entity.Finding, mend func(*entity.Finding) error) {
		f.Model = k.model
		if known[f] {
			return
		}
		known[f] = true
		if repair && f.Repair != "" {
			switch err := mend(&f); {
			case errors.Is(err, errNotWrong):
				return
			case err != nil:
				f.Failed = err.Error()
			default:
				f.Done, mended = true, true
			}
		}
		all = append(all, f)
	}
	problems, err := k.db.Problems(ctx, k.now.Add(-stuckAge))
	if err != nil {
		return nil, false, err
	}
	for _, t := range problems {
		note(entity.Finding{Where: fmt.Sprint(t.Collection, " ", t.ID), What: t.What, Repair: t.Repair},
			func(*entity.Finding) error { return t.Mend(ctx) })
	}
	everything, err := loadedView(k.db, k.fields, k.now)
	if err != nil {
		return all, mended, err
	}
	for _, r := range k.rules {
		ids := everything.ids
		if r.ids != nil {
			ids = func(string) []string { return r.ids(everything) }
		}
		for _, id := range ids(r.of) {
			if err := ctx.Err(); err != nil {
				return all, mended, context.Cause(ctx)
			}
			if r.judge(everything, id) == nil {
				continue
			}
			w, _, err := k.confirm(ctx, r, id)
			if err != nil {
				return all, mended, err
			}
			if w != nil {
				note(w.finding(), func(f *entity.Finding) error { return k.mend(ctx, r, id, w, f) })
			}
		}
		if everything.err != nil {
			return all, mended, everything.err
		}
	}
	return all, mended, nil
}

// The bounds of looking closely at what others are just changing.
const (
	looks     = 20
	lookPause = time.Millisecond
)

// confirm judges a document from what is there now. It looks twice, and believes
// what it sees when all that it looked at was the same both times, and nothing was
// being done to it in between. What is never still is not wrong: then there is
// another time.
func (k *checker) confirm(ctx context.Context, r rule, id string) (*wrong, *view, error) {
	pause := lookPause
	for look := range looks {
		if look > 0 {
			if err := mongo.Sleep(ctx, pause); err != nil {
				return nil, nil, err
			}
			pause = min(2*pause, 100*time.Millisecond)
		}
		first := liveView(k.db, k.fields, k.now)
		was := r.judge(first, id)
		if first.err != nil {
			return nil, nil, first.err
		}
		if was == nil {
			return nil, nil, nil
		}
		if settled, err := first.settled(); err != nil {
			return nil, nil, err
		} else if !settled {
			continue
		}
		second := liveView(k.db, k.fields, k.now)
		is := r.judge(second, id)
		if second.err != nil {
			return nil, nil, second.err
		}
		if was.same(is) && maps.Equal(first.read, second.read) {
			return is, second, nil
		}
	}
	logger.Debugf("%s %s of %s is never still", r.of, id, k.db.Name())
	return nil, nil, nil
}

// errNotWrong is what mending ends with that there is nothing to mend any more.
var errNotWrong = errors.New("it is right by now")

// mend mends what was found, as it is by now: f says what that was.
func (k *checker) mend(ctx context.Context, r rule, id string, found *wrong, f *entity.Finding) error {
	if found.act != nil {
		return found.act(ctx)
	}
	right := false
	err := change(ctx, k.db, func(o *ops) error {
		w, v, err := k.confirm(ctx, r, id)
		if err != nil {
			return err
		}
		if right = w == nil || w.where != found.where || len(w.ops) == 0; right {
			return mongo.ErrNothing
		}
		f.What, f.Repair = w.what, w.repair
		o.list = v.asserting(slices.Clone(w.ops))
		return nil
	})
	if err == nil && right {
		return errNotWrong
	}
	return err
}

// Check looks at every record of the model for what can't be: counts that are not
// true, records that name others which are not there, transactions that came to no
// end. It can do so while everybody works: what only seems wrong for a moment is
// not told. With repair it mends what it finds, which can show more, until nothing
// is left to mend.
func (st *State) Check(ctx context.Context, repair bool) ([]entity.Finding, error) {
	k := &checker{db: st.db, model: st.name, now: st.controller.now(), rules: st.rules(), fields: modelFields}
	found, err := k.run(ctx, repair)
	if err != nil {
		return found, fmt.Errorf("cannot check model %q: %w", st.name, err)
	}
	return found, nil
}
