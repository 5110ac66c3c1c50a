package charm

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"juju/charm/spelling"
)

// A layout gives access to a charm's programs in a directory or an archive.
type layout struct {
	list func(dir string) []string             // the names in a directory, sorted
	mode func(name string) (fs.FileMode, bool) // of what a name leads to, over links
}

func (l layout) isFile(name string) bool {
	mode, ok := l.mode(name)
	return ok && mode.IsRegular()
}

// programs returns the paths of all programs that an agent may run for a charm: hooks, actions and
// dispatch.
func (c *Charm) programs() []string {
	all := []string{dispatchFile}
	for _, hook := range c.Meta.Hooks() {
		all = append(all, path.Join(hooksDir, hook))
	}
	for _, action := range slices.Sorted(maps.Keys(c.Actions.Specs)) {
		all = append(all, path.Join(actionsDir, action))
	}
	return all
}

// findPrograms records the charm's programs, and files that look like one but never run.
func (c *Charm) findPrograms(at layout) {
	for _, hook := range c.Meta.Hooks() {
		if at.isFile(path.Join(hooksDir, hook)) {
			c.Hooks = append(c.Hooks, hook)
		}
	}
	for _, program := range c.programs() {
		if mode, ok := at.mode(program); ok && mode.IsRegular() && mode&0o100 == 0 {
			c.NotExecutable = append(c.NotExecutable, program)
		}
	}
	c.Dispatch = at.isFile(dispatchFile)
	if names := at.list("."); !c.Dispatch && slices.Contains(names, dispatchFile) {
		c.strays.add("%s is not a file, and never runs", dispatchFile)
	}
	if c.Dispatch {
		return // all else is the affair of dispatch
	}
	for _, action := range slices.Sorted(maps.Keys(c.Actions.Specs)) {
		if !at.isFile(path.Join(actionsDir, action)) {
			c.NoProgram = append(c.NoProgram, action)
		}
	}
	c.findStrays(at, hooksDir, "hook", c.Meta.Hooks(), c.Hooks)
	c.findStrays(at, actionsDir, "action", c.NoProgram, nil)
}

// maxCompared bounds how many pairs of names findStrays compares in one directory, which takes 0.1 s.
const maxCompared = 50_000

// findStrays warns of files in a directory of programs whose names look like misspellings of missing
// ones in names.
func (c *Charm) findStrays(at layout, dir, kind string, names, there []string) {
	missing := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(there, name) })
	compared := 0
	for _, name := range at.list(dir) {
		file := path.Join(dir, name)
		switch _, found := slices.BinarySearch(names, name); {
		case found && !at.isFile(file):
			c.strays.add("%s is not a file, and never runs", file)
			continue
		case found || !at.isFile(file):
			continue
		}
		if compared += len(missing); compared > maxCompared {
			return
		}
		// Beside its programs a charm has files that these use, such as utils.py, so not every name is a mistake.
		var like []string
		if stem := strings.TrimSuffix(name, path.Ext(name)); stem == name {
			like = spelling.Near(name, missing)
		} else if slices.Contains(missing, stem) {
			like = []string{stem}
		}
		if len(like) > 0 {
			c.strays.add("%s is not %s: did you mean %s?", file, article(kind), strings.Join(like, " or "))
		} else if of, what := relationOf(name); kind == "hook" && of != "" {
			c.strays.add("%s is not a hook: %s has no %s %q", file, metaFile, what, of)
		}
	}
}

func article(kind string) string {
	if kind == "action" {
		return "an action"
	}
	return "a " + kind
}

// relationOf returns the relation or store that a file named like a hook of one is about.
func relationOf(name string) (of, what string) {
	for _, hook := range OriginalHooks {
		if of, ok := strings.CutSuffix(name, hook); ok && hook[0] == '-' {
			return of, "relation"
		}
	}
	for _, hook := range LaterHooks {
		if of, ok := strings.CutSuffix(name, hook.Name); ok && hook.Name[0] == '-' {
			if strings.HasPrefix(hook.Name, "-storage-") {
				return of, "storage"
			}
			return of, "relation"
		}
	}
	return "", ""
}

// A noteList is a list of warnings with a bound.
type noteList struct {
	texts []string
	more  int
}

func (l *noteList) add(format string, args ...any) {
	if len(l.texts) == maxListed {
		l.more++
		return
	}
	l.texts = append(l.texts, fmt.Sprintf(format, args...))
}

// all returns the warnings, and how many were left out.
func (l *noteList) all() []string {
	if l.more == 0 {
		return l.texts
	}
	return append(slices.Clone(l.texts), fmt.Sprintf("%d more names in %s/ and %s/ without effect",
		l.more, hooksDir, actionsDir))
}
