package hooks

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"
	"unicode/utf8"

	"juju/hooks/tool"
	"juju/state/entity"
)

// A Task is an action or a user's command that runs in a context like a hook's.
type Task struct {
	ID     string
	Name   string         // of the action; entity.CommandTask for a command
	Params map[string]any // of the action
	// Command is a shell command; "" for an action. Timeout is its time limit; 0 means none.
	Command string
	Timeout time.Duration
	// Shell says that the user runs a shell, and Streams are the user's standard input, output and
	// error, to which the command is connected. Only commands of juju-run have these, and no ID.
	Shell   bool
	Streams []*os.File
	// A Parallel task does not wait for the machine's hooks. Those with the same Group wait for
	// each other.
	Parallel bool
	Group    string
}

// shell runs users' commands.
const shell = "/bin/bash"

// keptOutput is how many bytes of each output stream a task's results contain.
const keptOutput = 256 << 10

// errTimedOut is the cancellation cause of a command that exceeds its timeout.
var errTimedOut = fmt.Errorf("command timed out: %w", ErrAbort)

// NewTask converts the controller's task.
func NewTask(t entity.Task) (*Task, error) {
	task := &Task{ID: t.ID, Name: t.Name, Params: map[string]any{}, Parallel: t.Parallel, Group: t.Group}
	if len(t.Params) > 0 {
		decoder := json.NewDecoder(bytes.NewReader(t.Params))
		decoder.UseNumber()
		if err := decoder.Decode(&task.Params); err != nil {
			return nil, fmt.Errorf("cannot read the parameters of task %s: %w", t.ID, err)
		}
		task.Params, _ = withNumbers(task.Params).(map[string]any)
	}
	if t.Name == entity.CommandTask {
		task.Command, _ = task.Params[entity.CommandParam].(string)
		timeout, _ := task.Params[entity.TimeoutParam].(int64)
		task.Timeout = time.Duration(timeout)
	}
	return task, nil
}

// withNumbers converts the numbers in a JSON value to int64 and float64, because YAML writes a whole
// float64 as 1e+06.
func withNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			v[key] = withNumbers(v[key])
		}
	case []any:
		for i := range v {
			v[i] = withNumbers(v[i])
		}
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i
		}
		f, _ := v.Float64() // a number that is too large is infinite
		return f
	}
	return v
}

// dispatchPath returns what runs, as charms with a dispatch know it: "hooks/install",
// "actions/backup", or "" for a user's command.
func (c *Context) dispatchPath() string {
	switch {
	case c.params.Task == nil:
		return "hooks/" + c.HookName()
	case c.params.Task.isCommand():
		return ""
	}
	return "actions/" + c.HookName()
}

// isTask reports whether this is a task of the controller, not a hook or a juju-run command.
func (c *Context) isTask() bool { return c.params.Task != nil && c.params.Task.ID != "" }

// isCommand reports whether the task is a user's command rather than an action.
func (t *Task) isCommand() bool { return t.Command != "" || t.Shell }

// program returns the command line; nil if the charm doesn't have the program. launcher is the hook-tool
// binary.
func (c *Context) program(charmDir, launcher string) ([]string, error) {
	path := c.dispatchPath()
	if path == "" && c.params.Task.Shell {
		return append([]string{launcher}, tool.ShellProgram()...), nil
	}
	if path == "" {
		return []string{shell, "-c", c.params.Task.Command}, nil
	}
	file, err := handler(charmDir, filepath.FromSlash(path))
	if err != nil || file == "" {
		return nil, err
	}
	return []string{file}, nil
}

// A neededLock is a lock that a hook or task waits for.
type neededLock struct{ name, path string }

// locks returns the locks that the hook or task needs, in the order in which all take them, and whether it needs them
// even if the service is exempt. A machine's lock comes first, so that no hook holds up the host while another runs on
// its own machine.
func (c *Context) locks(paths RunnerParams) (needs []neededLock, always bool) {
	switch t := c.params.Task; {
	case t != nil && t.Group != "":
		return []neededLock{{machineLock, fmt.Sprintf("%s.%x", paths.LockPath, t.Group)}}, true
	case t != nil && t.Parallel, paths.LockPath == "":
		return nil, false
	}
	needs = []neededLock{{machineLock, paths.LockPath}}
	if c.params.HostLock && paths.HostLockPath != "" {
		needs = append(needs, neededLock{"host lock", paths.HostLockPath})
	}
	return needs, false
}

const machineLock = "machine lock"

// who describes the hook or task to others that wait for it.
func (c *Context) who() string {
	kind := "hook"
	switch t := c.params.Task; {
	case t == nil:
	case t.Name == entity.CommandTask:
		kind = "command"
	default:
		kind = "action"
	}
	return fmt.Sprintf("%s %q of %s", kind, c.HookName(), c.entity())
}

// Outcome returns a task's outcome; failed is nil if it succeeded. The results are those of action-set, the exit code
// and the output.
func (c *Context) Outcome(failed *FailedError) (entity.TaskOutcome, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	outcome := entity.TaskOutcome{Status: entity.TaskCompleted}
	results := maps.Clone(c.results)
	if results == nil {
		results = map[string]any{}
	}
	code := 0
	if failed != nil {
		code = failed.ExitCode
		switch {
		case failed.Reason == reasonAborted:
			outcome.Status, outcome.Message = entity.TaskAborted, failed.Reason
		case c.params.Task.Command == "" || code <= 0:
			outcome.Status, outcome.Message = entity.TaskFailed, failed.Reason
		}
		if c.failure != "" && outcome.Status != entity.TaskAborted {
			outcome.Status, outcome.Message = entity.TaskFailed, c.failure
		}
	}
	if code >= 0 && !c.missing {
		results["return-code"] = code
	}
	for name, out := range map[string]captured{"stdout": c.stdout, "stderr": c.stderr} {
		out.addTo(results, name)
	}
	text, err := json.Marshal(results)
	outcome.Results = string(text)
	return outcome, err
}

// captured is a task's output on one stream.
type captured struct {
	text    []byte
	dropped int64 // bytes beyond it
}

func (c captured) addTo(results map[string]any, name string) {
	if len(c.text) == 0 {
		return
	}
	text := string(c.text)
	if c.dropped > 0 {
		text = fmt.Sprintf("%s\n[%d bytes cut]\n", text, c.dropped)
	}
	if !utf8.ValidString(text) {
		results[name], results[name+"-encoding"] = base64.StdEncoding.EncodeToString([]byte(text)), "base64"
		return
	}
	results[name] = text
}
