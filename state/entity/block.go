package entity

// A BlockType says what a block keeps users from. Its text is the wire's.
type BlockType string

// The types of blocks; each later one bars what the earlier ones do, and more.
const (
	BlockDestroy BlockType = "BlockDestroy" // the destruction of the model
	BlockRemove  BlockType = "BlockRemove"  // the removal of machines, services, units and relations
	BlockChange  BlockType = "BlockChange"  // every change
)

// BlockTypes returns all types, the narrowest first.
func BlockTypes() []BlockType { return []BlockType{BlockDestroy, BlockRemove, BlockChange} }

// A Block bars something in a model until it is switched off.
type Block struct {
	Type    BlockType
	Message string // why, in the words of who switched it on; may be empty
}
