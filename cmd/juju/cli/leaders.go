package cli

import (
	"context"
	"slices"
	"strings"

	"juju/state/entity"
)

// leaderOf ends SERVICE/leader.
const leaderOf = "/leader"

// IsUnitTarget reports whether an argument denotes a unit: "store/0" or "store/leader".
func IsUnitTarget(arg string) bool {
	service, leader := strings.CutSuffix(arg, leaderOf)
	return entity.IsValidUnit(arg) || leader && entity.IsValidService(service)
}

// A LeaderAPI tells which unit leads a service. It fails while none does.
type LeaderAPI interface {
	Leader(ctx context.Context, service string) (string, error)
}

// Leaders returns args with each SERVICE/leader replaced by the name of the unit that leads the service.
func Leaders(ctx context.Context, api LeaderAPI, args []string) ([]string, error) {
	named := slices.Clone(args)
	for i, arg := range args {
		service, ok := strings.CutSuffix(arg, leaderOf)
		if !ok || !entity.IsValidService(service) {
			continue
		}
		var err error
		if named[i], err = api.Leader(ctx, service); err != nil {
			return nil, err
		}
	}
	return named, nil
}

// Leading is Leaders for one argument.
func Leading(ctx context.Context, api LeaderAPI, arg string) (string, error) {
	named, err := Leaders(ctx, api, []string{arg})
	if err != nil {
		return "", err
	}
	return named[0], nil
}
