package uniter

import (
	"fmt"
	"strings"
	"testing"

	"juju/charm/journaltest"
	"juju/hooks"
	"juju/worker/uniter/localstate"
)

// A journal is what happens to the unit "web/0" and what its hooks do, and its checker.
type journal struct {
	t       *testing.T
	checker *journaltest.Checker
	lines   []string
	wrong   []string // besides what the checker finds
}

func newJournal(t *testing.T) *journal { return &journal{t: t, checker: journaltest.NewChecker()} }

// note writes a line, as package journaltest documents them; those that begin with # are comments.
func (j *journal) note(format string, args ...any) {
	j.t.Helper()
	line := fmt.Sprintf(format, args...)
	j.lines = append(j.lines, line)
	entries, err := journaltest.Parse(line, len(j.lines))
	for _, e := range entries {
		if err == nil {
			err = j.checker.Add(e)
		}
	}
	if err != nil {
		j.t.Fatalf("%v\n%s", err, j)
	}
}

func (j *journal) complain(format string, args ...any) {
	j.wrong = append(j.wrong, fmt.Sprintf(format, args...))
	j.note("# %s", j.wrong[len(j.wrong)-1])
}

// report fails the test if anything is wrong.
func (j *journal) report() {
	j.t.Helper()
	if len(j.wrong) > 0 || len(j.checker.Violations()) > 0 {
		j.t.Error(j)
	}
}

func (j *journal) String() string {
	var text strings.Builder
	for _, v := range j.checker.Violations() {
		fmt.Fprintln(&text, v)
	}
	for _, w := range j.wrong {
		fmt.Fprintln(&text, w)
	}
	text.WriteString("in\n")
	for i, line := range j.lines {
		fmt.Fprintf(&text, "%d\t%s\n", i+1, line)
	}
	return text.String()
}

// configOf is how the journal names what a config-changed hook is about.
func configOf(c localstate.Config) string { return fmt.Sprintf("%d/%s", c.Version, c.PrivateAddress) }

// keys returns the keys of the line that says that a hook begins. name is that of its file.
func keys(name string, s localstate.State) (keys string) {
	set := func(key string, value any) { keys += fmt.Sprintf(" %s=%v", key, value) }
	set("charm", s.Charm)
	hook := s.Op.Hook
	if hook.Kind.IsRelation() {
		set("relation", relationID(strings.TrimSuffix(name, "-"+string(hook.Kind)), hook.RelationID))
	}
	if remote := hook.Remote(); remote != "" {
		set("remote", remote)
	}
	if hook.Storage != "" {
		set("storage", hook.Storage)
	}
	switch hook.Kind {
	case hooks.RelationJoined, hooks.RelationChanged, hooks.LeaderSettingsChanged:
		set("version", hook.ChangeVersion)
	case hooks.LeaderElected:
		set("claim", hook.ChangeVersion)
	case hooks.ConfigChanged:
		set("config", configOf(s.Op.Config))
	}
	return keys
}

func relationID(endpoint string, id int) string { return fmt.Sprintf("%s:%d", endpoint, id) }
