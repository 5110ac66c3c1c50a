package facades_test

import (
	"encoding/json"
	"errors"
	"syscall"
	"testing"

	"juju/apiserver/facades"
	"juju/apiserver/params"
	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// All failed units are resolved, or those that are named, and not both.
func TestUnitsAreResolved(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	ctx := t.Context()
	for _, name := range []string{"mysql/0", "mysql/1"} {
		u, err := w.st.Unit(ctx, name)
		w.ok(err)
		w.ok(u.SetStatus(ctx, entity.Status{Status: entity.StatusError, Message: "hook failed", Data: map[string]any{"hook": "start"}}))
	}
	w.admin().says(
		step{"Application 19 ResolveUnitErrors", `{"all":true,"tags":{"entities":[{"tag":"unit-mysql-0"}]}}`, "cannot resolve all units and some by name"},
		step{"Application 19 ResolveUnitErrors", `{"tags":{"entities":[{"tag":"machine-0"},{"tag":"unit-mysql-9"},{"tag":"unit-wordpress-0"}]}}`,
			`"machine-0" is not a valid unit tag` + "\n" + `unit "mysql/9" not found` + "\n" +
				`unit "wordpress/0" is not in an error state → To see what it is doing: juju status wordpress/0`},
		step{"Application 19 ResolveUnitErrors", `{"all":true}`, "{}\n{}"},
	)
}

// The settings of services say where each comes from; of a service that does not exist there is only an error.
func TestSettingsOfServices(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	url := statetest.Charm(t, w.st, "{name: site, summary: s, description: d}", "config.yaml", "{options: {a: {type: int, default: 5}, b: {type: string}, c: {type: string}}}")
	_, err := w.st.AddService(t.Context(), state.AddServiceParams{Name: "site", CharmURL: url})
	w.ok(err)
	c := w.admin()
	source := func(option string) any {
		t.Helper()
		var got params.ApplicationGetConfigResults
		w.ok(c.do("Application", 19, "CharmConfig", json.RawMessage(`{"args":[{"application":"nosuch"},{"application":"site"}]}`), &got))
		if got.Results[0].Error == nil || len(got.Results[0].Config) > 0 || got.Results[1].Error != nil {
			t.Errorf("the settings are %+v", got.Results)
		}
		return got.Results[1].Config[option].Source
	}
	for option, want := range map[string]string{"a": "default", "b": "unset", "c": "unset"} {
		if got := source(option); got != want {
			t.Errorf("%s is of %s, want %s", option, got, want)
		}
	}
	c.says(step{"Application 19 SetConfigs", `{"Args":[{"application":"site","config":{"b":"x"}},{"application":"nosuch","config":{"b":"x"}}]}`,
		"{}\n" + `service "nosuch" not found → To see what is in the model: juju status`})
	if got := source("b"); got != "user" {
		t.Errorf("b is of %s", got)
	}
	c.says(step{"Application 19 UnsetApplicationsConfig", `{"Args":[{"application":"site","options":["b"]},{"application":"nosuch"}]}`,
		"{}\n" + `service "nosuch" not found → To see what is in the model: juju status`})
	if got := source("b"); got != "unset" {
		t.Errorf("b is of %s", got)
	}
}

// The disk of the controller is an error of its own for clients, which says what to do.
func TestTheDiskIsFull(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "cannot back up: "} {
		err := facades.DiskFull(text)
		if !errors.Is(err, entity.Unavailable) || err.Error() != text+"the controller's disk is full" || entity.Hint(err) != "Free space on the controller's disk, and try again" {
			t.Errorf("got %v (%s)", err, entity.Hint(err))
		}
	}
	if told := facades.Told(syscall.ENOSPC); told.Message != "the controller's disk is full" {
		t.Errorf("a full disk is told as %+v", told)
	}
}
