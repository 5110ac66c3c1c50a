package charms

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"juju/charm"
	"juju/cmd/juju/cli"
	"juju/state/entity"
)

// A Repository is a directory of charms, DIR/SERIES/CHARM, where CHARM is a directory or an archive of any name; "" is
// none.
type Repository string

// RepositoryOf returns the repository given by the flag or, if it is "", by the environment.
func RepositoryOf(s *cli.Session, flag string) Repository {
	if flag == "" {
		flag = s.Getenv("JUJU_REPOSITORY")
	}
	return Repository(flag)
}

// Find reads the charm with a URL. If the URL has no series, it searches the given one or, if that is "", all of them.
// If the repository lacks the URL's revision, it returns the highest one: controllers assign their own revisions.
func (r Repository) Find(ctx context.Context, u charm.URL, series string) (*Source, error) {
	pattern := "*"
	switch {
	case u.Series != "":
		pattern = u.Series
	case series != "":
		pattern = series
	}
	dirs, err := filepath.Glob(filepath.Join(escapeGlob(string(r)), pattern))
	if err != nil {
		return nil, fmt.Errorf("cannot read repository %q: %w", string(r), err)
	}
	var found *Source
	var broken error // from charms whose file has the name
	in := ""
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // not a directory
		}
		for _, e := range entries {
			c, err := r.candidate(ctx, filepath.Join(dir, e.Name()), u.Name)
			if err != nil {
				broken = errors.Join(broken, err)
			}
			if c == nil {
				continue
			}
			if found != nil && in != dir {
				found.Close()
				c.Close()
				return nil, entity.WithHint(fmt.Errorf("charm %q is in repository %q for several series", u, string(r)),
					"Specify the series: %s:%s/%s", u.Schema, filepath.Base(dir), u.Name)
			}
			if found == nil || found.Charm.Revision != u.Revision &&
				(c.Charm.Revision == u.Revision || c.Charm.Revision > found.Charm.Revision) {
				found.Close()
				found, in = c, dir
			} else {
				c.Close()
			}
		}
	}
	if found == nil && broken != nil {
		return nil, broken
	}
	if found == nil {
		return nil, entity.Errorf(entity.NotFound, "charm not found in %q: %s", string(r), u)
	}
	return found, nil
}

// candidate reads the charm at a path if it has the name, and returns nil otherwise. It returns errors only for files
// that are named like the charm.
func (r Repository) candidate(ctx context.Context, path, name string) (*Source, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil // a dangling link, or removed since it was listed
	}
	base := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".charm"), ".zip")
	if !info.IsDir() && base == filepath.Base(path) {
		return nil, nil
	}
	if info.IsDir() { // don't archive every charm in the repository
		d, err := charm.ReadDir(path)
		if err != nil && base == name && !errors.Is(err, fs.ErrNotExist) {
			return nil, badCharm(err)
		}
		if err != nil || d.Meta.Name != name {
			return nil, nil
		}
	}
	c, err := Read(ctx, path)
	if err != nil && base == name {
		return nil, err
	}
	if err != nil {
		return nil, nil
	}
	if c.Charm.Meta.Name != name {
		c.Close()
		return nil, nil
	}
	return c, nil
}

// escapeGlob returns the pattern that matches only s.
func escapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(s)
}
