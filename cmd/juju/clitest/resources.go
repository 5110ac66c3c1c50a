package clitest

import (
	"context"
	"fmt"
	"io"

	"juju/state/entity"
)

func (f *FakeModel) Payloads(_ context.Context, patterns []string) ([]entity.UnitPayload, error) {
	return f.Returns.Payloads, f.Note("Payloads", patterns)
}

func (f *FakeModel) Resources(_ context.Context, service string) (entity.ResourcesOf, error) {
	return f.Returns.Resources, f.Note("Resources", service)
}

func (f *FakeModel) AddPendingResources(
	_ context.Context, service, charmURL string, names ...string,
) (map[string]string, error) {
	ids := map[string]string{}
	for i, name := range names {
		ids[name] = fmt.Sprint(i)
	}
	return ids, f.Note("AddPendingResources", service, " ", charmURL, " ", names)
}

func (f *FakeModel) PendingResources(context.Context) ([]entity.PendingResource, error) {
	return f.Returns.Pending, f.Note("PendingResources")
}

func (f *FakeModel) ClearPendingResources(_ context.Context, services []string, allUsers bool) ([]entity.PendingResource, error) {
	return f.Returns.Pending, f.Note("ClearPendingResources", services, " ", allUsers)
}

func (f *FakeModel) UploadResource(_ context.Context, service, name, id string, file io.Reader) error {
	content, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	return f.Note("UploadResource", service, " ", name, " ", id, " ", string(content))
}
