package state

import (
	"context"
	"strconv"
	"strings"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/explain"
	"juju/state/internal/modeldb"
	"juju/state/internal/modelstatus"
)

// FindEntity returns the tag of an entity given by a user: a unit, machine, service or storage instance by its name; a
// relation by its key, its id as in "relation 5", or its two services or endpoints.
func (st *State) FindEntity(ctx context.Context, words ...string) (entity.Tag, error) {
	if len(words) == 1 {
		words = strings.Fields(words[0])
	}
	switch {
	case len(words) == 2 && words[0] == string(entity.KindRelation):
		if id, err := strconv.Atoi(words[1]); err == nil {
			r, err := st.RelationByID(ctx, id)
			if err != nil {
				return entity.Tag{}, err
			}
			return entity.RelationTag(r.doc.Key), nil
		}
	case len(words) == 2 && words[0] == string(entity.KindOffer):
		return entity.OfferTag(words[1]), nil
	case len(words) == 1 && entity.IsValidMachine(words[0]):
		return entity.MachineTag(words[0]), nil
	case len(words) == 1 && st.isStorage(ctx, words[0]):
		return entity.StorageTag(words[0]), nil
	case len(words) == 1 && entity.IsValidUnit(words[0]):
		return entity.UnitTag(words[0]), nil
	case len(words) == 1 && entity.IsValidService(words[0]):
		return entity.ServiceTag(words[0]), nil
	case len(words) == 0 || len(words) > 2:
		return entity.Tag{}, entity.WithHint(entity.Errorf(entity.Invalid, "unrecognized entity %q",
			strings.Join(words, " ")),
			"Specify a unit, machine or service, or the two services of a relation.")
	}
	r, err := st.Relation(ctx, words...)
	if err != nil {
		return entity.Tag{}, err
	}
	return entity.RelationTag(r.doc.Key), nil
}

// isStorage reports whether a name is that of a storage instance, or of a removed one whose filesystem remains, rather
// than of a unit: their names have the same form.
func (st *State) isStorage(ctx context.Context, name string) bool {
	if !entity.IsValidStorage(name) {
		return false
	}
	if _, err := st.Unit(ctx, name); !entity.IsNotFound(err) {
		return false
	}
	if _, err := st.Storage(ctx, name); err == nil {
		return true
	}
	left, err := st.db.Leftovers(ctx, bson.D{{"of", modeldb.StorageKey(name)}})
	return err == nil && len(left) > 0
}

// Explainer explains why entities have not started or have not been removed yet. It is for what is asked at one time.
func (st *State) Explainer() *explain.Explainer { return explain.New(st.db) }

// Unsettled returns the tags of the entities that an Explainer has reasons for: those that are Dying, Dead or not started.
func (st *State) Unsettled(ctx context.Context) ([]entity.Tag, error) {
	return explain.Unsettled(ctx, st.db)
}

// Status reads the full status of the model: see modelstatus.Read. MatchStatus selects from it.
func (st *State) Status(ctx context.Context) (*entity.ModelStatus, error) {
	return modelstatus.Read(ctx, st.db)
}

// Backlog counts what in a model waits, or has failed: see modelstatus.Backlog.
func Backlog(ctx context.Context, st *State) (entity.Backlog, error) {
	return modelstatus.Backlog(ctx, st.db)
}

// MatchStatus removes from a status what matches none of the patterns: see modelstatus.Match.
func MatchStatus(s *entity.ModelStatus, patterns []string) error {
	return modelstatus.Match(s, patterns)
}

// StatusHistory returns the statuses that an entity has had: see modelstatus.History.
func (st *State) StatusHistory(ctx context.Context, kind entity.HistoryKind, id string,
	filter entity.HistoryFilter) ([]entity.PastStatus, error) {
	return modelstatus.History(ctx, st.db, kind, id, filter)
}

// GoalState returns the units of the unit's service, and those that it is related to: see modelstatus.GoalState.
func (u *Unit) GoalState(ctx context.Context) (entity.GoalState, error) {
	return modelstatus.GoalState(ctx, u.st.db, u.doc)
}
