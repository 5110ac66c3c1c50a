package hooktools

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"
)

var resourceGetInfo = commandInfo{
	args:    "<resource name>",
	purpose: "Print the path of a resource's file.",
	details: `The file is fetched from the controller, unless the unit has it already. It stays until the
unit fetches a newer one, and until the hook ends it is the same for all calls. The
resource must be declared in metadata.yaml, and a user must have uploaded its file.
`,
	examples: []string{"resource-get site"},
	make:     func() command { return &resourceGet{} },
}

type resourceGet struct{ name string }

func (t *resourceGet) flags(flags *pflag.FlagSet) { addIgnoredFormat(flags) }

func (t *resourceGet) init(_ Context, args []string) error {
	if len(args) == 0 {
		return errors.New("missing required resource name")
	}
	t.name = args[0]
	return checkEmpty(args[1:])
}

func (t *resourceGet) run(ctx context.Context, run *toolRun) error {
	path, err := run.hook.Resource(ctx, t.name)
	if err != nil {
		return fmt.Errorf("could not download resource: %w", err)
	}
	_, err = run.stdout.WriteString(path)
	return err
}
