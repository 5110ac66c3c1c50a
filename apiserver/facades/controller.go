package facades

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"juju/apiserver/params"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/modelconfig"
)

// controllerConfig returns the settings of the controller. All are chosen at bootstrap.
func controllerConfig(_ context.Context, c *Caller, _ None) (params.ControllerConfigResult, error) {
	config := map[string]any{"controller-uuid": c.Controller.UUID(), "controller-name": c.Controller.Name()}
	maps.Copy(config, c.Settings)
	return params.ControllerConfigResult{Config: config}, nil
}

// controllerVersion returns the version of the Juju whose API this is, and the commit of this program.
func controllerVersion(_ context.Context, c *Caller, _ None) (params.ControllerVersionResults, error) {
	return params.ControllerVersionResults{Version: entity.JujuVersion, GitCommit: c.Commit}, nil
}

// controllerConfigSet rejects every change to a setting that a controller has, by its name. Those that only Juju's have are
// accepted, so that programs for these run.
func controllerConfigSet(ctx context.Context, c *Caller, p params.ControllerConfigSet) error {
	now, err := controllerConfig(ctx, c, None{})
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(p.Config)) {
		_, has := now.Config[key]
		if !has && modelconfig.IsOfController(key) {
			logger.Warningf("%s: %s", c.Request, modelconfig.ControllerWord(key))
			continue
		}
		if !has {
			return entity.WithHint(entity.Errorf(entity.Invalid,
				"cannot change controller config: unknown controller config setting %q", key),
				"To list the settings: juju controller-config")
		}
		if fmt.Sprint(p.Config[key]) != fmt.Sprint(now.Config[key]) {
			return entity.WithHint(entity.Errorf(entity.NotSupported,
				"cannot change controller config: %s is chosen at bootstrap", key),
				"Settings of models can be changed: juju help model-config; and those that new models get: juju help model-defaults")
		}
	}
	return nil
}

// maxAuditEntries is the maximum number of entries in one reply.
const maxAuditEntries = 10000

func auditLogList(ctx context.Context, c *Caller, p params.AuditQuery) (params.AuditEntries, error) {
	if p.Limit < 1 || p.Limit > maxAuditEntries {
		return params.AuditEntries{}, entity.Errorf(entity.Invalid, "limit: %d is not between 1 and %d", p.Limit, maxAuditEntries)
	}
	filter := entity.AuditFilter{Limit: p.Limit, User: p.User, Model: p.Model}
	if p.Since != nil {
		filter.Since = p.Since.Time
	}
	if p.Ago > 0 {
		filter.Since = time.Now().Add(-p.Ago)
	}
	if p.Until != nil {
		filter.Until = p.Until.Time
	}
	entries, err := c.Controller.AuditLog(ctx, filter)
	if err == nil {
		err = c.keep(ctx, entries)
	}
	return params.AuditEntries{Entries: entries}, err
}

// fullConfig returns a model's settings with what clients of Juju look for among them.
func (c *Caller) fullConfig(row controller.ModelRow, config modelconfig.Config) map[string]any {
	all := map[string]any{"name": row.Name, "uuid": row.UUID, "type": c.Controller.Cloud(), modelconfig.AgentVersion.Key: entity.JujuVersion}
	for _, s := range modelconfig.All {
		if v, ok := config[s.Key]; ok {
			all[s.Key] = s.Plain(v.Value)
		}
	}
	return all
}

// controllerCloudSpec returns how models use the cloud, with its credential. Only superusers may see that.
func controllerCloudSpec(ctx context.Context, c *Caller, p params.Entities) (params.CloudSpecResults, error) {
	return params.CloudSpecResults{Results: each(c, "CloudSpec", p.Entities,
		func(e *params.Error) params.CloudSpecResult { return params.CloudSpecResult{Error: e} },
		func(e params.Entity) (params.CloudSpecResult, error) {
			if err := isKind(e.Tag, entity.KindModel); err != nil {
				return params.CloudSpecResult{}, err
			}
			spec, err := c.specOf(ctx, e.Tag.ID)
			return params.CloudSpecResult{Result: &spec}, err
		})}, nil
}

// controllerHostedConfigs returns the settings of all models but the controller's, with all that is needed to use their cloud.
// Only superusers may see that.
func controllerHostedConfigs(ctx context.Context, c *Caller, _ None) (params.HostedModelConfigsResults, error) {
	rows, err := c.Controller.Models(ctx)
	if err != nil {
		return params.HostedModelConfigsResults{}, err
	}
	rows = slices.DeleteFunc(rows, func(row controller.ModelRow) bool {
		return row.UUID == c.ControllerModel.UUID() || row.IsRemoving()
	})
	result := params.HostedModelConfigsResults{Models: []params.HostedModelConfig{}}
	for _, row := range rows {
		m := params.HostedModelConfig{Name: row.Name, Owner: params.TagOf(entity.UserTag(row.Owner))}
		st, err := c.Controller.Model(ctx, row.UUID)
		if err == nil {
			var config modelconfig.Config
			config, err = st.Settings().Config(ctx)
			m.Config = c.fullConfig(row, config)
		}
		if err == nil {
			var spec entity.CloudSpec
			spec, err = c.spec(ctx, row.Credential)
			m.CloudSpec = &spec
		}
		if err != nil {
			m.Config, m.CloudSpec, m.Error = nil, nil, c.wireError("HostedModelConfigs", err)
		}
		result.Models = append(result.Models, m)
	}
	return result, nil
}
