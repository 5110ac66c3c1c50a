package params

import (
	"time"

	"juju/state/entity"
)

// A StatusHistoryRequests is what Client 7 StatusHistory takes.
type StatusHistoryRequests struct {
	Requests []StatusHistoryRequest `json:"requests"`
}

// A StatusHistoryRequest asks for the history of one entity.
type StatusHistoryRequest struct {
	Kind   string              `json:"historyKind"`
	Size   int                 `json:"size"` // of older clients; ignored in favour of the filter's
	Filter StatusHistoryFilter `json:"filter"`
	Tag    Tag                 `json:"tag"`
}

// A StatusHistoryFilter selects from a history by one of: a number, a date, or how long ago.
type StatusHistoryFilter struct {
	Size    int            `json:"size"`
	Date    *time.Time     `json:"date"`
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

// A History is the statuses of an entity, the oldest first.
type History struct {
	Statuses []DetailedStatus `json:"statuses"`
	Error    *Error           `json:"error,omitempty"`
}

// HistoryOf returns the wire's form of a history.
func HistoryOf(past []entity.PastStatus) History {
	h := History{Statuses: make([]DetailedStatus, 0, len(past))}
	for _, p := range past {
		s := detailed(p.Status, entity.Alive)
		s.Kind = string(p.Kind)
		h.Statuses = append(h.Statuses, s)
	}
	return h
}

// Past returns what HistoryOf was given.
func (h History) Past() []entity.PastStatus {
	past := make([]entity.PastStatus, 0, len(h.Statuses))
	for _, s := range h.Statuses {
		status, _ := s.read()
		past = append(past, entity.PastStatus{Kind: entity.HistoryKind(s.Kind), Status: status})
	}
	return past
}
