package main

import (
	"context"
	"fmt"
	"io"

	"juju/state/entity"
)

func (f *fakeModel) Resources(_ context.Context, service string) (entity.ResourcesOf, error) {
	return f.resources, f.note("Resources", service)
}

func (f *fakeModel) AddPendingResources(
	_ context.Context, service, charmURL string, names ...string,
) (map[string]string, error) {
	ids := map[string]string{}
	for i, name := range names {
		ids[name] = fmt.Sprint(i)
	}
	return ids, f.note("AddPendingResources", service, " ", charmURL, " ", names)
}

func (f *fakeModel) PendingResources(context.Context) ([]entity.PendingResource, error) {
	return f.pending, f.note("PendingResources")
}

func (f *fakeModel) ClearPendingResources(_ context.Context, services []string, allUsers bool) ([]entity.PendingResource, error) {
	return f.pending, f.note("ClearPendingResources", services, " ", allUsers)
}

func (f *fakeModel) UploadResource(_ context.Context, service, name, id string, file io.Reader) error {
	content, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	return f.note("UploadResource", service, " ", name, " ", id, " ", string(content))
}
