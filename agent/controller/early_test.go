package controller

import (
	"strings"
	"testing"
	"time"

	"github.com/juju/loggo"

	"juju/state/entity"
	"juju/state/statetest"
)

// The agent of a machine is there before the controller has recorded the machine's instance. It is
// let in soon after that, and not only when its worker starts again.
func TestAnEarlyMachineIsLetInSoon(t *testing.T) {
	s := newSystem(t, Options{})
	s.keepsLog()
	loggo.GetLogger("juju.agent").SetLogLevel(loggo.DEBUG)
	defer loggo.GetLogger("juju.agent").SetLogLevel(loggo.UNSPECIFIED)
	s.host.Options.RetryDelay = time.Hour
	s.begun = func() {
		if !s.log.await("not provisioned") {
			t.Error("the agent was not refused")
		}
	}
	s.deploy("mysql", statetest.MySQL, 1)
	s.until("an idle unit", func(m *entity.ModelStatus) bool { idle, _ := units(m); return idle == 1 })
	if strings.Contains(s.log.String(), " ERROR ") {
		t.Errorf("it is called an error:\n%s", &s.log)
	}
}
