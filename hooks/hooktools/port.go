package hooktools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
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

With --endpoints, the ports are open for these endpoints of the charm, and for those
that earlier calls have named; else for all. It matters where a user exposes some of
the endpoints, or different ones to different networks.
`,
	examples: []string{"open-port 443", "open-port 9000-9010/udp", "open-port 8443 --endpoints admin,db"},
	make:     func() command { return &changePort{verb: "open", change: Context.OpenPorts} },
}

var closePortInfo = commandInfo{
	args:    "<port>[/<protocol>] or <from>-<to>[/<protocol>] or icmp",
	purpose: "Close a port or a range of ports.",
	details: `A range must be given as open-port opened it. The ports are closed once the hook
has succeeded.

With --endpoints, the ports are closed for these endpoints only. Ports that are open
for all endpoints then stay open for the charm's others.
`,
	examples: []string{"close-port 443", "close-port 9000-9010/udp", "close-port 8443 --endpoints admin"},
	make:     func() command { return &changePort{verb: "close", change: Context.ClosePorts} },
}

type changePort struct {
	verb   string
	change func(Context, context.Context, entity.EndpointPorts) error
	ports  entity.EndpointPorts
}

func (t *changePort) flags(flags *pflag.FlagSet) {
	flags.StringSliceVar(&t.ports.Endpoints, "endpoints", nil,
		"`endpoints` to "+t.verb+" the ports for, separated by commas; all by default")
	addIgnoredFormat(flags)
}

func (t *changePort) init(hook Context, args []string) (err error) {
	if len(args) == 0 {
		return errors.New("no port or range specified")
	}
	if t.ports.PortRange, err = entity.ParsePortRange(args[0]); err != nil {
		return err
	}
	return checkEmpty(args[1:])
}

func (t *changePort) run(ctx context.Context, run *toolRun) error {
	if len(t.ports.Endpoints) > 0 {
		meta, err := run.hook.CharmMeta()
		if err != nil {
			return err
		}
		for _, name := range t.ports.Endpoints {
			if !slices.Contains(meta.Endpoints(), name) {
				return fmt.Errorf("endpoint %q not found", name)
			}
		}
	}
	return t.change(run.hook, ctx, t.ports)
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
	flags.BoolVar(&t.endpoints, "endpoints", false, "say which endpoints the ports are open for; (*) is all of them")
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
			line += " (" + cmp.Or(strings.Join(r.Endpoints, ", "), "*") + ")"
		}
		list = append(list, line)
	}
	return t.out.write(run, list)
}
