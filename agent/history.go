package agent

import (
	"errors"
	"io/fs"
	"path/filepath"

	"juju/state/entity"
	"juju/worker/uniter/charmdir"
)

// UnitDir returns the directory of a unit's agent, on a machine with the given root.
func UnitDir(root, unit string) string {
	return filepath.Join(root, "agents", entity.UnitTag(unit).String())
}

// CharmDir returns the charm directory of a unit, on a machine with the given root.
func CharmDir(root, unit string) string { return filepath.Join(UnitDir(root, unit), "charm") }

// RunDir returns the directory of the Runner of a unit's hooks.
func RunDir(root, unit string) string { return filepath.Join(UnitDir(root, unit), "run") }

// A Commit is a commit in the history of a unit's charm directory.
type Commit = charmdir.Commit

// CharmHistory returns the last n commits of a unit's charm directory, or all if n is 0, newest first. The
// error is NotFound if there is no history.
func CharmHistory(root, unit string, n int) ([]Commit, error) {
	history := charmdir.History{Path: CharmDir(root, unit)}
	all, err := history.Commits(n)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, entity.Errorf(entity.NotFound, "unit %q has no charm directory yet", unit)
	}
	return all, err
}
