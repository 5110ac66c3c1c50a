package entity

// A BlockType is what a block prevents. Its text is that of the wire.
type BlockType string

// The types of blocks; each prevents what the earlier ones do, and more.
const (
	BlockDestroy BlockType = "BlockDestroy" // the destruction of the model
	BlockRemove  BlockType = "BlockRemove"  // the removal of machines, services, units and relations
	BlockChange  BlockType = "BlockChange"  // every change
)

// BlockTypes returns all types, the narrowest first.
func BlockTypes() []BlockType { return []BlockType{BlockDestroy, BlockRemove, BlockChange} }

// A Block prevents some changes of a model until it is switched off.
type Block struct {
	Type    BlockType
	Message string // why, as given by the user who switched it on; may be empty
}
