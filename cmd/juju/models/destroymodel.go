package models

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"juju/apiserver/client"
	"juju/apiserver/display"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/clouds"
	"juju/cmd/juju/machines"
	"juju/cmd/juju/storage"
	"juju/cmd/juju/wait"
	"juju/state/entity"
)

func DestroyModelCommand(s *cli.Session) *cobra.Command {
	d := &destroyModel{Session: s}
	cmd := &cobra.Command{
		Use:     "destroy-model MODEL",
		Aliases: []string{"remove-model"},
		Short:   "Destroy a model and everything in it",
		Long: `Destroy a model with all its services and machines. Nothing can be added to it any more.
Its units run their stop hooks, its machines are released and its data is removed; then
its name can be reused.

If the model has storage that outlives machines, specify what to do with it:
--destroy-storage destroys it, --release-storage keeps its data in the cloud.

You can run the command again for a model that is already being destroyed, to add
--lenient or --force, or to change what happens to storage that is not yet destroyed. With
--force the model is removed soon after --timeout, whatever its agents do. The command
prints what the cloud has not released or destroyed by then.

Machines that were added with add-machine ssh:HOST must be destroyed first, unless --force
is given, which removes their agents from the hosts. A disconnected agent is removed when
it reconnects to the controller; the command lists its host and how to remove it there.

With --dry-run, the command shows which hooks would run and what would be removed, or why
it would be refused.`,
		Example: `  juju destroy-model staging
  juju destroy-model staging --dry-run
  juju destroy-model staging -y --wait
  juju destroy-model staging --destroy-storage
  juju destroy-model staging --force --timeout 10s`,
		Annotations: cli.SeeAlso("destroy-service", "destroy-environment", "explain", "disable-command"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckModelName(args); err != nil {
				return err
			}
			how, err := d.destroy.Read(cmd)
			if err != nil {
				return err
			}
			if how.Release = d.release; how.Storage && how.Release {
				return ErrBothStorage
			}
			return d.run(cmd.Context(), args[0], how)
		},
	}
	cli.YesFlag(cmd, &d.yes)
	d.destroy.AddStorage(cmd)
	cmd.Flags().Lookup("destroy-storage").Usage = "destroy the model's storage"
	cmd.Flags().BoolVar(&d.release, "release-storage", false, "release the model's storage from juju, and keep its data")
	d.wait.Add(cmd, "until it is removed")
	d.destroy.Add(cmd)
	s.ControllerFlag(cmd)
	s.PlanFlags(cmd)
	return cmd
}

var ErrBothStorage = cli.Usagef("--destroy-storage and --release-storage cannot both be specified")

type destroyModel struct {
	*cli.Session
	yes     bool
	release bool
	wait    wait.Flag
	destroy wait.DestroyFlags
}

type destroyModelAPI interface {
	describeModelsAPI
	modelDestroyer
	WatchModel(ctx context.Context, uuid string) (<-chan struct{}, error)
	ModelLeftovers(ctx context.Context) ([]entity.Leftover, error)
}

type modelDestroyer interface {
	DestroyModel(ctx context.Context, uuid string, how entity.Destruction) error
}

// removalTime is how long, after the timeout of --force, the model may stay as it is: while the controller removes its units,
// and the cloud stops the machines and releases the rest. The more there are, the longer it takes in all.
const removalTime = 3 * time.Minute

func (d *destroyModel) run(ctx context.Context, arg string, how entity.Destruction) error {
	name, err := d.SplitModel(arg)
	if err != nil {
		return err
	}
	return cli.WithController(ctx, d.Session, func(t cli.Target, api destroyModelAPI) error {
		model, err := d.FindModel(ctx, t, api, name)
		if err != nil {
			return err
		}
		if d.Planning() {
			return d.inModel(ctx, t, model, how)
		}
		hosts := machines.NewHosts(d.Session, t.Name)
		var unknown error
		var kept []entity.StorageStatus
		if how.Strength == entity.Force && clouds.Of(t.Controller.Cloud).TakesHosts() { // else such machines are destroyed first
			qualified := model.Owner + "/" + model.Name
			unknown = cli.InModel(ctx, d.Session, t.Name, qualified, func(api wait.StatusAPI) error {
				return hosts.Find(ctx, qualified, api)
			})
		}
		if err := d.confirm(ctx, api, model, hosts.Names(), how.Release); err != nil {
			return err
		}
		if how.Release {
			if kept, err = d.storageOf(ctx, t.Name, model); err != nil {
				return err
			}
		}
		if d.PlansUsed() {
			err = d.inModel(ctx, t, model, how)
		} else { // a model that is being removed has no connections
			err = api.DestroyModel(ctx, model.UUID, how)
		}
		if err != nil {
			return err
		}
		storage.NoteKept(d.Session, kept)
		if unknown != nil {
			d.Note("Cannot list the hosts that were added to model %q (%v). Their agents are removed when they reach the "+
				"controller. To remove one at once, run there as root: %s", model.Name, unknown, machines.UninstallCommand("*"))
		}
		hosts.NoteDisconnected()
		bound, still := d.wait.Bound, time.Duration(0)
		if how.Strength == entity.Force {
			still = how.Timeout + removalTime
			bound = max(bound, still)
		}
		obstacles := &obstacles{destroyModel: d, model: t.Name + ":" + model.Owner + "/" + model.Name,
			forced: how.Strength == entity.Force}
		defer obstacles.close()
		if bound == 0 {
			d.Note("Model %q is being destroyed. To follow its progress: juju show-model %s", model.Name, arg)
			obstacles.note(ctx)
			return nil
		}
		return d.gone(ctx, t, api, model, obstacles, bound, still)
	})
}

// inModel destroys the model as the plan flags say.
func (d *destroyModel) inModel(ctx context.Context, t cli.Target, model client.Model, how entity.Destruction) error {
	return cli.InModel(ctx, d.Session, t.Name, model.Owner+"/"+model.Name, func(api modelDestroyer) error {
		return api.DestroyModel(ctx, model.UUID, how)
	})
}

// storageOf returns the storage of a model.
func (d *destroyModel) storageOf(ctx context.Context, controller string, model client.Model) (
	all []entity.StorageStatus, err error) {
	err = cli.InModel(ctx, d.Session, controller, model.Owner+"/"+model.Name, func(api storage.ListAPI) error {
		all, err = api.Storage(ctx)
		return err
	})
	return all, err
}

// confirm rejects the controller's own model, and asks for confirmation, unless --yes was given.
func (d *destroyModel) confirm(ctx context.Context, api describeModelsAPI, model client.Model, hosts string,
	keepsStorage bool) error {
	info, err := api.ModelInfo(ctx, model.UUID)
	if err != nil {
		return err
	}
	if info.IsController {
		return entity.Errorf(entity.Invalid, "%q is a controller; use 'juju destroy-controller' to destroy it", model.Name)
	}
	if d.yes {
		return nil
	}
	if hosts != "" {
		hosts = fmt.Sprintf(machines.HostsWarning, display.Line(hosts))
	}
	answer, err := d.Ask(ctx, fmt.Sprintf("This destroys model %q with all its services and machines (%d),\n"+
		"and removes %s. %sContinue? [y/N] ", model.Name, len(info.Machines), DataRemoved(keepsStorage), hosts))
	if err != nil {
		return err
	}
	if cli.IsYes(answer) {
		return nil
	}
	return entity.WithHint(errors.New("nothing was destroyed"),
		"To destroy it without confirmation: juju destroy-model %s -y", model.Name)
}

// DataRemoved says what a destruction removes of what there is.
func DataRemoved(keepsStorage bool) string {
	if keepsStorage {
		return "all their data, but not their storage"
	}
	return "all their data"
}

// gone waits until the model is removed, and reports what it left in the cloud. It reconnects when the connection is
// lost. It gives up after bound, but not while the model has become smaller within still.
func (d *destroyModel) gone(ctx context.Context, t cli.Target, api destroyModelAPI, model client.Model,
	obstacles *obstacles, bound, still time.Duration) error {
	bounded, moved, cancel := wait.Bounded(ctx, bound, still)
	defer cancel()
	left := remaining{machines: math.MaxInt, waiting: math.MaxInt}
	d.WaitsFor("Model %q is still being destroyed. To check it: juju models", model.Name)
	it := fmt.Sprintf("model %q", model.Name)
	p := d.Await(fmt.Sprintf("Waiting until %s is removed", it), []cli.Awaited{{Name: it, Text: "is being destroyed"}})
	defer p.Done()
	var own io.Closer // replaces a lost connection
	defer func() {
		if own != nil {
			own.Close()
		}
	}()
	watch := func() *wait.Changes {
		return wait.WatchChanges(bounded, func(ctx context.Context) (<-chan struct{}, error) {
			return api.WatchModel(ctx, model.UUID)
		}, 0)
	}
	changes := watch()
	for {
		models, err := api.Models(bounded)
		switch {
		case err == nil:
			if !slices.ContainsFunc(models, func(m client.Model) bool { return m.UUID == model.UUID }) {
				p.Await("", nil)
				p.Done()
				return d.left(ctx, t, api, model, models)
			}
			if info, err := api.ModelInfo(bounded, model.UUID); err == nil {
				now := fmt.Sprintf("is %s, %d machine(s) remain", info.Life, len(info.Machines))
				p.Await(fmt.Sprintf("Waiting until %s is removed: it %s", it, now), []cli.Awaited{{Name: it, Text: now}})
				if left.shrinks(info.Life, len(info.Machines), obstacles.note(bounded)) {
					moved()
				}
			}
		case bounded.Err() != nil: // reported below
		case !errors.Is(err, entity.Unavailable):
			return err
		default:
			again, err := d.ConnectController(bounded, t)
			if err != nil && bounded.Err() == nil {
				return err
			}
			if err == nil {
				if own != nil {
					own.Close()
				}
				own, api = again, again.(destroyModelAPI)
				changes = watch()
			}
		}
		changes.Next(bounded)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if bounded.Err() != nil {
			after := fmt.Sprint(bound)
			if still > 0 {
				after = fmt.Sprint(still, " without progress")
			}
			hint := fmt.Sprintf("To see why: juju explain -m %s", model.Name)
			if !obstacles.forced {
				hint += "; to finish without its agents: juju destroy-model --force " + model.Name
			}
			return entity.WithHint(fmt.Errorf("gave up after %s: model %q is still being destroyed", after,
				model.Name), "%s", hint)
		}
	}
}

// left forgets a removed model. It returns an error if the model left something in the cloud, which a user must clean up.
func (d *destroyModel) left(ctx context.Context, t cli.Target, api destroyModelAPI, model client.Model,
	others []client.Model) error {
	if err := d.NoteModels(ctx, t, others, nil); err != nil {
		return err
	}
	leftovers, err := api.ModelLeftovers(ctx)
	if err != nil {
		return err
	}
	for _, r := range leftovers {
		if r.ID == model.UUID {
			return entity.WithHint(
				fmt.Errorf("model %q is removed, but %s may be left in %s: %s", model.Name, r.What, r.Where, r.Why), "%s", r.How)
		}
	}
	d.Note("Model %q is removed.", model.Name)
	return nil
}

// A remaining is the least that has been seen of a model that is being destroyed.
type remaining struct {
	life              string
	machines, waiting int // waiting things are those that explain lists
}

// shrinks reports whether there is less than ever.
func (r *remaining) shrinks(life string, machines, waiting int) bool {
	less := life != r.life || machines < r.machines || waiting < r.waiting
	*r = remaining{life, min(r.machines, machines), min(r.waiting, waiting)}
	return less
}

// obstacles reports, once each, what only a user can resolve, such as failed hooks.
type obstacles struct {
	*destroyModel
	model    string // CONTROLLER:OWNER/MODEL
	forced   bool   // no hook keeps the model from its end
	api      obstaclesAPI
	reported map[string]bool
	offered  bool // what can be done about failed hooks
}

type obstaclesAPI interface {
	io.Closer
	wait.ExplainAPI
}

// note reports new obstacles, and returns how many things wait for something. It ignores errors, since the model may have
// been removed, and then returns more than any.
func (o *obstacles) note(ctx context.Context) (waiting int) {
	if o.api == nil {
		before := o.Session.Model
		o.Session.Model = o.model
		api, err := o.Connect(ctx)
		if o.Session.Model = before; err != nil {
			return math.MaxInt
		}
		o.api = api.(obstaclesAPI)
		if o.reported == nil {
			o.reported = map[string]bool{}
		}
	}
	all, more, err := o.api.Explain(ctx)
	if err != nil {
		o.close()
		return math.MaxInt
	}
	var failed []string
	for _, e := range all {
		for _, r := range wait.CausesOf(e) {
			if r.By != entity.ByUser || r.Hint == "" || o.reported[r.Of+r.Text] {
				continue
			}
			o.reported[r.Of+r.Text] = true
			if tag, err := entity.ParseTag(r.Of); err == nil && tag.Kind == entity.KindUnit {
				failed = append(failed, r.Text)
				continue
			}
			o.destroyModel.Note("Waiting for a user: %s\n  → %s", display.Line(r.Text), display.Line(r.Hint))
		}
	}
	o.noteFailed(failed)
	return len(all) + more
}

// noteFailed reports units with failed hooks, and once for all of them what the user can do.
func (o *obstacles) noteFailed(units []string) {
	for _, text := range units {
		o.destroyModel.Note("Waiting for a user: %s", display.Line(text))
	}
	if len(units) == 0 || o.offered || o.forced {
		return
	}
	o.offered = true
	o.destroyModel.Note("  → run the hook of a unit again: juju resolved -m %s UNIT; skip it: juju resolved -m %[1]s --no-retry UNIT; in the "+
		"whole model, skip every hook that fails: juju destroy-model --lenient %[1]s; run no hook at all, and leave behind what stop "+
		"would remove: juju destroy-model --force %[1]s", o.model)
}

func (o *obstacles) close() {
	if o.api != nil {
		o.api.Close()
		o.api = nil
	}
}
