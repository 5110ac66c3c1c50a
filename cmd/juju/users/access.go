package users

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"juju/apiserver/client"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/clouds"
	"juju/state/entity"
)

var (
	controllerLevels = []string{"login", "add-model", "superuser"}
	modelLevels      = []string{"read", "write", "admin"}
)

const levelsHelp = `The access levels for a controller are
  login       log in, which all other levels require
  add-model   also create models
  superuser   do anything, in every model
and for a model
  read        view the model
  write       also change the model
  admin       also grant and revoke access; the owner of a model always has it
and for an offer, given by its URL
  read        see the offer
  consume     also relate services of other models to it
  admin       also remove it, grant and revoke access; the model's admins always have it`

// granted returns the models whose access was changed.
func granted(uuids []string, errs []error) (changed []string) {
	for i, uuid := range uuids {
		if i < len(errs) && errs[i] == nil {
			changed = append(changed, uuid)
		}
	}
	return changed
}

// accessCommand completes grant and revoke, which differ only in their help and action.
func accessCommand(s *cli.Session, cmd *cobra.Command, action string) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return changeAccess(cmd.Context(), s, action, args) }
	s.ControllerFlag(cmd)
	return cmd
}

type accessAPI interface {
	cli.ModelsAPI
	ModelInfo(ctx context.Context, uuid string) (entity.ModelInfo, error)
	ModifyModelAccess(ctx context.Context, action, user, level string, uuids ...string) ([]error, error)
	ModifyControllerAccess(ctx context.Context, action, user, level string) error
	ModifyOfferAccess(ctx context.Context, action, user, level string, urls ...string) ([]error, error)
}

// noteGrant prints what write access to models implies on their clouds.
func noteGrant(ctx context.Context, s *cli.Session, api accessAPI, uuids []string, user string) {
	for _, uuid := range uuids {
		if info, err := api.ModelInfo(ctx, uuid); err == nil {
			if note := clouds.Of(info.ProviderType).GrantNote(user); note != "" {
				fmt.Fprint(s.Stderr, note)
				return
			}
		}
	}
}

func changeAccess(ctx context.Context, s *cli.Session, action string, args []string) error {
	if len(args) == 0 {
		return cli.Usagef("no user specified")
	}
	if len(args) == 1 {
		return cli.Usagef("no permission level specified")
	}
	user, level, names := args[0], args[1], args[2:]
	if err := atMostOneUser(args[:1]); err != nil {
		return err
	}
	if slices.ContainsFunc(names, entity.IsOfferURL) {
		return changeOfferAccess(ctx, s, action, user, level, names)
	}
	ofController, ofModel := slices.Contains(controllerLevels, level), slices.Contains(modelLevels, level)
	switch {
	case len(names) > 0 && ofController:
		//lint:ignore ST1005 Juju's words
		return cli.Usage(entity.WithHint(fmt.Errorf("You have specified a controller access permission %q.", level),
			"If you intended to change controller access, do not specify any model names."))

	case len(names) == 0 && ofModel:
		//lint:ignore ST1005 Juju's words
		return cli.Usage(entity.WithHint(fmt.Errorf("You have specified a model access permission %q.", level),
			"If you intended to change model access, you need to specify one or more model names."))

	case len(names) > 0 && !ofModel:
		return cli.Usage(entity.WithHint(fmt.Errorf("%q model access not valid", level), "Valid levels: %s",
			cli.OneOf(modelLevels)))

	case len(names) == 0 && !ofController:
		return cli.Usage(entity.WithHint(fmt.Errorf("%q controller access not valid", level), "Valid levels: %s",
			cli.OneOf(controllerLevels)))

	}
	for i, name := range names {
		var err error
		if names[i], err = s.SplitModel(name); err != nil {
			return err
		}
	}
	return cli.WithController(ctx, s, func(t cli.Target, api accessAPI) error {
		if ofController {
			return api.ModifyControllerAccess(ctx, action, user, level)
		}
		var uuids []string
		for _, name := range names {
			model, err := s.FindModel(ctx, t, api, name)
			if err != nil {
				return err
			}
			uuids = append(uuids, model.UUID)
		}
		errs, err := api.ModifyModelAccess(ctx, action, user, level, uuids...)
		if err != nil {
			return err
		}
		if action == client.Grant && level != "read" {
			noteGrant(ctx, s, api, granted(uuids, errs), user)
		}
		return cli.OneOrBulk("models", doneBy[action], errs)
	})
}

var doneBy = map[string]string{client.Grant: "granted", client.Revoke: "revoked"}

// changeOfferAccess is changeAccess for offers. The names of models have no dots.
func changeOfferAccess(ctx context.Context, s *cli.Session, action, user, level string, urls []string) error {
	if !slices.Contains(entity.OfferLevels, level) {
		return cli.Usage(entity.WithHint(fmt.Errorf("%q offer access not valid", level), "Valid levels: %s",
			cli.OneOf(entity.OfferLevels)))
	}
	_, t, err := s.ReadTarget()
	if err != nil {
		return err
	}
	offers, err := s.Offers(t, urls)
	if err != nil {
		return err
	}
	for i, o := range offers {
		urls[i] = o.OfferURL.String()
	}
	return cli.AtOffer(ctx, s, offers[0], func(_ cli.Target, api accessAPI) error {
		errs, err := api.ModifyOfferAccess(ctx, action, user, level, urls...)
		if err != nil {
			return err
		}
		return cli.OneOrBulk("offers", doneBy[action], errs)
	})
}
