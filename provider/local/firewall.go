package local

import (
	"context"

	"juju/provider"
	"juju/state/entity"
)

// errNoFirewall: filtering needs root, and all machines share the host.
var errNoFirewall = entity.Errorf(entity.NotSupported,
	"the machines of the cloud local are the host itself, whose ports "+
		"are not filtered")

// CheckFirewall returns a NotSupported error.
func (e *environ) CheckFirewall(context.Context) error { return errNoFirewall }

// SetIngress returns a NotSupported error.
func (e *environ) SetIngress(context.Context, provider.Ingress) error { return errNoFirewall }

// Ingress returns a NotSupported error.
func (e *environ) Ingress(context.Context) (provider.Ingress, error) {
	return provider.Ingress{}, errNoFirewall
}
