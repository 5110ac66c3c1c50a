package dashboard_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"

	"juju/state/controller"
	"juju/state/entity"
	"juju/state/statetest"
)

// A browser keeps working with many tabs, keeps what its user has typed, and says what has ended.
func TestABadDayInABrowser(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ctx := t.Context()
	s.deploy("mysql", statetest.MySQL, 1, "config.yaml", "{options: {size: {type: int, default: 5, description: d}}}")
	b := s.visit()

	// A page that is hidden keeps no connection: a browser has six for all tabs. Its script is run here as seven tabs would.
	b.goes("admin/default/unit/mysql/0")
	b.until(`document.getElementById("live").textContent === "live"`)
	hide := func(hidden bool) {
		b.run(evaluation(fmt.Sprintf(`Object.defineProperty(document, "hidden", { value: %v, configurable: true }); document.dispatchEvent(new Event("visibilitychange"))`, hidden)))
	}
	hide(true)
	b.run(evaluation(`window.others = [1, 2, 3, 4, 5].map(() => new EventSource("/dashboard/admin/default/events?page=units"))`))
	b.until(`window.others.every((e) => e.readyState === EventSource.OPEN)`)
	b.until(`fetch("/dashboard/admin/default/topology.json").then((r) => r.ok)`)
	b.run(evaluation(`window.others.forEach((e) => e.close())`))
	hide(false)
	unit, err := s.st.Unit(ctx, "mysql/0")
	s.ok(err)
	long := strings.Repeat("x", 2000)
	s.ok(unit.SetStatus(ctx, entity.Status{Status: entity.StatusActive, Message: long}))
	b.until(`document.querySelector("h1 + p").textContent.includes("xxxx")`)

	// In a narrow window long texts break, and only wide tables scroll.
	b.run(cdpAction(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: 400, Height: 800, DeviceScaleFactor: 1}))
	for _, path := range []string{"unit/mysql/0", "service/mysql", "changes", "units", "services", "waits", "machine/0", ""} {
		b.goes("admin/default/" + path)
		b.reads("mysql")
		if w := evaluate[[]int](b, `[document.documentElement.scrollWidth, document.getElementById("main").scrollWidth]`); w[0] > 400 || w[1] > 1000 {
			t.Errorf("%q is %d wide in a window of 400", path, w)
		}
	}
	b.run(cdpAction(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: 1280, Height: 800, DeviceScaleFactor: 1}))

	// What is typed stays when a plan is cancelled, a dialog that shows an error can be closed, and only the last plan is shown.
	b.goes("admin/default/service/mysql")
	b.clicks("Settings")
	b.quiet.Store(true)
	b.clicks("Configure")
	b.reads("no setting differs from what it was")
	b.clicks("Close")
	b.types(`#set-size`, "7")
	b.clicks("Configure")
	b.reads("juju config mysql size=7")
	b.clicks("Cancel")
	s.ok(unit.SetStatus(ctx, entity.Status{Status: entity.StatusActive, Message: "changed meanwhile"}))
	b.reads("changed meanwhile")
	if value := evaluate[string](b, `document.getElementById("set-size").value`); value != "7" {
		t.Errorf("after the plan was cancelled, the field has %q", value)
	}

	// A session that ends while a form is filled in leaves the form, and another one goes on with it.
	_, err = s.controller.SetUserPassword(ctx, statetest.Admin, "another")
	s.ok(err)
	b.reads("your session has ended; log in again in another tab")
	b.clicks("Configure")
	b.reads("Your session has ended. Log in again in another tab")
	code, _, err := s.controller.CreateLogin(ctx, statetest.Admin)
	s.ok(err)
	b.run(evaluation(fmt.Sprintf(`fetch("/dashboard/login", { method: "POST", body: new URLSearchParams({ code: %q }) })`, code)))
	b.clicks("Close")
	b.until(`document.getElementById("live").textContent === "live"`)
	b.clicks("Configure")
	b.reads("juju config mysql size=7")
	b.clicks("Cancel")

	// A page whose user may no longer read the model says so.
	_, err = s.controller.AddUser(ctx, controller.AddUserParams{Name: "bob", Password: "bob's password"})
	s.ok(err)
	s.ok(s.controller.GrantModel(ctx, s.st.UUID(), "bob", "read", ""))
	code, _, err = s.controller.CreateLogin(ctx, "bob")
	s.ok(err)
	b.goes("login#" + code)
	b.reads("Models")
	b.goes("admin/default/units")
	b.until(`document.getElementById("live").textContent === "live"`)
	s.ok(s.controller.RevokeModel(ctx, s.st.UUID(), "bob", "read"))
	b.until(`document.getElementById("main").textContent.includes("permission denied") && document.getElementById("live").textContent === ""`)
}
