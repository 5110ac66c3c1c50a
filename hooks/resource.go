package hooks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"juju/agent/host/atomicfile"
	"juju/state/entity"
)

// Resource returns the path of a resource's file, which it fetches if needed.
func (c toolContext) Resource(ctx context.Context, name string) (path string, err error) {
	c.fetching.Lock()
	defer c.fetching.Unlock()
	if path, ok := c.fetched[name]; ok {
		return path, nil
	}
	for tried := ""; ; {
		r, failed := c.resourceInfo(ctx, name)
		if failed != nil {
			return "", failed
		}
		if r.File.SHA256 == tried {
			return "", err // not because a user has replaced the file meanwhile
		}
		tried = r.File.SHA256
		if path, err = c.fetch(ctx, r); err == nil {
			break
		}
	}
	if c.fetched == nil {
		c.fetched = map[string]string{}
	}
	c.fetched[name] = path
	return path, nil
}

// resourceInfo asks for a resource that has a file.
func (c *Context) resourceInfo(ctx context.Context, name string) (entity.Resource, error) {
	ctx, cancel := context.WithTimeout(ctx, backendTimeout)
	defer cancel()
	r, err := c.backend.Resource(ctx, c.unit, name)
	if err == nil && r.File == nil {
		err = entity.WithHint(entity.Errorf(entity.NotFound, "resource %q was not uploaded", name),
			"To upload it: juju attach-resource %s %s=FILE", entity.UnitService(c.params.Unit), name)
	}
	return r, err
}

// fetch returns the path of a resource's file. It downloads it from the controller unless the unit has
// the right content.
func (c *Context) fetch(ctx context.Context, r entity.Resource) (string, error) {
	dir := filepath.Join(c.params.ResourcesDir, r.Name)
	path := filepath.Join(dir, r.Filename)
	if sum, err := sumOf(path); err == nil && sum == r.File.SHA256 {
		return path, nil
	} else if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	content, err := c.backend.OpenResource(ctx, c.unit, r.Name)
	if err != nil {
		return "", err
	}
	defer content.Close()
	return path, replaceFile(path, content, r.File.SHA256)
}

// sumOf returns the SHA-256 of a file, in hex.
func sumOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return entity.SHA256(f)
}

// replaceFile puts content into a file, unless its SHA-256 is not sum. The file is never
// there in part.
func replaceFile(path string, content io.Reader, sum string) error {
	if err := atomicfile.RemoveDrafts(path); err != nil {
		return err
	}
	return atomicfile.WriteFunc(path, 0o644, func(w io.Writer) error {
		got, err := entity.SHA256(io.TeeReader(content, w))
		if err != nil {
			return err
		}
		if got != sum {
			return fmt.Errorf("the file has SHA-256 %s, not %s", got, sum)
		}
		return nil
	})
}
