package client

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"juju/apiserver/params"
	"juju/state/constraints"
	"juju/state/entity"
)

// Status returns the status of the model, or of the parts of it that match one of the patterns.
func (c *Conn) Status(ctx context.Context, patterns ...string) (*entity.ModelStatus, error) {
	var result params.FullStatus
	if err := c.call(ctx, "Client", 7, "FullStatus", params.StatusParams{Patterns: patterns}, &result); err != nil {
		return nil, err
	}
	return result.ModelStatus()
}

// WatchStatus sends an event immediately, and another whenever the result of Status may have changed. The channel is
// closed when ctx, the watch or the connection ends.
func (c *Conn) WatchStatus(ctx context.Context) (<-chan struct{}, error) {
	return notify(ctx, c, "Status", "WatchStatus", nil)
}

// A MachineArgs describes a new machine.
type MachineArgs struct {
	Series      string // "" for the model's
	Constraints constraints.Value
	Placement   entity.Placement
	// Manual is the instance of a manual machine; zero for any other machine.
	Manual   entity.Instance
	Hardware entity.Hardware
}

// AddMachine adds a machine. It returns its id, and warnings for the user.
func (c *Conn) AddMachine(ctx context.Context, args MachineArgs) (id string, warnings []string, err error) {
	machine := params.AddMachineParams{
		Constraints: args.Constraints, Placement: params.PlacementOf(args.Placement), Jobs: []string{params.JobHostUnits},
		InstanceID: args.Manual.ID, Nonce: args.Manual.Nonce, Addresses: params.AddressesOf(args.Manual.Addresses),
		Hardware: params.HardwareCharacteristics{Arch: args.Hardware.Arch, Mem: args.Hardware.Mem,
			RootDisk: args.Hardware.RootDisk, Cores: args.Hardware.Cores},
	}
	if args.Series != "" {
		base := entity.BaseOf(args.Series)
		machine.Base = &base
	}
	var result params.AddMachinesResults
	err = c.call(ctx, "MachineManager", 10, "AddMachines",
		params.AddMachines{MachineParams: []params.AddMachineParams{machine}}, &result)
	if err != nil {
		return "", nil, err
	}
	if err := isOne(len(result.Machines)); err != nil {
		return "", nil, err
	}
	return result.Machines[0].Machine, result.Machines[0].Warnings, params.FromError(result.Machines[0].Error)
}

// ProvisioningScript returns the shell script that installs the agent on the host of a manual machine. The script
// contains the agent's password, a new one each time.
func (c *Conn) ProvisioningScript(ctx context.Context, machine, nonce string) (string, error) {
	var result params.ProvisioningScriptResult
	err := c.call(ctx, "MachineManager", 10, "ProvisioningScript",
		params.ProvisioningScriptParams{MachineID: machine, Nonce: nonce}, &result)
	return result.Script, err
}

// DestroyMachines destroys machines by id. It returns an error or nil for each, in order.
func (c *Conn) DestroyMachines(
	ctx context.Context, how entity.Destruction, ids ...string,
) (errs []error, info entity.DestroyInfo, err error) {
	args := params.DestroyMachinesParams{Destruction: params.FromDestruction(how)}
	for _, id := range ids {
		args.MachineTags = append(args.MachineTags, params.TagOf(entity.MachineTag(id)))
	}
	var result params.DestroyMachineResults
	err = c.call(ctx, "MachineManager", 10, "DestroyMachineWithParams", args, &result)
	if err == nil {
		err = areAll(len(ids), len(result.Results))
	}
	errs = make([]error, len(result.Results))
	for i, r := range result.Results {
		if errs[i] = params.FromError(r.Error); r.Info != nil {
			info.Add(r.Info.DestroyedWith.Read(entity.MachinesLeft{}))
		}
	}
	return errs, info, err
}

// RetryProvisioning retries starting instances for machines whose provisioning failed. It returns an error or nil for
// each, in order. If constraints is not nil, it replaces the constraints of each machine, and the warnings list those
// that the cloud ignores.
func (c *Conn) RetryProvisioning(ctx context.Context, constraints *constraints.Value, ids ...string) (
	errs []error, warnings []string, err error) {
	args := params.RetryProvisioningArgs{Constraints: constraints}
	for _, id := range ids {
		args.Machines = append(args.Machines, params.TagOf(entity.MachineTag(id)))
	}
	results, warnings, err := c.retryProvisioning(ctx, args)
	errs, err = each(len(ids), results, err)
	return errs, warnings, err
}

// RetryAllProvisioning is RetryProvisioning for every such machine.
func (c *Conn) RetryAllProvisioning(ctx context.Context, constraints *constraints.Value) (
	errs []error, warnings []string, err error) {
	results, warnings, err := c.retryProvisioning(ctx, params.RetryProvisioningArgs{All: true, Constraints: constraints})
	return errorsOf(results), warnings, err
}

func (c *Conn) retryProvisioning(ctx context.Context, args params.RetryProvisioningArgs) (
	results []params.ErrorResult, warnings []string, err error) {
	var result params.RetryProvisioningResults
	err = c.call(ctx, "MachineManager", 10, "RetryProvisioning", args, &result)
	return result.Results, result.Warnings, err
}

// A Model is a model that the user can access.
type Model struct {
	Name, UUID, Owner string
}

// Models returns the models that the user can access. The connection must be to the
// controller itself.
func (c *Conn) Models(ctx context.Context) ([]Model, error) {
	var result params.UserModelList
	if err := c.call(ctx, "ModelManager", 10, "ListModels", params.Entity{Tag: params.TagOf(c.Tag())},
		&result); err != nil {
		return nil, err
	}
	models := make([]Model, 0, len(result.UserModels))
	for _, m := range result.UserModels {
		models = append(models, Model{Name: m.Name, UUID: m.UUID, Owner: m.OwnerTag.ID})
	}
	return models, nil
}

// ModelSummaries returns a summary of each model that the user can access. The connection must
// be to the controller itself.
func (c *Conn) ModelSummaries(ctx context.Context) ([]entity.ModelSummary, error) {
	var result params.ModelSummaryResults
	args := params.ModelSummariesRequest{UserTag: params.TagOf(c.Tag())}
	if err := c.call(ctx, "ModelManager", 10, "ListModelSummaries", args, &result); err != nil {
		return nil, err
	}
	var all []entity.ModelSummary
	for _, r := range result.Results {
		err := params.FromError(r.Error)
		if errors.Is(err, entity.NotFound) {
			continue // removed in the meantime
		}
		if err != nil {
			return nil, err
		}
		if r.Result == nil {
			return nil, entity.Errorf(entity.Unavailable, "the controller gave no summary of a model")
		}
		r.Result.ModelSummary.Status = r.Result.Status.Read()
		r.Result.ModelSummary.CloudName = strings.TrimPrefix(r.Result.CloudTag, params.CloudTag(""))
		_, r.Result.Credential, _ = params.ParseCredentialTag(r.Result.CredentialTag) // a cloud may need none
		all = append(all, r.Result.ModelSummary)
	}
	return all, nil
}

// ModelInfo describes a model. The error is entity.Unauthorized if the model does not exist or the user may not see it.
// The connection must be to the controller itself.
func (c *Conn) ModelInfo(ctx context.Context, uuid string) (entity.ModelInfo, error) {
	args := params.Entities{Entities: []params.Entity{{Tag: params.TagOf(entity.ModelTag(uuid))}}}
	var result params.ModelInfoResults
	if err := c.call(ctx, "ModelManager", 10, "ModelInfo", args, &result); err != nil {
		return entity.ModelInfo{}, err
	}
	if len(result.Results) != 1 || result.Results[0].Error == nil && result.Results[0].Result == nil {
		return entity.ModelInfo{}, errors.New("the controller's reply does not match the request")
	}
	if err := result.Results[0].Error; err != nil {
		return entity.ModelInfo{}, params.FromError(err)
	}
	info := result.Results[0].Result
	info.ModelInfo.Status = info.Status.Read()
	info.ModelInfo.CloudName = strings.TrimPrefix(info.CloudTag, params.CloudTag(""))
	_, info.Credential, _ = params.ParseCredentialTag(info.CredentialTag) // a cloud may need none
	return info.ModelInfo, nil
}

// WatchModel sends an event immediately, and another whenever the result of ModelInfo may have changed or the model may
// have been removed. The connection must be to the controller itself.
func (c *Conn) WatchModel(ctx context.Context, uuid string) (<-chan struct{}, error) {
	return notify(ctx, c, "Status", "WatchModel", params.Entity{Tag: params.TagOf(entity.ModelTag(uuid))})
}

// A ModelPlace is the cloud of a new model, its region and its credential, each "" for the controller's, and its owner, ""
// for the user.
type ModelPlace struct{ Cloud, Region, Credential, Owner string }

// CreateModel adds a model, with settings as users write them. Only superusers add models for others. The
// connection must be to the controller itself.
func (c *Conn) CreateModel(ctx context.Context, name string, at ModelPlace, config map[string]string) (Model, error) {
	args := params.ModelCreateArgs{Name: name, OwnerTag: params.TagOf(c.Tag()), Config: map[string]any{}, Region: at.Region}
	if at.Owner != "" {
		args.OwnerTag = params.TagOf(entity.UserTag(at.Owner))
	}
	if at.Cloud != "" {
		args.CloudTag = params.CloudTag(at.Cloud)
	}
	if at.Credential != "" {
		args.CredentialTag = params.CredentialTag(at.Cloud, c.Tag().ID, at.Credential)
	}
	for key, value := range config {
		args.Config[key] = value
	}
	var result params.ModelInfo
	err := c.call(ctx, "ModelManager", 10, "CreateModel", args, &result)
	return Model{Name: result.Name, UUID: result.UUID, Owner: result.OwnerTag.ID}, err
}

// DestroyModel begins the destruction of a model. Calling it again with stronger options can help if the destruction is
// stuck. The connection must be to the controller itself, or to the model if it is planned.
func (c *Conn) DestroyModel(ctx context.Context, uuid string, how entity.Destruction) error {
	args := params.DestroyModelsParams{Models: []params.DestroyModelParams{
		{ModelTag: params.TagOf(entity.ModelTag(uuid)), Destruction: params.FromDestruction(how)}}}
	if how.Storage || how.Release {
		args.Models[0].DestroyStorage = &how.Storage
	}
	var result params.ErrorResults
	if err := c.call(ctx, "ModelManager", 10, "DestroyModels", args, &result); err != nil {
		return err
	}
	return only(result.Results)
}

// ModelLeftovers returns the cloud resources left behind by models that were destroyed with force. The connection must
// be to the controller itself.
func (c *Conn) ModelLeftovers(ctx context.Context) ([]entity.Leftover, error) {
	var result params.LeftoverResults
	err := c.call(ctx, "ModelManager", 10, "ModelLeftovers", nil, &result)
	return result.Results, err
}

// DumpModel returns all documents in the store of a model, by collection, without secrets. The connection must be to
// the controller itself.
func (c *Conn) DumpModel(ctx context.Context, uuid string) (map[string][]json.RawMessage, error) {
	args := params.DumpModelsRequest{Entities: []params.Entity{{Tag: params.TagOf(entity.ModelTag(uuid))}}}
	var result params.MapResults
	if err := c.call(ctx, "ModelManager", 10, "DumpModelsDB", args, &result); err != nil {
		return nil, err
	}
	if err := isOne(len(result.Results)); err != nil {
		return nil, err
	}
	if err := result.Results[0].Error; err != nil {
		return nil, params.FromError(err)
	}
	return result.Results[0].Result, nil
}
