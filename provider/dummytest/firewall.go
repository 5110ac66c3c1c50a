package dummytest

import (
	"context"
	"errors"

	"juju/provider"
	"juju/state/entity"
)

// SetFirewall sets whether the cloud has a firewall; initially it does.
func (c *Cloud) SetFirewall(filters bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = !filters
}

// CheckFirewall returns a NotSupported error after SetFirewall(false).
func (e *environ) CheckFirewall(ctx context.Context) (err error) {
	op := Op{Method: "CheckFirewall"}
	defer e.done(&op, &err)
	return errors.Join(e.begin(ctx, &op), e.cloud.filters())
}

func (c *Cloud) filters() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open {
		return entity.Errorf(entity.NotSupported, "the dummy has no firewall")
	}
	return nil
}

// SetIngress records the rules.
func (e *environ) SetIngress(ctx context.Context, rules provider.Ingress) (err error) {
	op := Op{Method: "SetIngress"}
	defer e.done(&op, &err)
	if err := e.begin(ctx, &op); err != nil {
		return err
	}
	if err := e.cloud.filters(); err != nil {
		return err
	}
	e.cloud.mu.Lock()
	defer e.cloud.mu.Unlock()
	e.cloud.ingress[e.config] = rules.Normal()
	return nil
}

// Ingress returns the rules of the instances that exist.
func (e *environ) Ingress(ctx context.Context) (rules provider.Ingress, err error) {
	op := Op{Method: "Ingress"}
	defer e.done(&op, &err)
	if err := e.begin(ctx, &op); err != nil {
		return rules, err
	}
	if err := e.cloud.filters(); err != nil {
		return rules, err
	}
	e.cloud.mu.Lock()
	defer e.cloud.mu.Unlock()
	rules = provider.Ingress{Ports: map[string][]entity.PortRange{}}
	set := e.cloud.ingress[e.config]
	for id, ports := range set.Ports {
		if i := e.cloud.instances[id]; i != nil && i.Controller == e.config.Controller && i.Model == e.config.Model {
			rules.Ports[id] = ports
			if from, ok := set.From[id]; ok {
				if rules.From == nil {
					rules.From = map[string][]entity.PortsFrom{}
				}
				rules.From[id] = from
			}
		}
	}
	if len(rules.Ports) > 0 {
		rules.Peers = set.Peers
	}
	return rules, nil
}
