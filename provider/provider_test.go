package provider_test

import (
	"errors"
	"testing"

	"juju/provider"
)

func TestRetryable(t *testing.T) {
	cause := errors.New("the rack is on fire")
	err := provider.Retryable(cause)
	if !provider.IsRetryable(err) || !errors.Is(err, cause) || err.Error() != cause.Error() {
		t.Errorf("got %v", err)
	}
	if provider.IsRetryable(cause) || provider.IsRetryable(nil) || provider.Retryable(nil) != nil {
		t.Error("what was not marked is not to be tried again")
	}
}

func TestHardware(t *testing.T) {
	for want, h := range map[string]provider.Hardware{
		"":           {},
		"arch=arm64": {Arch: "arm64"},
		"arch=amd64 cores=2 mem=2048M root-disk=8192M": {Arch: "amd64", Cores: 2, Mem: 2048, RootDisk: 8192},
	} {
		if got := h.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
