package apiserver

import (
	"context"
	"strings"
	"time"

	"juju/apiserver/params"
)

// What an agent may say of its workers.
const (
	maxTroubles    = 16
	maxTroubleText = 1000 // bytes
)

// agentSetTroubles takes an agent's word for which of its workers fail again and again. It
// is kept in memory for as long as the agent is connected.
func agentSetTroubles(_ context.Context, c *caller, p params.AgentTroubles) error {
	troubles := p.Troubles[:min(len(p.Troubles), maxTroubles)]
	now := time.Now()
	for i := range troubles {
		// Whatever it says, it has not failed for longer than there have been agents, nor
		// will it: such a time could not even be written in a reply.
		if since := troubles[i].Since; since.After(now) || since.Year() < 2000 {
			troubles[i].Since = now
		}
		for _, text := range []*string{&troubles[i].Worker, &troubles[i].Error} {
			if len(*text) > maxTroubleText {
				*text = strings.ToValidUTF8((*text)[:maxTroubleText], "") + "…"
			}
		}
	}
	c.server.presence.setTroubles(c.model.UUID(), p.Tag.Tag, troubles)
	return nil
}
