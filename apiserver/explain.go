package apiserver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"juju/apiserver/params"
	"juju/state/entity"
)

// maxExplained bounds how many things are explained at once.
const maxExplained = 100

func explain(ctx context.Context, c *caller, p params.Explain) (params.ExplainResults, error) {
	var tags []entity.Tag
	if len(p.Words) > 0 {
		tag, err := c.model.FindEntity(ctx, p.Words...)
		if err != nil {
			return params.ExplainResults{}, err
		}
		tags = append(tags, tag)
	} else {
		var err error
		if tags, err = c.model.Unsettled(ctx); err != nil {
			return params.ExplainResults{}, err
		}
		tags = tags[:min(len(tags), maxExplained)]
	}
	results := params.ExplainResults{Explanations: []entity.Explanation{}}
	for _, tag := range tags {
		e, err := c.model.Explain(ctx, tag)
		if errors.Is(err, entity.NotFound) && len(p.Words) == 0 {
			continue // it has gone meanwhile
		}
		if err != nil {
			return params.ExplainResults{}, err
		}
		if len(p.Words) == 0 && len(e.Reasons) == 0 {
			continue
		}
		c.server.presence.explain(c.model.UUID(), &e)
		results.Explanations = append(results.Explanations, e)
	}
	return results, nil
}

// explain adds to an explanation which of the agents that must act are away.
func (p *presence) explain(model string, e *entity.Explanation) {
	for i := range e.Reasons {
		r := &e.Reasons[i]
		tag, err := entity.ParseTag(r.By)
		if err != nil || tag.Kind != entity.KindMachine && tag.Kind != entity.KindUnit {
			continue
		}
		since, lost := p.lost(model, tag)
		if !lost {
			continue
		}
		r.Text += fmt.Sprintf("; that agent has been away since %s", since.UTC().Format(time.RFC3339))
		if e.Life != entity.Alive && e.Strength != entity.Force && r.Hint == "" {
			r.Hint = forceHint(e.Name)
		}
	}
}

// forceHint is how to destroy with force what an explanation names. A relation of a
// service with itself goes with the service.
func forceHint(named string) string {
	kind, name, _ := strings.Cut(named, " ")
	if service, _, ok := strings.Cut(name, ":"); ok && kind == string(entity.KindRelation) && !strings.Contains(name, " ") {
		kind, name = string(entity.KindService), service
	}
	return "juju destroy-" + kind + " --force " + name
}
