package hooks

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"juju/state/entity"
)

var openPortInfo = commandInfo{
	args:    "<port>[/<protocol>] or <from>-<to>[/<protocol>] or icmp",
	purpose: "Mark a port or range of ports as ready to be opened.",
	details: `The protocol is tcp unless given. The ports become reachable from outside when
the hook has succeeded and the service is exposed. Ports that another unit of
the machine has open are refused.
`,
	make: func() command { return &changePort{change: (*portBuffer).openRange} },
}

var closePortInfo = commandInfo{
	args:    "<port>[/<protocol>] or <from>-<to>[/<protocol>] or icmp",
	purpose: "Take back what open-port has opened.",
	details: `A range is closed as it was opened. The ports are closed when the hook has
succeeded.
`,
	make: func() command { return &changePort{change: (*portBuffer).closeRange} },
}

type changePort struct {
	change func(*portBuffer, entity.PortRange) error
	ports  entity.PortRange
}

func (t *changePort) flags(*pflag.FlagSet) {}

func (t *changePort) init(hook *Context, args []string) (err error) {
	if len(args) == 0 {
		return fmt.Errorf("no port or range specified")
	}
	if t.ports, err = entity.ParsePortRange(args[0]); err != nil {
		return err
	}
	return checkEmpty(args[1:])
}

func (t *changePort) run(ctx context.Context, run *toolRun) error {
	return run.hook.withPorts(ctx, func(b *portBuffer) error { return t.change(b, t.ports) })
}

var openedPortsInfo = commandInfo{
	purpose: "List the ports that the unit has opened.",
	details: `The list shows what the hook has opened and closed so far.
`,
	make: func() command { return &openedPorts{} },
}

type openedPorts struct {
	out outputFlags
}

func (t *openedPorts) flags(flags *pflag.FlagSet) { t.out.add(flags) }

func (t *openedPorts) init(hook *Context, args []string) error {
	if err := t.out.check(); err != nil {
		return err
	}
	return checkEmpty(args)
}

func (t *openedPorts) run(ctx context.Context, run *toolRun) error {
	list := []string{}
	err := run.hook.withPorts(ctx, func(b *portBuffer) error {
		for _, r := range b.mine.Ranges() {
			list = append(list, r.String())
		}
		return nil
	})
	if err != nil {
		return err
	}
	return t.out.write(run, list)
}
