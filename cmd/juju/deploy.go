package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"juju/apiserver/client"
	"juju/charm"
	"juju/state/entity"
)

func deployCommand(s *session) *cobra.Command {
	d := &deploy{session: s}
	cmd := &cobra.Command{
		Use:   "deploy CHARM [SERVICE]",
		Short: "Deploy a service",
		Long: `Deploy a charm as a service with one unit, or as many as -n says. CHARM is the path of
a charm's directory or zip archive. The service is called SERVICE, or else has the
name of its charm.

Each unit gets a machine of its own, unless --to names the machines: one that has never
had a unit, if its series and constraints fit, or else a new one.

New machines have the series that --series names; else the model's default-series, if
the charm supports it; else a series that the charm supports. The command fails if the
cloud cannot meet the series or the constraints, and warns about constraints that the
cloud ignores. The local cloud runs hooks on this host's own series; to deploy a charm
that does not support that series, use --series with --force.

Give settings one by one with --config KEY=VALUE, or with --config KEY=@FILE to take
the value from a file; or give --config FILE, a YAML file of settings below the
service's name. Settings given one by one override those in the YAML file.`,
		Example: `  juju deploy ./charms/web
  juju deploy ./charms/web front -n 2 --config title="Good morning"
  juju deploy ./web.zip --to 3 --wait
  juju deploy ./charms/store --constraints "mem=2G cores=2"`,
		Annotations: seeAlso("add-unit", "add-relation", "config", "set-constraints", "expose", "status"),
		RunE: func(cmd *cobra.Command, args []string) error {
			d.unitsGiven = cmd.Flags().Changed("num-units")
			return d.run(cmd.Context(), args)
		},
	}
	f := cmd.Flags()
	f.IntVarP(&d.units, "num-units", "n", 1, "the number of units")
	f.StringArrayVar(&d.to, "to", nil, "the `machines` to put the units on, separated by commas")
	f.StringArrayVar(&d.config, "config", nil, "a setting as `KEY=VALUE` or KEY=@FILE, or a YAML file of settings")
	f.StringVar(&d.constraints, "constraints", "", "the constraints of new machines, as KEY=VALUE, separated by spaces")
	f.StringVar(&d.series, "series", "", "the series of new machines")
	f.BoolVar(&d.force, "force", false,
		"with --series: deploy to a series that the charm does not name, or the cloud does not have")
	d.wait.flag(cmd, "until the service is active")
	s.modelFlag(cmd)
	return cmd
}

type deployAPI interface {
	statusAPI
	UploadCharm(ctx context.Context, archive io.Reader, series string) (string, error)
	CheckDeploy(ctx context.Context, args client.DeployArgs, charm []string) (series string, err error)
	Deploy(ctx context.Context, args client.DeployArgs) (warnings []string, err error)
}

type deploy struct {
	*session
	units       int
	unitsGiven  bool
	to          []string
	config      []string
	constraints string
	series      string
	force       bool
	wait        waitFlag
}

func (d *deploy) run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return usagef("no charm specified")
	}
	if len(args) > 2 {
		return usagef("unrecognized args: %q", args[2:])
	}
	source, err := readCharm(ctx, args[0])
	if err != nil {
		return err
	}
	defer source.archive.Close()
	request, err := d.request(source.charm)
	if err != nil {
		return err
	}
	request.Service = source.charm.Meta.Name
	if len(args) == 2 {
		request.Service = args[1]
	}
	if !entity.IsValidService(request.Service) {
		return usageError{entity.InvalidService(request.Service)}
	}
	if err := d.settings(&request, source.charm.Config); err != nil {
		return err
	}
	return d.withModel(ctx, func(api modelAPI) error {
		if err := d.deploy(ctx, api, source, request); err != nil {
			return err
		}
		return d.wait.run(ctx, d.session, api, until{names: []string{request.Service}})
	})
}

// request returns the request that the flags describe.
func (d *deploy) request(ch *charm.Charm) (r client.DeployArgs, err error) {
	r = client.DeployArgs{Series: d.series, Units: d.units, Force: d.force}
	if r.Placement, err = placements(d.to); err != nil {
		return r, err
	}
	if r.Constraints, err = entity.ParseConstraints(d.constraints); err != nil {
		return r, usageError{err}
	}
	switch {
	case ch.Meta.Subordinate && (len(d.to) > 0 || d.unitsGiven):
		return r, entity.WithHint(usagef("cannot use --num-units or --to with subordinate service"),
			"It gets a unit for each unit of the services it is related to")
	case ch.Meta.Subordinate && d.constraints != "":
		return r, entity.WithHint(usagef("cannot use --constraints with subordinate service"),
			"It runs on the machines of the services it is related to")
	case ch.Meta.Subordinate:
		r.Units = 0
	case d.units < 1:
		return r, usagef("--num-units must be a positive integer")
	case d.force && d.series == "":
		return r, usagef("--force is only used with --series")
	case d.series != "" && !charm.IsValidSeries(d.series):
		return r, usageError{entity.InvalidSeries(d.series)}
	}
	return r, nil
}

// settings adds the values of --config to the request. It checks them against the charm before
// the upload; the controller would only do so after it.
func (d *deploy) settings(r *client.DeployArgs, config *charm.Config) (err error) {
	var pairs, files []string
	for _, value := range d.config {
		if strings.Contains(value, "=") {
			pairs = append(pairs, value)
		} else {
			files = append(files, value)
		}
	}
	if len(files) > 1 {
		return usagef("only a single config YAML file can be specified, got %d", len(files))
	}
	if r.Config, err = settings(pairs); err != nil {
		return err
	}
	hint := func(err error) error {
		if err == nil {
			return nil
		}
		return entity.WithHint(fmt.Errorf("cannot deploy %q: %w", r.Service, err),
			"The charm's config.yaml lists its options")
	}
	if len(files) == 1 {
		if r.ConfigYAML, err = readOptionFile(files[0]); err != nil {
			return err
		}
		if _, err := config.ParseSettingsYAML([]byte(r.ConfigYAML), r.Service); err != nil {
			return hint(err)
		}
	}
	_, err = config.ParseSettingsStrings(r.Config)
	return hint(err)
}

// deploy uploads the charm and adds the service.
func (d *deploy) deploy(ctx context.Context, api deployAPI, source *charmSource, r client.DeployArgs) error {
	// Check this before the upload; the controller would only do so after it.
	status, err := api.Status(ctx, r.Service)
	if err != nil {
		return err
	}
	for _, s := range status.Services {
		if s.Name != r.Service {
			continue
		}
		err := entity.Errorf(entity.AlreadyExists, "cannot add service %q: service already exists", r.Service)
		if s.Life != entity.Alive {
			return entity.WithHint(err, "It is still being destroyed. To wait until it is gone: juju wait-for %s --gone",
				r.Service)
		}
		return entity.WithHint(err, "Choose another name: juju deploy %s NAME; "+
			"or add units to the existing service: juju add-unit %s", source.path, r.Service)
	}
	series, err := api.CheckDeploy(ctx, r, source.charm.Meta.Series)
	if errors.Is(err, entity.NotImplemented) { // by an older controller
		series, err = r.Series, nil
	}
	if err != nil {
		return err
	}
	p := d.progress("Deploying charm %q as service %q", source.charm.Meta.Name, r.Service)
	defer p.done()
	if r.CharmURL, err = api.UploadCharm(ctx, source.archive, series); err != nil {
		return err
	}
	warnings, err := api.Deploy(ctx, r)
	p.done()
	if err != nil {
		return err
	}
	d.warn(warnings...)
	plural := "s"
	if r.Units == 1 {
		plural = ""
	}
	d.note("Service %q is deployed from charm %s with %d unit%s.", r.Service, r.CharmURL, r.Units, plural)
	return nil
}

// A charmSource is a valid charm with its archive.
type charmSource struct {
	path    string // as the user gave it
	charm   *charm.Charm
	archive io.ReadCloser
}

// readCharm reads and validates the charm at a path.
func readCharm(ctx context.Context, arg string) (*charmSource, error) {
	info, err := os.Stat(arg)
	if errors.Is(err, fs.ErrNotExist) && !isPath(arg) {
		return nil, entity.WithHint(fmt.Errorf("cannot deploy charm %q: only local charms are supported", arg),
			"Deploy a charm from its directory or archive: juju deploy ./DIRECTORY")
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read charm: %w", err)
	}
	if isBundle(arg, info) {
		return nil, entity.WithHint(fmt.Errorf("cannot deploy bundle %q: bundles are not supported yet", arg),
			"Deploy its charms one by one: juju deploy ./DIRECTORY")
	}
	if !info.IsDir() {
		return readCharmArchive(ctx, arg)
	}
	dir, err := charm.ReadDir(arg)
	if err != nil {
		return nil, badCharm(err)
	}
	archive, err := archiveOf(dir)
	if err != nil {
		return nil, badCharm(err)
	}
	return &charmSource{arg, &dir.Charm, archive}, nil
}

// readCharmArchive opens an archive once, for validating its charm and for the upload.
func readCharmArchive(ctx context.Context, path string) (*charmSource, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, entity.WithHint(fmt.Errorf("cannot read charm: %w", err),
			"Deploy a charm from its directory or archive: juju deploy ./DIRECTORY")
	}
	var a *charm.Archive
	size, err := f.Seek(0, io.SeekEnd)
	if err == nil {
		a, err = charm.ReadArchiveFrom(ctx, f, size)
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		// The inner error is about the archive, too: drop the outer one.
		if inner := errors.Unwrap(err); a == nil && inner != nil {
			err = inner
		}
		return nil, badCharm(fmt.Errorf("cannot read charm %q: %w", path, err))
	}
	return &charmSource{path, &a.Charm, f}, nil
}

// badCharm adds to a charm's error how to fix it.
func badCharm(err error) error {
	if errors.Is(err, charm.ErrInvalid) {
		return entity.WithHint(err, "%s", strings.TrimPrefix(charm.Help(err)+"\nFix the charm, and deploy it again", "\n"))
	}
	return err
}

// isPath reports whether an argument can only be a path.
func isPath(arg string) bool {
	return strings.HasPrefix(arg, ".") || strings.HasPrefix(arg, "~") || filepath.IsAbs(arg) || strings.HasSuffix(arg, "/")
}

func isBundle(path string, info fs.FileInfo) bool {
	if info.IsDir() {
		_, noMeta := os.Stat(filepath.Join(path, "metadata.yaml"))
		_, noBundle := os.Stat(filepath.Join(path, "bundle.yaml"))
		return noMeta != nil && noBundle == nil
	}
	ext := filepath.Ext(path)
	return ext == ".yaml" || ext == ".yml"
}

// archiveOf writes the archive of a charm to an unlinked temporary file. It is complete before
// the upload begins, so that an error in reading the charm's files is not reported as an error
// of the connection.
func archiveOf(dir *charm.Dir) (io.ReadCloser, error) {
	f, err := os.CreateTemp("", "juju-charm-*.zip")
	if err == nil {
		err = os.Remove(f.Name())
	}
	if err != nil {
		return nil, fmt.Errorf("cannot archive charm: %w", err)
	}
	if err = dir.ArchiveTo(f); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
