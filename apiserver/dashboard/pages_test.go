package dashboard

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"juju/apiserver/debuglog"
	"juju/state/entity"
)

// contents returns a content for each page, with a text in all its fields.
func contents(m *Mirror, text string) map[string]any {
	at := time.Now()
	status := entity.Status{Status: entity.StatusWord(text), Message: text, Since: at}
	waits := []entity.Explanation{{Tag: "unit-" + text, Name: text, Life: entity.Dying, Since: at, Strength: entity.Force, Deadline: at,
		Reasons:   []entity.Reason{{Of: text, By: text, Text: text, Hint: "juju resolved " + text, Since: at}, {Text: text, By: entity.ByUser, Hint: text}},
		Refusals:  []entity.Refusal{{At: at, Text: text}},
		Leftovers: []entity.Leftover{{What: text, Where: text, Why: text, How: text}}}}
	pair := []Pair{{text, text}}
	line := []debuglog.Message{{Timestamp: at, Message: text, Module: text}}
	actions := []Action{{text, text, []Field{{Name: text, Type: text, Description: text, Default: text, Choices: []string{text}}, {Name: text, Default: text}}}}
	tasks := []Task{{entity.Task{ID: text, Receiver: text, Name: text, Message: text, Status: entity.TaskRunning, Started: at,
		Log: []entity.TaskMessage{{At: at, Message: text}}}, Working, text}}
	operation := Operation{entity.Operation{ID: text, Summary: text}, tasks}
	units := m.Units("").Rows
	seen := at
	return map[string]any{"login": text, "failed": text, "topology": nil, "services": m.Services(), "units": m.Units(""), "machines": m.Machines(),
		"models": &Models{Rows: []ModelRow{{Name: text, Path: "/dashboard/x/", Status: text, Message: text, Access: text, Cloud: text}},
			Nodes: []entity.ControllerNode{{Machine: text, Addresses: []string{text}, Version: text, Leads: true}},
			Users: []entity.UserInfo{{Username: text, DisplayName: text, Access: text, LastConnection: &seen}}},
		"waits": &Waits{waits, 1}, "removals": &Removals{[]Removal{{waits[0], steps("principal", waits[0])}}, 1}, "changes": m.Changes(),
		"operations": &Operations{[]Operation{operation}, true}, "operation": &operation,
		"secrets": &Secrets{[]SecretRow{{text, text, text, text, text, 1, at, at, text}}, 1},
		"access":  &Access{Users: []entity.ModelUser{{UserName: text, DisplayName: text, Access: text, LastConnection: &seen}}},
		"service": &Service{ServiceRow: m.Services().Rows[0], Units: units, Relations: []Edge{{text, text, text, text, text, text, text}}, Storage: []ServiceStorage{{text, entity.StorageConstraints{Pool: text}}},
			Settings: []Setting{{text, text, text, text, text, false}, {text, "boolean", text, text, text, true}, {text, "string", text, text, text, true}},
			Actions:  actions, Waits: waits, Others: []string{text}},
		"unit": &Unit{UnitRow: units[0], Service: text, Charm: text, Version: text, Hooks: []HookRun{{text, at, 1, 1, text, line}, {text, at, 0, 0, "", nil}},
			Relations: []RelationData{{entity.RelationData{Endpoint: text, RelatedEndpoint: text}, pair, []UnitData{{text, false, pair}}}},
			Storage:   []entity.StorageStatus{{ID: text, Pool: text, Location: text, Status: status}}, Waits: waits, Actions: actions},
		"machine": &Machine{MachineRow: MachineRow{ID: text, Status: text, Addresses: []string{text}}, Container: text, Hardware: entity.Hardware{Arch: text, Zone: text, Cores: 1}, Units: units, Waits: waits,
			History: []entity.PastStatus{{Kind: entity.HistoryKind(text), Status: status}}},
		"command": &Command{Line: text, Output: []Line{{text, true}, {text, false}}, Writes: true},
	}
}

// Every page shows what a model has, and takes nothing that a charm or a user can set for markup.
func TestPagesEscapeWhatOthersSet(t *testing.T) {
	evil := `<script>alert(1)</script>"'><img src=x onerror=alert(2)>`
	m := NewMirror()
	bad := says(entity.StatusWord(evil), evil)
	web := unit("web/0", "web", "0", bad, bad)
	web.PublicAddress, web.Leader, web.OpenedPorts = evil, true, []entity.PortRange{{From: 80, To: 81, Protocol: evil}}
	begins(t, m, "a-1", web, service("web", entity.ServiceStatus{CharmURL: evil, WorkloadVersion: evil, Status: bad}),
		&entity.MachineStatus{ID: "0", InstanceID: evil, Series: evil, Status: bad, Addresses: []string{evil}})
	pages := contents(m, evil)
	for name := range templates() {
		content, tested := pages[name]
		if !tested {
			t.Errorf("no content for the page %s", name)
		}
		text, err := Render(name, Page{Title: evil, Controller: evil, User: evil, Model: "admin/" + evil, Here: "Services", Writes: true, Content: content})
		if err != nil {
			t.Error(err)
			continue
		}
		if strings.Contains(string(text), "<script>") || strings.Contains(string(text), "<img") || strings.Contains(string(text), `"'>`) {
			t.Errorf("the page %s has markup of others:\n%s", name, text)
		}
	}
}

// The content security policy forbids scripts and styles in a page.
func TestPagesHaveNoScriptsInThem(t *testing.T) {
	m := NewMirror()
	begins(t, m, "a-1", shop()...)
	for name, content := range contents(m, "x") {
		text, err := Render(name, Page{Title: "x", Model: "admin/m", Writes: true, Content: content})
		if found := regexp.MustCompile(`(?i)<script>|<style| style=| on[a-z]+=|javascript:`).Find(text); found != nil || err != nil {
			t.Errorf("the page %s has %q (%v)", name, found, err)
		}
	}
}

// A form that its user does not touch changes nothing: an unset boolean stays unset, and browsers drop a line break after
// <textarea>.
func TestFormsOfSettingsKeepValues(t *testing.T) {
	text, err := RenderPart("service", Page{Model: "admin/m", Writes: true, Content: &Service{ServiceRow: ServiceRow{Name: "web"},
		Settings: []Setting{{Name: "debug", Type: "boolean"}, {Name: "key", Type: "string", Value: "\nx\n", Long: true}}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`name="set-debug"><option selected></option>`, "rows=\"6\">\n\nx\n</textarea>"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestListsOfAModel(t *testing.T) {
	m := NewMirror()
	begins(t, m, "a-1", shop()...)
	services, err := RenderPart("services", Page{Content: m.Services()})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`id="s-db"`, "being removed", "backing up", `<td>db</td>`, `class="health working">maintenance`} {
		if !strings.Contains(string(services), want) {
			t.Errorf("no %q in\n%s", want, services)
		}
	}
	if l := m.Units("db/0"); len(l.Rows) != 2 || l.Rows[0].Name != "web/0" || l.Rows[1].Name != "web/10" || l.Rows[1].Health != Failing {
		t.Errorf("after db/0 there is %+v", l)
	}
}

// Static files are served under a path that changes with them, and so may be kept for ever.
func TestStaticFiles(t *testing.T) {
	at := layout{}.Static("app.js")
	below, ok := strings.CutPrefix(at, Path+"static/")
	if text, kind, found := StaticFile(below); !ok || !found || len(text) == 0 || !strings.HasPrefix(kind, "text/javascript") {
		t.Errorf("at %s there is %q, %v", at, kind, found)
	}
	hash, _, _ := strings.Cut(below, "/")
	for _, path := range []string{"", "app.js", "/app.js", hash + "/app.css", hash + "/../pages.go", hash + "/vendor/d3.LICENSE"} {
		if _, _, found := StaticFile(path); found {
			t.Errorf("%q is served", path)
		}
	}
	page, err := Render("topology", Page{Title: "x"})
	if err != nil || strings.Contains(string(page), "static//") {
		t.Errorf("a file of the page is missing (%v):\n%s", err, page)
	}
}
