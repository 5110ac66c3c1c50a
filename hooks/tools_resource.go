package hooks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"juju/agent/host/atomicfile"
	"juju/state/entity"
)

var resourceGetInfo = commandInfo{
	args:    "<resource name>",
	purpose: "Print the path of a resource's file.",
	details: `The file is fetched from the controller, unless the unit has it already. It stays until the
unit fetches a newer one, and until the hook ends it is the same for all calls. The
resource must be declared in metadata.yaml, and a user must have uploaded its file.
`,
	examples: []string{"resource-get site"},
	make:     func() command { return &resourceGet{} },
}

type resourceGet struct{ name string }

func (t *resourceGet) flags(flags *pflag.FlagSet) { addIgnoredFormat(flags) }

func (t *resourceGet) init(_ *Context, args []string) error {
	if len(args) == 0 {
		return errors.New("missing required resource name")
	}
	t.name = args[0]
	return checkEmpty(args[1:])
}

func (t *resourceGet) run(ctx context.Context, run *toolRun) error {
	path, err := run.hook.resource(ctx, t.name)
	if err != nil {
		return fmt.Errorf("could not download resource: %w", err)
	}
	_, err = run.stdout.WriteString(path)
	return err
}

// resource returns the path of a resource's file, after fetching it.
func (c *Context) resource(ctx context.Context, name string) (path string, err error) {
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

// fetch returns the path of a resource's file. It asks the controller for it unless the unit has a
// file with the right content.
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
