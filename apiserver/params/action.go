package params

import (
	"encoding/json"
	"time"

	"juju/state/entity"
)

// An Action is a task, either to enqueue or enqueued.
type Action struct {
	Tag            Tag            `json:"tag,omitzero"`
	Receiver       string         `json:"receiver"` // a unit's tag or a machine's, or "mysql/leader"
	Name           string         `json:"name"`
	Parameters     map[string]any `json:"parameters,omitempty" limit:"file"`
	Parallel       *bool          `json:"parallel,omitempty"`
	ExecutionGroup *string        `json:"execution-group,omitempty"`
}

// An Actions is the parameter of EnqueueOperation.
type Actions struct {
	Actions []Action `json:"actions,omitempty"`
}

// An ActionMessage is a line that a task has logged.
type ActionMessage struct {
	Timestamp time.Time `json:"timestamp"`
	Message   string    `json:"message"`
}

// An ActionResult describes a task.
type ActionResult struct {
	Action    *Action         `json:"action,omitempty"`
	Enqueued  time.Time       `json:"enqueued,omitzero"`
	Started   time.Time       `json:"started,omitzero"`
	Completed time.Time       `json:"completed,omitzero"`
	Status    string          `json:"status,omitempty"`
	Message   string          `json:"message,omitempty"`
	Log       []ActionMessage `json:"log,omitempty"`
	Output    map[string]any  `json:"output,omitempty"`
	Error     *Error          `json:"error,omitempty"`
}

// An ActionResults is in the order of the request.
type ActionResults struct {
	Results []ActionResult `json:"results,omitempty"`
}

// An EnqueuedActions is the result of EnqueueOperation.
type EnqueuedActions struct {
	OperationTag Tag            `json:"operation,omitzero"`
	Actions      []ActionResult `json:"actions,omitempty"`
}

// An OperationResult describes an operation.
type OperationResult struct {
	OperationTag Tag            `json:"operation,omitzero"`
	Summary      string         `json:"summary"`
	Enqueued     time.Time      `json:"enqueued,omitzero"`
	Started      time.Time      `json:"started,omitzero"`
	Completed    time.Time      `json:"completed,omitzero"`
	Status       string         `json:"status,omitempty"`
	Actions      []ActionResult `json:"actions,omitempty"`
	Error        *Error         `json:"error,omitempty"`
}

// An OperationResults is in the order of the request. Truncated reports whether there are more.
type OperationResults struct {
	Results   []OperationResult `json:"results"`
	Truncated bool              `json:"truncated"`
}

// An OperationQueryArgs selects the operations that have a task matching every list that is not empty.
type OperationQueryArgs struct {
	Applications []string `json:"applications,omitempty"`
	Units        []string `json:"units,omitempty"`
	Machines     []string `json:"machines,omitempty"`
	ActionNames  []string `json:"actions,omitempty"`
	Status       []string `json:"status,omitempty"`
	Limit        *int     `json:"limit,omitempty"`
}

// A RunParams is a command to run on units and machines.
type RunParams struct {
	Commands       string        `json:"commands" limit:"file"`
	Timeout        time.Duration `json:"timeout"`
	Machines       []string      `json:"machines,omitempty"`
	Applications   []string      `json:"applications,omitempty"`
	Units          []string      `json:"units,omitempty"`
	Parallel       *bool         `json:"parallel,omitempty"`
	ExecutionGroup *string       `json:"execution-group,omitempty"`
}

// A FindTags selects the tags that begin with one of the prefixes.
type FindTags struct {
	Prefixes []string `json:"prefixes"`
}

// A FindTagsResults is the matching tags by prefix.
type FindTagsResults struct {
	Matches map[string][]Entity `json:"matches"`
}

// An ApplicationsCharmActionsResults has the actions of several services.
type ApplicationsCharmActionsResults struct {
	Results []ApplicationCharmActionsResult `json:"results,omitempty"`
}

// An ApplicationCharmActionsResult has the actions of one service.
type ApplicationCharmActionsResult struct {
	ApplicationTag Tag                        `json:"application-tag,omitzero"`
	Actions        map[string]CharmActionSpec `json:"actions,omitempty"`
	Error          *Error                     `json:"error,omitempty"`
}

// ActionResultOf returns a task in the wire format.
func ActionResultOf(t entity.Task) ActionResult {
	r := ActionResult{
		Action: &Action{Tag: TagOf(entity.TaskTag(t.ID)), Receiver: entity.ReceiverTag(t.Receiver).String(), Name: t.Name,
			Parameters: jsonMap(t.Params), Parallel: &t.Parallel, ExecutionGroup: &t.Group},
		Enqueued: t.Enqueued, Started: t.Started, Completed: t.Completed, Status: string(t.Status), Message: t.Message,
		Output: jsonMap(t.Results),
	}
	for _, m := range t.Log {
		r.Log = append(r.Log, ActionMessage{m.At, m.Message})
	}
	return r
}

// Task is the inverse of ActionResultOf.
func (r ActionResult) Task() entity.Task {
	t := entity.Task{Enqueued: r.Enqueued, Started: r.Started, Completed: r.Completed,
		Status: entity.TaskStatus(r.Status), Message: r.Message, Results: jsonText(r.Output)}
	if a := r.Action; a != nil {
		t.ID, t.Name, t.Params = a.Tag.ID, a.Name, jsonText(a.Parameters)
		if tag, err := ParseTag(a.Receiver); err == nil {
			t.Receiver = tag.ID
		}
	}
	for _, m := range r.Log {
		t.Log = append(t.Log, entity.TaskMessage{At: m.Timestamp, Message: m.Message})
	}
	return t
}

// OperationResultOf returns an operation in the wire format.
func OperationResultOf(o entity.Operation) OperationResult {
	r := OperationResult{OperationTag: TagOf(entity.OperationTag(o.ID)), Summary: o.Summary, Enqueued: o.Enqueued,
		Status: string(entity.OperationStatus(o.Tasks))}
	for _, t := range o.Tasks {
		r.Actions = append(r.Actions, ActionResultOf(t))
		if r.Started.IsZero() || !t.Started.IsZero() && t.Started.Before(r.Started) {
			r.Started = t.Started
		}
		if entity.TaskStatus(r.Status).IsOver() && t.Completed.After(r.Completed) {
			r.Completed = t.Completed
		}
	}
	return r
}

// Operation is the inverse of OperationResultOf.
func (r OperationResult) Operation() entity.Operation {
	o := entity.Operation{ID: r.OperationTag.ID, Summary: r.Summary, Enqueued: r.Enqueued}
	for _, a := range r.Actions {
		t := a.Task()
		t.Operation = o.ID
		o.Tasks = append(o.Tasks, t)
	}
	return o
}

// jsonMap decodes a JSON map; it returns nil for none.
func jsonMap(text json.RawMessage) (m map[string]any) {
	if len(text) > 0 && json.Unmarshal(text, &m) != nil {
		return nil // state checks what it stores
	}
	return m
}

func jsonText(m map[string]any) json.RawMessage {
	if len(m) == 0 {
		return nil
	}
	text, err := json.Marshal(m)
	if err != nil {
		return nil // it came from JSON
	}
	return text
}
