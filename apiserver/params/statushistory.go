package params

import (
	"time"

	"juju/state/entity"
)

// A StatusHistoryRequests is the parameter of Client 7 StatusHistory.
type StatusHistoryRequests struct {
	Requests []StatusHistoryRequest `json:"requests"`
}

// A StatusHistoryRequest selects the history of one entity.
type StatusHistoryRequest struct {
	Kind   string              `json:"historyKind"`
	Size   int                 `json:"size"` // from older clients; ignored in favour of the filter's
	Filter StatusHistoryFilter `json:"filter"`
	Tag    Tag                 `json:"tag"`
}

// A StatusHistoryFilter selects statuses by number, by date, or by age.
type StatusHistoryFilter struct {
	Size    int            `json:"size"`
	Date    *Time          `json:"date"`
	Delta   *time.Duration `json:"delta"` // in nanoseconds
	Exclude []string       `json:"exclude"`
}

// A StatusHistoryResults has the histories in the order of the request.
type StatusHistoryResults struct {
	Results []StatusHistoryResult `json:"results"`
}

// A StatusHistoryResult is one history, or an error.
type StatusHistoryResult struct {
	History History `json:"history"`
	Error   *Error  `json:"error,omitempty"`
}

// A History is the statuses of an entity, oldest first.
type History struct {
	Statuses []DetailedStatus `json:"statuses"`
	Error    *Error           `json:"error,omitempty"`
}

// HistoryOf returns a history in the wire format.
func HistoryOf(past []entity.PastStatus) History {
	h := History{Statuses: make([]DetailedStatus, 0, len(past))}
	for _, p := range past {
		s := detailed(p.Status, entity.Alive)
		s.Kind = string(p.Kind)
		h.Statuses = append(h.Statuses, s)
	}
	return h
}

// Past is the inverse of HistoryOf.
func (h History) Past() []entity.PastStatus {
	past := make([]entity.PastStatus, 0, len(h.Statuses))
	for _, s := range h.Statuses {
		status, _ := s.read()
		past = append(past, entity.PastStatus{Kind: entity.HistoryKind(s.Kind), Status: status})
	}
	return past
}
