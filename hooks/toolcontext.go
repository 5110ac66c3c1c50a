package hooks

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/juju/loggo"

	"juju/hooks/hooktools"
	"juju/hooks/tool"
	"juju/state/entity"
)

// A toolContext is a Context that implements hooktools.Context.
type toolContext struct{ *Context }

// serve executes a hook tool.
func (c *Context) serve(ctx context.Context, req tool.Request, read func(string) ([]byte, error)) tool.Reply {
	if !c.owns(req.Context) {
		return tool.Failure(errors.New("hook context is over"), "a hook tool works only while the hook that started it runs")
	}
	return hooktools.Run(ctx, toolContext{c}, req, read)
}

func (c toolContext) UnitName() string { return c.params.Unit }

func (c toolContext) EgressSubnets(relation int) []string {
	if via := c.params.Relations[relation].Via; len(via) > 0 {
		return via
	}
	if text := c.params.Settings["egress-subnets"]; text != "" {
		return strings.Split(text, ",")
	}
	return nil
}

// Log writes to the unit's log. In a relation hook, the relation goes before the message.
func (c toolContext) Log(level loggo.Level, message string) {
	message = printable(message)
	if level >= loggo.ERROR {
		c.mu.Lock()
		c.logged = ""
		for line := range strings.Lines(message) {
			c.logged = telling(c.logged, strings.TrimSuffix(line, "\n"))
		}
		c.mu.Unlock()
	}
	if c.params.Info.Kind.IsRelation() {
		message = c.relationID(c.params.Info.RelationID) + ": " + message
	}
	c.log("unit."+c.params.Unit+".juju-log", level, message)
}

// loggedError returns the last telling line of the hook's last error in juju-log, or "".
func (c *Context) loggedError() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.logged
}

func (c toolContext) Warn(message string) {
	c.log("unit."+c.params.Unit+"."+c.HookName(), loggo.WARNING, message)
}

func (c toolContext) HookRelation() (id int, ok bool) {
	return c.params.Info.RelationID, c.params.Info.Kind.IsRelation()
}

func (c toolContext) RemoteUnit() string { return c.params.Info.RemoteUnit }

func (c toolContext) RelationName(id int) (name string, ok bool) {
	relation, ok := c.params.Relations[id]
	return relation.Name, ok
}

func (c toolContext) RelationIDs(endpoint string) []string {
	ids := []string{}
	for id, relation := range c.params.Relations {
		if relation.Name == endpoint {
			ids = append(ids, c.relationID(id))
		}
	}
	slices.SortFunc(ids, entity.CompareNatural)
	return ids
}

func (c toolContext) RelationMembers(id int) []string { return c.params.Relations[id].Members }
func (c toolContext) RelationService(id int) string   { return c.params.Relations[id].Remote }
func (c toolContext) RelationModel(id int) string {
	return cmp.Or(c.params.Relations[id].Model, c.params.ModelUUID)
}

// Fail sets the message with which the hook or action fails.
func (c toolContext) Fail(message string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failure = message
}
