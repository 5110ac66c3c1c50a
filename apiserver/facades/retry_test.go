package facades_test

import (
	"slices"
	"strings"
	"testing"

	"juju/provider/dummytest"
	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// Machines whose instances could not be started are retried by name, or all at once, with their own constraints or with
// others, which the cloud judges first.
func TestRetryProvisioning(t *testing.T) {
	t.Parallel()
	w := newWorld(t, onCloud(dummytest.New(nil)))
	ctx := t.Context()
	c := w.admin().client()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		_, err := w.st.AddMachine(ctx, state.AddMachineParams{Constraints: statetest.Constraints("mem=500T")})
		ok(err)
	}
	fail := func(ids ...string) {
		t.Helper()
		for _, id := range ids {
			m, err := w.st.Machine(ctx, id)
			ok(err)
			ok(m.SetStatus(ctx, entity.Status{Status: entity.StatusError, Message: "no such machine"}))
		}
	}
	fail("0", "2")
	machines := func() string {
		t.Helper()
		all, err := w.st.Provisioning().MachineInfos(ctx)
		ok(err)
		var lines []string
		for _, m := range all {
			lines = append(lines, m.ID+" "+string(m.Status)+" "+m.Constraints)
		}
		return strings.Join(lines, ", ")
	}
	check := func(what, want string) {
		t.Helper()
		if got := machines(); got != want {
			t.Errorf("%s: machines are %q, want %q", what, got, want)
		}
	}

	impossible := statetest.Constraints("arch=s390x")
	errs, _, err := c.RetryProvisioning(ctx, &impossible, "0", "2")
	ok(err)
	for i, err := range errs {
		if want := []string{"0", "2"}[i]; entity.KindOf(err) != entity.Invalid || !strings.HasPrefix(err.Error(),
			"cannot retry provisioning of machine "+want+": invalid constraint value: arch=s390x") {
			t.Errorf("retried with what the cloud does not have: %v", err)
		}
	}
	check("refused", "0 error mem=524288000M, 1 pending mem=524288000M, 2 error mem=524288000M")

	possible := statetest.Constraints("mem=2G cpu-power=400")
	errs, warnings, err := c.RetryProvisioning(ctx, &possible, "0", "1", "9")
	ok(err)
	if len(errs) != 3 || errs[0] != nil || entity.KindOf(errs[1]) != entity.Invalid || !entity.IsNotFound(errs[2]) {
		t.Errorf("retried machine 0, which has failed, machine 1, which has not, and machine 9: %v", errs)
	}
	if len(warnings) != 1 || !strings.HasPrefix(warnings[0], "unsupported constraints: cpu-power: ") {
		t.Errorf("warned of %q", warnings)
	}
	check("retried", "0 pending cpu-power=400 mem=2048M, 1 pending mem=524288000M, 2 error mem=524288000M")

	fail("0")
	errs, _, err = c.RetryAllProvisioning(ctx, nil)
	if err != nil || !slices.Equal(errs, []error{nil, nil}) {
		t.Errorf("retried all: %v, %v", errs, err)
	}
	check("retried all", "0 pending cpu-power=400 mem=2048M, 1 pending mem=524288000M, 2 pending mem=524288000M")
	fail("1", "2")
	possible = statetest.Constraints("mem=1G")
	errs, _, err = c.RetryAllProvisioning(ctx, &possible)
	if err != nil || !slices.Equal(errs, []error{nil, nil}) {
		t.Errorf("retried all: %v, %v", errs, err)
	}
	check("retried all with constraints", "0 pending cpu-power=400 mem=2048M, 1 pending mem=1024M, 2 pending mem=1024M")
}
