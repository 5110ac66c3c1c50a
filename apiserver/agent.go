package apiserver

import (
	"context"
	"strings"

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
	for i := range troubles {
		for _, text := range []*string{&troubles[i].Worker, &troubles[i].Error} {
			if len(*text) > maxTroubleText {
				*text = strings.ToValidUTF8((*text)[:maxTroubleText], "") + "…"
			}
		}
	}
	c.server.presence.setTroubles(c.model.UUID(), p.Tag.Tag, troubles)
	return nil
}
