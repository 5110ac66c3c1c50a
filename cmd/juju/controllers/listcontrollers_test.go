package controllers_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/store"
	"juju/state/entity"
)

// The list of controllers is what each last said. None is asked unless the user says so; then all are at once, and those that
// don't answer are listed as they were last known.
func TestControllersAreListed(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Note(func(c *store.Contents) {
		c.Controllers["away"] = &store.Controller{UUID: "a", Cloud: "lxd", CloudName: "lab", User: "bob", Access: "login",
			Version: "3.6.4", Release: "1.2.0", Nodes: 3, Up: 2}
		c.Controllers["left"] = &store.Controller{UUID: "l", Cloud: "local"}
	})
	node := func(up bool) entity.ControllerNode { return entity.ControllerNode{Up: up} }
	u.Controller.Nodes = []entity.ControllerNode{node(true), node(true), node(true)}
	u.Controller.ModelInfos = []entity.ModelInfo{}
	asking := make(chan bool)
	u.Session.AskController = func(ctx context.Context, to cli.Target) (io.Closer, error) {
		if _, bounded := ctx.Deadline(); !bounded {
			t.Errorf("%s may take any time to answer", to.Name)
		}
		switch to.Name {
		case "left":
			return nil, cli.NotLoggedIn(to)
		case "away": // both are asked before either answers
			asking <- true
			return nil, errors.New("no\nanswer")
		}
		<-asking
		return u.Controller, nil
	}
	for _, line := range []string{"controllers", "list-controllers"} {
		u.Types(line)
		u.Sees(0, "Controller  Model    User   Access  Cloud      Models  HA   Version\n"+
			"away        -        bob    login   lab        0       2/3  3.6.4\n"+
			"left        -        -      -       local      0       -    -\n"+
			"prod*       default  admin  -       elsewhere  2       -    -\n", "")
	}
	u.Types("controllers", "--refresh")
	const refreshed = "Controller  Model  User   Access     Cloud      Models  HA   Version\n" +
		"away        -      bob    login      lab        0       2/3  3.6.4\n" +
		"left        -      -      -          local      0       -    -\n" +
		"prod*       -      admin  superuser  elsewhere  0       3    3.6.5\n"
	u.Sees(0, refreshed, "Controller \"away\" has not answered, and is listed as it was last known: no; answer\n"+
		"Controller \"left\" has not answered, and is listed as it was last known: you are logged out of controller \"left\"\n")
	u.Types("controllers")
	u.Sees(0, refreshed, "")
	u.Types("controllers", "--format", "yaml")
	u.Sees(0, `controllers:
    away:
        user: bob
        access: login
        controller-uuid: a
        api-endpoints: []
        ca-cert: ""
        cloud: lab
        agent-version: 3.6.4
        release: 1.2.0
        model-count: 0
        controller-machines:
            active: 2
            total: 3
    left:
        controller-uuid: l
        api-endpoints: []
        ca-cert: ""
        cloud: local
        model-count: 0
    prod:
        user: admin
        access: superuser
        recent-server: 10.0.0.1:17070
        controller-uuid: u
        api-endpoints:
            - 10.0.0.1:17070
        ca-cert: ""
        cloud: elsewhere
        agent-version: 3.6.5
        release: 1.2.3
        model-count: 0
        controller-machines:
            active: 3
            total: 3
current-controller: prod
`, "")
	u.Controller.Nodes[1].Up = false
	u.Types("show-controller")
	u.Types("controllers")
	if want := "  2/3  3.6.5\n"; !strings.HasSuffix(u.Out.String(), want) {
		t.Errorf("after show-controller:\n%swant %q", u.Out.String(), want)
	}
}
