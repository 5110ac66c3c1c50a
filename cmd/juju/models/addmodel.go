package models

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"juju/apiserver/client"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/ssh"
	"juju/cmd/juju/store"
	"juju/state/entity"
)

func AddModelCommand(s *cli.Session) *cobra.Command {
	a := &addModel{Session: s}
	cmd := &cobra.Command{
		Use:     "add-model NAME [CLOUD[/REGION]]",
		Aliases: []string{"create-model", "create-env", "create-environment"},
		Short:   "Create a model",
		Long: `Create a model and select it. Each model has its own services, relations and machines, and
its own namespace, and can be destroyed as a whole. All models of a controller are on its
cloud; CLOUD and REGION must match it. Machines are started with the credential given by
--credential, by default the one used at bootstrap.`,
		Example: `  juju add-model staging
  juju add-model staging --no-switch
  juju add-model staging --credential ops
  juju add-model staging --config automatically-retry-hooks=true`,
		Annotations: cli.SeeAlso("models", "switch", "model-config", "credentials", "set-credential", "destroy-model"),
		RunE:        func(cmd *cobra.Command, args []string) error { return a.run(cmd.Context(), args) },
	}
	cmd.Flags().StringArrayVar(&a.config, "config", nil,
		"a setting of the model, as `KEY=VALUE` (see juju help model-config)")
	cmd.Flags().StringVar(&a.at.Credential, "credential", "", "the `CREDENTIAL` with which machines are started")
	cmd.Flags().StringVar(&a.at.Owner, "owner", "", "the `USER` who will own the model (superusers only)")
	cmd.Flags().BoolVar(&a.noSwitch, "no-switch", false, "do not select the new model")
	s.ControllerFlag(cmd)
	return cmd
}

type createModelAPI interface {
	cli.ModelsAPI
	CreateModel(ctx context.Context, name string, at client.ModelPlace, config map[string]string) (client.Model, error)
}

type addModel struct {
	*cli.Session
	config   []string
	at       client.ModelPlace
	noSwitch bool
}

func (a *addModel) run(ctx context.Context, args []string) error {
	if len(args) == 2 {
		a.at.Cloud, a.at.Region, _ = strings.Cut(args[1], "/")
		args = args[:1]
	}
	if err := cli.CheckModelName(args); err != nil {
		return err
	}
	name, err := a.SplitModel(args[0])
	if err != nil {
		return err
	}
	if !entity.IsValidModel(name) {
		return cli.Usage(entity.InvalidModel(name))
	}
	if owner := a.at.Owner; owner != "" && !entity.IsValidUser(owner) {
		return cli.Usage(entity.InvalidUser(owner))
	}
	config, err := ModelSettings(a.Session, a.config)
	if err != nil {
		return err
	}
	st, err := a.Store()
	if err != nil {
		return err
	}
	return cli.WithController(ctx, a.Session, func(t cli.Target, api createModelAPI) error {
		if !a.Embedded { // else there are no keys of the user
			if config, err = ssh.WithKeys(ctx, a.Session, st, t.Controller.Cloud, config); err != nil {
				return err
			}
		}
		made, err := api.CreateModel(ctx, name, a.at, config)
		if err != nil {
			return err
		}
		models, err := api.Models(ctx)
		if err != nil {
			return err
		}
		err = a.NoteModels(ctx, t, models, func(ctrl *store.Controller) {
			if !a.noSwitch {
				ctrl.Model = made.Owner + "/" + made.Name
			}
		})
		if err != nil {
			return err
		}
		if a.Embedded {
			a.Note("Model %q is created on controller %q. To use it, add -m %[1]s to a command; "+
				"to reach its machines with juju ssh, add your key: juju add-ssh-key.", name, t.Name)
			return nil
		}
		if _, err := ssh.MakeKey(ctx, st); err != nil {
			return err
		}
		if a.noSwitch {
			a.Note("Model %q is created on controller %q.", name, t.Name)
		} else {
			a.Note("Model %q is created on controller %q and selected.", name, t.Name)
		}
		return nil
	})
}
