package local

import (
	"errors"
	"testing"

	"juju/provider"
	"juju/provider/providertest"
	"juju/state/entity"
)

// All firewall methods return NotSupported.
func TestNoFirewall(t *testing.T) {
	h := newHost(t, newController())
	e, err := h.cloud().Open(t.Context(), provider.Config{Controller: h.controller, Model: providertest.ModelA})
	if err != nil {
		t.Fatal(err)
	}
	_, err = e.Ingress(t.Context())
	for _, err := range []error{err, e.CheckFirewall(t.Context()), e.SetIngress(t.Context(), provider.Ingress{})} {
		if !errors.Is(err, entity.NotSupported) || provider.IsRetryable(err) {
			t.Errorf("got error %v, want one that is NotSupported", err)
		}
	}
}
