package clitest

import (
	"context"
	"fmt"

	"juju/state/entity"
)

func (f *FakeModel) Spaces(context.Context) ([]entity.Space, error) {
	return f.Returns.Spaces, f.Note("Spaces")
}

func (f *FakeModel) ShowSpace(_ context.Context, name string) (entity.Space, entity.SpaceUse, error) {
	err := f.Note("ShowSpace", name)
	if len(f.Returns.Spaces) == 0 {
		return entity.Space{}, f.Returns.SpaceUse, err
	}
	return f.Returns.Spaces[0], f.Returns.SpaceUse, err
}

func (f *FakeModel) AddSpace(_ context.Context, name string, cidrs []string) error {
	return f.Note("AddSpace", name, " ", cidrs)
}

func (f *FakeModel) RenameSpace(_ context.Context, from, to string) error {
	return f.Note("RenameSpace", from, " ", to)
}

func (f *FakeModel) RemoveSpace(_ context.Context, name string, force bool) (entity.SpaceUse, error) {
	return f.Returns.SpaceUse, f.Note("RemoveSpace", name, " ", force)
}

func (f *FakeModel) ReloadSpaces(context.Context) error { return f.Note("ReloadSpaces") }

func (f *FakeModel) MoveToSpace(_ context.Context, name string, cidrs []string, force bool) (moved []entity.MovedSubnet, err error) {
	for _, cidr := range cidrs {
		moved = append(moved, entity.MovedSubnet{CIDR: cidr, From: "alpha", To: name})
	}
	return moved, f.Note("MoveToSpace", name, " ", fmt.Sprint(cidrs), " ", force)
}

func (f *FakeModel) SetBase(_ context.Context, service string, base entity.Base, force bool) error {
	return f.Note("SetBase", service, " ", base.Short(), " ", force)
}

func (f *FakeModel) Bind(_ context.Context, service string, bindings map[string]string, force bool) error {
	return f.Note("Bind", service, " ", fmt.Sprint(bindings), " ", force)
}
