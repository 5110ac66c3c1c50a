package hooktools

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"juju/state/entity"
)

var payloadRegisterInfo = commandInfo{
	args:    "<type> <class> <id> [<tag> ...]",
	purpose: "Register a running payload.",
	details: `The class must be one of the charm's payloads, and of this type. A unit has one payload of
each class: another one replaces it. Its status is running until payload-status-set
changes it. Users list payloads with juju payloads; the tags are for them. The payload is
registered when the hook succeeds.
`,
	examples: []string{"payload-register docker monitor 0fcgaba", "payload-register docker monitor 0fcgaba blue canary"},
	make:     func() command { return &payload{least: 3, do: register} },
}

var payloadUnregisterInfo = commandInfo{
	args:    "<class> <id>",
	purpose: "Remove a payload.",
	details: `The payload is removed when the hook succeeds. If no payload of the class has this ID,
nothing changes.
`,
	examples: []string{"payload-unregister monitor 0fcgaba"},
	make:     func() command { return &payload{least: 2, most: 2, do: unregister} },
}

var payloadStatusSetInfo = commandInfo{
	args:    "<class> <id> <starting|running|stopping|stopped>",
	purpose: "Set the status of a payload.",
	details: `The payload must be registered. The status is changed when the hook succeeds.
`,
	examples: []string{"payload-status-set monitor 0fcgaba running"},
	make:     func() command { return &payload{least: 3, most: 3, do: setStatus} },
}

// payload is each of the payload tools.
type payload struct {
	least, most int // arguments; any number if most is 0
	do          func(ctx context.Context, hook Context, p entity.Payload) error
	args        entity.Payload
}

func (t *payload) flags(*pflag.FlagSet) {}

func (t *payload) init(hook Context, args []string) error {
	if len(args) < t.least {
		return fmt.Errorf("missing arguments: %d are needed, got %q", t.least, args)
	}
	if t.most > 0 {
		if err := checkEmpty(args[t.most:]); err != nil {
			return err
		}
	} else {
		t.args.Type, args = args[0], args[1:]
	}
	t.args.Class, t.args.ID, args = args[0], args[1], args[2:]
	switch t.most {
	case 0:
		t.args.Status, t.args.Labels = "running", args
	case 3:
		if t.args.Status = args[0]; !slices.Contains(entity.PayloadStatuses, t.args.Status) {
			return fmt.Errorf("invalid status %q, expected one of %v", t.args.Status, entity.PayloadStatuses)
		}
	}
	return nil
}

func (t *payload) run(ctx context.Context, run *toolRun) error {
	meta, err := run.hook.CharmMeta()
	if err != nil {
		return err
	}
	kind, ok := meta.Payloads[t.args.Class]
	switch {
	case !ok:
		return fmt.Errorf("payload %q not found in metadata.yaml", t.args.Class)
	case t.args.Type != "" && t.args.Type != kind:
		return fmt.Errorf("incorrect type %q for payload %q, expected %q", t.args.Type, t.args.Class, kind)
	}
	return t.do(ctx, run.hook, t.args)
}

func register(ctx context.Context, hook Context, p entity.Payload) error {
	return hook.SetPayload(ctx, p)
}

func unregister(ctx context.Context, hook Context, p entity.Payload) error {
	return hook.DropPayload(ctx, p.Class, p.ID)
}

func setStatus(ctx context.Context, hook Context, p entity.Payload) error {
	return hook.SetPayloadStatus(ctx, p.Class, p.ID, p.Status)
}
