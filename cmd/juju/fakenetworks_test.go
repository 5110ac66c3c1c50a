package main

import (
	"context"
	"fmt"

	"juju/state/entity"
)

func (f *fakeModel) Spaces(context.Context) ([]entity.Space, error) {
	return f.spaces, f.note("Spaces")
}

func (f *fakeModel) ShowSpace(_ context.Context, name string) (entity.Space, entity.SpaceUse, error) {
	err := f.note("ShowSpace", name)
	if len(f.spaces) == 0 {
		return entity.Space{}, f.spaceUse, err
	}
	return f.spaces[0], f.spaceUse, err
}

func (f *fakeModel) AddSpace(_ context.Context, name string, cidrs []string) error {
	return f.note("AddSpace", name, " ", cidrs)
}

func (f *fakeModel) RenameSpace(_ context.Context, from, to string) error {
	return f.note("RenameSpace", from, " ", to)
}

func (f *fakeModel) RemoveSpace(_ context.Context, name string, force bool) (entity.SpaceUse, error) {
	return f.spaceUse, f.note("RemoveSpace", name, " ", force)
}

func (f *fakeModel) ReloadSpaces(context.Context) error { return f.note("ReloadSpaces") }

func (f *fakeModel) MoveToSpace(_ context.Context, name string, cidrs []string, force bool) (moved []entity.MovedSubnet, err error) {
	for _, cidr := range cidrs {
		moved = append(moved, entity.MovedSubnet{CIDR: cidr, From: "alpha", To: name})
	}
	return moved, f.note("MoveToSpace", name, " ", fmt.Sprint(cidrs), " ", force)
}

func (f *fakeModel) SetBase(_ context.Context, service string, base entity.Base, force bool) error {
	return f.note("SetBase", service, " ", base.Short(), " ", force)
}

func (f *fakeModel) Bind(_ context.Context, service string, bindings map[string]string, force bool) error {
	return f.note("Bind", service, " ", fmt.Sprint(bindings), " ", force)
}
