package charms

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"juju/charm"
	"juju/cmd/juju/cli"
	"juju/state/entity"
)

func AttachResourceCommand(s *cli.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "attach-resource SERVICE NAME=FILE",
		Aliases: []string{"attach", "push-resource"},
		Short:   "Upload a file for a resource",
		Long: `Upload a file for a resource that a service's charm declares. It replaces the resource's
earlier file. The service's units run upgrade-charm and config-changed; their hooks fetch
the file with resource-get. Uploading a file with the same content has no effect.`,
		Example:     `  juju attach-resource web site=./site.tar.gz`,
		Annotations: cli.SeeAlso("resources", "pending-resources", "deploy", "upgrade-charm"),
		Args:        cli.AtMost(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return cli.Usagef("missing application name")
			case len(args) == 1:
				return cli.Usagef("no resource specified")
			}
			if err := cli.CheckServices(args[:1]); err != nil {
				return err
			}
			files, err := OpenResources(s, args[1:])
			if err != nil {
				return err
			}
			defer files.Close()
			return cli.WithModel(cmd.Context(), s, func(api ResourcesAPI) error { return AttachResource(cmd.Context(), s, api, args[0], files) })
		},
	}
	s.ModelFlag(cmd)
	s.PlanFlags(cmd)
	return cmd
}

// AttachResource uploads one file for a service that exists.
func AttachResource(ctx context.Context, s *cli.Session, api ResourcesAPI, service string, files ResourceFiles) error {
	for name, file := range files {
		p, content := s.Upload(s.Progress, fmt.Sprintf("resource %q", name), file)
		err := api.UploadResource(ctx, service, name, "", content)
		if p.Done(); err != nil {
			return err
		}
	}
	return nil
}

type ResourcesAPI interface {
	Resources(ctx context.Context, service string) (entity.ResourcesOf, error)
	AddPendingResources(ctx context.Context, service, charmURL string, names ...string) (ids map[string]string, err error)
	UploadResource(ctx context.Context, service, name, id string, file io.Reader) error
}

// ResourceFiles are open files for resources, by resource name.
type ResourceFiles map[string]*os.File

// OpenResources opens the files in values of --resource: NAME=FILE.
func OpenResources(s *cli.Session, values []string) (files ResourceFiles, err error) {
	files = ResourceFiles{}
	defer func() {
		if err != nil {
			files.Close()
		}
	}()
	for _, value := range values {
		name, path, ok := strings.Cut(value, "=")
		switch {
		case !ok:
			return nil, entity.WithHint(cli.Usagef("expected name=value format, got %q", value),
				"Specify the name of a resource and a file: site=./site.tar.gz")
		case name == "":
			return nil, cli.Usagef("missing resource name in %q", value)
		case path == "":
			return nil, cli.Usagef("missing resource value in %q", value)
		case !charm.IsValidResource(name):
			return nil, cli.Usagef("invalid resource name %q", name)
		case files[name] != nil:
			return nil, cli.Usagef("resource %q specified more than once", name)
		}
		if err := s.CheckFile(path); err != nil {
			return nil, err
		}
		if err := files.open(name, path); err != nil {
			return nil, err
		}
	}
	return files, nil
}

func (f ResourceFiles) open(name, path string) error {
	file, err := cli.OpenFile(path)
	if _, number := strconv.Atoi(path); number == nil && errors.Is(err, os.ErrNotExist) {
		return entity.WithHint(cli.Usagef("cannot use revision %s of resource %q", path, name),
			"A resource is a file; specify it: %s=FILE", name)
	} else if err != nil {
		return fmt.Errorf("cannot read resource %q: %w", name, err)
	}
	f[name] = file
	return nil
}

func (f ResourceFiles) Close() {
	for _, file := range f {
		file.Close()
	}
}

// Check rejects resources that a charm does not declare.
func (f ResourceFiles) Check(meta *charm.Meta) error {
	for _, name := range slices.Sorted(maps.Keys(f)) {
		if _, ok := meta.Resources[name]; ok {
			continue
		}
		err := cli.Usagef("unrecognized resource %q", name)
		if len(meta.Resources) == 0 {
			return entity.WithHint(err, "Charm %q has no resources.", meta.Name)
		}
		return entity.WithHint(err, "Resources of charm %q: %s", meta.Name,
			strings.Join(slices.Sorted(maps.Keys(meta.Resources)), ", "))
	}
	return nil
}

// Upload uploads the files before a service is deployed or upgraded, and returns the ids of the uploads.
func (f ResourceFiles) Upload(
	ctx context.Context, s *cli.Session, api ResourcesAPI, service, charmURL string,
) (ids map[string]string, err error) {
	if len(f) == 0 {
		return nil, nil
	}
	names := slices.Sorted(maps.Keys(f))
	if ids, err = api.AddPendingResources(ctx, service, charmURL, names...); err != nil {
		return nil, err
	}
	for _, name := range names {
		p, content := s.Upload(s.Progress, fmt.Sprintf("resource %q", name), f[name])
		err := api.UploadResource(ctx, service, name, ids[name], content)
		p.Done()
		if err != nil {
			return nil, err
		}
	}
	return ids, nil
}
