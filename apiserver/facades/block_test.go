package facades_test

import "testing"

// Blocks are switched on and off, each once, and keep their message. All models' are listed and removed together.
func TestBlocksOfModels(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.admin().says(
		step{"Block 2 List", `{}`, `{}`},
		step{"Block 2 SwitchBlockOn", `{"type":"BlockChange","message":"no"}`, `{}`},
		step{"Block 2 SwitchBlockOn", `{"type":"BlockChange"}`, "block BlockChange is already ON → To give it another message: " +
			"juju enable-command, then juju disable-command; what is disabled: juju disabled-commands"},
		step{"Block 2 SwitchBlockOn", `{"type":"BlockAll"}`, `unknown block type "BlockAll"`},
		step{"Block 2 SwitchBlockOff", `{"type":"BlockRemove"}`, "block BlockRemove is already OFF → What is disabled: juju disabled-commands"},
		step{"Block 2 SwitchBlockOn", `{"type":"BlockDestroy"}`, `{}`},
		step{"Block 2 SwitchBlockOff", `{"type":"BlockDestroy"}`, `{}`},
		step{"Block 2 List", `{}`, `{"result":{"id":"BlockChange","tag":"model-` + w.st.UUID() + `","type":"BlockChange","message":"no"}}`},
		step{"Application 19 Expose", `{"application":"x"}`, "no → All operations that change model have been disabled for the current model.…"},
	)
	w.root().says(
		step{"Controller 12 ListBlockedModels", `{}`,
			`{"models":[{"name":"default","model-uuid":"` + w.st.UUID() + `","owner-tag":"user-admin","blocks":["BlockChange"]}]}`},
		step{"Controller 12 RemoveBlocks", `{}`, "not supported: a single model's blocks must be disabled in that model"},
		step{"Controller 12 RemoveBlocks", `{"all":true}`, `{}`},
		step{"Controller 12 ListBlockedModels", `{}`, `{}`},
	)
	w.admin().says(step{"Block 2 List", `{}`, `{}`})
}
