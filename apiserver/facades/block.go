package facades

import (
	"context"
	"errors"

	"juju/apiserver/params"
	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
)

// An Effect classifies what a method does to a model, and so which blocks reject it.
type Effect uint8

const (
	_        Effect = iota // every route must have one
	Reads                  // changes nothing
	Free                   // is never rejected: agents' methods, and changing blocks
	Named                  // changes or destroys models that it names, or makes another request; it checks each itself
	Checks                 // changes nothing, and is refused whenever what it checks would be
	Changes                // changes the model
	Removes                // removes machines, services, units or relations
	Destroys               // destroys the model
)

// barredBy lists the blocks that reject an effect. If several do, the error names the first.
var barredBy = map[Effect][]entity.BlockType{
	Checks:   {entity.BlockChange},
	Changes:  {entity.BlockChange},
	Removes:  {entity.BlockRemove, entity.BlockChange},
	Destroys: {entity.BlockDestroy, entity.BlockRemove, entity.BlockChange},
}

// allowed returns OperationBlocked if a block rejects the effect: a block of the model, or of the controller's own
// model if the caller is connected to the controller itself.
func (e Effect) allowed(ctx context.Context, c *Caller) error {
	if c.Model == nil {
		return e.AllowedAt(ctx, c.ControllerModel)
	}
	return e.AllowedAt(ctx, c.Model)
}

// AllowedAt is allowed for a given model. Methods that take models as parameters call it for each.
func (e Effect) AllowedAt(ctx context.Context, st *state.State) error {
	types := barredBy[e]
	if len(types) == 0 {
		return nil
	}
	return st.Blocks().Check(ctx, types...)
}

func blockList(ctx context.Context, c *Caller, _ None) (params.BlockResults, error) {
	blocks, err := c.Model.Blocks().All(ctx)
	if err != nil {
		return params.BlockResults{}, err
	}
	results := make([]params.BlockResult, 0, len(blocks))
	for _, b := range blocks {
		results = append(results, params.BlockResult{Result: params.Block{
			ID: string(b.Type), Tag: params.TagOf(entity.ModelTag(c.Model.UUID())), Type: string(b.Type), Message: b.Message,
		}})
	}
	return params.BlockResults{Results: results}, nil
}

func blockSwitchOn(ctx context.Context, c *Caller, p params.BlockSwitchParams) (params.ErrorResult, error) {
	return blockSwitch(c, "SwitchBlockOn", p, func() error {
		return c.Model.Blocks().SwitchOn(ctx, entity.BlockType(p.Type), p.Message)
	})
}

func blockSwitchOff(ctx context.Context, c *Caller, p params.BlockSwitchParams) (params.ErrorResult, error) {
	return blockSwitch(c, "SwitchBlockOff", p, func() error {
		return c.Model.Blocks().SwitchOff(ctx, entity.BlockType(p.Type))
	})
}

// blockSwitch puts the error into the result, where clients expect it.
func blockSwitch(c *Caller, doing string, p params.BlockSwitchParams, do func() error) (params.ErrorResult, error) {
	one := []params.BlockSwitchParams{p}
	return outcomes(c, doing, one, func(params.BlockSwitchParams) error { return do() }).Results[0], nil
}

// controllerListBlockedModels lists the models that have blocks.
func controllerListBlockedModels(ctx context.Context, c *Caller, _ None) (params.ModelBlockInfoList, error) {
	list := params.ModelBlockInfoList{Models: []entity.ModelBlocks{}}
	err := eachModel(ctx, c, func(row controller.ModelRow, st *state.State) error {
		blocks, err := st.Blocks().All(ctx)
		if err != nil || len(blocks) == 0 {
			return err
		}
		info := entity.ModelBlocks{Name: row.Name, UUID: row.UUID, OwnerTag: entity.UserTag(row.Owner)}
		for _, b := range blocks {
			info.Blocks = append(info.Blocks, string(b.Type))
		}
		list.Models = append(list.Models, info)
		return nil
	})
	return list, err
}

// controllerRemoveBlocks disables all blocks of all models.
func controllerRemoveBlocks(ctx context.Context, c *Caller, p params.RemoveBlocksArgs) error {
	if !p.All {
		return entity.Errorf(entity.NotSupported, "not supported: a single model's blocks must be disabled in that model")
	}
	return eachModel(ctx, c, func(_ controller.ModelRow, st *state.State) error {
		blocks, err := st.Blocks().All(ctx)
		for _, b := range blocks {
			if offErr := st.Blocks().SwitchOff(ctx, b.Type); !errors.Is(offErr, entity.NotFound) {
				err = errors.Join(err, offErr)
			}
		}
		return err
	})
}

// eachModel calls do with every model that is ready.
func eachModel(ctx context.Context, c *Caller, do func(controller.ModelRow, *state.State) error) error {
	rows, err := c.Controller.Models(ctx)
	if err != nil {
		return err
	}
	for _, row := range rows {
		st, err := c.Controller.Model(ctx, row.UUID)
		if err == nil {
			err = do(row, st)
		}
		if err != nil && !errors.Is(err, entity.NotFound) { // NotFound: it is being removed
			return err
		}
	}
	return nil
}
