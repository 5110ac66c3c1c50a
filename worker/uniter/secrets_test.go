package uniter

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"juju/state/entity"
)

const secretID = "9m4e2mr0ui3e8a215n4g"

// expectTold checks what the controller has heard that the unit was told since the last call.
func (r *rig) expectTold(want ...string) {
	r.t.Helper()
	r.c.change(func() {
		if !slices.Equal(r.c.told, want) {
			r.t.Errorf("the unit was told of %q, want %q", r.c.told, want)
		}
		r.c.told = nil
	})
}

// A unit is told about secrets by hooks, if its charm has them. The controller hears of it in either case.
func TestAUnitIsToldAboutSecrets(t *testing.T) {
	r := newRig(t, map[string]string{"secret-changed": `echo "$JUJU_SECRET_ID $JUJU_SECRET_LABEL" >said`})
	r.start()
	r.settle(nil)
	r.expect("install", "config-changed", "start")
	r.settle(func() {
		r.c.unit.Secrets = []entity.SecretEvent{{Kind: entity.SecretChanged, ID: secretID, Revision: 3, Label: "db"},
			{Kind: entity.SecretRemove, ID: secretID, Revision: 2}}
	})
	r.expect("secret-changed")
	if got := r.file("charm/said"); got != "secret:"+secretID+" db\n" {
		t.Errorf("the hook says %q", got)
	}
	r.expectTold("secret-changed "+secretID+" 3", "secret-remove "+secretID+" 2")
	if !slices.Contains(r.c.statuses, "agent executing: running secret-changed hook for secret:"+secretID) ||
		strings.Contains(strings.Join(r.c.statuses, "\n"), "secret-remove") {
		t.Errorf("the statuses were %q", r.c.statuses)
	}
}

// A hook about a secret that has failed is retried or skipped, as the user says. Only then was the unit told.
func TestAFailedHookAboutASecret(t *testing.T) {
	r := newRig(t, map[string]string{"secret-changed": `secret-add --owner unit token=s3cret; [ -e ../good ]`})
	r.start()
	r.settle(nil)
	r.settle(func() {
		r.c.unit.Secrets = []entity.SecretEvent{{Kind: entity.SecretChanged, ID: secretID, Revision: 3}}
	})
	r.expectTold()
	if data := r.c.workload.Data; r.c.failure() == "" || data["secret-id"] != "secret:"+secretID {
		t.Errorf("the workload's status is %+v", r.c.workload)
	}
	r.c.change(func() { r.c.unit.Resolved = entity.ResolvedNoHooks })
	r.c.await(t, "the hook to be skipped", func() bool { return len(r.c.told) > 0 })
	r.expectTold("secret-changed " + secretID + " 3")
	if len(r.c.made) > 0 || r.c.failure() != "" {
		t.Errorf("it has made %v; the workload's status is %+v", r.c.made, r.c.workload)
	}

	r.settle(func() {
		r.c.unit.Secrets = []entity.SecretEvent{{Kind: entity.SecretChanged, ID: secretID, Revision: 4}}
	})
	r.expectTold()
	if err := os.WriteFile(filepath.Join(r.dir, "good"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	r.settle(func() { r.c.unit.Resolved = entity.ResolvedRetry })
	r.expectTold("secret-changed " + secretID + " 4")
	if len(r.c.made) != 1 {
		t.Errorf("it has made %v", r.c.made)
	}
}

// What only the leader is told is not lost if the unit no longer leads when its hook is over: the hook has succeeded, and the
// next leader is told.
func TestALeaderThatWasReplacedWasNotTold(t *testing.T) {
	r := newRig(t, map[string]string{
		"secret-rotate": `relation-set -r 3 c=d; touch ../set; while [ ! -e ../go ]; do sleep 0.01; done`,
	})
	r.c.leads = 1
	r.c.relations[3] = newRelation(3, "db", "mysql", nil)
	r.start()
	r.settle(nil)
	r.c.change(func() {
		r.c.agent = entity.Status{}
		r.c.unit.Secrets = []entity.SecretEvent{{Kind: entity.SecretRotate, ID: secretID, Revision: 3, OfService: true}}
	})
	r.awaitFile("set")
	r.c.change(func() { r.c.leads = 3 })
	if err := os.Remove(filepath.Join(r.dir, "set")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	r.c.await(t, "the relation's settings", func() bool { return r.c.settings[3]["c"] == "d" })
	if r.c.failure() != "" {
		t.Errorf("the workload's status is %+v", r.c.workload)
	}
	r.c.change(func() {
		if len(r.c.told) == 0 && len(r.c.unit.Secrets) != 1 {
			t.Errorf("nobody was told, and of %v the next leader is not", r.c.unit.Secrets)
		}
	})
}

// The content of secrets is in the agent's files only until the hook that has made them is committed, and only the agent's
// user can read it there.
func TestSecretsOnTheAgentsDisk(t *testing.T) {
	const encoded = "c2VjcmV0LW9uLWRpc2s=" // of secret-on-disk
	r := newRig(t, map[string]string{"config-changed": `[ ! -e ../ready ] || secret-add --owner unit token=secret-on-disk`, "start": "touch ../ready"})
	holding := func() (files []string) {
		err := filepath.WalkDir(filepath.Join(r.dir, "state"), func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			if info, _ := d.Info(); err == nil && strings.Contains(string(text), encoded) {
				files = append(files, fmt.Sprintf("%s %v", d.Name(), info.Mode().Perm()))
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
		return files
	}
	r.start()
	r.settle(nil)
	var during []string
	r.c.change(func() {
		r.c.onCall = func(method string, do func() error) error {
			if method == "CommitHook" {
				during = holding()
			}
			return do()
		}
	})
	r.settle(func() { r.c.unit.ConfigVersion++ })
	if len(r.c.made) != 1 || len(during) != 1 || !strings.HasSuffix(during[0], " -rw-------") {
		t.Errorf("before the commit, the content is in %q; made: %v", during, r.c.made)
	}
	if after := holding(); len(after) > 0 {
		t.Errorf("after it, the content is in %q", after)
	}
}
