package hooks

import (
	"sync"

	"juju/state/limits"
)

// A changed counts the settings that a hook has buffered, of all relations, of the charm's state and of secrets: one request
// commits them.
type changed struct {
	mu              sync.Mutex
	settings, bytes int // bytes as in the request
}

// replace counts settings that join those that are buffered, and take the place of some. The error is Invalid, and nothing is
// counted, if the hook would change too much.
func (c *changed) replace(buffered, with map[string]string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	settings, bytes := c.settings, c.bytes
	for k, v := range with {
		if old, ok := buffered[k]; ok {
			settings--
			bytes -= limits.JSONSize(k, old)
		}
		settings++
		bytes += limits.JSONSize(k, v)
	}
	if err := limits.HookSettings.Check(settings); err != nil {
		return err
	}
	if err := limits.HookBytes.Check(bytes); err != nil {
		return err
	}
	c.settings, c.bytes = settings, bytes
	return nil
}

// resize counts settings and bytes that join those that are buffered, or go if they are negative. The error is as of replace.
func (c *changed) resize(settings, bytes int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if settings > 0 {
		if err := limits.HookSettings.Check(c.settings + settings); err != nil {
			return err
		}
	}
	if bytes > 0 {
		if err := limits.HookBytes.Check(c.bytes + bytes); err != nil {
			return err
		}
	}
	c.settings += settings
	c.bytes += bytes
	return nil
}

// forget no longer counts a setting that was buffered.
func (c *changed) forget(key, value string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settings--
	c.bytes -= limits.JSONSize(key, value)
}
