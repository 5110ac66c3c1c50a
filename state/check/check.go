// Package check finds and repairs inconsistencies in a database while others use it. It first reads and checks
// everything, and then checks each suspect again on live data, so that temporary inconsistencies are not reported. The
// owner of the database supplies the rules.
package check

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/juju/loggo"
	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
	"juju/state/entity/backoff"
	"juju/state/mongo"
)

var logger = loggo.GetLogger("juju.state.check")

// A Rule checks one document of a collection.
type Rule struct {
	Of string // the documents' collection
	// IDs returns the ids to check; if nil, those of the existing documents.
	IDs   func(v *View) []string
	Judge func(v *View, id string) *Wrong
}

// A Wrong is an inconsistency found by a rule. Rules check what is stored, so their results do not depend on the time.
type Wrong struct {
	Where  DocID
	What   string
	Repair string // describes Ops or Act; "" if there is no repair
	// Ops repair it, provided that everything that was read is unchanged; each is for a different document.
	// Inconsistencies caused by the repair are separate findings.
	Ops []txn.Op
	Act func(context.Context) error // repairs it outside transactions
}

func (w *Wrong) finding() entity.Finding {
	return entity.Finding{Where: w.Where.String(), What: w.What, Repair: w.Repair}
}

func (w *Wrong) same(o *Wrong) bool {
	return o != nil && w.Where == o.Where && w.What == o.What && w.Repair == o.Repair
}

// A Checker checks the documents of one database against rules, and repairs them.
type Checker struct {
	DB    *mongo.Database
	Model string // the model's name, for findings
	Now   time.Time
	Rules []Rule
	// Fields are the collections that the rules read, and the fields of each that they need; an empty list means
	// all fields.
	Fields map[string][]string
}

// stuckAge is the age by which the resumer should have resumed a transaction.
const stuckAge = 2 * time.Minute

// maxPasses limits the passes of a repair. A repair may reveal another problem, but not endlessly.
const maxPasses = 20

// Run returns the inconsistencies, and repairs them if repair is set.
func (k *Checker) Run(ctx context.Context, repair bool) (all []entity.Finding, err error) {
	known := map[entity.Finding]bool{} // already found; not repaired again
	for range maxPasses {
		found, repaired, err := k.pass(ctx, repair, known)
		all = append(all, found...)
		if err != nil || !repaired {
			return all, err
		}
	}
	return all, fmt.Errorf("cannot repair all of %s: each pass finds something new", k.DB.Name())
}

// pass checks everything once, and reports whether it repaired anything.
func (k *Checker) pass(ctx context.Context, repair bool,
	known map[entity.Finding]bool) (all []entity.Finding, repaired bool, err error) {
	note := func(f entity.Finding, mend func(*entity.Finding) error) {
		f.Model = k.Model
		if known[f] {
			return
		}
		known[f] = true
		if repair && f.Repair != "" {
			switch err := mend(&f); {
			case errors.Is(err, ErrNotWrong):
				return
			case err != nil:
				f.Failed = err.Error()
			default:
				f.Done, repaired = true, true
			}
		}
		all = append(all, f)
	}
	problems, err := k.DB.Problems(ctx, k.Now.Add(-stuckAge))
	if err != nil {
		return nil, false, err
	}
	for _, t := range problems {
		note(entity.Finding{Where: fmt.Sprint(t.Collection, " ", t.ID), What: t.What, Repair: t.Repair},
			func(*entity.Finding) error { return t.Mend(ctx) })
	}
	// The copy is not of one moment, because others go on changing the data while it is read. What looks wrong in it is judged again
	// on live data, and only that is reported.
	everything, err := loadedView(ctx, k.DB, k.Fields, k.Now)
	if err != nil {
		return all, repaired, err
	}
	for _, r := range k.Rules {
		ids := everything.ids
		if r.IDs != nil {
			ids = func(string) []string { return r.IDs(everything) }
		}
		for _, id := range ids(r.Of) {
			if err := ctx.Err(); err != nil {
				return all, repaired, context.Cause(ctx)
			}
			mongo.Moved(ctx)
			if r.Judge(everything, id) == nil {
				continue
			}
			w, _, err := k.confirm(ctx, r, id)
			if err != nil {
				return all, repaired, err
			}
			if w != nil {
				note(w.finding(), func(f *entity.Finding) error { return k.mend(ctx, r, id, w, f) })
			}
		}
		if everything.err != nil {
			return all, repaired, everything.err
		}
	}
	return all, repaired, nil
}

// confirm tries up to confirmTries times, because others may be changing the data.
const (
	confirmTries = 20
	confirmPause = time.Millisecond
)

// confirm checks a document again, on live data. It checks twice, and returns the result if everything that
// it read was the same both times and no transaction was in progress on it. A document that keeps changing is
// treated as correct; a later check will find it.
func (k *Checker) confirm(ctx context.Context, r Rule, id string) (*Wrong, *View, error) {
	pauses := backoff.New(confirmPause, 100*time.Millisecond)
	for try := range confirmTries {
		if try > 0 {
			if err := pauses.Sleep(ctx); err != nil {
				return nil, nil, err
			}
		}
		first := liveView(ctx, k.DB, k.Fields, k.Now)
		was := r.Judge(first, id)
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
		second := liveView(ctx, k.DB, k.Fields, k.Now)
		is := r.Judge(second, id)
		if second.err != nil {
			return nil, nil, second.err
		}
		if was.same(is) && maps.Equal(first.read, second.read) {
			return is, second, nil
		}
	}
	logger.Debugf("%s %s of %s keeps changing", r.Of, id, k.DB.Name())
	return nil, nil, nil
}

// ErrNotWrong is returned by a repair that found nothing to repair.
var ErrNotWrong = errors.New("nothing to repair")

// mend repairs a finding as confirm finds it now, and updates f if it has changed.
func (k *Checker) mend(ctx context.Context, r Rule, id string, found *Wrong, f *entity.Finding) error {
	if found.Act != nil {
		return found.Act(ctx)
	}
	right := false
	err := k.DB.Run(ctx, func(int) ([]txn.Op, error) {
		w, v, err := k.confirm(ctx, r, id)
		if err != nil {
			return nil, err
		}
		if right = w == nil || w.Where != found.Where || len(w.Ops) == 0; right {
			return nil, mongo.ErrNothing
		}
		f.What, f.Repair = w.What, w.Repair
		return v.asserting(slices.Clone(w.Ops)), nil
	})
	if err == nil && right {
		return ErrNotWrong
	}
	return err
}
