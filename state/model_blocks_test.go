package state_test

import (
	"strings"
	"testing"

	"juju/state/entity"
)

func TestBlocks(t *testing.T) {
	w := newWorld(t)
	w.ok(w.st.Blocks().Check(w.ctx, entity.BlockTypes()...))
	w.ok(w.st.Blocks().SwitchOn(w.ctx, entity.BlockChange, ""))
	w.ok(w.st.Blocks().SwitchOn(w.ctx, entity.BlockRemove, "ask SA"))
	w.refused(w.st.Blocks().SwitchOn(w.ctx, entity.BlockRemove, "again"), entity.AlreadyExists,
		"block BlockRemove is already ON")
	blocks, err := w.st.Blocks().All(w.ctx)
	w.ok(err)
	want := []entity.Block{{Type: entity.BlockRemove, Message: "ask SA"}, {Type: entity.BlockChange}}
	if len(blocks) != 2 || blocks[0] != want[0] || blocks[1] != want[1] {
		t.Errorf("the blocks are %v, want %v", blocks, want)
	}
	w.ok(w.st.Blocks().Check(w.ctx, entity.BlockDestroy))
	err = w.st.Blocks().Check(w.ctx, entity.BlockRemove, entity.BlockChange)
	w.refused(err, entity.OperationBlocked, "ask SA")
	if hint := entity.Hint(err); !strings.HasSuffix(hint, "\n\n    juju enable-command remove-object\n") {
		t.Errorf("the hint is %q", hint)
	}
	w.refused(w.st.Blocks().Check(w.ctx, entity.BlockChange), entity.OperationBlocked, "the operation has been blocked")
	w.ok(w.st.Blocks().SwitchOff(w.ctx, entity.BlockRemove))
	w.refused(w.st.Blocks().SwitchOff(w.ctx, entity.BlockRemove), entity.NotFound, "block BlockRemove is already OFF")
	w.ok(w.st.Blocks().SwitchOff(w.ctx, entity.BlockChange))
	w.ok(w.st.Blocks().Check(w.ctx, entity.BlockTypes()...))

	w.refused(w.st.Blocks().SwitchOn(w.ctx, "BlockSleep", ""), entity.Invalid, `unknown block type "BlockSleep"`)
	w.refused(w.st.Blocks().SwitchOn(w.ctx, entity.BlockChange, strings.Repeat("x", 5000)), entity.Invalid,
		"longer than 4096 bytes")
	// Each model has its own blocks.
	home, err := w.ctrl.Models(w.ctx)
	w.ok(err)
	other, err := w.ctrl.Model(w.ctx, home[0].UUID)
	w.ok(err)
	w.ok(other.Blocks().SwitchOn(w.ctx, entity.BlockChange, ""))
	w.ok(w.st.Blocks().Check(w.ctx, entity.BlockTypes()...))
}

func TestConcurrentBlockSwitches(t *testing.T) {
	w := newWorld(t)
	w.st.Before(func() { w.ok(w.st.Blocks().SwitchOn(w.ctx, entity.BlockChange, "first")) })
	w.refused(w.st.Blocks().SwitchOn(w.ctx, entity.BlockChange, "second"), entity.AlreadyExists,
		"block BlockChange is already ON")
	w.refused(w.st.Blocks().Check(w.ctx, entity.BlockChange), entity.OperationBlocked, "first")
	w.st.Before(func() { w.ok(w.st.Blocks().SwitchOff(w.ctx, entity.BlockChange)) })
	w.ok(w.st.Blocks().SwitchOff(w.ctx, entity.BlockChange)) // already off, as both wanted
	w.ok(w.st.Blocks().Check(w.ctx, entity.BlockChange))
}
