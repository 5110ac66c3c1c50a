package params

import "juju/state/entity"

// A WatcherID is the result of methods that start a watch.
type WatcherID struct {
	ID string `json:"watcher-id"`
}

// An Event is the result of a watcher's Next. It is empty for watches that only signal changes; otherwise one of the
// fields is set.
type Event struct {
	Names         []string                    `json:"names,omitempty"`
	RelationUnits *entity.RelationUnitsChange `json:"relation-units,omitempty"`
	Deltas        []Delta                     `json:"deltas,omitempty"`
	Models        []ModelAbstract             `json:"models,omitempty"`
}

// A StringsWatchResults is the result of WatchActionsProgress, in the order of the request.
type StringsWatchResults struct {
	Results []StringsWatchResult `json:"results"`
}

// A StringsWatchResult is a new watch.
type StringsWatchResult struct {
	WatcherID
	Error *Error `json:"error,omitempty"`
}

// A ModelAbstract is the summary of a model that a watch of summaries sends. Of a model that the client no longer sees, it has
// the UUID only.
type ModelAbstract struct {
	UUID        string                `json:"uuid"`
	Removed     bool                  `json:"removed,omitempty"`
	Controller  string                `json:"controller,omitempty"`
	Name        string                `json:"name,omitempty"`
	Admins      []string              `json:"admins,omitempty"`
	Cloud       string                `json:"cloud,omitempty"`
	Region      string                `json:"region,omitempty"`
	Credential  string                `json:"credential,omitempty"` // CLOUD/OWNER/NAME
	Size        ModelSummarySize      `json:"size"`
	Status      string                `json:"status,omitempty"` // green, yellow or red
	Messages    []ModelSummaryMessage `json:"messages,omitempty"`
	Annotations map[string]string     `json:"annotations,omitempty"`
}

// A ModelSummarySize counts what a model has. Containers are machines, too.
type ModelSummarySize struct {
	Machines     int `json:"machines,omitempty"`
	Containers   int `json:"containers,omitempty"`
	Applications int `json:"applications,omitempty"`
	Units        int `json:"units,omitempty"`
	Relations    int `json:"relations,omitempty"`
}

// A ModelSummaryMessage says why a model is not green: the status of a unit or a machine.
type ModelSummaryMessage struct {
	Agent   string `json:"agent"`
	Message string `json:"message"`
}

// Size returns the size of the event's deltas, or of its summaries.
func (e Event) Size() (bytes int64) {
	for _, d := range e.Deltas {
		bytes += int64(len(d.Data))
	}
	for _, m := range e.Models {
		for _, one := range m.Messages {
			bytes += int64(len(one.Agent) + len(one.Message))
		}
	}
	return bytes
}
