package controller

import (
	"context"
	"time"

	"juju/apiserver/client"
	"juju/apiserver/debuglog"
	"juju/apiserver/logs"
	"juju/state/entity"
)

// peerDial limits the time to connect to another controller.
const peerDial = 10 * time.Second

// logs returns the parts of a model's log that the other controllers have. What a controller that is down has is missing.
func (m *membership) logs(ctx context.Context, model string) (sources []logs.Source) {
	known, err := m.Nodes(ctx)
	if err != nil {
		return []logs.Source{{Name: "the other controllers",
			Follow: func(context.Context, logs.Query, func(debuglog.Message) error) error { return err }}}
	}
	for _, n := range known {
		if n.Machine == m.conf.machine() {
			continue
		}
		sources = append(sources, logs.Source{Name: "controller " + n.Machine,
			Follow: func(ctx context.Context, q logs.Query, send func(debuglog.Message) error) error {
				switch {
				case !n.Up:
					return entity.Errorf(entity.Unavailable, "it is down")
				case n.Waits:
					return entity.Errorf(entity.Unavailable, "it waits until the others are upgraded")
				}
				return m.followLog(ctx, n, model, q, send)
			}})
	}
	return sources
}

func (m *membership) followLog(
	ctx context.Context, n entity.ControllerNode, model string, q logs.Query, send func(debuglog.Message) error,
) error {
	dial, cancel := context.WithTimeout(ctx, peerDial)
	defer cancel()
	conn, err := client.Dial(dial, client.Info{Addresses: n.Addresses, CACert: m.conf.CA.Cert, Model: model,
		Tag: entity.MachineTag(m.conf.machine()), Password: m.conf.Password, Nonce: m.conf.nonce()})
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.DebugLog(ctx, client.LogQuery{
		IncludeEntity: q.Filter.IncludeEntity, ExcludeEntity: q.Filter.ExcludeEntity,
		IncludeModule: q.Filter.IncludeModule, ExcludeModule: q.Filter.ExcludeModule, Level: q.Filter.Level,
		Replay: q.Replay, Backlog: q.Backlog, Limit: q.Limit, NoTail: q.NoTail,
	}, send)
}
