package client

import (
	"context"

	"juju/apiserver/params"
	"juju/state/entity"
)

// Blocks returns the blocks enabled in the model.
func (c *Conn) Blocks(ctx context.Context) ([]entity.Block, error) {
	var result params.BlockResults
	if err := c.call(ctx, "Block", 2, "List", nil, &result); err != nil {
		return nil, err
	}
	var blocks []entity.Block
	for _, r := range result.Results {
		if r.Error != nil {
			return nil, params.FromError(r.Error)
		}
		blocks = append(blocks, entity.Block{Type: entity.BlockType(r.Result.Type), Message: r.Result.Message})
	}
	return blocks, nil
}

// SwitchBlockOn enables a block of type t. Rejected commands show the message.
func (c *Conn) SwitchBlockOn(ctx context.Context, t entity.BlockType, message string) error {
	return c.switchBlock(ctx, "SwitchBlockOn", params.BlockSwitchParams{Type: string(t), Message: message})
}

// SwitchBlockOff disables a block.
func (c *Conn) SwitchBlockOff(ctx context.Context, t entity.BlockType) error {
	return c.switchBlock(ctx, "SwitchBlockOff", params.BlockSwitchParams{Type: string(t)})
}

func (c *Conn) switchBlock(ctx context.Context, method string, args params.BlockSwitchParams) error {
	var result params.ErrorResult
	if err := c.call(ctx, "Block", 2, method, args, &result); err != nil {
		return err
	}
	return params.FromError(result.Error)
}

// BlockedModels returns the models that have blocks. The connection must be to the controller itself.
func (c *Conn) BlockedModels(ctx context.Context) ([]entity.ModelBlocks, error) {
	var result params.ModelBlockInfoList
	err := c.call(ctx, "Controller", 12, "ListBlockedModels", nil, &result)
	return result.Models, err
}

// RemoveBlocks disables all blocks of all models. The connection must be to the controller itself.
func (c *Conn) RemoveBlocks(ctx context.Context) error {
	return c.call(ctx, "Controller", 12, "RemoveBlocks", params.RemoveBlocksArgs{All: true}, nil)
}
