package facades

import (
	"context"
	"errors"
	"maps"
	"slices"

	"juju/apiserver/params"
	"juju/state/constraints"
	"juju/state/entity"
)

// spaces returns the model's spaces. The cloud is asked for its subnets when they are first needed: a model is made, and
// may be old, without that.
func (c *Caller) spaces(ctx context.Context) ([]entity.Space, error) {
	if err := c.knowSubnets(ctx); err != nil {
		return nil, err
	}
	return c.Model.Settings().Networks().Spaces(ctx)
}

// knowSubnets asks the cloud for its subnets unless it has told them.
func (c *Caller) knowSubnets(ctx context.Context) error {
	known, err := c.Model.Agents().AsWatched().Settings().Networks().Known(ctx)
	if err == nil && !known { // once known they stay so, and to ask again does no harm
		err = c.reloadSubnets(ctx)
	}
	if errors.Is(err, entity.NotAlive) {
		return nil
	}
	return err
}

// demands returns the spaces that constraints and bindings demand of a machine.
func (c *Caller) demands(ctx context.Context, constraints constraints.Value,
	bindings map[string]string) (all entity.MachineSpaces, err error) {
	bound := slices.Collect(maps.Values(bindings))
	if in, out := constraints.Spaces(); len(in)+len(out)+len(bound) == 0 {
		return all, nil
	}
	if err := c.knowSubnets(ctx); err != nil {
		return all, err
	}
	return c.Model.Settings().Networks().Demands(ctx, constraints, bound)
}

// reloadSubnets records the subnets that the cloud tells.
func (c *Caller) reloadSubnets(ctx context.Context) error {
	return c.askCloudOf(ctx, c.Model.UUID(), "what subnets it has", func(ctx context.Context, cloud Cloud) error {
		subnets, err := cloud.Subnets(ctx)
		if err != nil {
			return err
		}
		return c.Model.Settings().Networks().Reload(ctx, subnets)
	})
}

// space returns the space that a tag names.
func (c *Caller) space(ctx context.Context, tag params.Tag) (entity.Space, error) {
	if err := isKind(tag, entity.KindSpace); err != nil {
		return entity.Space{}, err
	}
	all, err := c.spaces(ctx)
	if err != nil {
		return entity.Space{}, err
	}
	i := slices.IndexFunc(all, func(s entity.Space) bool { return s.Name == tag.ID })
	if i < 0 {
		return entity.Space{}, entity.WithHint(entity.Errorf(entity.NotFound, "space %q not found", tag.ID), "To list the spaces: juju spaces")
	}
	return all[i], nil
}

func spacesCreate(ctx context.Context, c *Caller, p params.CreateSpaces) (params.ErrorResults, error) {
	if err := c.knowSubnets(ctx); err != nil {
		return params.ErrorResults{}, err
	}
	return outcomes(c, "CreateSpaces", p.Spaces, func(s params.CreateSpace) error {
		if err := isKind(s.SpaceTag, entity.KindSpace); err != nil {
			return err
		}
		return c.Model.Settings().Networks().AddSpace(ctx, s.SpaceTag.ID, s.CIDRs)
	}), nil
}

func spacesList(ctx context.Context, c *Caller, _ None) (params.ListSpacesResults, error) {
	all, err := c.spaces(ctx)
	results := make([]params.Space, len(all))
	for i, s := range all {
		results[i] = params.SpaceOf(s)
	}
	return params.ListSpacesResults{Results: results}, err
}

func spacesShow(ctx context.Context, c *Caller, p params.Entities) (params.ShowSpaceResults, error) {
	return params.ShowSpaceResults{Results: each(c, "ShowSpace", p.Entities,
		func(e *params.Error) params.ShowSpaceResult { return params.ShowSpaceResult{Error: e} },
		func(e params.Entity) (params.ShowSpaceResult, error) {
			space, err := c.space(ctx, e.Tag)
			if err != nil {
				return params.ShowSpaceResult{}, err
			}
			use, err := c.Model.Settings().Networks().Uses(ctx, space.Name)
			result := params.ShowSpaceResult{Space: params.SpaceOf(space), Applications: append([]string{}, use.Bound...),
				MachineCount: use.Machines}
			if err == nil {
				err = c.keep(ctx, result)
			}
			return result, err
		})}, nil
}

func spacesReload(ctx context.Context, c *Caller, _ None) error { return c.reloadSubnets(ctx) }

func spacesRename(ctx context.Context, c *Caller, p params.RenameSpaces) (params.ErrorResults, error) {
	return outcomes(c, "RenameSpace", p.Changes, func(r params.RenameSpace) error {
		if err := errors.Join(isKind(r.FromSpaceTag, entity.KindSpace), isKind(r.ToSpaceTag, entity.KindSpace)); err != nil {
			return err
		}
		return c.Model.Settings().Networks().RenameSpace(ctx, r.FromSpaceTag.ID, r.ToSpaceTag.ID)
	}), nil
}

// spacesRemove removes spaces. Those that are used stay, and the result says by what, not with an error: that is how Juju's
// clients learn it.
func spacesRemove(ctx context.Context, c *Caller, p params.RemoveSpaces) (params.RemoveSpaceResults, error) {
	return params.RemoveSpaceResults{Results: each(c, "RemoveSpace", p.SpaceParams,
		func(e *params.Error) params.RemoveSpaceResult { return params.RemoveSpaceResult{Error: e} },
		func(r params.RemoveSpace) (result params.RemoveSpaceResult, err error) {
			if err := isKind(r.Space.Tag, entity.KindSpace); err != nil {
				return result, err
			}
			if !r.DryRun {
				err = c.Model.Settings().Networks().RemoveSpace(ctx, r.Space.Tag.ID, r.Force)
			}
			if r.DryRun || errors.Is(err, entity.InUse) && !c.plans() {
				use, err := c.Model.Settings().Networks().Uses(ctx, r.Space.Tag.ID)
				for _, name := range use.Bound {
					result.Bindings = append(result.Bindings, params.Entity{Tag: params.TagOf(entity.ServiceTag(name))})
				}
				for _, tag := range use.Constrained {
					result.Constraints = append(result.Constraints, params.Entity{Tag: params.TagOf(tag)})
				}
				if uses := len(result.Bindings) + len(result.Constraints); err != nil || r.DryRun || uses > 0 {
					return result, err
				}
			}
			return result, err // of what the result can't say too: what is exposed to the space
		})}, nil
}

func spacesMoveSubnets(ctx context.Context, c *Caller, p params.MoveSubnets) (params.MoveSubnetsResults, error) {
	all, err := c.spaces(ctx)
	if err != nil {
		return params.MoveSubnetsResults{}, err
	}
	ids, cidrs := map[string]string{}, map[string]string{}
	for _, space := range all {
		for _, s := range space.Subnets {
			ids[s.CIDR], cidrs[s.ID] = s.ID, s.CIDR
		}
	}
	return params.MoveSubnetsResults{Results: each(c, "MoveSubnets", p.Args,
		func(e *params.Error) params.MoveSubnetsResult { return params.MoveSubnetsResult{Error: e} },
		func(m params.MoveSubnetsTo) (params.MoveSubnetsResult, error) {
			result := params.MoveSubnetsResult{NewSpaceTag: m.SpaceTag}
			if err := isKind(m.SpaceTag, entity.KindSpace); err != nil {
				return result, err
			}
			var move []string
			for _, tag := range m.SubnetTags {
				if err := isKind(tag, entity.KindSubnet); err != nil {
					return result, err
				}
				if cidrs[tag.ID] == "" {
					return result, entity.Errorf(entity.NotFound, "subnet %q not found", tag.ID)
				}
				move = append(move, cidrs[tag.ID])
			}
			moved, err := c.Model.Settings().Networks().MoveSubnets(ctx, m.SpaceTag.ID, move, m.Force)
			for _, s := range moved {
				result.MovedSubnets = append(result.MovedSubnets, params.MovedSubnet{SubnetTag: params.TagOf(entity.SubnetTag(ids[s.CIDR])),
					OldSpaceTag: params.TagOf(entity.SpaceTag(s.From)), CIDR: s.CIDR})
			}
			return result, err
		})}, nil
}

// listSubnets returns the subnets of a space and a zone, or of any if these are empty, with their numbers.
func (c *Caller) listSubnets(ctx context.Context, space, zone string) (found []params.SubnetWithID, err error) {
	all, err := c.spaces(ctx)
	for _, s := range all {
		if space != "" && s.Name != space {
			continue
		}
		for i, subnet := range params.SpaceOf(s).Subnets {
			if zone == "" || slices.Contains(subnet.Zones, zone) {
				found = append(found, params.SubnetWithID{Subnet: subnet, ID: s.Subnets[i].ID})
			}
		}
	}
	slices.SortFunc(found, func(a, b params.SubnetWithID) int { return entity.CompareCIDRs(a.CIDR, b.CIDR) })
	return found, err
}

func subnetsList(ctx context.Context, c *Caller, p params.SubnetsFilters) (params.ListSubnetsResults, error) {
	result := params.ListSubnetsResults{Results: []params.Subnet{}}
	if p.SpaceTag.ID != "" {
		if _, err := c.space(ctx, p.SpaceTag); err != nil {
			return result, err
		}
	}
	all, err := c.listSubnets(ctx, p.SpaceTag.ID, p.Zone)
	for _, s := range all {
		result.Results = append(result.Results, s.Subnet)
	}
	return result, err
}

func subnetsByCIDR(ctx context.Context, c *Caller, p params.CIDRs) (params.SubnetsResults, error) {
	all, err := c.listSubnets(ctx, "", "")
	if err != nil {
		return params.SubnetsResults{}, err
	}
	return params.SubnetsResults{Results: each(c, "SubnetsByCIDR", p.CIDRs,
		func(e *params.Error) params.SubnetsResult { return params.SubnetsResult{Error: e} },
		func(cidr string) (result params.SubnetsResult, err error) {
			normal, err := entity.NormalCIDR(cidr)
			for _, s := range all {
				if s.CIDR == normal {
					result.Subnets = append(result.Subnets, s)
				}
			}
			return result, err
		})}, nil
}

func subnetsAllZones(ctx context.Context, c *Caller, _ None) (params.ZoneResults, error) {
	all, err := c.listSubnets(ctx, "", "")
	var zones []string
	for _, s := range all {
		zones = append(zones, s.Zones...)
	}
	slices.SortFunc(zones, entity.CompareNatural)
	result := params.ZoneResults{Results: []params.ZoneResult{}}
	for _, zone := range slices.Compact(zones) {
		result.Results = append(result.Results, params.ZoneResult{Name: zone, Available: true})
	}
	return result, err
}

// applicationMergeBindings changes to which spaces a service and its endpoints are bound.
func applicationMergeBindings(ctx context.Context, c *Caller,
	p params.ApplicationMergeBindingsArgs) (params.ErrorResults, error) {
	return outcomes(c, "MergeBindings", p.Args, func(one params.ApplicationMergeBindings) error {
		if err := isKind(one.ApplicationTag, entity.KindService); err != nil {
			return err
		}
		svc, err := c.Model.Service(ctx, one.ApplicationTag.ID)
		if err != nil {
			return err
		}
		return svc.Bind(ctx, one.Bindings, one.Force)
	}), nil
}
