package facades

import (
	"context"
	"fmt"

	"juju/apiserver/params"
	"juju/charm"
	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
)

// serviceCharm returns a service and its charm.
func serviceCharm(ctx context.Context, c *Caller, name string) (*state.Service, *charm.Charm, error) {
	svc, err := c.Model.Service(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	ch, err := c.Model.Charms().Get(ctx, svc.CharmURL())
	return svc, ch, err
}

// configSettings returns every option of a service's charm with its value and the value's source.
func configSettings(ctx context.Context, svc *state.Service, ch *charm.Charm) (map[string]params.ConfigSetting, error) {
	set, err := svc.ConfigSettings(ctx)
	if err != nil {
		return nil, err
	}
	all := make(map[string]params.ConfigSetting, len(ch.Config.Options))
	for name, option := range ch.Config.Options {
		setting := entity.ConfigSetting{
			Description: option.Description, Type: string(option.Type),
			Value: option.Default, Default: option.Default, Source: entity.SourceDefault,
		}
		if option.Default == nil {
			setting.Source = entity.SourceUnset
		}
		if value, ok := set[name]; ok && value != nil {
			setting.Value, setting.Source = value, entity.SourceUser
		}
		all[name] = params.ConfigSetting{ConfigSetting: setting}
	}
	return all, nil
}

// settings parses the settings of a service that a caller gives. Only superusers can trust a service: the credential that
// it then gets is the controller's.
func (c *Caller) settings(ch *charm.Charm, service string, words map[string]string,
	yaml string) (map[string]any, error) {
	settings, err := ch.Config.ForService().ParseSettings(service, words, yaml)
	if err == nil && settings[charm.Trust] == true && c.ControllerAccess != controller.AccessSuperuser {
		err = fmt.Errorf("cannot trust service %q with the controller's credential: %w", service,
			lacksController(c.Identity, controller.AccessSuperuser))
	}
	return settings, err
}

// ownSettings returns the settings of a service that are not its charm's.
func ownSettings(ctx context.Context, svc *state.Service, ch *charm.Charm) (map[string]params.ConfigSetting, error) {
	option := ch.Config.ForService().Options[charm.Trust]
	setting := entity.ConfigSetting{Description: option.Description, Type: string(option.Type), Value: option.Default,
		Default: option.Default, Source: entity.SourceDefault}
	trusted, isSet, err := svc.Trust(ctx)
	if isSet {
		setting.Value, setting.Source = trusted, entity.SourceUser
	}
	return map[string]params.ConfigSetting{charm.Trust: {ConfigSetting: setting}}, err
}

func applicationGet(ctx context.Context, c *Caller, p params.ApplicationGet) (params.ApplicationGetResults, error) {
	_, result, err := getService(ctx, c, p.ApplicationName)
	return result, err
}

// getService reads a service with all that users can set of it.
func getService(ctx context.Context, c *Caller, name string) (*state.Service, params.ApplicationGetResults, error) {
	svc, ch, err := serviceCharm(ctx, c, name)
	if err != nil {
		return nil, params.ApplicationGetResults{}, err
	}
	config, err := configSettings(ctx, svc, ch)
	if err != nil {
		return nil, params.ApplicationGetResults{}, err
	}
	result := params.ApplicationGetResults{
		Application: svc.Name(), Charm: ch.Meta.Name, Config: config, Base: entity.BaseOf(svc.Series()),
		Storage: svc.StorageConstraints(),
	}
	if result.EndpointBindings, err = svc.Bindings(ctx); err != nil {
		return nil, params.ApplicationGetResults{}, err
	}
	if result.ApplicationConfig, err = ownSettings(ctx, svc, ch); err != nil {
		return nil, params.ApplicationGetResults{}, err
	}
	if !svc.IsSubordinate() {
		result.Constraints, err = svc.Constraints(ctx)
	}
	return svc, result, err
}

func applicationCharmConfig(
	ctx context.Context, c *Caller, p params.ApplicationGetArgs,
) (params.ApplicationGetConfigResults, error) {
	results := make([]params.ConfigResult, 0, len(p.Args))
	for _, arg := range p.Args {
		got, err := applicationGet(ctx, c, arg)
		result := params.ConfigResult{Config: got.Config}
		if err != nil {
			result = params.ConfigResult{Error: c.wireError("CharmConfig", err)}
		}
		results = append(results, result)
	}
	return params.ApplicationGetConfigResults{Results: results}, nil
}

func applicationSetConfigs(ctx context.Context, c *Caller, p params.ConfigSetArgs) (params.ErrorResults, error) {
	return outcomes(c, "SetConfigs", p.Args, func(arg params.ConfigSet) error {
		svc, ch, err := serviceCharm(ctx, c, arg.ApplicationName)
		if err != nil {
			return err
		}
		settings, err := c.settings(ch, arg.ApplicationName, arg.Config, arg.ConfigYAML)
		if err != nil {
			return err
		}
		return svc.SetConfig(ctx, settings)
	}), nil
}

func applicationUnset(
	ctx context.Context, c *Caller, p params.ApplicationConfigUnsetArgs,
) (params.ErrorResults, error) {
	return outcomes(c, "UnsetApplicationsConfig", p.Args, func(arg params.ApplicationUnset) error {
		svc, err := c.Model.Service(ctx, arg.ApplicationName)
		if err != nil {
			return err
		}
		reset := map[string]any{}
		for _, name := range arg.Options {
			reset[name] = nil
		}
		return svc.SetConfig(ctx, reset)
	}), nil
}
