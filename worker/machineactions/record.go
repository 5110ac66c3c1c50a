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

// finishTimeout limits how long a stopping agent tries to report a task's outcome. After that, the next
// agent does.
const finishTimeout = 10 * time.Second

// A record describes the running command, or the outcome of one that has ended. The zero record means that
// nothing is running.
type record struct {
	Task    string              `json:"task,omitempty"` // "" for a command from juju-run
	Process *hooks.Process      `json:"process,omitempty"`
	Outcome *entity.TaskOutcome `json:"outcome,omitempty"` // of a task that has ended
}

// A recordFile is the path of the record's file; a missing file is the zero record.
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
		err = fmt.Errorf("cannot read the record of the running command: %w", err)
	}
	return r, err
}

func (f recordFile) write(r record) error {
	text, err := json.Marshal(r)
	if err == nil {
		err = atomicfile.WriteFile(string(f), text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("cannot record the running command: %w", err)
	}
	return nil
}

func (f recordFile) clear() error {
	if err := os.Remove(string(f)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot clear the record of the running command: %w", err)
	}
	return nil
}
