package controller

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"juju/state"
	"juju/state/entity"
)

// Services whose changed hooks set something never come to rest. Their units enter and leave a
// third relation all the same, run commands, and hear of new settings.
func TestChattyRelationsDelayNothingElse(t *testing.T) {
	t.Parallel()
	s := newSystem(t, Options{})
	journal := filepath.Join(s.machines, "journal")
	hook := "#!/bin/sh\necho $JUJU_UNIT_NAME ${0##*/} >>" + journal + "\n"
	chatty := hook + "relation-set n=$(date +%s%N)\n"
	s.deploy("store", `{name: store, summary: s, description: d, provides: {server: {interface: any}}}`, 3,
		"hooks/server-relation-changed", chatty)
	s.deploy("cache", `{name: cache, summary: s, description: d, provides: {server: {interface: any}}}`, 1)
	s.deploy("site", `{name: site, summary: s, description: d,
  requires: {db: {interface: any}, cache: {interface: any}}}`, 1, "config.yaml", "options: {n: {type: int, default: 0}}\n",
		"hooks/db-relation-changed", chatty, "hooks/cache-relation-changed", hook, "hooks/cache-relation-broken", hook,
		"hooks/config-changed", hook)
	_, err := s.st.AddRelation(s.ctx, "site:db", "store:server")
	s.ok(err)
	// count returns how often a hook of site/0 has run.
	count := func(hook string) int {
		text, err := os.ReadFile(journal)
		if !os.IsNotExist(err) {
			s.ok(err)
		}
		return strings.Count(string(text), "site/0 "+hook)
	}
	s.until("the two to talk", func(*entity.ModelStatus) bool { return count("db-relation-changed") > 20 })
	passes := func(what string, happens func(*entity.ModelStatus) bool) {
		s.Helper()
		before := count("db-relation-changed")
		s.until(what, happens)
		if n := count("db-relation-changed") - before; n > 50 {
			s.Errorf("%d changed hooks of the busy relation ran before %s", n, what)
		} else {
			s.Logf("%d changed hooks of the busy relation ran before %s", n, what)
		}
	}
	runs := func(hook string) {
		s.Helper()
		before := count(hook)
		passes(hook, func(*entity.ModelStatus) bool { return count(hook) > before })
	}
	rel, err := s.st.AddRelation(s.ctx, "site:cache", "cache:server")
	s.ok(err)
	runs("cache-relation-changed")
	s.ok(rel.Destroy(s.ctx, entity.Destruction{}))
	runs("cache-relation-broken")
	svc, err := s.st.Service(s.ctx, "site")
	s.ok(err)
	s.ok(svc.SetConfig(s.ctx, map[string]any{"n": 1}))
	runs("config-changed")
	_, _, _, err = s.st.Tasks().Enqueue(s.ctx, []state.NewTask{{Receiver: "site/0", Name: entity.CommandTask,
		Params: map[string]any{"command": "echo site/0 command >>" + journal}}})
	s.ok(err)
	runs("command")
}
