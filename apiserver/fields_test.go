package apiserver

import (
	"testing"

	"juju/apiserver/params"
	"juju/state/entity"
	"juju/state/statetest"
)

// Lists of models say when the user last connected to them.
func TestListsOfModelsSayWhenTheUserConnected(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.admin() // connects to the model
	c := w.raw("/api").login(entity.UserTag(statetest.Admin), statetest.Password, "")
	for method, facade := range map[string]string{"ListModels": "ModelManager", "AllModels": "Controller"} {
		version := map[string]int{"ModelManager": 9, "Controller": 12}[facade]
		var list params.UserModelList
		w.ok(c.do(facade, version, method, params.Entity{Tag: params.TagOf(entity.UserTag(statetest.Admin))}, &list))
		if len(list.UserModels) != 2 {
			t.Errorf("%s: %v", method, list)
		}
		for _, m := range list.UserModels {
			if connected := m.LastConnection != nil; connected != (m.UUID == w.st.UUID()) {
				t.Errorf("%s: the last connection to %s is %v", method, m.Name, m.LastConnection)
			}
		}
	}
}
