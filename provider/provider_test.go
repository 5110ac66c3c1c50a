package provider_test

import (
	"errors"
	"testing"

	"juju/provider"
	"juju/state/constraints"
)

func TestRetryable(t *testing.T) {
	cause := errors.New("the rack is on fire")
	err := provider.Retryable(cause)
	if !provider.IsRetryable(err) || !errors.Is(err, cause) || err.Error() != cause.Error() {
		t.Errorf("got %v", err)
	}
	if provider.IsRetryable(cause) || provider.IsRetryable(nil) || provider.Retryable(nil) != nil {
		t.Error("an unmarked error must not be retryable")
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

// The error for constraints that the host can't meet shows its hardware.
func TestConstraintsBeyondTheHostAreRejected(t *testing.T) {
	host := provider.Hardware{Arch: "amd64", Cores: 2, Mem: 2048}
	for text, want := range map[string]string{
		"mem=2G cores=2":      "",
		"mem=500T":            "constraint mem=500T cannot be met: this host has arch=amd64 cores=2 mem=2048M",
		"mem=2049M":           "constraint mem=2049M cannot be met: this host has arch=amd64 cores=2 mem=2048M",
		"cores=3":             "constraint cores=3 cannot be met: this host has arch=amd64 cores=2 mem=2048M",
		"root-disk=9999999T":  "", // the host's is unknown
		"mem= cores=0 tags=x": "",
	} {
		cons, err := constraints.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := provider.CheckHardware(cons, host, "this host"); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got error %q, want %q", text, got, want)
		}
	}
}
