package params

import "juju/state/entity"

// A Block is an enabled block.
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

// A BlockResults is the result of Block 2 List.
type BlockResults struct {
	Results []BlockResult `json:"results,omitempty"`
}

// A BlockSwitchParams is the parameter of SwitchBlockOn and SwitchBlockOff.
type BlockSwitchParams struct {
	Type    string `json:"type"` // an entity.BlockType
	Message string `json:"message,omitempty"`
}

// A ModelBlockInfoList is the result of Controller 12 ListBlockedModels.
type ModelBlockInfoList struct {
	Models []entity.ModelBlocks `json:"models,omitempty"`
}

// A RemoveBlocksArgs is the parameter of Controller 12 RemoveBlocks. All must be set.
type RemoveBlocksArgs struct {
	All bool `json:"all"`
}
