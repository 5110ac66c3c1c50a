package main

import (
	"context"
	"fmt"

	"juju/cmd/juju/cli"
)

// addUnits adds units to a service that is to get all of them from this command, and has got some. It returns the
// names of those that it has added. If it fails, it says how many are missing.
func addUnits(ctx context.Context, s *cli.Session, api addUnitAPI, service string, got, all int, to []string,
	attach ...string) (added []string, err error) {
	var p *cli.Progress
	defer func() { p.Done() }()
	for left := all - got; left > 0; left = all - got - len(added) {
		batch := min(left, cli.UnitsAtOnce)
		if all > batch {
			text := fmt.Sprintf("Adding units to service %q: %d of %d", service, got+len(added), all)
			if p == nil {
				p = s.Progress("%s", text)
			} else {
				p.Say("%s", text)
			}
		}
		here := to[:min(len(to), batch)]
		if len(to) > left {
			batch, here = left, to // the controller refuses that
		}
		units, warnings, err := api.AddUnits(ctx, service, batch, here, attach...)
		if len(added) == 0 {
			s.Warn(warnings...)
		}
		added = append(added, units...)
		if done := got + len(added); err != nil && done > 0 {
			p.Done()
			s.Note("%d of %d units are added. To add the others: juju add-unit %s -n %d", done, all, service, all-done)
			if ctx.Err() != nil {
				s.Note("The controller may be adding up to %d of these still: juju status %s", batch, service)
			}
		}
		if err != nil {
			return added, err
		}
		to = to[len(here):]
	}
	return added, nil
}
