package dashboard

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"juju/state/entity"
)

// A wait for the machine lock is part of the run that follows it, and what the agent does afterwards is part of the run
// before.
func TestHookRuns(t *testing.T) {
	began := time.Unix(1e9, 0)
	after := func(seconds int, kind entity.HistoryKind, word entity.StatusWord, message string) entity.PastStatus {
		return entity.PastStatus{Kind: kind, Status: entity.Status{Status: word, Message: message, Since: began.Add(time.Duration(seconds) * time.Second)}}
	}
	agent, workload := entity.HistoryUnitAgent, entity.HistoryWorkload
	past := []entity.PastStatus{
		after(0, agent, entity.StatusExecuting, "waiting to run install hook: the machine lock is held by db/0"),
		after(2, agent, entity.StatusExecuting, "waiting to run install hook: the machine lock is held by db/1"),
		after(5, agent, entity.StatusExecuting, "running install hook"),
		after(6, workload, entity.StatusMaintenance, "installing"),
		after(8, agent, entity.StatusExecuting, "running config-changed hook"),
		after(9, agent, entity.StatusExecuting, "running config-changed hook, after which the agent stops or is upgraded"),
		after(12, workload, entity.StatusError, "hook failed: config-changed"),
		after(12, agent, entity.StatusIdle, ""),
		after(20, agent, entity.StatusExecuting, "waiting for disk space: 1 MiB left"),
		after(21, agent, entity.StatusIdle, ""),
	}
	says := func(past []entity.PastStatus, want ...string) {
		t.Helper()
		var got []string
		for _, r := range hookRuns(past) {
			got = append(got, fmt.Sprintf("%s %v+%v %s", r.Text, r.Waited, r.Took, r.Failed))
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("the runs are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	says(past, "running config-changed hook 0s+4s hook failed: config-changed", "running install hook 5s+3s ")
	says(past[:2], "waiting to run install hook: the machine lock is held by db/1 2s+0s ")
	says(past[:3], "running install hook 5s+0s ")
}
