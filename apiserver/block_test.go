package apiserver

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"juju/apiserver/params"
	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// barred says by hand, for every method that users alone can call, what keeps
// them from it: the first block, of the narrowest to the widest, that does.
var barred = map[string]string{
	"Application.AddRelation":             "change",
	"Application.AddUnits":                "change",
	"Application.ApplicationsInfo":        "",
	"Application.CharmConfig":             "",
	"Application.Deploy":                  "change",
	"Application.DestroyApplication":      "remove",
	"Application.DestroyRelation":         "remove",
	"Application.DestroyUnit":             "remove",
	"Application.Expose":                  "change",
	"Application.Get":                     "",
	"Application.GetConstraints":          "",
	"Application.ResolveUnitErrors":       "change",
	"Application.SetConfigs":              "change",
	"Application.SetConstraints":          "change",
	"Application.Unexpose":                "change",
	"Application.UnsetApplicationsConfig": "change",

	"Block.List":           "",
	"Block.SwitchBlockOff": "", // or nobody could ever
	"Block.SwitchBlockOn":  "",
	"Charms.AddCharm":      "change",
	"Charms.CharmInfo":     "",
	"Client.FullStatus":    "",
	"Client.StatusHistory": "",

	"Controller.AllModels":                    "",
	"Controller.DestroyController":            "destroy",
	"MachineManager.AddMachines":              "change",
	"MachineManager.DestroyMachineWithParams": "remove",
	"ModelConfig.GetModelConstraints":         "",
	"ModelConfig.SetModelConstraints":         "change",
	"ModelManager.CreateModel":                "change",
	"ModelManager.DumpModelsDB":               "",
	"ModelManager.ListModelSummaries":         "",
	"ModelManager.ListModels":                 "",
	"ModelManager.ModelInfo":                  "",
}

// Every method is called while each block is on: it is barred by the blocks that
// it should be, and by no other.
func TestWhatBlocksBar(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	model := w.admin()
	controller := w.raw("/api").login(entity.UserTag(statetest.Admin), statetest.Password, "")
	widest := map[string]int{"destroy": 0, "remove": 1, "change": 2}
	seen := map[string]bool{}
	for i, block := range entity.BlockTypes() {
		for _, st := range []*state.State{w.st, w.server.controllerModel} {
			if err := st.SwitchBlockOn(t.Context(), block, "by "+string(block)); err != nil {
				t.Fatal(err)
			}
		}
		for _, r := range routes() {
			name := r.facade + "." + r.method
			if r.effect == 0 {
				t.Errorf("%s does not say what it does", name)
			}
			forUsers := r.who&(reader|writer|admin) != 0 && r.who&anybody != anybody
			if !forUsers {
				if r.effect != free {
					t.Errorf("%s is for agents, whom no block bars", name)
				}
				continue
			}
			first, said := barred[name]
			if !said {
				t.Errorf("nobody has said which blocks bar %s: add it to barred", name)
				continue
			}
			seen[name] = true
			if first == "" && r.who&reader == 0 && r.effect != reads && r.facade != "Block" {
				t.Errorf("%s is for those who may change something, and nothing bars it", name)
			}
			conn := model
			if r.at == atController {
				conn = controller
			}
			if r.effect == free {
				continue // it would switch them
			}
			err := conn.call(r.facade, r.version, r.method, struct{}{}).Err()
			want := first != "" && i >= widest[first]
			if got := errors.Is(err, entity.OperationBlocked); got != want {
				t.Errorf("%s with %s on: barred %v, want %v (%v)", name, block, got, want, err)
			}
			if want && (err.Error() != "by "+string(block) || !strings.Contains(entity.Hint(err), "juju enable-command ")) {
				t.Errorf("%s with %s on says %v (%s)", name, block, err, entity.Hint(err))
			}
		}
		for _, st := range []*state.State{w.st, w.server.controllerModel} {
			if err := st.SwitchBlockOff(t.Context(), block); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name := range barred {
		if !seen[name] {
			t.Errorf("barred has %s, which is no method for users", name)
		}
	}
}

// What agents do goes on, and the lock on the door is opened from inside.
func TestBlocksBarUsersOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	user := w.admin()
	for _, block := range entity.BlockTypes() {
		reply := user.call("Block", 2, "SwitchBlockOn", params.BlockSwitchParams{Type: string(block)})
		if err := reply.Err(); err != nil || strings.Contains(string(reply.Response), "error") {
			t.Fatalf("%v %s", err, reply.Response)
		}
	}
	err := user.call("Application", 19, "DestroyUnit", struct{}{}).Err()
	if !errors.Is(err, entity.OperationBlocked) || err.Error() != "the operation has been blocked" {
		t.Errorf("with all blocks on: %v", err)
	}
	again := user.call("Block", 2, "SwitchBlockOn", params.BlockSwitchParams{Type: "BlockChange"})
	if !strings.Contains(string(again.Response), "block BlockChange is already ON") {
		t.Errorf("again: %s", again.Response)
	}
	request, err := http.NewRequest("POST", "https://"+w.address+"/model/"+w.st.UUID()+"/charms", strings.NewReader("zip"))
	if err != nil {
		t.Fatal(err)
	}
	request.SetBasicAuth(params.TagOf(entity.UserTag(statetest.Admin)).String(), statetest.Password)
	hc := &http.Client{Transport: &http.Transport{TLSClientConfig: clientTLS(), DisableKeepAlives: true}}
	response, err := hc.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusBadRequest {
		t.Errorf("an upload is answered with %s", response.Status)
	}
	u1, m0 := entity.UnitTag("mysql/1"), entity.MachineTag("0")
	about := func(tag entity.Tag) params.Agent { return params.Agent{Tag: params.TagOf(tag)} }
	unit := w.raw(w.modelPath()).login(u1, w.passwords[u1], "")
	if err := unit.call("Uniter", 1, "DestroyUnit", about(u1)).Err(); err != nil {
		t.Errorf("a unit's agent is barred: %v", err)
	}
	machine := w.raw(w.modelPath()).login(m0, w.passwords[m0], nonce)
	if err := machine.call("Machiner", 1, "Machine", about(m0)).Err(); err != nil {
		t.Errorf("a machine's agent is barred: %v", err)
	}
	if err := user.call("Application", 19, "Get", params.ApplicationGet{ApplicationName: "mysql"}).Err(); err != nil {
		t.Errorf("nobody can look: %v", err)
	}
	for _, block := range entity.BlockTypes() {
		if reply := user.call("Block", 2, "SwitchBlockOff", params.BlockSwitchParams{Type: string(block)}); reply.Err() != nil {
			t.Fatal(reply.Err())
		}
	}
	if err := user.call("Application", 19, "Expose", params.ApplicationExpose{ApplicationName: "mysql"}).Err(); err != nil {
		t.Errorf("with all blocks off: %v", err)
	}
}
