package params

import "juju/state/entity"

// A Block is a block that is on.
type Block struct {
	ID      string `json:"id"`
	Tag     Tag    `json:"tag"` // of the model
	Type    string `json:"type"`
	Message string `json:"message,omitempty"`
}

// A BlockResult is one block.
type BlockResult struct {
	Result Block  `json:"result"`
	Error  *Error `json:"error,omitempty"`
}

// A BlockResults is what Block 2 List returns.
type BlockResults struct {
	Results []BlockResult `json:"results,omitempty"`
}

// A BlockSwitchParams is what SwitchBlockOn and SwitchBlockOff take.
type BlockSwitchParams struct {
	Type    string `json:"type"` // an entity.BlockType
	Message string `json:"message,omitempty"`
}

// A ModelBlockInfoList is what Controller 12 ListBlockedModels returns.
type ModelBlockInfoList struct {
	Models []entity.ModelBlocks `json:"models,omitempty"`
}

// A RemoveBlocksArgs is what Controller 12 RemoveBlocks takes. All must be set.
type RemoveBlocksArgs struct {
	All bool `json:"all"`
}
