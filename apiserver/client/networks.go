package client

import (
	"context"

	"juju/apiserver/params"
	"juju/state/entity"
)

func (c *Conn) spaces(ctx context.Context, method string, args, result any) error {
	return c.call(ctx, "Spaces", 6, method, args, result)
}

// Spaces returns the model's spaces with their subnets, alpha first.
func (c *Conn) Spaces(ctx context.Context) ([]entity.Space, error) {
	var result params.ListSpacesResults
	err := c.spaces(ctx, "ListSpaces", nil, &result)
	all := make([]entity.Space, len(result.Results))
	for i, s := range result.Results {
		if all[i] = s.Read(); err == nil {
			err = params.FromError(s.Error)
		}
	}
	return all, err
}

// ShowSpace returns a space, and what uses it.
func (c *Conn) ShowSpace(ctx context.Context, name string) (entity.Space, entity.SpaceUse, error) {
	var result params.ShowSpaceResults
	err := c.spaces(ctx, "ShowSpace", params.Entities{Entities: []params.Entity{{Tag: params.TagOf(entity.SpaceTag(name))}}}, &result)
	if err == nil {
		err = isOne(len(result.Results))
	}
	if err != nil {
		return entity.Space{}, entity.SpaceUse{}, err
	}
	r := result.Results[0]
	return r.Space.Read(), entity.SpaceUse{Bound: r.Applications, Machines: r.MachineCount}, params.FromError(r.Error)
}

// AddSpace adds a space with subnets, which leave those that they are in.
func (c *Conn) AddSpace(ctx context.Context, name string, cidrs []string) error {
	var result params.ErrorResults
	if err := c.spaces(ctx, "CreateSpaces", params.CreateSpaces{Spaces: []params.CreateSpace{
		{SpaceTag: params.TagOf(entity.SpaceTag(name)), CIDRs: cidrs}}}, &result); err != nil {
		return err
	}
	return only(result.Results)
}

// RenameSpace gives a space another name.
func (c *Conn) RenameSpace(ctx context.Context, from, to string) error {
	var result params.ErrorResults
	if err := c.spaces(ctx, "RenameSpace", params.RenameSpaces{Changes: []params.RenameSpace{
		{FromSpaceTag: params.TagOf(entity.SpaceTag(from)), ToSpaceTag: params.TagOf(entity.SpaceTag(to))}}}, &result); err != nil {
		return err
	}
	return only(result.Results)
}

// RemoveSpace removes a space, unless something uses it: then it returns that. force removes it from there too.
func (c *Conn) RemoveSpace(ctx context.Context, name string, force bool) (use entity.SpaceUse, err error) {
	var result params.RemoveSpaceResults
	err = c.spaces(ctx, "RemoveSpace", params.RemoveSpaces{SpaceParams: []params.RemoveSpace{
		{Space: params.Entity{Tag: params.TagOf(entity.SpaceTag(name))}, Force: force}}}, &result)
	if err == nil {
		err = isOne(len(result.Results))
	}
	for _, r := range result.Results {
		if err == nil {
			err = params.FromError(r.Error)
		}
		for _, e := range r.Bindings {
			use.Bound = append(use.Bound, e.Tag.ID)
		}
		for _, e := range r.Constraints {
			use.Constrained = append(use.Constrained, e.Tag.Tag)
		}
	}
	return use, err
}

// ReloadSpaces has the cloud tell its subnets anew.
func (c *Conn) ReloadSpaces(ctx context.Context) error {
	return c.spaces(ctx, "ReloadSpaces", nil, nil)
}

// MoveToSpace moves subnets to a space, and returns those that were elsewhere.
func (c *Conn) MoveToSpace(ctx context.Context, name string, cidrs []string,
	force bool) (moved []entity.MovedSubnet, err error) {
	var found params.SubnetsResults
	if err := c.call(ctx, "Subnets", 5, "SubnetsByCIDR", params.CIDRs{CIDRs: cidrs}, &found); err != nil {
		return nil, err
	}
	if err := areAll(len(cidrs), len(found.Results)); err != nil {
		return nil, err
	}
	to := params.MoveSubnetsTo{SpaceTag: params.TagOf(entity.SpaceTag(name)), Force: force}
	for i, r := range found.Results {
		switch {
		case r.Error != nil:
			return nil, params.FromError(r.Error)
		case len(r.Subnets) == 0:
			return nil, entity.WithHint(entity.Errorf(entity.NotFound, "subnet %q not found", cidrs[i]),
				"To list the subnets: juju subnets")
		}
		to.SubnetTags = append(to.SubnetTags, params.TagOf(entity.SubnetTag(r.Subnets[0].ID)))
	}
	var result params.MoveSubnetsResults
	err = c.spaces(ctx, "MoveSubnets", params.MoveSubnets{Args: []params.MoveSubnetsTo{to}}, &result)
	if err == nil {
		err = isOne(len(result.Results))
	}
	for _, r := range result.Results {
		if err == nil {
			err = params.FromError(r.Error)
		}
		for _, s := range r.MovedSubnets {
			moved = append(moved, entity.MovedSubnet{CIDR: s.CIDR, From: s.OldSpaceTag.ID, To: r.NewSpaceTag.ID})
		}
	}
	return moved, err
}

// Bind changes to which spaces, by their names, endpoints of a service are bound; "" is the default of the others. force
// allows spaces in which machines of its units have no address.
func (c *Conn) Bind(ctx context.Context, service string, bindings map[string]string, force bool) error {
	var result params.ErrorResults
	if err := c.application(ctx, "MergeBindings", params.ApplicationMergeBindingsArgs{Args: []params.ApplicationMergeBindings{
		{ApplicationTag: params.TagOf(entity.ServiceTag(service)), Bindings: bindings, Force: force}}}, &result); err != nil {
		return err
	}
	return only(result.Results)
}
