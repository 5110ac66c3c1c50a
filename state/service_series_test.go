package state_test

import (
	"strings"
	"testing"
	"time"

	"juju/apiserver/deltas"
	"juju/apiserver/presence"
	"juju/state/entity"
	"juju/state/statetest"
)

const (
	onTwoSeries = `{name: web, summary: s, description: d, series: [jammy, noble], provides: {site: {interface: http}}}`
	onJammyOnly = `{name: log, summary: s, description: d, series: [jammy], subordinate: true,
		requires: {host: {interface: juju-info, scope: container}}}`
)

// checkSeries checks the series of a service, and those of units.
func (w *world) checkSeries(service, want string, units map[string]string) {
	w.Helper()
	if got := mustService(w, service).Series(); got != want {
		w.Errorf("%s has series %s, want %s", service, got, want)
	}
	for name, want := range units {
		var u struct{ Series string }
		w.ok(w.st.DB().Get(w.ctx, "units", name, &u, "unit"))
		if u.Series != want {
			w.Errorf("%s has series %s, want %s", name, u.Series, want)
		}
	}
}

// New units get the series that the service has, with the subordinates beside them; the others stay as they are.
func TestSeriesOfNewUnits(t *testing.T) {
	w := newWorld(t)
	web := w.deploy("web", onTwoSeries, 1)
	w.deploy("log", onJammyOnly, 0)
	rel := w.relate("web", "log")

	err := web.SetSeries(w.ctx, "noble", false)
	w.refused(err, entity.Invalid, `cannot set the base of service "web": base "ubuntu@24.04" not supported by charm "log", supported bases are: ubuntu@22.04`)
	w.checkSeries("web", "jammy", nil)
	w.ok(web.SetSeries(w.ctx, "noble", true))
	w.ok(web.SetSeries(w.ctx, "noble", true)) // is so already
	_, err = web.AddUnits(w.ctx, 1, nil)
	w.ok(err)
	w.checkSeries("web", "noble", map[string]string{"web/0": "jammy", "web/1": "noble"})
	shown := shownBy(w, deltas.New(presence.New(time.Now)))
	for name, base := range map[string]string{"unit web/0": "ubuntu@22.04/stable", "unit web/1": "ubuntu@24.04/stable"} {
		if !strings.Contains(shown[name], `"base":"`+base+`"`) {
			w.Errorf("a watcher sees %s as %s, want base %s", name, shown[name], base)
		}
	}
	if m := w.status().Machines; m[0].Series != "jammy" || m[1].Series != "noble" {
		w.Errorf("the machines have series %s and %s", m[0].Series, m[1].Series)
	}

	// A subordinate has the series of the unit that it runs beside.
	w.ok(w.unit("web/0").EnterScope(w.ctx, rel.ID()))
	w.ok(w.unit("web/1").EnterScope(w.ctx, rel.ID()))
	w.checkSeries("log", "noble", map[string]string{"log/0": "jammy", "log/1": "noble"})
	_, err = web.AddUnits(w.ctx, 1, statetest.To(w.machineOf("web/0")))
	w.refused(err, entity.Invalid, "series does not match")
}

// A subordinate that takes the place of another one while the series is set gets it too.
func TestSeriesOfANewSubordinate(t *testing.T) {
	w := newWorld(t)
	web := w.deploy("web", onTwoSeries, 0)
	w.deploy("log", onJammyOnly, 0)
	w.deploy("other", onJammyOnly, 0)
	rel := w.relate("web", "log")
	w.st.Before(func() {
		w.ok(rel.Destroy(w.ctx, entity.Destruction{}))
		w.relate("web", "other")
	})
	w.ok(web.SetSeries(w.ctx, "noble", true))
	w.checkSeries("web", "noble", nil)
	w.checkSeries("other", "noble", nil)
	w.checkSeries("log", "jammy", nil)
}

func TestSeriesThatAServiceCannotHave(t *testing.T) {
	w := newWorld(t)
	web, log := w.deploy("web", onTwoSeries, 1), w.deploy("log", onJammyOnly, 0)
	w.refused(web.SetSeries(w.ctx, "focal", false), entity.Invalid,
		`base "ubuntu@20.04" not supported by charm "web", supported bases are: ubuntu@22.04, ubuntu@24.04`)
	w.refused(web.SetSeries(w.ctx, "", true), entity.Invalid, `invalid series ""`)
	w.refused(log.SetSeries(w.ctx, "jammy", true), entity.NotSupported, "service is a subordinate")
	w.started("web/0")
	w.ok(web.Destroy(w.ctx, entity.Destruction{}))
	w.refused(web.SetSeries(w.ctx, "noble", false), entity.NotAlive, "service is not alive")
	w.ok(w.deploy("other", statetest.MySQL, 0).SetSeries(w.ctx, "focal", false)) // its charm names none
}
