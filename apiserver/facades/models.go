package facades

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"juju/apiserver/params"
	"juju/charm/safeyaml"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/modelconfig"
)

func userModel(row controller.ModelRow) params.UserModel {
	return params.UserModel{Model: params.Model{
		Name: row.Name, UUID: row.UUID, Type: params.ModelType, OwnerTag: params.TagOf(entity.UserTag(row.Owner)),
	}}
}

// controllerAllModels lists all models, for superusers.
func controllerAllModels(ctx context.Context, c *Caller, _ None) (params.UserModelList, error) {
	rows, err := c.Controller.Models(ctx)
	if err != nil {
		return params.UserModelList{}, err
	}
	return c.userModels(ctx, c.Tag.ID, rows)
}

// userModels lists models, with the last connection of a user.
func (c *Caller) userModels(ctx context.Context, user string,
	rows []controller.ModelRow) (params.UserModelList, error) {
	logins, err := c.lastLogins(ctx, user, rows)
	list := params.UserModelList{UserModels: make([]params.UserModel, 0, len(rows))}
	for _, row := range rows {
		one := userModel(row)
		one.LastConnection = params.TimeOf(logins[row.UUID])
		list.UserModels = append(list.UserModels, one)
	}
	return list, err
}

// lastLogins returns when a user last logged in to models, by UUID.
func (c *Caller) lastLogins(ctx context.Context, user string,
	rows []controller.ModelRow) (map[string]time.Time, error) {
	uuids := make([]string, len(rows))
	for i, row := range rows {
		uuids[i] = row.UUID
	}
	return c.Controller.LastLogins(ctx, user, uuids)
}

// subject returns the user whom a request concerns, by default the caller. Superusers can name any user.
func subject(ctx context.Context, c *Caller, tag params.Tag) (string, error) {
	if tag.IsZero() || isSelf(c, tag) {
		return c.Tag.ID, nil
	}
	if err := aboutUser(c, tag); err != nil {
		return "", err
	}
	user, err := c.Controller.User(ctx, tag.ID)
	return user.Name, err
}

func modelManagerListModels(ctx context.Context, c *Caller, p params.Entity) (params.UserModelList, error) {
	name, err := subject(ctx, c, p.Tag)
	if err != nil {
		return params.UserModelList{}, err
	}
	rows, _, err := c.Controller.ModelsOf(ctx, name)
	if err != nil {
		return params.UserModelList{}, err
	}
	return c.userModels(ctx, name, rows)
}

func modelManagerListSummaries(
	ctx context.Context, c *Caller, p params.ModelSummariesRequest,
) (params.ModelSummaryResults, error) {
	name, err := subject(ctx, c, p.UserTag)
	if err != nil {
		return params.ModelSummaryResults{}, err
	}
	rows, access, err := c.Controller.ModelsOf(ctx, name)
	if err != nil {
		return params.ModelSummaryResults{}, err
	}
	logins, err := c.lastLogins(ctx, name, rows)
	if err != nil {
		return params.ModelSummaryResults{}, err
	}
	results := make([]params.ModelSummaryResult, 0, len(rows))
	for i, row := range rows {
		info, status, err := modelInfo(ctx, c, row)
		if err != nil {
			results = append(results, params.ModelSummaryResult{Error: c.wireError("ListModelSummaries",
				err)})
			continue
		}
		cores := int64(0)
		for _, m := range info.Machines {
			cores += int64(m.Hardware.Cores)
		}
		results = append(results, params.ModelSummaryResult{Result: &params.ModelSummary{
			ModelSummary: entity.ModelSummary{ModelDescription: info.ModelDescription, UserAccess: access[i],
				Counts: []entity.ModelEntityCount{
					{Entity: "machines", Count: int64(len(info.Machines))}, {Entity: "cores", Count: cores},
					{Entity: "units", Count: int64(len(status.AllUnits()))},
				},
				LastConnection: params.TimeOf(logins[row.UUID])},
			Status: info.Status, CloudTag: info.CloudTag, CredentialTag: info.CredentialTag, SLA: info.SLA,
		}})
	}
	return params.ModelSummaryResults{Results: results}, nil
}

// modelStatus returns the status of a model. A model that is being removed is empty.
func modelStatus(ctx context.Context, c *Caller, row controller.ModelRow) (*entity.ModelStatus, error) {
	if row.IsRemoving() {
		status := &entity.ModelStatus{Model: entity.ModelHeader{
			Name: row.Name, UUID: row.UUID, Life: entity.Dead, Cloud: c.Controller.Cloud(),
			Status: entity.Status{Status: entity.StatusDestroying, Message: "its remaining resources are being removed"},
		}}
		c.atCloud(status)
		return status, nil
	}
	st, err := c.Controller.Model(ctx, row.UUID)
	if err != nil {
		return nil, err
	}
	status, err := st.Status(ctx)
	if err == nil {
		c.atCloud(status)
	}
	return status, err
}

// modelInfo describes a model, and returns the status that it has read for it.
func modelInfo(ctx context.Context, c *Caller, row controller.ModelRow) (params.ModelInfo, *entity.ModelStatus, error) {
	status, err := modelStatus(ctx, c, row)
	if err != nil {
		return params.ModelInfo{}, nil, err
	}
	info := params.ModelInfo{
		ModelInfo: entity.ModelInfo{
			ModelDescription: entity.ModelDescription{
				Name: row.Name, UUID: row.UUID, Type: params.ModelType, ControllerUUID: c.Controller.UUID(),
				IsController: row.UUID == c.ControllerModel.UUID(), ProviderType: status.Model.Cloud,
				OwnerTag: entity.UserTag(row.Owner), Life: status.Model.Life.String(), CloudRegion: c.region(),
				AgentVersion: entity.JujuVersion, Release: cmp.Or(status.Model.Version, c.Version),
			},
			Users: []entity.ModelUser{}, Machines: []entity.ModelMachine{},
		},
		Status: params.StatusOf(status.Model.Status), CloudTag: params.CloudTag(status.Model.ShownCloud()),
		CredentialTag:  params.CredentialTag(c.cloudName(), row.Owner, c.credentialName(row)),
		SecretBackends: []struct{}{}, SLA: params.ModelSLAInfo{Level: "unsupported"},
	}
	for _, m := range status.AllMachines() {
		info.Machines = append(info.Machines, entity.ModelMachine{
			ID: m.ID, InstanceID: m.InstanceID, Status: string(m.Status.Status), Message: m.Status.Message,
			HasVote: m.Manager, WantsVote: m.Manager, Hardware: entity.MachineHardware(entity.ParseHardware(m.Hardware)),
		})
	}
	return info, status, nil
}

func modelManagerModelInfo(ctx context.Context, c *Caller, p params.Entities) (params.ModelInfoResults, error) {
	rows, _, err := c.Controller.ModelsOf(ctx, c.Tag.ID)
	if err != nil {
		return params.ModelInfoResults{}, err
	}
	return params.ModelInfoResults{Results: each(c, "ModelInfo", p.Entities,
		func(e *params.Error) params.ModelInfoResult { return params.ModelInfoResult{Error: e} },
		func(e params.Entity) (params.ModelInfoResult, error) {
			row, err := namedModel(c, rows, e.Tag)
			if err != nil {
				return params.ModelInfoResult{}, err
			}
			info, _, err := modelInfo(ctx, c, row)
			if err == nil && !row.IsRemoving() {
				info.Users, err = modelUsers(ctx, c, e.Tag)
			}
			if err == nil && !row.IsRemoving() {
				info.Series, err = defaultSeries(ctx, c, row.UUID)
			}
			return params.ModelInfoResult{Result: &info}, err
		})}, nil
}

// namedModel returns one of the rows of models that the caller can read. To others than superusers, the error is the same if the model does not exist.
func namedModel(c *Caller, rows []controller.ModelRow, tag params.Tag) (controller.ModelRow, error) {
	i := slices.IndexFunc(rows, func(row controller.ModelRow) bool { return tag.Tag == entity.ModelTag(row.UUID) })
	if i < 0 {
		return controller.ModelRow{}, lacksModel(c.Identity, tag.ID, "", controller.AccessRead)
	}
	return rows[i], nil
}

// modelManagerModelStatus returns what models have and what hinders their removal, for commands that destroy them.
func modelManagerModelStatus(ctx context.Context, c *Caller, p params.Entities) (params.ModelStatusResults, error) {
	rows, _, err := c.Controller.ModelsOf(ctx, c.Tag.ID)
	if err != nil {
		return params.ModelStatusResults{}, err
	}
	return params.ModelStatusResults{Results: each(c, "ModelStatus", p.Entities,
		func(e *params.Error) params.ModelStatus { return params.ModelStatus{Error: e} },
		func(e params.Entity) (params.ModelStatus, error) {
			row, err := namedModel(c, rows, e.Tag)
			if err != nil {
				return params.ModelStatus{}, err
			}
			info, status, err := modelInfo(ctx, c, row)
			if err != nil {
				return params.ModelStatus{}, err
			}
			storage, err := storageOfModel(ctx, c, row)
			if err != nil {
				return params.ModelStatus{}, err
			}
			var applications []params.ModelApplication
			for _, s := range status.Services {
				applications = append(applications, params.ModelApplication{Name: s.Name})
			}
			return params.ModelStatus{
				Applications: applications, Filesystems: params.ModelFilesystems(storage),
				ModelTag: e.Tag, Life: info.Life, Type: info.Type, OwnerTag: params.TagOf(info.OwnerTag),
				HostedMachineCount: len(info.Machines), ApplicationCount: len(status.Services), UnitCount: len(status.AllUnits()),
				Machines: info.Machines,
			}, nil
		})}, nil
}

// storageOfModel returns the storage of a model. A model that is being removed has none.
func storageOfModel(ctx context.Context, c *Caller, row controller.ModelRow) ([]entity.StorageStatus, error) {
	if row.IsRemoving() {
		return nil, nil
	}
	st, err := c.Controller.Model(ctx, row.UUID)
	if err != nil {
		return nil, err
	}
	return st.StorageStatus(ctx)
}

// statusWatchModel sends an event when the result of ModelInfo may have changed, or the model may have been removed.
func statusWatchModel(ctx context.Context, c *Caller, p params.Entity) (Stream, error) {
	if err := isKind(p.Tag, entity.KindModel); err != nil {
		return Stream{}, err
	}
	rows, _, err := c.Controller.ModelsOf(ctx, c.Tag.ID)
	if err != nil {
		return Stream{}, err
	}
	row, err := namedModel(c, rows, p.Tag)
	if err != nil {
		return Stream{}, err
	}
	steps, err := c.Controller.WatchUnfinishedModels(ctx)
	if err != nil {
		return Stream{}, err
	}
	var contents <-chan struct{} // nil if the model is being removed
	if st, err := c.Controller.Model(ctx, row.UUID); err == nil {
		if contents, err = st.Watches().Status(ctx); err != nil {
			return Stream{}, err
		}
	} else if !errors.Is(err, entity.NotFound) {
		return Stream{}, err
	}
	return Notify(either(ctx, steps, contents), nil)
}

// either sends an event when one of two watches does, and ends with the first. The end of the second is also an event.
func either(ctx context.Context, first, second <-chan struct{}) <-chan struct{} {
	out := make(chan struct{})
	go func() {
		defer close(out)
		var send chan<- struct{}
		for {
			select {
			case <-ctx.Done():
				return
			case _, open := <-first:
				if !open {
					return
				}
				send = out
			case _, open := <-second:
				if !open {
					second = nil
				}
				send = out
			case send <- struct{}{}:
				send = nil
			}
		}
	}()
	return out
}

func modelManagerCreateModel(ctx context.Context, c *Caller, p params.ModelCreateArgs) (params.ModelInfo, error) {
	owner, err := subject(ctx, c, p.OwnerTag)
	if err != nil {
		return params.ModelInfo{}, err
	}
	config, err := modelConfigOf(ctx, c, p.Config)
	credential := ""
	if err == nil {
		credential, err = c.modelCredential(ctx, p)
	}
	if err != nil {
		return params.ModelInfo{}, fmt.Errorf("cannot add model %q: %w", p.Name, err)
	}
	st, err := c.Controller.AddModel(ctx,
		controller.AddModelParams{Name: p.Name, Owner: owner, Series: c.Series, Config: config, Credential: credential})
	if err != nil {
		return params.ModelInfo{}, err
	}
	info, _, err := modelInfo(ctx, c, controller.ModelRow{UUID: st.UUID(), Name: st.Name(), Owner: owner, Credential: credential})
	if err == nil {
		info.Series, err = defaultSeries(ctx, c, st.UUID())
	}
	return info, err
}

// defaultSeries returns the default series of a model's machines.
func defaultSeries(ctx context.Context, c *Caller, model string) (string, error) {
	st, err := c.Controller.Model(ctx, model)
	if err != nil {
		return "", err
	}
	config, err := st.Settings().Config(ctx)
	return config[modelconfig.DefaultSeries].Value, err
}

// modelManagerDumpModels returns models as YAML: all their documents, except secrets.
func modelManagerDumpModels(ctx context.Context, c *Caller, p params.DumpModelsRequest) (params.StringResults, error) {
	return params.StringResults{Results: each(c, "DumpModels", p.Entities,
		func(e *params.Error) params.StringResult { return params.StringResult{Error: e} },
		func(e params.Entity) (params.StringResult, error) {
			st, err := c.Controller.Model(ctx, e.Tag.ID)
			if err != nil {
				return params.StringResult{}, err
			}
			dump, err := st.Dump(ctx)
			if err != nil {
				return params.StringResult{}, err
			}
			if p.Simplified {
				for _, past := range []string{"operations", "tasks", "statushistory", "annotations"} {
					delete(dump, past)
				}
			}
			plain := make(map[string][]any, len(dump))
			for collection, docs := range dump {
				for _, doc := range docs {
					var v any
					if err := json.Unmarshal(doc, &v); err != nil {
						return params.StringResult{}, err
					}
					plain[collection] = append(plain[collection], v)
				}
			}
			text, err := safeyaml.Marshal(plain, 2)
			if err == nil {
				err = c.keep(ctx, text)
			}
			return params.StringResult{Result: string(text)}, err
		})}, nil
}

// modelManagerDumpModelsDB returns all documents in the stores of models, except secrets.
func modelManagerDumpModelsDB(ctx context.Context, c *Caller, p params.DumpModelsRequest) (params.MapResults, error) {
	results := params.MapResults{Results: make([]params.MapResult, 0, len(p.Entities))}
	for _, e := range p.Entities {
		var result params.MapResult
		st, err := c.Controller.Model(ctx, e.Tag.ID)
		if err == nil {
			result.Result, err = st.Dump(ctx)
		}
		if err == nil {
			err = c.keep(ctx, result.Result)
		}
		if err != nil {
			result.Result = nil
			result.Error = c.wireError("DumpModelsDB", err)
		}
		results.Results = append(results.Results, result)
	}
	return results, nil
}
