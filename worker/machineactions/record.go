package machineactions

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"juju/agent/host/atomicfile"
	"juju/hooks"
	"juju/state/entity"
)

// finishTimeout limits how long an agent that is told to end tries to tell the controller how a task
// has ended. After that, the next agent does.
const finishTimeout = 10 * time.Second

// A record says what runs, or how it has ended. The zero record says that nothing runs.
type record struct {
	Task    string              `json:"task,omitempty"` // "" for a command of a user of the machine
	Process *hooks.Process      `json:"process,omitempty"`
	Outcome *entity.TaskOutcome `json:"outcome,omitempty"` // of a task that has ended
}

// A recordFile is the path of the file with the record; a missing file is the zero record.
type recordFile string

func (f recordFile) read() (r record, err error) {
	text, err := os.ReadFile(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		err = fmt.Errorf("cannot read which command runs: %w", err)
	}
	return r, err
}

func (f recordFile) write(r record) error {
	text, err := json.Marshal(r)
	if err == nil {
		err = atomicfile.WriteFile(string(f), text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("cannot record which command runs: %w", err)
	}
	return nil
}

func (f recordFile) clear() error {
	if err := os.Remove(string(f)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot record that no command runs: %w", err)
	}
	return nil
}
