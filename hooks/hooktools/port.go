package hooktools

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"juju/state/entity"
)

var openPortInfo = commandInfo{
	args:    "<port>[/<protocol>] or <from>-<to>[/<protocol>] or icmp",
	purpose: "Open a port or a range of ports.",
	details: `The protocol is tcp unless given. The ports can be reached from outside once the
hook has succeeded and the service is exposed. A port that another unit of the
machine has opened is refused.
`,
	examples: []string{"open-port 443", "open-port 9000-9010/udp"},
	make:     func() command { return &changePort{done: "opened", change: Context.OpenPorts} },
}

var closePortInfo = commandInfo{
	args:    "<port>[/<protocol>] or <from>-<to>[/<protocol>] or icmp",
	purpose: "Close a port or a range of ports.",
	details: `A range must be given as open-port opened it. The ports are closed once the hook
has succeeded.
`,
	examples: []string{"close-port 443", "close-port 9000-9010/udp"},
	make:     func() command { return &changePort{done: "closed", change: Context.ClosePorts} },
}

type changePort struct {
	done      string
	change    func(Context, context.Context, entity.PortRange) error
	ports     entity.PortRange
	endpoints []string
}

func (t *changePort) flags(flags *pflag.FlagSet) {
	flags.StringSliceVar(&t.endpoints, "endpoints", nil,
		"`endpoints` that the ports are for; with a warning, it counts for all")
	addIgnoredFormat(flags)
}

func (t *changePort) init(hook Context, args []string) (err error) {
	if len(args) == 0 {
		return fmt.Errorf("no port or range specified")
	}
	if t.ports, err = entity.ParsePortRange(args[0]); err != nil {
		return err
	}
	return checkEmpty(args[1:])
}

func (t *changePort) run(ctx context.Context, run *toolRun) error {
	if err := checkBindings(run.hook, t.endpoints); err != nil {
		return err
	}
	err := t.change(run.hook, ctx, t.ports)
	if err == nil && len(t.endpoints) > 0 {
		run.hook.Warn(fmt.Sprintf("%v is %s for all endpoints, not only for %s: a service is exposed as a whole",
			t.ports, t.done, strings.Join(t.endpoints, ", ")))
	}
	return err
}

var openedPortsInfo = commandInfo{
	purpose: "List the ports that the unit has opened.",
	details: `The list includes what the hook has opened so far, and not what it has closed.
`,
	examples: []string{"opened-ports", "opened-ports --format json"},
	make:     func() command { return &openedPorts{} },
}

type openedPorts struct {
	out       outputFlags
	endpoints bool
}

func (t *openedPorts) flags(flags *pflag.FlagSet) {
	flags.BoolVar(&t.endpoints, "endpoints", false, "say which endpoints the ports are for: always (*), all of them")
	t.out.add(flags)
}

func (t *openedPorts) init(hook Context, args []string) error {
	if err := t.out.check(); err != nil {
		return err
	}
	return checkEmpty(args)
}

func (t *openedPorts) run(ctx context.Context, run *toolRun) error {
	ranges, err := run.hook.OpenedPorts(ctx)
	if err != nil {
		return err
	}
	list := []string{}
	for _, r := range ranges {
		line := r.String()
		if t.endpoints {
			line += " (*)"
		}
		list = append(list, line)
	}
	return t.out.write(run, list)
}
