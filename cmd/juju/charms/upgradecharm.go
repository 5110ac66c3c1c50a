package charms

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

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
		Long: `Upgrade a service to another version of its charm, or switch it to another charm. Each
unit unpacks the new charm between two hooks, then runs upgrade-charm and config-changed.

A charm from a charm store gets the newest revision of the channel that the service
follows. --channel has it follow another channel from now on. --revision gives it a
revision of the store; the next upgrade without it moves on.

The resources of the release come with it, but not in batches; a resource whose file a
user has uploaded keeps that.

--path gives the directory or archive of the new version, which must be the same charm.
--switch gives another charm, as a path, a name in the charm store or a URL as for deploy.
It must have all endpoints that the service's relations use, and be subordinate if and
only if the old charm is. For a local charm, --revision selects an older or newer revision
that is already in the model. Without any of these, a local charm comes from the
repository in --repository or JUJU_REPOSITORY.

A unit in error is upgraded once the error is resolved. With --force-units it is upgraded
at once; it stays in error, and runs neither upgrade-charm nor config-changed. Use this to
fix the hooks of a service that is being destroyed; its other units keep the old charm.

Settings that the new charm does not define are kept but unused, and bindings of endpoints
that it does not have are dropped (with --batch when the upgrade ends), with a warning.
--resource uploads the file of a resource; with it, the charm may be unchanged.

--storage sets the storage constraints of new units, as for deploy. Existing storage does
not change. --bind binds the service, or endpoints of the new charm, to spaces, as juju
bind does; with it, the charm may be unchanged.

With --batch N, N units at a time are upgraded, the leader last, and the next ones once
these are healthy: the agent is idle, no hook has failed, and the workload is active, or
unknown if the charm sets no status, or has the status that it had before. If they are not
healthy within --health-timeout, or a unit upgraded earlier is in error or lost then, the
upgrade stops, and the status of the service says why. The other units keep the old charm
and its hooks, even if their agents restart. The controller does all this; the command
returns at once. New units and the service's options, also those set with --config, are
the new charm's at once; storage that only one of the two charms has can't be added.

--resume continues an upgrade that has stopped, once you have dealt with the cause; with
--batch and --health-timeout it changes the pace, also of a revert. --revert goes back to
the old charm, in batches too, at the pace of the upgrade unless these flags are given:
units in error get it at once, and run the failed hook again; peer relations that only the
new charm has are removed. Settings changed with --config get their old values, except
those changed since. Another upgrade is refused until the upgrade has ended
or stopped; one without --batch then upgrades all units at once, one with --batch can
still be reverted to the charm before both.`,
		Example: `  juju upgrade-charm postgresql --channel 16/stable
  juju upgrade-charm web --path ./charms/web
  juju upgrade-charm web --path ./charms/web --force-units
  juju upgrade-charm web --revision 0
  juju upgrade-charm web --path ./charms/web --batch 2 --health-timeout 10m --wait
  juju upgrade-charm web --revert
  juju upgrade-charm web --path ./charms/web --bind "admin=internal"
  juju upgrade-charm store --switch ./charms/faststore --config cache=yes`,
		Annotations: cli.SeeAlso("deploy", "attach-resource", "config", "resolved", "status"),
		RunE: func(cmd *cobra.Command, args []string) error {
			u.changed, u.refreshes = cmd.Flags().Changed, cmd.CalledAs() == "refresh"
			return u.run(cmd.Context(), args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&u.path, "path", "", "the `DIRECTORY` or archive of the new version")
	f.StringVar(&u.to, "switch", "", "another `CHARM`: a path or URL")
	f.StringVar(&u.channel, "channel", "", "the `CHANNEL` of the charm store that the service follows from now on")
	f.IntVar(&u.revision, "revision", 0, "a `REVISION` of the charm in the store, or of a local charm in the model")
	f.StringVar(&u.repo, "repository", "", "the local repository with the charm")
	f.StringArrayVar(&u.config, "config", nil, "a setting to change at the same time, as `KEY=VALUE` or KEY=@FILE")
	f.StringArrayVar(&u.resources, "resource", nil, "the file of a resource, as `NAME=FILE`")
	f.StringVar(&u.bind, "bind", "", "bind the service and endpoints to spaces, as `SPACE ENDPOINT=SPACE`, separated by spaces")
	f.StringArrayVar(&u.storage, "storage", nil, "storage of new units, as `STORE=[POOL,][SIZE,][COUNT]`")
	f.BoolVar(&u.forceUnits, "force-units", false, "upgrade units in error at once")
	f.BoolVar(&u.forceSeries, "force-series", false,
		"upgrade to a charm that does not support the service's base, assumes another Juju, or has an LXD profile that charms may not have")
	f.BoolVar(&u.force, "force", false, "the same as --force-units --force-series, and bind as juju bind --force does")
	f.IntVar(&u.rollout.Batch, "batch", 0, "upgrade `N` units at a time")
	f.DurationVar(&u.rollout.HealthTimeout, "health-timeout", 0,
		"how long the units of a batch have to be healthy (default "+healthTimeout.String()+")")
	f.BoolVar(&u.resume, "resume", false, "continue an upgrade in batches that has stopped")
	f.BoolVar(&u.revert, "revert", false, "go back to the charm before an upgrade in batches")
	u.wait.Add(cmd, "until all units run the new charm")
	s.ModelFlag(cmd)
	s.PlanFlags(cmd)
	return cmd
}

// healthTimeout is the default time that the units of a batch have to be healthy.
const healthTimeout = 10 * time.Minute

type upgradeCharmAPI interface {
	wait.StatusAPI
	ResourcesAPI
	ArchiveAPI
	UploadAPI
	StoreAPI
	setCharmAPI
	ResumeRollout(ctx context.Context, service string, how client.Rollout) error
	RevertRollout(ctx context.Context, service string, how client.Rollout) (restored, warnings []string, err error)
}

type setCharmAPI interface {
	SetCharm(ctx context.Context, args client.SetCharmArgs) (warnings []string, err error)
}

type upgradeCharm struct {
	*cli.Session
	path, to, repo, bind, channel  string
	revision                       int
	config, resources, storage     []string
	forceUnits, forceSeries, force bool
	changed                        func(flag string) bool
	refreshes                      bool // as in Juju 3, where nothing to upgrade is no error
	rollout                        client.Rollout
	resume, revert                 bool
	wait                           wait.Flag
}

func (u *upgradeCharm) run(ctx context.Context, args []string) error {
	if err := cli.CheckService(args); err != nil {
		return err
	}
	for _, pair := range [][2]string{{"switch", "revision"}, {"path", "revision"}, {"switch", "path"}, {"path", "channel"}} {
		if u.changed(pair[0]) && u.changed(pair[1]) {
			return cli.Usagef("--%s and --%s are mutually exclusive", pair[0], pair[1])
		}
	}
	if err := u.checkRollout(); err != nil {
		return err
	}
	if u.resume || u.revert {
		return cli.WithModel(ctx, u.Session, func(api upgradeCharmAPI) error { return u.changeRollout(ctx, api, args[0]) })
	}
	if u.rollout.Batch > 0 {
		u.rollout.HealthTimeout = cmp.Or(u.rollout.HealthTimeout, healthTimeout)
	}
	request := client.SetCharmArgs{Service: args[0], ForceUnits: u.forceUnits || u.force,
		ForceSeries: u.forceSeries || u.force, Force: u.force, Rollout: u.rollout}
	var err error
	if request.Bindings, err = cli.ParseBindings([]string{u.bind}); err != nil {
		return err
	}
	if request.Config, err = u.ParseSettings(u.config); err != nil {
		return err
	}
	if request.Storage, err = entity.ParseStorage(u.storage, true); err != nil {
		return cli.Usage(err)
	}
	files, err := OpenResources(u.Session, u.resources)
	if err != nil {
		return err
	}
	defer files.Close()
	// Read a charm from its path before connecting.
	var source *Source
	path := u.charmPath()
	if err := u.CheckFile(cmp.Or(path, u.repo)); err != nil {
		return err
	}
	if path != "" {
		p := u.Quickly("Reading charm %s", path)
		source, err = Read(ctx, path)
		p.Done()
		if err != nil {
			return err
		}
		defer source.Close()
	}
	return cli.WithModel(ctx, u.Session, func(api upgradeCharmAPI) error {
		return u.upgrade(ctx, api, source, request, files)
	})
}

// checkRollout checks the flags of upgrades in batches.
func (u *upgradeCharm) checkRollout() error {
	which := map[bool]string{true: "resume", false: "revert"}[u.resume]
	switch {
	case u.resume && u.revert:
		return cli.Usagef("--resume and --revert are mutually exclusive")
	case u.changed("batch") && (u.rollout.Batch < 1 || u.rollout.Batch > entity.MaxBatch):
		return cli.Usagef("--batch must be 1 to %d units", entity.MaxBatch)
	case u.changed("health-timeout") && u.rollout.HealthTimeout < time.Second:
		return cli.Usagef("--health-timeout must be at least 1s")
	case !u.resume && !u.revert && u.changed("health-timeout") && !u.changed("batch"):
		return cli.Usagef("--health-timeout needs --batch: without it all units are upgraded at once")
	case u.changed("batch") && len(u.resources) > 0:
		return entity.WithHint(cli.Usagef("--resource and --batch are mutually exclusive: a resource is for all units at once"),
			"Upload it before or after the upgrade: juju attach-resource")
	case !u.resume && !u.revert:
		return nil
	}
	for _, flag := range []string{"path", "switch", "channel", "revision", "repository", "config", "resource", "storage", "bind",
		"force-units", "force-series", "force"} {
		if u.changed(flag) {
			return cli.Usagef("--%s and --%s are mutually exclusive", which, flag)
		}
	}
	return nil
}

// changeRollout resumes or reverts an upgrade in batches.
func (u *upgradeCharm) changeRollout(ctx context.Context, api upgradeCharmAPI, service string) error {
	if u.resume {
		if err := api.ResumeRollout(ctx, service, u.rollout); err != nil {
			return err
		}
		u.Note("The upgrade of service %q continues. To see how far it is: juju status %[1]s", service)
	} else {
		restored, warnings, err := api.RevertRollout(ctx, service, u.rollout)
		if err != nil {
			return err
		}
		u.Warn(warnings...)
		u.Note("The upgrade of service %q is being reverted. To see how far that is: juju status %[1]s", service)
		if len(restored) > 0 {
			u.Note("Settings as before the upgrade: %s", strings.Join(restored, ", "))
		}
	}
	return u.wait.Run(ctx, u.Session, api, wait.Condition{Names: []string{service}, Upgraded: true})
}

// charmPath returns the path given by --path or --switch, or "".
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
			"To see what is in the model: juju status")
	}
	now := status.Services[i]
	old, err := charm.ParseURL(now.CharmURL)
	if err != nil {
		return fmt.Errorf("cannot upgrade service %q: %w", now.Name, err)
	}
	if source == nil {
		if source, err = u.find(ctx, api, now, old); err != nil {
			return err
		}
		defer source.Close()
	}
	if u.to == "" && source.Charm.Meta.Name != old.Name {
		return entity.WithHint(fmt.Errorf("cannot upgrade %q to %q", old.Name, source.Charm.Meta.Name),
			"It is another charm. To switch to it anyway: juju upgrade-charm %s --switch %s", now.Name, source.Path)
	}
	if err := files.Check(source.Charm.Meta); err != nil {
		return err
	}
	if err := source.CheckUnforced("upgrade to", request.ForceSeries); err != nil {
		return err
	}
	same, err := source.IsSame(ctx, api, now.CharmURL)
	request.Origin = source.Origin
	follows := source.Origin != nil && source.channel() != now.Channel
	if follows && now.Channel != "" && !u.Embedded {
		u.Note("Note: all future refreshes will now use channel %q", source.channel())
	}
	switch {
	case err != nil:
		return err
	case same && now.Rollout != nil && u.rollout.Batch > 0:
		return entity.WithHint(entity.Errorf(entity.AlreadyExists, "service %q is being upgraded to charm %q",
			now.Name, now.CharmURL),
			"If that has stopped, continue it: juju upgrade-charm %s --resume", now.Name)
	case same && (follows || request.ForceUnits || len(request.Config) > 0 || len(files) > 0 ||
		len(request.Storage) > 0 || len(request.Bindings) > 0):
		request.CharmURL = now.CharmURL // the other flags still apply
	case same && u.changed("revision") && source.Origin != nil:
		u.Note("charm %q, revision %d: already up-to-date", old.Name, u.revision)
		return nil
	case same && source.Origin != nil:
		u.Note("charm %q: already up-to-date", old.Name)
		return nil
	case same && u.refreshes:
		u.Note("charm %q: already up-to-date", now.CharmURL)
		return nil
	case same && u.to != "":
		return entity.Errorf(entity.AlreadyExists, "already running specified charm %q", now.CharmURL)
	case same:
		return entity.Errorf(entity.AlreadyExists, "already running latest charm %q", now.CharmURL)
	}
	if err := checkUpgrade(source, now, request); err != nil {
		return fmt.Errorf("cannot upgrade service %q to charm %q: %w", now.Name, source.Charm.Meta.Name, err)
	}
	if source.Origin != nil && !same {
		u.Note("Added %s, to the model", source.InChannel())
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
	u.Warn(slices.Concat(source.Warnings(), warnings)...)
	if u.rollout.Batch > 0 {
		u.Note("Service %q is being upgraded from charm %s to %s, %s at a time. To see how far it is: juju status %[1]s",
			now.Name,
			now.CharmURL, request.CharmURL, entity.Counted(u.rollout.Batch, "unit"))
	} else if same {
		u.Note("Service %q already has charm %s; its units are being updated.", now.Name, now.CharmURL)
	} else {
		u.Note("Service %q is upgraded from charm %s to %s; its units are being upgraded.", now.Name,
			now.CharmURL, request.CharmURL)
	}
	if !request.ForceUnits && !same {
		u.noteFailed(status, now.Name)
	}
	return u.wait.Run(ctx, u.Session, api, wait.Condition{Names: []string{now.Name}, Upgraded: true})
}

// noteFailed lists the units in error, which are not upgraded until they are resolved.
func (u *upgradeCharm) noteFailed(m *entity.ModelStatus, service string) {
	var failed []string
	for _, t := range wait.Entities(m) {
		if t.Kind == "unit" && t.Of == service && t.Failed() != nil {
			failed = append(failed, t.Name)
		}
	}
	if len(failed) > 0 {
		u.Note("In error, and not upgraded until resolved with the old charm: %s\n%s", wait.Some(failed),
			wait.UpgradeAtOnce(service))
	}
}

// checkUpgrade rejects before the upload what the controller would reject after it, as far as the charm and the
// service's status show.
func checkUpgrade(source *Source, now entity.ServiceStatus, request client.SetCharmArgs) error {
	if source.archive == nil {
		return nil // nothing is uploaded
	}
	// Only the controller knows whether the service's charm names its series. If not, this one need not do so either.
	if why, hint := source.Charm.Meta.Unfit(now.Series, now.Subordinate, true); why != "" {
		return entity.WithHint(errors.New(why), "%s", hint)
	}
	_, err := source.Charm.Config.ForService().ParseSettingsStrings(request.Config)
	return entity.WithHint(err, "The charm's config.yaml lists its options.")
}

// fromStore returns which charm of a store the flags specify, and whether they do.
func (u *upgradeCharm) fromStore(now entity.ServiceStatus, old charm.URL) (want Choice, is bool, err error) {
	name, channel := u.to, cmp.Or(u.channel, now.Channel)
	switch {
	case u.to == "" && old.Schema != "ch", u.repo != "":
		return want, false, nil
	case u.to == "":
		name = old.Name
	default:
		to, err := charm.ParseURL(u.to)
		if err != nil || to.Schema != "ch" {
			return want, false, nil // find says why
		}
		if to.Name != old.Name { // it has channels of its own
			channel = u.channel
		}
	}
	revision := -1
	if u.changed("revision") {
		if revision = u.revision; revision < 0 {
			return want, false, cli.Usagef("--revision must be a number that is not negative")
		}
	}
	want, err = ParseChoice(name, channel, revision, now.Series)
	return want, err == nil, err
}

// find reads a charm that the flags specify other than by a path.
func (u *upgradeCharm) find(ctx context.Context, api upgradeCharmAPI, now entity.ServiceStatus, old charm.URL) (*Source, error) {
	if want, is, err := u.fromStore(now, old); err != nil {
		return nil, err
	} else if is {
		return FromStore(ctx, u.Session, api, want)
	}
	if u.channel != "" {
		return nil, cli.Usagef("--channel is of a charm store, and %q is a local charm", old.Name)
	}
	repo := RepositoryOf(u.Session, u.repo)
	want := old
	want.Revision = -1
	switch {
	case u.changed("revision"):
		want.Revision = u.revision
		return FromModel(ctx, u.Session, api, want.String())
	case u.to != "":
		var err error
		if want, err = charm.ParseURL(u.to); err != nil {
			return nil, cli.Usage(fmt.Errorf("cannot upgrade to charm %q: %w", u.to, err))
		}
		if repo == "" && want.Schema == "local" && want.Series != "" && want.Revision >= 0 {
			return FromModel(ctx, u.Session, api, u.to)
		}
	}
	if repo == "" && u.Embedded {
		return nil, entity.WithHint(cli.Usagef("cannot upgrade from charm %q: the controller runs this command, and has only charms of the model",
			cmp.Or(u.to, old.String())), OfModel, "upgrade-charm SERVICE --switch")
	}
	if repo == "" && u.to != "" {
		return nil, entity.WithHint(cli.Usagef("cannot upgrade to charm %q: it is neither a path nor a charm of the model", u.to),
			"Specify the charm's directory or archive, --switch ./CHARM, its name in the charm store, or a local repository: --repository DIR")
	}
	if repo == "" {
		return nil, cli.Usagef("upgrading a local charm requires either --path or --switch")
	}
	return repo.Find(ctx, want, old.Series)
}
