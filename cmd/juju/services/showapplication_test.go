package services_test

import (
	"testing"

	"juju/state/constraints"
	"juju/state/entity"
)

func TestShowApplication(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	status := []*entity.ModelStatus{{Services: []entity.ServiceStatus{
		{Name: "web", CharmURL: "local:jammy/web-1", Series: "jammy", Exposed: true},
		{Name: "log", CharmURL: "local:jammy/log-1", Series: "jammy", Subordinate: true}}}}
	u.Model.Returns.Statuses = status
	cons, err := constraints.Parse("mem=2G")
	if err != nil {
		t.Fatal(err)
	}
	u.Model.Returns.Constraints = cons
	u.Model.Returns.Config.Bindings = map[string]string{"": "alpha", "site": "db"}
	u.Types("show-application", "web", "log")
	u.Sees(0, `log:
    charm: local:jammy/log-1
    base: ubuntu@22.04
    principal: false
    exposed: false
    remote: false
    life: alive
    endpoint-bindings:
        "": alpha
        site: db
web:
    charm: local:jammy/web-1
    base: ubuntu@22.04
    constraints:
        mem: 2048
    principal: true
    exposed: true
    remote: false
    life: alive
    endpoint-bindings:
        "": alpha
        site: db
`, "")
	u.Asked("Status web,log", "ServiceConstraints web", "ServiceConfig web", "ServiceConfig log")
	u.Model.Returns.Statuses = status
	u.Types("show-application", "other")
	u.Sees(1, "", "ERROR service \"other\" not found\nTo list services: juju status\n")
}
