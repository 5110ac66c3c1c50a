package modeldb

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"juju/state/entity"
)

// An Operation is a user's request for tasks. It is removed with the last of them.
type Operation struct {
	ID       string    `bson:"_id"` // its number
	Summary  string    `bson:"summary"`
	Enqueued time.Time `bson:"enqueued"`
}

// A Task is an action of a unit, or a command that runs on a unit or machine. It outlives its
// receiver.
type Task struct {
	ID        string               `bson:"_id"` // see TaskID
	Number    int                  `bson:"number"`
	Operation string               `bson:"operation"`
	Receiver  string               `bson:"unit"` // the unit, or the id of the machine
	Name      string               `bson:"name"`
	Params    string               `bson:"params"` // JSON, because the charm chooses its keys
	Parallel  bool                 `bson:"parallel,omitempty"`
	Group     string               `bson:"group,omitempty"`
	Status    entity.TaskStatus    `bson:"status"`
	Message   string               `bson:"message,omitempty"`
	Results   string               `bson:"results,omitempty"` // JSON
	Log       []entity.TaskMessage `bson:"log,omitempty"`
	Enqueued  time.Time            `bson:"enqueued"`
	Started   time.Time            `bson:"started,omitempty"`
	Completed time.Time            `bson:"completed,omitempty"`
	Size      int                  `bson:"size,omitempty"` // of the whole document in bytes, once complete
}

func (d Task) Task() entity.Task {
	return entity.Task{
		ID: strconv.Itoa(d.Number), Operation: d.Operation, Receiver: d.Receiver, Name: d.Name,
		Params: rawJSON(d.Params), Parallel: d.Parallel, Group: d.Group, Status: d.Status, Message: d.Message,
		Results: rawJSON(d.Results), Log: d.Log, Enqueued: d.Enqueued, Started: d.Started, Completed: d.Completed,
	}
}

func rawJSON(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	return json.RawMessage(text)
}

// On returns the receiver's name as shown to users.
func (d Task) On() string {
	return fmt.Sprintf("%s %q", entity.ReceiverTag(d.Receiver).Kind, d.Receiver)
}
