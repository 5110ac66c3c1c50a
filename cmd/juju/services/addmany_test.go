package services_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"juju/cmd/juju/clitest"
	"juju/state/entity"
	"juju/state/limits"
)

// More units or machines than a slip of the finger should start need --force.
func TestAddingManyNeedsForce(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	for _, line := range []string{"add-unit web -n 100000", "add-machine -n 101", "set-min-units web 101", "deploy " + clitest.CharmDir(t, "name: web\nsummary: s\ndescription: d\n") + " web -n 101"} {
		u.Types(strings.Fields(line)...)
		what := map[bool]string{true: "machines", false: "units"}[strings.HasPrefix(line, "add-machine")]
		if u.Code == 0 || !strings.Contains(u.Err.String(), what+" at once: the maximum is 100") ||
			!strings.Contains(u.Err.String(), "--force") || len(u.Model.Calls) > 0 {
			t.Errorf("%s: exit code %d, %s, asked %q", line, u.Code, &u.Err, u.Model.Calls)
		}
		u.Err.Reset()
	}
	u.Types("set-min-units", "web", "1001", "--force") // more than the controller takes
	u.Sees(2, "", "ERROR the minimum number of units is at most 1000\nFor usage: juju help set-min-units\n")
	u.Types("set-min-units", "web", "101", "--force")
	u.Asked("SetMinUnits web 101")
	u.Types("add-unit", "web", "-n", "101", "--force")
	if got := u.Model.Calls; len(got) != 2 || got[0] != "AddUnits web 100 []" || got[1] != "AddUnits web 1 []" {
		t.Errorf("asked %q", u.Model.Calls)
	}
}

// A bundle is refused as a whole if a service is to get too many units. Those that it has don't count.
func TestABundleOfManyUnitsNeedsForce(t *testing.T) {
	t.Parallel()
	file := clitest.Shop(t)
	u := newUser(t)
	clitest.Write(t, file, "applications: {store: {charm: ./store, num_units: 100}, web: {charm: ./web, num_units: 100000}}\n")
	u.Types("deploy", file)
	u.Asked("Status")
	u.Sees(1, "", "ERROR cannot deploy bundle: application \"web\": cannot add 100000 units at once: the maximum is 100\n"+
		"To add more with one command: --force\nNothing was changed.\n")
	clitest.Write(t, file, "applications: {web: {charm: ./web, num_units: 101}}\n")
	u.Types("deploy", file, "--force", "--dry-run", "-q")
	if n := strings.Count(u.Out.String(), "add unit web/"); u.Code != 0 || n != 101 {
		t.Errorf("by force: exit code %d, %d units", u.Code, n)
	}
	clitest.Write(t, file, "applications: {web: {charm: ./web, num_units: 0}}\n")
	u.Types("deploy", file, "-q")
	service := entity.ServiceStatus{Name: "web", CharmURL: "local:jammy/web-0", Series: "jammy"}
	service.Units = []entity.UnitStatus{{Name: "web/0", Machine: "0"}}
	u.Model.Returns.Statuses = []*entity.ModelStatus{{Services: []entity.ServiceStatus{service}}}
	clitest.Write(t, file, "applications: {web: {charm: \"local:jammy/web-0\", num_units: 101}}\n")
	u.Types("deploy", file, "--dry-run", "-q")
	if u.Code != 0 {
		t.Errorf("100 more: exit code %d, %s", u.Code, &u.Err)
	}
}

// A manyModel ends the command's context when it is asked for units for the second time.
type manyModel struct {
	*clitest.FakeModel
	end func()
	n   int
}

func (m *manyModel) AddUnits(ctx context.Context, service string, n int, to []entity.Placement, attach ...string) (
	units, warnings []string, err error) {
	if m.n += n; m.n > limits.MaxAtOnce {
		m.end()
		return nil, nil, context.Cause(ctx)
	}
	return m.FakeModel.AddUnits(ctx, service, n, to, attach...)
}

// An interrupted command says what it has added, and what adds the rest.
func TestAddingUnitsIsInterrupted(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	model := &manyModel{FakeModel: u.Model, end: cancel}
	u.Session.Connect = func(context.Context) (io.Closer, error) {
		u.Model.Opened++
		return model, nil
	}
	u.TypesUntil(ctx, "add-unit", "web", "-n", "250", "--force", "--to", "3")
	said := u.Err.String()
	if _, added, _ := strings.Cut(said, "Added "); u.Code == 0 || strings.Count(added, "web/") != limits.MaxAtOnce {
		t.Errorf("exit code %d, it says %q", u.Code, said)
	}
	want := "100 of 250 units were added. To add the others: juju add-unit web -n 150\n" +
		"The controller may still be adding up to 100 of them. To check: juju status web\n"
	if !strings.Contains(said, want) || !strings.Contains(said, `Adding units to service "web": 0 of 250`) {
		t.Errorf("it says %q", said)
	}
	if got := fmt.Sprint(u.Model.Calls); got != fmt.Sprintf("[AddUnits web %d [3]]", limits.MaxAtOnce) {
		t.Errorf("asked %s", got)
	}
}

// The bound of a request is the server's.
func TestConcurrentChecks(t *testing.T) {
	t.Parallel()
	if limits.CheckAtOnce("units", limits.MaxAtOnce) != nil || limits.CheckAtOnce("units", limits.MaxAtOnce+1) == nil {
		t.Error("the bound is not MaxAtOnce")
	}
}
