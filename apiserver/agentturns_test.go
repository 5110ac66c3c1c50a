package apiserver

import (
	"context"
	"testing"
	"time"

	"juju/apiserver/client"
	"juju/apiserver/facades"
	"juju/apiserver/facades/facadestest"
	"juju/state/entity"
)

// Users' requests do not wait for those of agents, nor do agents that wait for each other. An agent's turn ends when its
// request has applied a transaction, and waits for the disk.
func TestAgentsTakeTurns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limited(func(l *Limits) { l.AgentTurns = 1 })).populate()
	ctx, turns := t.Context(), w.server.agentTurns
	u0, u1 := entity.UnitTag("mysql/0"), entity.UnitTag("mysql/1")
	first := client.LeadershipServiceFacade{Caller: w.dial(w.info(u0))}
	second := client.LeadershipServiceFacade{Caller: w.dial(w.info(u1))}
	admin := w.dial(w.adminInfo(w.st.UUID()))
	release, err := turns.Take(ctx, "another model")
	w.ok(err)
	claimed := make(chan error, 1)
	go func() {
		_, err := first.ClaimLeadership(ctx, u0, time.Minute)
		claimed <- err
	}()
	eventually(t, "the agent does not wait for its turn", func() bool { return turns.Waiting() == 1 })
	_, err = admin.Status(ctx)
	w.ok(err)
	w.ok(second.BlockUntilLeadershipReleased(ctx, u1))
	release()
	w.ok(facadestest.Receive(t, claimed))

	w.server.table = facades.NewTable(append(routes(), facades.Route{"Test", 1, "Change", facades.AtModel, facades.UnitAgent,
		facades.Free, facades.AnyLogin, nil, facades.Act(func(ctx context.Context, c *facades.Caller, _ facades.None) error {
			u, err := c.Model.Unit(ctx, u0.ID)
			if err == nil {
				err = u.SetStatus(ctx, entity.Status{Status: entity.StatusActive, Message: "changed"})
			}
			if err != nil {
				return err
			}
			next, err := turns.Take(ctx, "another model") // there is one turn
			if err == nil {
				next()
			}
			return err
		})}))
	w.ok(w.raw(w.modelPath()).login(u0, w.info(u0).Password, "").do("Test", 1, "Change", nil, nil))
}
