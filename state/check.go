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

// A rule says what can be wrong with one document of a collection.
type rule struct {
	of string // the collection of the documents
	// ids returns the ids to judge, if those are not the documents that exist.
	ids   func(v *view) []string
	judge func(v *view, id string) *wrong
}

// A wrong is what a rule finds. A rule judges what is stored now, so its result does not
// depend on the time.
type wrong struct {
	where  docID
	what   string
	repair string // what ops or act do; "" if nothing can be done
	// ops repair it, provided that everything that was read is unchanged; each is on a
	// different document. What follows from them is another finding.
	ops []txn.Op
	act func(context.Context) error // for repairs outside transactions
}

func (w *wrong) finding() entity.Finding {
	return entity.Finding{Where: w.where.String(), What: w.what, Repair: w.repair}
}

func (w *wrong) same(o *wrong) bool {
	return o != nil && w.where == o.where && w.what == o.what && w.repair == o.repair
}

// A checker checks the documents of one database against rules, and repairs them.
type checker struct {
	db     *mongo.Database
	model  string // the model's name, for findings
	now    time.Time
	rules  []rule
	fields map[string][]string
}

// stuckAge is the age at which the resumer must have found a transaction.
const stuckAge = 2 * time.Minute

// maxPasses bounds a repair's passes: one repair may show another problem, but not for
// long.
const maxPasses = 20

// run returns what is wrong, and repairs it if asked to.
func (k *checker) run(ctx context.Context, repair bool) (all []entity.Finding, err error) {
	known := map[entity.Finding]bool{} // found already, and not repaired again
	for range maxPasses {
		found, mended, err := k.pass(ctx, repair, known)
		all = append(all, found...)
		if err != nil || !mended {
			return all, err
		}
	}
	return all, fmt.Errorf("cannot repair all of %s: each pass finds something new", k.db.Name())
}

// pass checks everything once, and reports whether it repaired anything.
func (k *checker) pass(ctx context.Context, repair bool,
	known map[entity.Finding]bool) (all []entity.Finding, mended bool, err error) {
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

// Confirming retries up to looks times, because others may be changing what it reads.
const (
	looks     = 20
	lookPause = time.Millisecond
)

// confirm judges a document again, on live data. It judges twice, and returns the result
// if everything that it read was the same both times and no transaction was at work on
// it. A document that keeps changing counts as right: a later check finds it.
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
	logger.Debugf("%s %s of %s keeps changing", r.of, id, k.db.Name())
	return nil, nil, nil
}

// errNotWrong is the result of a repair that found nothing to repair.
var errNotWrong = errors.New("nothing is wrong any more")

// mend repairs a finding as it is now, and updates f if it has changed.
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

// Check looks at every record of the model for what can't be: wrong counts, references to
// documents that do not exist, unfinished transactions. It can run while others change
// the model, and does not report what is wrong only for a moment. With repair it repairs
// what it finds, and what that shows in turn, until nothing is left to repair.
func (st *State) Check(ctx context.Context, repair bool) ([]entity.Finding, error) {
	k := &checker{db: st.db, model: st.name, now: st.controller.now(), rules: st.rules(), fields: modelFields}
	found, err := k.run(ctx, repair)
	if err != nil {
		return found, fmt.Errorf("cannot check model %q: %w", st.name, err)
	}
	return found, nil
}
