package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"juju/state/entity"
)

// More units or machines than a slip of the finger should start need --force.
func TestAddingManyNeedsForce(t *testing.T) {
	u := newUser(t)
	for _, line := range []string{"add-unit web -n 100000", "add-machine -n 101", "deploy " + charmDir(t, "name: web\nsummary: s\ndescription: d\n") + " web -n 101"} {
		u.types(strings.Fields(line)...)
		what := map[bool]string{true: "machines", false: "units"}[strings.HasPrefix(line, "add-machine")]
		if u.code == 0 || !strings.Contains(u.err.String(), what+" at once: the most is 100") ||
			!strings.Contains(u.err.String(), "--force") || len(u.fake.calls) > 0 {
			t.Errorf("%s: exit code %d, %s, asked %q", line, u.code, &u.err, u.fake.calls)
		}
		u.err.Reset()
	}
	u.types("add-unit", "web", "-n", "101", "--force")
	if len(u.fake.calls) != 6 || u.fake.calls[5] != "AddUnits web 1 []" {
		t.Errorf("asked %q", u.fake.calls)
	}
}

// A manyModel ends the command's context when it is asked for units for the second time.
type manyModel struct {
	*fakeModel
	end func()
	n   int
}

func (m *manyModel) AddUnits(ctx context.Context, service string, n int, to []string, attach ...string) (
	units, warnings []string, err error) {
	if m.n += n; m.n > unitsAtOnce {
		m.end()
		return nil, nil, context.Cause(ctx)
	}
	return m.fakeModel.AddUnits(ctx, service, n, to, attach...)
}

// An interrupted command says what it has added, and what adds the rest.
func TestAddingUnitsIsInterrupted(t *testing.T) {
	u := newUser(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	model := &manyModel{fakeModel: u.fake, end: cancel}
	added, err := u.session.addUnits(ctx, model, "web", 0, 50, []string{"3"})
	if len(added) != unitsAtOnce || err == nil {
		t.Errorf("added %v (%v)", added, err)
	}
	want := "20 of 50 units are added. To add the others: juju add-unit web -n 30\n" +
		"The controller may be adding up to 20 of these still: juju status web\n"
	if got := u.err.String(); !strings.HasSuffix(got, want) || !strings.Contains(got, `Adding units to service "web": 0 of 50`) {
		t.Errorf("it says %q", got)
	}
	if got := fmt.Sprint(u.fake.calls); got != fmt.Sprintf("[AddUnits web %d [3]]", unitsAtOnce) {
		t.Errorf("asked %s", got)
	}
}

// The bound of a request is the server's.
func TestCheckAtOnce(t *testing.T) {
	if entity.CheckAtOnce("units", entity.MaxAtOnce) != nil || entity.CheckAtOnce("units", entity.MaxAtOnce+1) == nil {
		t.Error("the bound is not MaxAtOnce")
	}
}
