package controller

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"juju/apiserver"
	"juju/state/controller"
	"juju/state/sealing"
	"juju/state/statetest"
)

// Controllers share the key of secrets, also those that had none in their configuration. One that lacks it goes on without, and
// says so; a key that is lost can be replaced.
func TestKeyOfSecrets(t *testing.T) {
	t.Parallel()
	ctrl, _ := statetest.ControllerWith(t, controller.Options{})
	starts := func(ca, key string) (inConf string) {
		t.Helper()
		dir := t.TempDir()
		c := &running{ctrl: ctrl, own: dir, conf: config{CA: apiserver.KeyPair{Key: ca}, SecretKey: key}}
		if err := c.conf.write(dir); err != nil {
			t.Fatal(err)
		}
		if err := c.useSecretKey(t.Context()); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(dir, configName))
		if err != nil {
			t.Fatal(err)
		}
		var written config
		if err := json.Unmarshal(data, &written); err != nil {
			t.Fatal(err)
		}
		return written.SecretKey
	}
	used := func(text string) bool {
		key, err := sealing.Parse(text)
		return err == nil && key.ID() == ctrl.SecretKeyID()
	}
	first := starts("the key of a CA", "")
	if second := starts("the key of a CA", ""); !used(first) || second != first {
		t.Errorf("two controllers without a key have %v and %v", used(first), second == first)
	}
	for what, with := range map[string][2]string{"of another CA": {"another", ""}, "with another key": {"", sealing.New().Text()}, "with nonsense": {"", "x"}} {
		if now := starts(with[0], with[1]); now != with[1] || !used(first) {
			t.Errorf("a controller %s: it has a key %v, the one in use is the first %v", what, now != with[1], used(first))
		}
	}
	if now := starts("the key of a CA", replaceSecretKey); !used(now) || used(first) {
		t.Error("the key was not replaced")
	}
}
