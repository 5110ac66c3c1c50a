package state_test

import (
	"errors"
	"strings"
	"testing"

	"juju/state"
	"juju/state/entity"
	"juju/state/entity/sshkey"
	"juju/state/modelconfig"
)

// The SSH keys of a model are a setting, which is edited without losing what others do at the same
// time.
func TestSSHKeysOfAModel(t *testing.T) {
	w := newWorld(t)
	keys := func() string {
		t.Helper()
		config, err := w.st.Settings().Config(w.ctx)
		w.ok(err)
		return config[modelconfig.AuthorizedKeys].Value
	}
	add := func(line string) error {
		key, err := sshkey.Parse(line)
		w.ok(err)
		return w.st.Settings().EditSSHKeys(w.ctx, func(all []sshkey.Key) ([]sshkey.Key, error) { return append(all, key), nil })
	}
	w.ok(w.st.Settings().SetConfig(w.ctx, map[string]string{modelconfig.AuthorizedKeys: "# mine\n\n  " + aliceKey + "\n"}, nil))
	if got := keys(); got != aliceKey {
		t.Errorf("stored is %q", got)
	}
	w.refused(w.st.Settings().SetConfig(w.ctx, map[string]string{modelconfig.AuthorizedKeys: "x"}, nil), entity.Invalid,
		"cannot change model config: authorized-keys: invalid ssh key: x")
	// Another key is added between the reading and the writing.
	calls := 0
	w.ok(w.st.Settings().EditSSHKeys(w.ctx, func(all []sshkey.Key) ([]sshkey.Key, error) {
		if calls++; calls == 1 {
			w.ok(add(bobKey))
		}
		return all[1:], nil
	}))
	if got := keys(); got != bobKey || calls != 2 {
		t.Errorf("after %d calls it is %q", calls, got)
	}
	failed := errors.New("no")
	if err := w.st.Settings().EditSSHKeys(w.ctx, func([]sshkey.Key) ([]sshkey.Key, error) { return nil, failed }); !errors.Is(err, failed) {
		t.Errorf("got error %v", err)
	}
	w.ok(w.st.Settings().EditSSHKeys(w.ctx, func([]sshkey.Key) ([]sshkey.Key, error) { return nil, nil }))
	if got := keys(); strings.TrimSpace(got) != "" {
		t.Errorf("left is %q", got)
	}
}

// The keys of a machine's SSH server go with its instance: the next one has others.
func TestHostKeysGoWithTheInstance(t *testing.T) {
	w := newWorld(t)
	m, err := w.st.AddMachine(w.ctx, state.AddMachineParams{})
	w.ok(err)
	in := entity.Instance{ID: "i-1", Nonce: "n"}
	w.ok(m.SetProvisioned(w.ctx, in))
	for range 2 {
		w.ok(m.SetHostKeys(w.ctx, []string{aliceKey}))
	}
	if got := w.machine(m.ID()).HostKeys(); len(got) != 1 || got[0] != aliceKey {
		t.Errorf("got %q", got)
	}
	w.ok(m.LoseInstance(w.ctx, in))
	if got := w.machine(m.ID()).HostKeys(); len(got) != 0 {
		t.Errorf("the new instance has %q", got)
	}
}
