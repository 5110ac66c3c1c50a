package services

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"juju/apiserver/client"
	"juju/charm"
	"juju/cmd/juju/bundles"
	"juju/cmd/juju/charms"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/wait"
	"juju/state/constraints"
	"juju/state/entity"
	"juju/state/limits"
)

func DeployCommand(s *cli.Session) *cobra.Command {
	d := &deploy{Session: s, bundle: bundles.Deploy{Session: s}}
	cmd := &cobra.Command{
		Use:   "deploy CHARM [SERVICE] | BUNDLE",
		Short: "Deploy a charm as a service, or a bundle",
		Long: `Deploy a charm as a service with one unit, or several with -n. CHARM is the path of a
charm's directory or zip archive, or the name of a charm in the charm store of the model
(charmhub-url, see juju model-config), NAME or ch:NAME. The service's name is SERVICE, by
default the charm's name.

Of a charm in the store, --channel says from which channel it comes, such as 14/stable or
edge, and --revision which revision; juju refresh later follows the channel. The
controller gets the charm, and the revision is one for the base in --base, else for the
model's, else for any. The resources of the release come with it, but for those in
--resource. juju find and juju info show what a store has.

CHARM can also be a URL. local:[SERIES/]NAME is a charm in a local repository, a directory
with SERIES/CHARM below it that is given by --repository or JUJU_REPOSITORY. Without a
repository, local:SERIES/NAME-REVISION is a charm that is already in the model.

By default, each unit gets its own machine: one that has never had a unit, if its series
and constraints match, or else a new one. With --to, 3 is machine 3, lxd:3 a new container
on it, lxd a new container on a new machine, new a new machine, and zone=node2 a new
machine in that availability zone. A service's new machines are distributed across the
cloud's zones.

The series of new machines is that in --series; else the model's default-series, if the
charm supports it; else a series that the charm supports. The command fails if the cloud
cannot satisfy the series or the constraints, and warns about constraints that the cloud
ignores. The local cloud runs hooks on this host's own series; to deploy a charm that does
not support it, use --series with --force. A cloud without Ubuntu runs charms that support
only Ubuntu's series on its own, with a warning.

--config KEY=VALUE sets a single option, and --config KEY=@FILE reads its value from a
file. --config FILE reads options from a YAML file, where they are below the service's
name. Single options override those in the YAML file.

Units get the storage that their charm needs. --storage sets its constraints: STORE is the
charm's name for it, POOL one of juju storage-pools, SIZE such as 10G, and COUNT the
number of instances. --attach-storage gives a single unit existing, unattached storage
instead of new storage.

--bind binds the service, or endpoints of its charm, to spaces: see juju help bind.

--resource uploads a file for a resource that the charm declares; units fetch it with
resource-get. To upload a file later: juju attach-resource.

BUNDLE is a YAML file, a directory or zip archive with a bundle.yaml, or - for standard
input. It describes services, machines and relations. The command adds those that are
missing from the model, and updates charms, settings, constraints, annotations and
exposure that differ; it never removes anything. If a change fails, the command reports
how many changes were made; repeat it to continue. To make the model match the bundle
exactly, use juju apply.

A charm in a bundle is a URL, or a path that starts with a dot and is relative to the
bundle. Further documents in the file, and --overlay files, are overlays of the first
document: their values override it, and null removes a service. An option or annotation
include-file://PATH or include-base64://PATH is replaced by the content of that file,
unless it is tagged with !!str. These files and those of resources must be below the
folder of the bundle or overlay that names them, unless --allow-includes is given.

A bundle can use offers of other models of the controller (saas: {NAME: {url: URL}}), to
which its relations can refer. It can offer endpoints of its services to users (offers:
{NAME: {endpoints: […], acl: {USER: consume}}}).

The machines of a bundle are new, unless its units are already in the model or
--map-machines maps them: A=B maps the bundle's machine A to the model's machine B, and
"existing" maps machines with equal numbers.`,
		Example: `  juju deploy postgresql --channel 14/stable
  juju deploy ./charms/web
  juju deploy ./charms/web front -n 2 --config title="Good morning"
  juju deploy ./web.zip --to 3 --wait
  juju deploy ./web --to lxd:3
  juju deploy ./charms/store --constraints "mem=2G cores=2"
  juju deploy ./charms/store --storage data=10G --storage logs=rootfs,1G,2
  juju deploy ./charms/web --bind "dmz db=internal"
  juju deploy ./charms/web --resource site=./site.tar.gz
  juju deploy local:jammy/store --repository ~/charms
  juju deploy ./shop/bundle.yaml --overlay ./production.yaml --dry-run
  juju deploy ./shop --map-machines existing,3=7`,
		Annotations: cli.SeeAlso("add-unit", "add-relation", "config", "set-constraints", "expose", "apply", "diff-bundle", "storage",
			"attach-resource", "status"),
		Args: cli.AtMost(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			d.changed = cmd.Flags().Changed
			return d.run(cmd.Context(), args)
		},
	}
	f := cmd.Flags()
	f.IntVarP(&d.units, "num-units", "n", 1, "the number of units")
	f.StringArrayVar(&d.to, "to", nil, "the `placements` of the units, separated by commas")
	f.StringArrayVar(&d.config, "config", nil, "a setting as `KEY=VALUE` or KEY=@FILE, or a YAML file of settings")
	f.StringVar(&d.constraints, "constraints", "", "the constraints of new machines, as KEY=VALUE, separated by spaces")
	cli.SeriesFlags(cmd, &d.series, "new machines")
	f.StringVar(&d.channel, "channel", "", "the `CHANNEL` of a charm store, such as 14/stable (default stable)")
	f.IntVar(&d.revision, "revision", -1, "the `REVISION` that a charm store has")
	f.BoolVar(&d.force, "force", false,
		"deploy to a base that the charm does not support or the cloud does not have, and a charm that assumes another Juju "+
			"or has an LXD profile that charms may not have; "+
			fmt.Sprintf("with -n or a bundle: deploy more than %d units of a service", limits.MaxAtOnce))
	f.StringVar(&d.bind, "bind", "", "bind the service and endpoints to spaces, as `SPACE ENDPOINT=SPACE`, separated by spaces")
	f.StringArrayVar(&d.storage, "storage", nil, "storage of each unit, as `STORE=[POOL,][SIZE,][COUNT]`")
	f.StringArrayVar(&d.attach, "attach-storage", nil, "the existing `storage` to attach to the unit, separated by commas")
	f.StringArrayVar(&d.resources, "resource", nil, "the file of a resource, as `NAME=FILE`")
	f.StringVar(&d.bundle.Repo, "repository", "", "the local repository of charms given by URL")
	f.BoolVar(&d.bundle.Trust, "trust", false, "let the charm use the cloud's credential; with a bundle, those charms that it trusts")
	d.bundle.AddFlags(f)
	d.wait.Add(cmd, "until the service is active")
	s.ModelFlag(cmd)
	s.PlanFlags(cmd)
	return cmd
}

type deployAPI interface {
	wait.StatusAPI
	charms.ResourcesAPI
	addUnitAPI
	charms.UploadAPI
	charms.ArchiveAPI
	charms.StoreAPI
	CheckDeploy(ctx context.Context, args client.DeployArgs, charm entity.Platforms) (series string,
		warnings []string, err error)
	Deploy(ctx context.Context, args client.DeployArgs) (warnings []string, err error)
}

type deploy struct {
	*cli.Session
	units       int
	to          []string
	config      []string
	constraints string
	bind        string
	storage     []string
	attach      []string
	resources   []string
	series      string
	channel     string
	revision    int
	force       bool
	bundle      bundles.Deploy // also has the flags shared with charms
	changed     func(flag string) bool
	wait        wait.Flag
}

func (d *deploy) run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return cli.Usagef("no charm specified")
	}
	if !d.Embedded {
		if err := bundles.CheckCharmFile(args[0]); err != nil {
			return err
		}
	}
	if !d.Embedded && bundles.IsBundle(args[0]) {
		if len(args) > 1 {
			return cli.Usagef("a bundle has no name: unrecognized args: %q", args[1:])
		}
		if err := d.refuse("bundle", "bind", "config", "constraints", "num-units", "series", "base", "to", "channel", "revision"); err != nil {
			return err
		}
		d.bundle.Force, d.bundle.Wait = d.force, d.wait
		return d.bundle.Run(ctx, args[0])
	}
	if err := d.refuse("charm", "overlay", "map-machines", "allow-includes"); err != nil {
		return err
	}
	if err := d.CheckUnits(d.units, d.force); err != nil {
		return err
	}
	p := d.Quickly("Reading charm %s", args[0])
	source, get, err := d.find(ctx, args[0])
	p.Done()
	if err != nil {
		return err
	}
	if get != nil {
		return cli.WithModel(ctx, d.Session, func(api deployAPI) error {
			if source, err = get(api, args); err != nil {
				return err
			}
			return d.service(ctx, source, args, func(do func(deployAPI) error) error { return do(api) })
		})
	}
	defer source.Close()
	return d.service(ctx, source, args, func(do func(deployAPI) error) error { return cli.WithModel(ctx, d.Session, do) })
}

// refuse returns an error for flags that do not apply to what is deployed.
func (d *deploy) refuse(what string, flags ...string) error {
	var given []string
	for _, flag := range flags {
		if d.changed(flag) {
			given = append(given, "--"+flag)
		}
	}
	if len(given) == 0 {
		return nil
	}
	return cli.Usagef("Flags provided but not supported when deploying a %s: %s.", what, strings.Join(given, ", "))
}

// find reads the charm given by an argument. For one of the model or its store it returns what gets that.
func (d *deploy) find(ctx context.Context, arg string) (source *charms.Source,
	get func(api deployAPI, args []string) (*charms.Source, error), err error) {
	isPath := charms.IsPath(arg) || arg == cli.StandardInput
	if !isPath && !d.Embedded {
		_, err := os.Stat(arg)
		isPath = err == nil
	}
	if isPath {
		if err := d.CheckFile(arg); err != nil {
			return nil, nil, err
		}
		if err := d.refuse("local charm", "channel", "revision"); err != nil {
			return nil, nil, err
		}
		source, err = charms.Read(ctx, arg)
		return source, nil, err
	}
	if err := d.CheckFile(d.bundle.Repo); err != nil {
		return nil, nil, err
	}
	repo := charms.RepositoryOf(d.Session, d.bundle.Repo)
	u, err := charm.ParseURL(arg)
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("cannot deploy charm %q: %w", arg, err)
	case repo == "" && u.Schema == "local" && u.Series != "" && u.Revision >= 0:
		return nil, func(api deployAPI, _ []string) (*charms.Source, error) {
			return charms.FromModel(ctx, d.Session, api, arg)
		}, d.refuse("local charm", "channel", "revision")
	case repo == "" && u.Schema != "local":
		want, err := d.choice(arg)
		return nil, func(api deployAPI, args []string) (*charms.Source, error) {
			if err := d.checkUnused(ctx, api, args[len(args)-1], arg); err != nil { // before the charm is fetched
				return nil, err
			}
			return charms.FromStore(ctx, d.Session, api, want)
		}, err
	case d.Embedded:
		return nil, nil, entity.WithHint(fmt.Errorf("cannot deploy charm %q: the controller runs this command, and has only charms of the model", arg),
			charms.OfModel, "deploy")
	case repo == "":
		return nil, nil, entity.WithHint(fmt.Errorf("cannot deploy charm %q: it is neither a path nor a charm of the model", arg),
			"To deploy a charm from its directory or archive: juju deploy ./DIRECTORY")
	}
	if err := d.refuse("local charm", "channel", "revision"); err != nil {
		return nil, nil, err
	}
	if source, err = repo.Find(ctx, u, d.series); err != nil {
		return nil, nil, err
	}
	if d.series == "" {
		d.series = u.Series
	}
	if u.Schema != "local" {
		d.Warn(fmt.Sprintf("using charm %q from %s", arg, source.Path))
	}
	return source, nil, nil
}

// choice returns which charm of a store the user wants.
func (d *deploy) choice(name string) (charms.Choice, error) {
	switch {
	case d.changed("revision") && d.revision < 0:
		return charms.Choice{}, cli.Usagef("--revision must be a number that is not negative")
	case d.changed("revision") && d.channel == "":
		return charms.Choice{}, cli.Usagef("specifying a revision requires a channel for future upgrades. Please use --channel")
	}
	return charms.ParseChoice(name, d.channel, d.revision, d.series)
}

// checkUnused returns an error if there is a service of that name.
func (d *deploy) checkUnused(ctx context.Context, api deployAPI, service, charm string) error {
	service = strings.TrimPrefix(service, "ch:")
	status, err := api.Status(ctx, service)
	if err != nil {
		return err
	}
	for _, s := range status.Services {
		if s.Name != service {
			continue
		}
		err := entity.Errorf(entity.AlreadyExists, "cannot add service %q: service already exists", service)
		if s.Life != entity.Alive {
			return entity.WithHint(err, "It is still being destroyed. To wait until it is removed: juju wait-for %s --gone",
				service)
		}
		return entity.WithHint(err, "To use another name: juju deploy %s NAME; "+
			"to add units to the existing service: juju add-unit %s", charm, service)
	}
	return nil
}

// service deploys a charm as a service. with calls a function with a connection to the model.
func (d *deploy) service(
	ctx context.Context, source *charms.Source, args []string, with func(func(deployAPI) error) error,
) error {
	request, err := d.request(source)
	if err != nil {
		return err
	}
	request.Service = source.Charm.Meta.Name
	if len(args) == 2 {
		request.Service = args[1]
	}
	if !entity.IsValidService(request.Service) {
		return cli.Usage(entity.InvalidService(request.Service))
	}
	if err := d.settings(&request, source.Charm.Config); err != nil {
		return err
	}
	if err := source.CheckUnforced("deploy", d.force); err != nil {
		return err
	}
	files, err := charms.OpenResources(d.Session, d.resources)
	if err != nil {
		return err
	}
	defer files.Close()
	if err := files.Check(source.Charm.Meta); err != nil {
		return err
	}
	return with(func(api deployAPI) error {
		if err := d.deploy(ctx, api, source, request, files); err != nil {
			return err
		}
		return d.wait.Run(ctx, d.Session, api, wait.Condition{Names: []string{request.Service}})
	})
}

func (d *deploy) request(source *charms.Source) (r client.DeployArgs, err error) {
	r = client.DeployArgs{Series: d.series, Origin: source.Origin, Units: d.units, Force: d.force}
	ch := source.Charm
	if r.Placement, err = cli.ParsePlacements(d.to); err != nil {
		return r, err
	}
	if r.Constraints, err = constraints.Parse(d.constraints); err != nil {
		return r, cli.Usage(err)
	}
	if r.Bindings, err = cli.ParseBindings([]string{d.bind}); err != nil {
		return r, err
	}
	if r.Storage, err = entity.ParseStorage(d.storage, true); err != nil {
		return r, cli.Usage(err)
	}
	if r.Attach, err = cli.ParseStorageIDs(d.attach); err != nil {
		return r, err
	}
	switch {
	case len(r.Attach) > 0 && d.changed("num-units"):
		return r, cli.Usagef("--attach-storage cannot be used with -n")
	case len(r.Attach) > 0 && ch.Meta.Subordinate:
		return r, cli.Usagef("cannot use --attach-storage with subordinate service")
	case ch.Meta.Subordinate && (len(d.to) > 0 || d.changed("num-units")):
		return r, entity.WithHint(cli.Usagef("cannot use --num-units or --to with subordinate service"),
			"It gets a unit for each unit of the services it is related to.")
	case ch.Meta.Subordinate && d.constraints != "":
		return r, entity.WithHint(cli.Usagef("cannot use --constraints with subordinate service"),
			"It runs on the machines of the services it is related to.")
	case ch.Meta.Subordinate:
		r.Units = 0
	case d.units < 1:
		return r, cli.Usagef("--num-units must be a positive integer")
	case d.series != "" && !charm.IsValidSeries(d.series):
		return r, cli.Usage(entity.InvalidSeries(d.series))
	}
	return r, nil
}

// settings adds the values of --config to the request. It checks them against the charm, because the controller would
// check them only after the upload.
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
		return cli.Usagef("only a single config YAML file can be specified, got %d", len(files))
	}
	if r.Config, err = d.ParseSettings(pairs); err != nil {
		return err
	}
	if d.bundle.Trust {
		r.Config[charm.Trust] = "true"
	}
	hint := func(err error) error {
		if err == nil {
			return nil
		}
		return entity.WithHint(fmt.Errorf("cannot deploy %q: %w", r.Service, err),
			"The charm's config.yaml lists its options.")
	}
	if len(files) == 1 {
		if r.ConfigYAML, err = d.ReadOptions(files[0]); err != nil {
			return err
		}
	}
	_, err = config.ForService().ParseSettings(r.Service, r.Config, r.ConfigYAML)
	return hint(err)
}

// deploy uploads the charm and its resources, and adds the service.
func (d *deploy) deploy(
	ctx context.Context, api deployAPI, source *charms.Source, r client.DeployArgs, files charms.ResourceFiles,
) error {
	if source.Origin == nil { // the controller would check this only after the upload
		if err := d.checkUnused(ctx, api, r.Service, source.Path); err != nil {
			return err
		}
	}
	rest := unitsToAdd{service: r.Service, n: r.Units, to: r.Placement}
	r.Units, r.Placement = rest.next()
	series, _, err := api.CheckDeploy(ctx, r, source.Charm.Meta.Platforms)
	if errors.Is(err, entity.NotImplemented) { // by an older controller
		series, err = r.Series, nil
	}
	if err != nil {
		return err
	}
	p := d.Progress("Deploying charm %q as service %q", source.Charm.Meta.Name, r.Service)
	defer p.Done()
	if r.CharmURL, err = source.Upload(ctx, d.Session, api, series); err != nil {
		return err
	}
	if r.Resources, err = files.Upload(ctx, d.Session, api, r.Service, r.CharmURL); err != nil {
		return err
	}
	if d.Planning() {
		api.KeepForPlan()
	}
	warnings, err := api.Deploy(ctx, r)
	p.Done()
	if err != nil && !errors.Is(err, client.ErrPlanned) {
		return err
	}
	d.Warn(slices.Concat(source.Warnings(), warnings)...)
	if _, err := rest.add(ctx, d.Session, api); err != nil {
		return err
	}
	plural := "s"
	if rest.n == 1 {
		plural = ""
	}
	if source.Origin != nil {
		d.Note("Deployed %q from %s on %s", r.Service, source.InChannel(), source.Origin.Base)
	}
	d.Note("Service %q is deployed from charm %s with %d unit%s.", r.Service, r.CharmURL, rest.n, plural)
	return nil
}
