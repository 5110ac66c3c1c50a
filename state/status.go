package state

import (
	"context"

	"juju/state/entity"
	"juju/state/internal/modelstatus"
)

// Status reads the full status of the model: see modelstatus.Read. MatchStatus selects from it.
func (st *State) Status(ctx context.Context) (*entity.ModelStatus, error) {
	return modelstatus.Read(st.db)
}

// MatchStatus removes from a status what matches none of the patterns: see modelstatus.Match.
func MatchStatus(s *entity.ModelStatus, patterns []string) error {
	return modelstatus.Match(s, patterns)
}

// StatusHistory returns the statuses that a unit or machine has had: see modelstatus.History.
func (st *State) StatusHistory(ctx context.Context, kind entity.HistoryKind, id string,
	filter entity.HistoryFilter) ([]entity.PastStatus, error) {
	return modelstatus.History(st.db, kind, id, filter)
}

// GoalState returns the units of the unit's service, and those that it is related to: see modelstatus.GoalState.
func (u *Unit) GoalState(ctx context.Context) (entity.GoalState, error) {
	return modelstatus.GoalState(u.st.db, u.doc)
}
