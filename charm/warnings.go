package charm

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Files that a charm may have and that have no effect here. dispatch is a program that later
// versions of Juju run instead of hooks.
var ignoredFiles = []struct{ name, why string }{
	{"dispatch", "it is not run: hooks are the files in hooks/"},
	{"lxd-profile.yaml", "it is not applied: containers get the profile of their cloud"},
	{"manifest.yaml", "it is not read: series stand in metadata.yaml"},
	{"metrics.yaml", "it is not read: no metrics are collected"},
}

// ignoredKeys are top-level keys of metadata.yaml on which later versions of Juju act.
var ignoredKeys = map[string]string{
	"assumes":    "what it demands is not checked",
	"charm-user": "hooks run as the user of their agent",
	"containers": "no containers are started for the charm",
	"deployment": "it is for Kubernetes",
	"devices":    "no devices are provided",
}

// plainKeys are keys for people, or obsolete ones: they need no action.
var plainKeys = []string{
	"bug-tracker", "contact", "display-name", "docs", "format", "icon", "issues", "links", "maintainer", "maintainers",
	"source", "title", "website",
}

// knownKeys are the keys that ParseMeta reads.
var knownKeys = []string{
	"categories", "description", "extra-bindings", "min-juju-version", "name", "payloads", "peers", "provides", "requires",
	"resources", "revision", "series", "storage", "subordinate", "summary", "tags", "terms",
}

// unknownKeys returns, sorted, the keys of metadata.yaml that ParseMeta does not use and that
// are not meant for people.
func unknownKeys(fs fields) (keys []string) {
	for key := range fs.keys {
		if !slices.Contains(knownKeys, key) && !slices.Contains(plainKeys, key) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// runHooks are the UnitHooks and relation hooks that agents run.
var runHooks = []string{"install", "start", "config-changed", "upgrade-charm", "stop",
	"-relation-joined", "-relation-changed", "-relation-departed", "-relation-broken"}

// Warnings lists everything the charm declares that has no effect here, or not the effect its
// author may expect, a line for each kind. No declaration is silently dropped: it works, is
// refused, or is in this list.
func (c *Charm) Warnings() (all []string) {
	add := func(file, what string, names []string, why string) {
		if len(names) > 0 {
			all = append(all, fmt.Sprintf("%s: %s %s: %s", file, what, listed(names), why))
		}
	}
	m := c.Meta
	for _, name := range slices.Sorted(maps.Keys(m.Requires)) {
		r := m.Requires[name]
		if r.Scope != ScopeContainer || r.Interface != ImplicitRelation().Interface {
			continue
		}
		why := "goes with any service, whose own units run no hooks for it"
		if isReserved("", name) {
			why += "; its name is reserved, and may be refused by later versions"
		}
		all = append(all, fmt.Sprintf("%s: the container-scoped relation %q over %q %s", metaFile, name, r.Interface, why))
	}
	var limited []string
	for name, r := range m.Relations() {
		if r.Limit > 0 {
			limited = append(limited, name)
		}
	}
	slices.Sort(limited)
	add(metaFile, "the limit of relation", limited, "it is not enforced")
	add(metaFile, "storage", slices.Sorted(maps.Keys(m.Storage)), "storage is not supported yet: the units get none")
	add(metaFile, "resource", slices.Sorted(maps.Keys(m.Resources)), "resources are not supported yet: the units get none")
	add(metaFile, "payload", slices.Sorted(maps.Keys(m.Payloads)), "payloads are not supported yet")
	add(metaFile, "extra binding", m.ExtraBindings, "a machine has one network: nothing is bound")
	add(metaFile, "terms", m.Terms, "no one is asked to agree to them")
	if m.MinJujuVersion != (Version{}) {
		add(metaFile, "min-juju-version", []string{m.MinJujuVersion.String()},
			"it is not compared with the version of this controller")
	}
	for _, key := range m.Unknown {
		why, ok := ignoredKeys[key]
		if !ok {
			why = "it is not known here"
		}
		add(metaFile, "field", []string{key}, why)
	}
	var secrets []string
	for name, o := range c.Config.Options {
		if o.Type == OptionSecret {
			secrets = append(secrets, name)
		}
	}
	slices.Sort(secrets)
	add(configFile, "option", secrets, "secrets are not supported yet: the charm gets the text that is set")
	add(actionsFile, "action", slices.Sorted(maps.Keys(c.Actions.Specs)), "actions cannot be run yet")
	for _, f := range ignoredFiles {
		if slices.Contains(c.Ignored, f.name) {
			all = append(all, f.name+": "+f.why)
		}
	}
	var never []string
	for _, hook := range c.Hooks {
		if !slices.ContainsFunc(runHooks,
			func(run string) bool { return hook == run || run[0] == '-' && strings.HasSuffix(hook, run) }) {
			never = append(never, hook)
		}
	}
	add("hooks", "hook", never, "there is no such event yet: it never runs")
	return all
}

// maxListed is how many names a warning lists.
const maxListed = 10

// listed quotes names. If there are too many or they are too long, it counts the rest.
func listed(names []string) string {
	quoted := make([]string, 0, len(names))
	for i, name := range names {
		if i == maxListed {
			return fmt.Sprintf("%s and %d more", strings.Join(quoted, ", "), len(names)-i)
		}
		quoted = append(quoted, shown(name))
	}
	return strings.Join(quoted, ", ")
}
