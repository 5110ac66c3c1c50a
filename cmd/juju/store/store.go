package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"juju/agent/host/atomicfile"
	"juju/charm/safeyaml"
	"juju/state/entity"
)

// A Store is the directory with what the client remembers.
type Store struct {
	dir string
}

// New returns the store in a directory, which need not exist. A relative path is resolved now.
func New(dir string) (*Store, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("cannot find juju's data directory: %w", err)
	}
	return &Store{dir}, nil
}

// DefaultDir returns the directory of the user's store: $JUJU_DATA, else "juju" in the XDG
// data directory.
func DefaultDir(getenv func(string) string) (string, error) {
	if dir := getenv("JUJU_DATA"); dir != "" {
		return dir, nil
	}
	if dir := getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "juju"), nil
	}
	if home := getenv("HOME"); home != "" {
		return filepath.Join(home, ".local", "share", "juju"), nil
	}
	return "", entity.WithHint(errors.New("cannot find juju's data directory: neither JUJU_DATA nor HOME is set"),
		"Set one: export JUJU_DATA=DIR")
}

// Dir returns the store's directory.
func (s *Store) Dir() string { return s.dir }

// Contents is what a store holds.
type Contents struct {
	Current     string // the selected controller, "" for none
	Controllers map[string]*Controller
}

// A Controller is what the store holds of one controller.
type Controller struct {
	UUID      string
	Addresses []string // of the API, "host:port"
	CACert    string   // PEM
	Cloud     string   // "local" for one bootstrapped here; "" for one registered with
	User      string   // "" when logged out
	Password  string
	Generated bool              // bootstrap generated the password, and only this store has it
	Models    map[string]string // UUID by qualified name, "admin/default"
	Model     string            // the qualified name of the selected model, "" for none
}

// Names returns the names of the controllers, sorted.
func (c *Contents) Names() []string { return slices.Sorted(maps.Keys(c.Controllers)) }

// Controller returns the named controller, or the selected one for "". The error is NotFound
// if it does not exist.
func (c *Contents) Controller(name string) (string, *Controller, error) {
	if len(c.Controllers) == 0 {
		return "", nil, entity.WithHint(entity.Errorf(entity.NotFound, "no controllers registered"),
			"Create one: juju bootstrap; or, with a registration string from an administrator: juju register STRING")
	}
	known := "Known controllers: " + strings.Join(c.Names(), ", ")
	if name == "" {
		if name = c.Current; name == "" {
			return "", nil, entity.WithHint(entity.Errorf(entity.NotFound, "no controller is selected"),
				"%s; choose one with -m CONTROLLER:MODEL or JUJU_CONTROLLER", known)
		}
	}
	ctrl, ok := c.Controllers[name]
	if !ok {
		return "", nil, entity.WithHint(entity.Errorf(entity.NotFound, "controller %q not found", name), "%s", known)
	}
	return name, ctrl, nil
}

// Qualify returns the full name of a model: OWNER/NAME. The owner defaults to the user.
func (c *Controller) Qualify(model string) string {
	if model == "" || strings.Contains(model, "/") {
		return model
	}
	return c.User + "/" + model
}

// Unqualify returns the name of a model without its owner, if that is the user.
func (c *Controller) Unqualify(model string) string { return strings.TrimPrefix(model, c.User+"/") }

// The formats of the three files.
type (
	controllersFile struct {
		Controllers map[string]controllerEntry `yaml:"controllers"`
		Current     string                     `yaml:"current-controller,omitempty"`
	}
	controllerEntry struct {
		UUID      string   `yaml:"uuid"`
		Addresses []string `yaml:"api-endpoints,flow"`
		CACert    string   `yaml:"ca-cert"`
		Cloud     string   `yaml:"cloud"`
	}
	accountsFile struct {
		Controllers map[string]accountEntry `yaml:"controllers"`
	}
	accountEntry struct {
		User      string `yaml:"user"`
		Password  string `yaml:"password,omitempty"`
		Generated bool   `yaml:"generated-password,omitempty"`
	}
	modelsFile struct {
		Controllers map[string]modelsEntry `yaml:"controllers"`
	}
	modelsEntry struct {
		Models  map[string]modelEntry `yaml:"models,omitempty"`
		Current string                `yaml:"current-model,omitempty"`
	}
	modelEntry struct {
		UUID string `yaml:"uuid"`
	}
)

const (
	controllersName = "controllers.yaml"
	accountsName    = "accounts.yaml"
	modelsName      = "models.yaml"
)

// Read returns the contents of the store, which are empty if it does not exist.
func (s *Store) Read() (*Contents, error) {
	var controllers controllersFile
	var accounts accountsFile
	var models modelsFile
	for name, into := range map[string]any{controllersName: &controllers, accountsName: &accounts, modelsName: &models} {
		text, err := os.ReadFile(filepath.Join(s.dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = safeyaml.Unmarshal(text, into, safeyaml.Own)
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read %s: %w", filepath.Join(s.dir, name), err)
		}
	}
	c := &Contents{Current: controllers.Current, Controllers: map[string]*Controller{}}
	for name, e := range controllers.Controllers {
		ctrl := &Controller{UUID: e.UUID, Addresses: e.Addresses, CACert: e.CACert, Cloud: e.Cloud,
			User: accounts.Controllers[name].User, Password: accounts.Controllers[name].Password,
			Generated: accounts.Controllers[name].Generated, Models: map[string]string{},
			Model: models.Controllers[name].Current}
		for model, m := range models.Controllers[name].Models {
			ctrl.Models[model] = m.UUID
		}
		c.Controllers[name] = ctrl
	}
	return c, nil
}

// Update changes the store: it calls change with the contents, under the lock, and writes the
// result, unless change fails.
func (s *Store) Update(ctx context.Context, change func(*Contents) error) error {
	if err := s.update(ctx, change); err != nil {
		return fmt.Errorf("cannot write changes to %s: %w", s.dir, err)
	}
	return nil
}

func (s *Store) update(ctx context.Context, change func(*Contents) error) error {
	unlock, err := makeAndLock(ctx, s.dir)
	if err != nil {
		return err
	}
	defer func() {
		// Remove succeeds only on an empty directory: other files in it stay.
		_ = os.Remove(s.dir)
		unlock()
	}()
	c, err := s.Read()
	if err != nil {
		return err
	}
	if err := change(c); err != nil {
		return err
	}
	if _, ok := c.Controllers[c.Current]; !ok {
		c.Current = ""
	}
	return s.write(c)
}

// write writes the three files. The list of controllers is last, so that a reader who finds a
// controller there finds the rest.
func (s *Store) write(c *Contents) error {
	controllers := controllersFile{map[string]controllerEntry{}, c.Current}
	accounts := accountsFile{map[string]accountEntry{}}
	models := modelsFile{map[string]modelsEntry{}}
	for name, ctrl := range c.Controllers {
		controllers.Controllers[name] = controllerEntry{ctrl.UUID, ctrl.Addresses, ctrl.CACert, ctrl.Cloud}
		if ctrl.User != "" {
			accounts.Controllers[name] = accountEntry{ctrl.User, ctrl.Password, ctrl.Generated}
		}
		e := modelsEntry{map[string]modelEntry{}, ctrl.Model}
		for model, uuid := range ctrl.Models {
			e.Models[model] = modelEntry{uuid}
		}
		models.Controllers[name] = e
	}
	for _, file := range []struct {
		name string
		text any
	}{{accountsName, accounts}, {modelsName, models}, {controllersName, controllers}} {
		path := filepath.Join(s.dir, file.name)
		if len(c.Controllers) == 0 {
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			continue
		}
		text, err := safeyaml.Marshal(file.text, 4)
		if err != nil {
			return err
		}
		if before, err := os.ReadFile(path); err == nil && bytes.Equal(before, text) {
			continue
		}
		if err := atomicfile.WriteFile(path, text, 0o600); err != nil {
			return err
		}
	}
	return nil
}
