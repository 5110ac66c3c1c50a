package facades

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"juju/apiserver/params"
	"juju/state/controller"
	"juju/state/entity"
)

func userModel(row controller.ModelRow) params.UserModel {
	return params.UserModel{Model: params.Model{
		Name: row.Name, UUID: row.UUID, Type: params.ModelType, OwnerTag: params.TagOf(entity.UserTag(row.Owner)),
	}}
}

// controllerAllModels lists all models, for superusers.
func controllerAllModels(ctx context.Context, c *Caller, _ None) (params.UserModelList, error) {
	rows, err := c.Controller.Models(ctx)
	return userModels(rows), err
}

func userModels(rows []controller.ModelRow) params.UserModelList {
	list := params.UserModelList{UserModels: make([]params.UserModel, 0, len(rows))}
	for _, row := range rows {
		list.UserModels = append(list.UserModels, userModel(row))
	}
	return list
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
	return userModels(rows), err
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
	results := make([]params.ModelSummaryResult, 0, len(rows))
	for i, row := range rows {
		info, counts, err := modelInfo(ctx, c, row)
		if err != nil {
			results = append(results, params.ModelSummaryResult{Error: c.wireError("ListModelSummaries",
				err)})
			continue
		}
		results = append(results, params.ModelSummaryResult{Result: &params.ModelSummary{
			ModelSummary: entity.ModelSummary{ModelDescription: info.ModelDescription, UserAccess: access[i], Counts: counts},
			Status:       info.Status, CloudTag: info.CloudTag, SLA: info.SLA,
		}})
	}
	return params.ModelSummaryResults{Results: results}, nil
}

// modelStatus returns the status of a model. A model that is being removed is empty.
func modelStatus(ctx context.Context, c *Caller, row controller.ModelRow) (*entity.ModelStatus, error) {
	if row.IsRemoving() {
		return &entity.ModelStatus{Model: entity.ModelHeader{
			Name: row.Name, UUID: row.UUID, Life: entity.Dead, Cloud: c.Controller.Cloud(),
			Status: entity.Status{Status: entity.StatusDestroying, Message: "its remaining resources are being removed"},
		}}, nil
	}
	st, err := c.Controller.Model(ctx, row.UUID)
	if err != nil {
		return nil, err
	}
	return st.Status(ctx)
}

// modelInfo describes a model and counts its entities.
func modelInfo(
	ctx context.Context, c *Caller, row controller.ModelRow,
) (params.ModelInfo, []entity.ModelEntityCount, error) {
	status, err := modelStatus(ctx, c, row)
	if err != nil {
		return params.ModelInfo{}, nil, err
	}
	info := params.ModelInfo{
		ModelInfo: entity.ModelInfo{
			ModelDescription: entity.ModelDescription{
				Name: row.Name, UUID: row.UUID, Type: params.ModelType, ControllerUUID: c.Controller.UUID(),
				IsController: row.UUID == c.ControllerModel.UUID(), ProviderType: status.Model.Cloud,
				OwnerTag: entity.UserTag(row.Owner), Life: status.Model.Life.String(), AgentVersion: cmp.Or(status.Model.Version, c.Version),
			},
			Users: []entity.ModelUser{}, Machines: []entity.ModelMachine{},
		},
		Status: params.StatusOf(status.Model.Status), CloudTag: params.CloudTag(status.Model.Cloud),
		SecretBackends: []struct{}{}, SLA: params.ModelSLAInfo{Level: "unsupported"},
	}
	for _, m := range status.AllMachines() {
		info.Machines = append(info.Machines, entity.ModelMachine{
			ID: m.ID, InstanceID: m.InstanceID, Status: string(m.Status.Status), Message: m.Status.Message,
			HasVote: m.Manager, WantsVote: m.Manager,
		})
	}
	return info, []entity.ModelEntityCount{
		{Entity: "machines", Count: int64(len(info.Machines))}, {Entity: "units", Count: int64(len(status.AllUnits()))},
	}, nil
}

func modelManagerModelInfo(ctx context.Context, c *Caller, p params.Entities) (params.ModelInfoResults, error) {
	rows, _, err := c.Controller.ModelsOf(ctx, c.Tag.ID)
	if err != nil {
		return params.ModelInfoResults{}, err
	}
	results := make([]params.ModelInfoResult, 0, len(p.Entities))
	for _, e := range p.Entities {
		// The error is the same if the model does not exist.
		result := params.ModelInfoResult{Error: params.ToError(lacksModel(c.Tag, e.Tag.ID, "", controller.AccessRead))}
		for _, row := range rows {
			if e.Tag.Tag != entity.ModelTag(row.UUID) {
				continue
			}
			info, _, err := modelInfo(ctx, c, row)
			if err == nil && !row.IsRemoving() {
				info.Users, err = modelUsers(ctx, c, e.Tag)
			}
			if err != nil {
				result = params.ModelInfoResult{Error: c.wireError("ModelInfo", err)}
				break
			}
			result = params.ModelInfoResult{Result: &info}
		}
		results = append(results, result)
	}
	return params.ModelInfoResults{Results: results}, nil
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
	i := slices.IndexFunc(rows, func(row controller.ModelRow) bool { return p.Tag.Tag == entity.ModelTag(row.UUID) })
	if i < 0 {
		return Stream{}, lacksModel(c.Tag, p.Tag.ID, "", controller.AccessRead) // the same if the model does not exist
	}
	steps, err := c.Controller.WatchUnfinishedModels(ctx)
	if err != nil {
		return Stream{}, err
	}
	var contents <-chan struct{} // nil if the model is being removed
	if st, err := c.Controller.Model(ctx, rows[i].UUID); err == nil {
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
	if err != nil {
		return params.ModelInfo{}, fmt.Errorf("cannot add model %q: %w", p.Name, err)
	}
	st, err := c.Controller.AddModel(ctx,
		controller.AddModelParams{Name: p.Name, Owner: owner, Series: c.Series, Config: config})
	if err != nil {
		return params.ModelInfo{}, err
	}
	info, _, err := modelInfo(ctx, c, controller.ModelRow{UUID: st.UUID(), Name: st.Name(), Owner: owner})
	return info, err
}

// modelManagerDumpModels returns all documents in the stores of models, except secrets.
func modelManagerDumpModels(ctx context.Context, c *Caller, p params.DumpModelsRequest) (params.MapResults, error) {
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
