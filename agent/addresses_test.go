package agent

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"juju/agent/install"
	"juju/state/entity"
)

// An agent tries the addresses that it was told while it was not connected as well, until a controller tells it others.
func TestAgentsTryAddressesThatTheyAreTold(t *testing.T) {
	dir := t.TempDir()
	known := []string{"10.0.0.1:17070"}
	config := Config{Tag: entity.MachineTag("0"), Password: "p", Controller: "c", Model: "m", Addresses: known, CACert: "ca"}
	if err := config.write(dir); err != nil {
		t.Fatal(err)
	}
	a, err := New(entity.KindMachine, dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := a.reachable(); !slices.Equal(got, known) {
		t.Errorf("told nothing, it tries %v", got)
	}
	told := filepath.Join(dir, install.Addresses)
	text := "10.0.0.2:17070\n10.0.0.1:17070\nnonsense\n[fd00::2]:17070\n10.0.0.3:170" // not written completely
	if err := os.WriteFile(told, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := a.reachable(), []string{"10.0.0.1:17070", "10.0.0.2:17070", "[fd00::2]:17070", "10.0.0.3:170"}; !slices.Equal(got, want) {
		t.Errorf("told more, it tries %v, want %v", got, want)
	}
	// The controller there has the say.
	now := []string{"10.0.0.4:17070", "10.0.0.2:17070"}
	if err := a.learn(now); err != nil {
		t.Fatal(err)
	}
	want := slices.Sorted(slices.Values(now))
	after, err := New(entity.KindMachine, dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := after.reachable(); !slices.Equal(got, want) || !slices.Equal(a.reachable(), want) {
		t.Errorf("connected, it tries %v, and after a restart %v, want %v", a.reachable(), got, want)
	}
	if _, err := os.Stat(told); !os.IsNotExist(err) {
		t.Errorf("what it was told is kept: %v", err)
	}
}
