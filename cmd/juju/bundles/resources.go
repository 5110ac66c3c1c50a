package bundles

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"juju/apiserver/bundlechanges"
	"juju/charm/bundle"
	"juju/cmd/juju/charms"
	"juju/state/entity"
)

// checkFile returns why the file of a resource can't be read.
func (b *bundleSource) checkFile(file bundle.File) error {
	f, err := b.open(file)
	if err != nil {
		return err
	}
	return f.Close()
}

func (b *bundleSource) has(service string) bool { return b.Services[service] != nil }

func (b *bundleSource) hasResources(service string) bool {
	return b.has(service) && len(b.Services[service].Resources) > 0
}

// resourceSums returns the SHA-256 of each file that a bundle names for a service, in hex.
func (b *bundleSource) resourceSums(service string) (map[string]string, error) {
	sums := map[string]string{}
	for resource, file := range b.Services[service].Resources {
		f, err := b.open(file)
		if err == nil {
			sums[resource], err = entity.SHA256(f)
			f.Close()
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read resource %q: %w", resource, err)
		}
	}
	return sums, nil
}

// readResources returns the checksums of a service's resource files.
func readResources(ctx context.Context, api readBundleAPI, service string) (map[string]string, error) {
	of, err := api.Resources(ctx, service)
	if errors.Is(err, entity.NotImplemented) { // by an older controller
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return of.Sums(), nil
}

// openResources opens the files of a service's resources.
func (b *bundleSource) openResources(service string, names ...string) (charms.ResourceFiles, error) {
	files := charms.ResourceFiles{}
	for _, name := range names {
		f, err := b.open(b.Services[service].Resources[name])
		if err != nil {
			files.Close()
			return nil, fmt.Errorf("cannot read resource %q: %w", name, err)
		}
		files[name] = f
	}
	return files, nil
}

// uploadResources uploads the resource files of a service before it is deployed.
func (p *bundlePlan) uploadResources(ctx context.Context, service, charmURL string) (ids map[string]string, err error) {
	files, err := p.source.openResources(service, slices.Sorted(maps.Keys(p.source.Services[service].Resources))...)
	if err != nil {
		return nil, err
	}
	defer files.Close()
	return files.Upload(ctx, p.Session, p.api, service, charmURL)
}

func (p *bundlePlan) attachOne(ctx context.Context, c *bundlechanges.AttachResource) error {
	files, err := p.source.openResources(c.Service, c.Resource)
	if err != nil {
		return err
	}
	defer files.Close()
	return charms.AttachResource(ctx, p.Session, p.api, c.Service, files)
}
