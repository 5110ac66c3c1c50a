// Package blocks stores the blocks on users' commands in a model.
package blocks

import (
	"context"
	"slices"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/mongo"
)

// maxMessage limits the message, because every blocked command returns it.
const maxMessage = 4 << 10

// Blocks are the blocks on users' commands in a model.
type Blocks struct{ db *modeltxn.DB }

// Of returns a model's blocks.
func Of(db *modeltxn.DB) Blocks { return Blocks{db} }

// All returns the blocks that are on, the narrowest first.
func (b Blocks) All(ctx context.Context) ([]entity.Block, error) {
	var docs []modeldb.Block
	if err := b.db.All(ctx, modeldb.BlocksC, nil, &docs); err != nil {
		return nil, err
	}
	var blocks []entity.Block
	for _, t := range entity.BlockTypes() {
		for _, d := range docs {
			if d.Type == t {
				blocks = append(blocks, entity.Block(d))
			}
		}
	}
	return blocks, nil
}

// SwitchOn blocks the type's commands until SwitchOff; blocked commands return the message. The error is
// entity.AlreadyExists if a block of this type is on.
func (b Blocks) SwitchOn(ctx context.Context, t entity.BlockType, message string) error {
	if err := checkType(t); err != nil {
		return err
	}
	if len(message) > maxMessage {
		return entity.Errorf(entity.Invalid, "cannot switch block %v on: its message is longer than %d bytes", t,
			maxMessage)
	}
	return b.db.Change(ctx, func(o *modeltxn.Ops) error {
		if on, err := b.isOn(ctx, t); err != nil {
			return err
		} else if on {
			return entity.WithHint(entity.Errorf(entity.AlreadyExists, "block %v is already ON", t),
				"To give it another message: juju enable-command, then juju disable-command; "+
					"what is disabled: juju disabled-commands")
		}
		if _, err := b.db.AliveModel(ctx); err != nil {
			return err
		}
		o.AssertModelAlive()
		o.Insert(modeldb.BlocksC, string(t), modeldb.Block{t, message})
		return nil
	})
}

// SwitchOff ends a block. The error is entity.NotFound if none of this type is on.
func (b Blocks) SwitchOff(ctx context.Context, t entity.BlockType) error {
	if err := checkType(t); err != nil {
		return err
	}
	wasOn := false
	return b.db.Change(ctx, func(o *modeltxn.Ops) error {
		on, err := b.isOn(ctx, t)
		switch {
		case err != nil:
			return err
		case !on && wasOn:
			return mongo.ErrNothing // switched off meanwhile
		case !on:
			return entity.WithHint(entity.Errorf(entity.NotFound, "block %v is already OFF", t),
				"What is disabled: juju disabled-commands")
		}
		wasOn = true
		o.Remove(modeldb.BlocksC, string(t), modeltxn.Exists)
		return nil
	})
}

func checkType(t entity.BlockType) error {
	if !slices.Contains(entity.BlockTypes(), t) {
		return entity.Errorf(entity.Invalid, "unknown block type %q", string(t))
	}
	return nil
}

func (b Blocks) isOn(ctx context.Context, t entity.BlockType) (bool, error) {
	n, err := b.db.Count(ctx, modeldb.BlocksC, bson.D{{"_id", t}})
	return n > 0, err
}

// Check returns nil if no block of these types is on. Otherwise the error is entity.OperationBlocked with the message of
// the first that is on, and a hint how to switch it off.
func (b Blocks) Check(ctx context.Context, types ...entity.BlockType) error {
	blocks, err := b.All(ctx)
	if err != nil {
		return err
	}
	for _, t := range types {
		for _, b := range blocks {
			if b.Type != t {
				continue
			}
			if b.Message == "" {
				b.Message = "the operation has been blocked"
			}
			return entity.WithHint(entity.Errorf(entity.OperationBlocked, "%s", b.Message), "%s", unblockHints[t])
		}
	}
	return nil
}

// unblockHints are in Juju's own words.
var unblockHints = map[entity.BlockType]string{
	entity.BlockDestroy: `destroy-model operation has been disabled for the current model.
To enable the command run

    juju enable-command destroy-model
`,
	entity.BlockRemove: `All operations that remove machines, services, units or
relations have been disabled for the current model.
To enable removal, run

    juju enable-command remove-object
`,
	entity.BlockChange: `All operations that change model have been disabled for the current model.
To enable changes, run

    juju enable-command all
`,
}
