package actions

import (
	"bytes"
	"testing"
	"time"

	"juju/apiserver/display"
	"juju/cmd/juju/cli"
	"juju/state/entity"
)

// What a task has logged is printed once, however often the operation is read.
func TestLogsAreFollowed(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	seen := followLogs(&cli.Session{Stderr: display.NewWriter(&out)})
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)
	task := entity.Task{ID: "2", Receiver: "web/0"}
	for _, text := range []string{"one", "", "two", "three"} {
		if text != "" {
			task.Log = append(task.Log, entity.TaskMessage{At: at, Message: text})
		}
		seen(entity.Operation{ID: "1", Tasks: []entity.Task{task}})
	}
	if want := "03:04:05 one\n03:04:05 two\n03:04:05 three\n"; out.String() != want {
		t.Errorf("printed\n%swant\n%s", out.String(), want)
	}
}
