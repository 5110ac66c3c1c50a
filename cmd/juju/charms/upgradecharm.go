package charms

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"juju/apiserver/client"
	"juju/charm"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/wait"
	"juju/state/entity"
)

func UpgradeCharmCommand(s *cli.Session) *cobra.Command {
	u := &upgradeCharm{Session: s}
	cmd := &cobra.Command{
		Use:     "upgrade-charm SERVICE",
		Aliases: []string{"refresh"},
		Short:   "Upgrade the charm of a service",
		Long: `Make the units of a service run another version of its charm, or another charm. Each
unit unpacks the new charm between two hooks, and runs upgrade-charm and config-changed.

--path names the new version's directory or archive. It must be of the same charm.
--switch names another charm: a path, or a URL as for deploy; it must have all endpoints
that the service has relations with, and be a subordinate charm only if the old one is.
--revision goes back, or forward, to a revision that the model already has. Without any
of these, the charm comes from the repository that --repository or JUJU_REPOSITORY names.

A unit whose hook has failed is upgraded once that is resolved. With --force-units it is
upgraded at once; it stays in error, and runs neither upgrade-charm nor config-changed. So
the hooks of a service that is being destroyed can be mended; its other units keep the
charm.

Settings that the new charm does not have are kept, but not used, and a warning names
them. --resource gives the file of a resource; with it, the charm may be the same.

--storage says what units get for stores of the charm from now on, as for deploy. Storage
that exists stays as it is.`,
		Example: `  juju upgrade-charm web --path ./charms/web
  juju upgrade-charm web --path ./charms/web --force-units
  juju upgrade-charm web --revision 0
  juju upgrade-charm store --switch ./charms/faststore --config cache=yes`,
		Annotations: cli.SeeAlso("deploy", "attach-resource", "config", "resolved", "status"),
		RunE: func(cmd *cobra.Command, args []string) error {
			u.changed = cmd.Flags().Changed
			return u.run(cmd.Context(), args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&u.path, "path", "", "the `DIRECTORY` or archive of the new version")
	f.StringVar(&u.to, "switch", "", "another `CHARM`: a path or URL")
	f.IntVar(&u.revision, "revision", 0, "a `REVISION` of the charm that the model has")
	f.StringVar(&u.repo, "repository", "", "the local repository that has the charm")
	f.StringArrayVar(&u.config, "config", nil, "a setting to change at the same time, as `KEY=VALUE` or KEY=@FILE")
	f.StringArrayVar(&u.resources, "resource", nil, "the file of a resource, as `NAME=FILE`")
	f.StringArrayVar(&u.storage, "storage", nil, "storage of new units, as `STORE=[POOL,][SIZE,][COUNT]`")
	f.BoolVar(&u.forceUnits, "force-units", false, "upgrade units at once whose hook has failed")
	f.BoolVar(&u.forceSeries, "force-series", false, "upgrade to a charm that does not support the service's series")
	f.BoolVar(&u.force, "force", false, "the same as --force-units --force-series")
	u.wait.Add(cmd, "until all units run the new charm")
	s.ModelFlag(cmd)
	return cmd
}

type upgradeCharmAPI interface {
	wait.StatusAPI
	ResourcesAPI
	ArchiveAPI
	UploadAPI
	setCharmAPI
}

type setCharmAPI interface {
	SetCharm(ctx context.Context, args client.SetCharmArgs) (warnings []string, err error)
}

type upgradeCharm struct {
	*cli.Session
	path, to, repo                 string
	revision                       int
	config, resources, storage     []string
	forceUnits, forceSeries, force bool
	changed                        func(flag string) bool
	wait                           wait.Flag
}

func (u *upgradeCharm) run(ctx context.Context, args []string) error {
	if err := cli.CheckService(args); err != nil {
		return err
	}
	for _, pair := range [][2]string{{"switch", "revision"}, {"path", "revision"}, {"switch", "path"}} {
		if u.changed(pair[0]) && u.changed(pair[1]) {
			return cli.Usagef("--%s and --%s are mutually exclusive", pair[0], pair[1])
		}
	}
	request := client.SetCharmArgs{Service: args[0], ForceUnits: u.forceUnits || u.force,
		ForceSeries: u.forceSeries || u.force}
	var err error
	if request.Config, err = cli.ParseSettings(u.config); err != nil {
		return err
	}
	if request.Storage, err = entity.ParseStorage(u.storage, true); err != nil {
		return cli.Usage(err)
	}
	files, err := OpenResources(u.resources)
	if err != nil {
		return err
	}
	defer files.Close()
	// Read a charm from its path before there is a connection.
	var source *Source
	if path := u.charmPath(); path != "" {
		p := u.Quickly("Reading charm %s", path)
		source, err = Read(ctx, path)
		p.Done()
		if err != nil {
			return err
		}
		defer source.Close()
	}
	return cli.WithModel(ctx, u.Session, func(api upgradeCharmAPI) error { return u.upgrade(ctx, api, source, request, files) })
}

// charmPath returns the path that the flags name, or "".
func (u *upgradeCharm) charmPath() string {
	if u.path != "" || u.to == "" {
		return u.path
	}
	if IsPath(u.to) {
		return u.to
	}
	return ""
}

func (u *upgradeCharm) upgrade(
	ctx context.Context, api upgradeCharmAPI, source *Source, request client.SetCharmArgs, files ResourceFiles,
) error {
	status, err := api.Status(ctx, request.Service)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(status.Services, func(s entity.ServiceStatus) bool { return s.Name == request.Service })
	if i < 0 {
		return entity.WithHint(entity.Errorf(entity.NotFound, "service %q not found", request.Service),
			"See what there is: juju status")
	}
	now := status.Services[i]
	old, err := charm.ParseURL(now.CharmURL)
	if err != nil {
		return fmt.Errorf("cannot upgrade service %q: %w", now.Name, err)
	}
	if source == nil {
		if source, err = u.find(ctx, api, old); err != nil {
			return err
		}
		defer source.Close()
	}
	if u.to == "" && source.Charm.Meta.Name != old.Name {
		return entity.WithHint(fmt.Errorf("cannot upgrade %q to %q", old.Name, source.Charm.Meta.Name),
			"It is another charm. To use it all the same: juju upgrade-charm %s --switch %s", now.Name, source.Path)
	}
	if err := files.Check(source.Charm.Meta); err != nil {
		return err
	}
	same, err := source.IsSame(ctx, api, now.CharmURL)
	switch {
	case err != nil:
		return err
	case same && (request.ForceUnits || len(request.Config) > 0 || len(files) > 0 ||
		len(request.Storage) > 0):
		request.CharmURL = now.CharmURL // what the flags say still counts
	case same && u.to != "":
		return entity.Errorf(entity.AlreadyExists, "already running specified charm %q", now.CharmURL)
	case same:
		return entity.Errorf(entity.AlreadyExists, "already running latest charm %q", now.CharmURL)
	}
	if err := checkUpgrade(source, now, request); err != nil {
		return fmt.Errorf("cannot upgrade service %q to charm %q: %w", now.Name, source.Charm.Meta.Name, err)
	}
	p := u.Progress("Upgrading service %q to charm %q", now.Name, source.Charm.Meta.Name)
	defer p.Done()
	if !same {
		if request.CharmURL, err = source.Upload(ctx, u.Session, api, now.Series); err != nil {
			return err
		}
	}
	if request.Resources, err = files.Upload(ctx, u.Session, api, now.Name, request.CharmURL); err != nil {
		return err
	}
	warnings, err := api.SetCharm(ctx, request)
	p.Done()
	if err != nil {
		return err
	}
	u.Warn(slices.Concat(source.Mended, warnings)...)
	if same {
		u.Note("Service %q has charm %s already; its units follow.", now.Name, now.CharmURL)
	} else {
		u.Note("Service %q is upgraded from charm %s to %s; its units follow.", now.Name, now.CharmURL, request.CharmURL)
	}
	if !request.ForceUnits && !same {
		u.noteFailed(status, now.Name)
	}
	return u.wait.Run(ctx, u.Session, api, wait.Condition{Names: []string{now.Name}, Upgraded: true})
}

// noteFailed names the units whose failed hooks hold up the upgrade of a service.
func (u *upgradeCharm) noteFailed(m *entity.ModelStatus, service string) {
	var failed []string
	for _, t := range wait.Entities(m) {
		if t.Kind == "unit" && t.Of == service && t.Failed() != nil {
			failed = append(failed, t.Name)
		}
	}
	if len(failed) > 0 {
		u.Note("In error, and upgraded when juju resolved has the old charm's hook succeed: %s\n%s", wait.Some(failed),
			wait.UpgradeAtOnce(service))
	}
}

// checkUpgrade refuses before the upload what the controller would refuse after it, as far as the
// Charm and the service's status show it.
func checkUpgrade(source *Source, now entity.ServiceStatus, request client.SetCharmArgs) error {
	if source.archive == nil {
		return nil // nothing is uploaded
	}
	if why, hint := source.Charm.Meta.Unfit(now.Series, now.Subordinate, request.ForceSeries); why != "" {
		return entity.WithHint(errors.New(why), "%s", hint)
	}
	_, err := source.Charm.Config.ParseSettingsStrings(request.Config)
	return entity.WithHint(err, "The charm's config.yaml lists its options")
}

// Find reads the charm that the flags name by other means than a path.
func (u *upgradeCharm) find(ctx context.Context, api upgradeCharmAPI, old charm.URL) (*Source, error) {
	repo := RepositoryOf(u.Session, u.repo)
	want := old
	want.Revision = -1
	switch {
	case u.changed("revision"):
		want.Revision = u.revision
		return FromModel(ctx, api, want.String())
	case u.to != "":
		var err error
		if want, err = charm.ParseURL(u.to); err != nil {
			return nil, cli.Usage(fmt.Errorf("cannot upgrade to charm %q: %w", u.to, err))
		}
		if repo == "" && want.Schema == "local" && want.Series != "" && want.Revision >= 0 {
			return FromModel(ctx, api, u.to)
		}
	}
	if repo == "" && u.to != "" {
		return nil, entity.WithHint(cli.Usagef("cannot upgrade to charm %q: there is no charm store", u.to),
			"Give the charm's directory or archive, --switch ./CHARM, or the local repository that has it: --repository DIR")
	}
	if repo == "" {
		return nil, cli.Usagef("upgrading a local charm requires either --path or --switch")
	}
	return repo.Find(ctx, want, old.Series)
}
