package facades

import (
	"context"

	"juju/apiserver/params"
	"juju/state"
	"juju/state/entity"
)

// Controllers are the controllers that share a store.
type Controllers interface {
	// Nodes returns them, by the ids of their machines.
	Nodes(context.Context) ([]entity.ControllerNode, error)
	// Upgrade returns the last upgrade of them; nil if there was none.
	Upgrade(context.Context) (*entity.ControllerUpgrade, error)
	// Watch sends an event when the result of Addresses may have changed.
	Watch(ctx context.Context) (<-chan struct{}, error)
	// Addresses returns the addresses of their APIs, "host:port", those of this one first.
	Addresses() []string
	// Alone reports whether there is certainly no other controller.
	Alone() bool
}

func haEnable(ctx context.Context, c *Caller, p params.ControllersSpecs) (params.ControllersChangeResults, error) {
	if len(p.Specs) != 1 {
		return params.ControllersChangeResults{}, entity.Errorf(entity.Invalid, "one specification of controllers is needed")
	}
	var result params.ControllersChangeResult
	changes, err := enableHA(ctx, c, p.Specs[0])
	if err != nil {
		result.Error = c.wireError("EnableHA", err)
	}
	tags := func(ids []string) (tags []params.Tag) {
		for _, id := range ids {
			tags = append(tags, params.TagOf(entity.MachineTag(id)))
		}
		return tags
	}
	result.Result = params.ControllersChanges{Added: tags(changes.Added), Maintained: tags(changes.Maintained),
		Demoted: tags(changes.Demoted)}
	return params.ControllersChangeResults{Results: []params.ControllersChangeResult{result}}, nil
}

func enableHA(ctx context.Context, c *Caller, p params.ControllersSpec) (entity.ControllerChanges, error) {
	switch {
	case c.Controllers == nil:
		return entity.ControllerChanges{}, entity.WithHint(entity.Errorf(entity.NotSupported,
			"cannot enable high availability: this controller's store can be used by no other"),
			"Several controllers need a MongoDB of 4.0 or later that is a replica set. To move the store there: "+
				"juju migrate-store --mongo-url @FILE")
	case len(p.Placement) > 0:
		return entity.ControllerChanges{}, entity.Errorf(entity.NotSupported, "cannot place controllers: not supported yet")
	case p.Series != "":
		return entity.ControllerChanges{}, entity.Errorf(entity.NotSupported,
			"cannot choose the series of controllers: they have that of the first one")
	}
	nodes, err := c.Controllers.Nodes(ctx)
	if err != nil {
		return entity.ControllerChanges{}, err
	}
	upgrade, err := c.Controllers.Upgrade(ctx)
	if err != nil {
		return entity.ControllerChanges{}, err
	}
	var lost []string
	for _, n := range nodes {
		// One that is down for an upgrade is expected back, or loses its turn.
		if !n.Up && (upgrade == nil || upgrade.Turn != n.Machine) {
			lost = append(lost, n.Machine)
		}
	}
	changes, err := c.ControllerModel.EnableHA(ctx, state.EnableHAParams{Controllers: p.NumControllers,
		Constraints: p.Constraints, Lost: lost})
	if err != nil {
		return changes, err
	}
	for _, id := range lost {
		if err := c.Controller.RemoveNode(ctx, id); err != nil {
			return changes, err
		}
	}
	return changes, nil
}

func haDetails(ctx context.Context, c *Caller, _ None) (params.ControllerDetailsResults, error) {
	if c.Controllers == nil {
		only := entity.ControllerNode{Machine: "0", Addresses: []string{}, Version: c.Version, Commit: c.Commit, Up: true, Leads: true}
		if c.API != nil {
			only.Addresses, _ = c.API()
		}
		return params.ControllerDetailsResults{Results: []entity.ControllerNode{only}, Alone: true}, nil
	}
	nodes, err := c.Controllers.Nodes(ctx)
	if err != nil {
		return params.ControllerDetailsResults{}, err
	}
	upgrade, err := c.Controllers.Upgrade(ctx)
	return params.ControllerDetailsResults{Results: nodes, Upgrade: upgrade}, err
}

// apiAddresses returns the addresses at which agents reach the API; none if they never change.
func (c *Caller) apiAddresses(context.Context) ([]string, error) {
	if c.Controllers == nil {
		return nil, nil
	}
	return c.Controllers.Addresses(), nil
}

// watchAPIAddresses sends an event when the result of apiAddresses may have changed.
func (c *Caller) watchAPIAddresses(ctx context.Context) (<-chan struct{}, error) {
	if c.Controllers == nil {
		return nil, entity.Errorf(entity.NotSupported, "the addresses of this controller never change")
	}
	return c.Controllers.Watch(ctx)
}
