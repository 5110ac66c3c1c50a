package hooktools

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"juju/state/limits"
)

var jujuFailInfo = commandInfo{
	args:    "<message>",
	purpose: "Make the hook fail, and say why.",
	details: `The hook fails when it exits, whatever its exit code, and the unit's status shows
the message. The last message counts.
`,
	examples: []string{"juju-fail 'cannot reach the database: ask its owner to open port 5432'"},
	shown:    true,
	make:     func() command { return &jujuFail{} },
}

type jujuFail struct{ message string }

func (t *jujuFail) flags(*pflag.FlagSet) {}

func (t *jujuFail) init(hook Context, args []string) error {
	t.message = strings.Join(args, " ")
	if strings.TrimSpace(t.message) == "" {
		return errors.New("no message specified")
	}
	// The status shows it after the name of the hook.
	return limits.StatusMessage.CheckText(fmt.Sprintf("hook failed: %q: %s", hook.HookName(), t.message))
}

func (t *jujuFail) run(_ context.Context, run *toolRun) error {
	run.hook.Fail(t.message)
	return nil
}
