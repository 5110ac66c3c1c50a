package facades_test

import (
	"encoding/json"
	"testing"

	"juju/apiserver/params"
	"juju/state/entity"
)

// Methods that name models are refused by the blocks of each model.
func TestBlocksOfNamedModels(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.addUser("ann")
	w.ok(w.st.Blocks().SwitchOn(t.Context(), entity.BlockChange, "locked"))
	c := w.root()
	change := func(uuid string) params.ModifyModelAccess {
		return params.ModifyModelAccess{UserTag: params.TagOf(entity.UserTag("ann")), Action: "grant", Access: "read",
			ModelTag: params.TagOf(entity.ModelTag(uuid))}
	}
	reply := c.call("ModelManager", 10, "ModifyModelAccess", params.ModifyModelAccessRequest{
		Changes: []params.ModifyModelAccess{change(w.st.UUID()), change(w.backend.ControllerModel.UUID())}})
	var results params.ErrorResults
	w.ok(json.Unmarshal(reply.Response, &results))
	if e := results.Results[0].Error; e == nil || e.Code != "operation is blocked" || e.Message != "locked" {
		t.Errorf("at the blocked model: %+v", e)
	}
	if e := results.Results[1].Error; e != nil {
		t.Errorf("at the other: %+v", e)
	}
}
