package main

import (
	"context"

	"github.com/spf13/cobra"

	"juju/apiserver/client"
	"juju/cmd/juju/store"
	"juju/state/entity"
)

func addModelCommand(s *session) *cobra.Command {
	a := &addModel{session: s}
	cmd := &cobra.Command{
		Use:     "add-model NAME",
		Aliases: []string{"create-model", "create-env"},
		Short:   "Create a model",
		Long: `Create a model and select it. Each model has its own services, relations and machines:
names in one model do not clash with names in another, and a model can be destroyed as
a whole.`,
		Example: `  juju add-model staging
  juju add-model staging --no-switch
  juju add-model staging --config automatically-retry-hooks=true`,
		Annotations: seeAlso("models", "switch", "model-config", "destroy-model"),
		RunE:        func(cmd *cobra.Command, args []string) error { return a.run(cmd.Context(), args) },
	}
	cmd.Flags().StringArrayVar(&a.config, "config", nil,
		"a setting of the model, as `KEY=VALUE` (see juju help model-config)")
	cmd.Flags().BoolVar(&a.noSwitch, "no-switch", false, "do not select the new model")
	s.controllerFlag(cmd)
	return cmd
}

type createModelAPI interface {
	modelsAPI
	CreateModel(ctx context.Context, name string, config map[string]string) (client.Model, error)
}

type addModel struct {
	*session
	config   []string
	noSwitch bool
}

func (a *addModel) run(ctx context.Context, args []string) error {
	if err := oneModel(args); err != nil {
		return err
	}
	name, err := a.splitModel(args[0])
	if err != nil {
		return err
	}
	if !entity.IsValidModel(name) {
		return usageError{entity.InvalidModel(name)}
	}
	config, err := modelSettings(a.config)
	if err != nil {
		return err
	}
	st, err := a.store()
	if err != nil {
		return err
	}
	return withController(ctx, a.session, func(t target, api createModelAPI) error {
		config, err := a.withKeys(st, t.ctrl.Cloud, t.name, config)
		if err != nil {
			return err
		}
		made, err := api.CreateModel(ctx, name, config)
		if err != nil {
			return err
		}
		models, err := api.Models(ctx)
		if err != nil {
			return err
		}
		err = a.noteModels(ctx, t, models, func(ctrl *store.Controller) {
			if !a.noSwitch {
				ctrl.Model = made.Owner + "/" + made.Name
			}
		})
		if err != nil {
			return err
		}
		if a.noSwitch {
			a.note("Model %q is created on controller %q.", name, t.name)
		} else {
			a.note("Model %q is created on controller %q and selected.", name, t.name)
		}
		return nil
	})
}
