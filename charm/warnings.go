package charm

import (
	"fmt"
	"slices"
	"strings"
)

// Files that a charm may have and that have no effect here.
var ignoredFiles = []struct{ name, why string }{
	{"functions.yaml", "it is not read: actions are defined in actions.yaml"},
	{"metrics.yaml", "it is not read: no metrics are collected"},
}

// ignoredKeys are top-level keys of metadata.yaml on which later versions of Juju act.
var ignoredKeys = map[string]string{
	"deployment": "it is for Kubernetes",
	"devices":    "devices are not supported",
}

// metaKeys are the keys of metadata.yaml that ParseMeta reads, and those that are obsolete or for
// people, which need no action.
var metaKeys = []string{
	"assumes", "categories", "charm-user", "containers", "description", "extra-bindings", "min-juju-version", "name", "payloads",
	"peers", "provides", "requires", "resources", "revision", "series", "storage", "subordinate", "summary", "tags",
	"terms",

	"bug-tracker", "contact", "display-name", "docs", "format", "icon", "issues", "links", "maintainer", "maintainers",
	"source", "title", "upstream-source", "upstream-version", "website",
}

// A gap is a charm feature without effect here, or with a different effect than its author may expect.
type gap struct {
	file, what string
	names      func(*Charm) []string // what of it the charm declares, in order
	why        string
	refused    bool // the charm can't do without it, so it is not deployed
}

// gaps lists all charm features that are not fully supported. It is the only such list: remove entries
// once they are supported.
var gaps = []gap{
	{metaFile, "required storage", stores(func(s Storage) bool { return s.CountMin > 0 && !s.isProvided() }),
		"block devices and shared storage are not supported: the units would get none", true},
	{metaFile, "storage", stores(func(s Storage) bool { return s.CountMin == 0 && !s.isProvided() }),
		"block devices and shared storage are not supported: the units get none", false},
	{metaFile, "read-only storage", stores(func(s Storage) bool { return s.ReadOnly && s.isProvided() }),
		"it is writable", false},
	{metaFile, "resource of type oci-image", images, "it is for Kubernetes: the units get none", false},
	{metaFile, "container", func(c *Charm) []string { return c.Meta.Containers },
		"Kubernetes is not supported", true},
	{metaFile, "terms", func(c *Charm) []string { return c.Meta.Terms }, "users are not asked to agree to them", false},
	{actionsFile, "action", func(c *Charm) []string { return c.NoProgram },
		"it has no program in actions/, and there is no dispatch: running it fails", false},
	{hooksDir, "hook", neverRun, NoEvent, false},
}

// stores returns the function that names the stores of a charm that match.
func stores(match func(Storage) bool) func(*Charm) []string {
	return func(c *Charm) (names []string) {
		for name, s := range c.Meta.Storage {
			if match(s) {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return names
	}
}

// images returns the resources that are no files.
func images(c *Charm) (names []string) {
	for name, r := range c.Meta.Resources {
		if r.Type != "file" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// neverRun returns the hooks in hooks/ for which there is no event.
func neverRun(c *Charm) (names []string) {
	for _, hook := range c.Hooks {
		if !HasEvent(hook) {
			names = append(names, hook)
		}
	}
	return names
}

// Warnings lists the charm's declarations without the effect that its author may expect, a line per
// kind. No declaration is silently dropped: it works, is rejected, or is in this list.
func (c *Charm) Warnings() (all []string) {
	for _, g := range gaps {
		if names := g.names(c); len(names) > 0 {
			all = append(all, fmt.Sprintf("%s: %s %s: %s", g.file, g.what, listed(names), g.why))
		}
	}
	all = slices.Concat(all, c.ModeWarnings(), c.strays.all(), c.Meta.Warnings, c.Config.Warnings, c.Actions.Warnings)
	if c.Profile != nil {
		all = append(all, c.Profile.Warnings...)
	}
	for _, f := range ignoredFiles {
		if slices.Contains(c.Ignored, f.name) {
			all = append(all, f.name+": "+f.why)
		}
	}
	return all
}

// ModeWarnings returns the Warnings of a directory that do not apply to its archive, which fixes their cause.
func (c *Charm) ModeWarnings() []string {
	if len(c.NotExecutable) == 0 {
		return nil
	}
	return []string{"file permissions: made executable for the units: " + listed(c.NotExecutable)}
}

// maxListed is the maximum number of names in a warning.
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
