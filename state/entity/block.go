package entity

// A BlockType is what a block prevents. Its text is the one used on the wire.
type BlockType string

// The types of blocks; each includes the ones before it.
const (
	BlockDestroy BlockType = "BlockDestroy" // destruction of the model
	BlockRemove  BlockType = "BlockRemove"  // removal of machines, services, units and relations
	BlockChange  BlockType = "BlockChange"  // every change
)

// BlockTypes returns all types, the narrowest first.
func BlockTypes() []BlockType { return []BlockType{BlockDestroy, BlockRemove, BlockChange} }

// A Block prevents some changes to a model until it is removed.
type Block struct {
	Type    BlockType
	Message string // the reason given by the user who set it; may be empty
}
