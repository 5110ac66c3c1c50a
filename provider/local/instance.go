package local

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"juju/agent/host/lockfile"
	"juju/provider"
)

const instanceFile = "instance.json"

// instance is the content of instance.json. Model and ID are also in its path.
type instance struct {
	ID         string            `json:"id"`
	Controller string            `json:"controller"`
	Model      string            `json:"model"`
	Machine    string            `json:"machine"`
	Nonce      string            `json:"nonce"`
	Series     string            `json:"series,omitempty"`
	Address    string            `json:"address"`
	Hardware   provider.Hardware `json:"hardware"`
	// Jujud means that the instance runs a controller, instead of a machine agent.
	Jujud bool `json:"jujud,omitempty"`
}

func (i instance) public() provider.Instance {
	p := provider.Instance{
		ID: i.ID, Hardware: i.Hardware,
		Controller: i.Controller, Model: i.Model, MachineID: i.Machine, Nonce: i.Nonce,
	}
	if i.Address != "" {
		p.Addresses = []string{i.Address}
	}
	return p
}

// instanceID returns the ID of StartInstance's instance for params. It contains a hash of the nonce, so
// that a repeated start finds the existing instance, while stopping an old instance can't affect a new
// attempt for the same machine.
func instanceID(params provider.StartParams) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{params.Controller, params.Model, params.MachineID, params.Nonce},
		"\x00")))
	return fmt.Sprintf("local-%s-%s", strings.ReplaceAll(params.MachineID, "/", "-"), hex.EncodeToString(sum[:5]))
}

// list returns all instances of a model, or of all models if model is "", sorted by ID.
func (c *Cloud) list(model string) ([]instance, error) {
	models := []string{model}
	if model == "" {
		var err error
		if models, err = names(c.machines("")); err != nil {
			return nil, err
		}
	}
	var all []instance
	for _, model := range models {
		ids, err := names(c.machines(model))
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			inst := instance{}
			err := readJSON(filepath.Join(c.dir(model, id), instanceFile), &inst)
			if errors.Is(err, fs.ErrNotExist) {
				if _, err := os.Lstat(c.dir(model, id)); errors.Is(err, fs.ErrNotExist) {
					continue // stopped meanwhile
				}
			}
			if err != nil {
				// Without its file the instance has no machine, but it must be listed so that it is
				// stopped as a stray.
				logger.Warningf("instance %s of model %s: %v", id, model, err)
				inst = instance{}
			}
			inst.ID, inst.Model, inst.Controller = id, model, c.config.Controller
			all = append(all, inst)
		}
	}
	slices.SortFunc(all, func(a, b instance) int { return strings.Compare(a.ID, b.ID) })
	return all, nil
}

// names returns the subdirectories of a directory that don't begin with a dot; none if the directory
// does not exist.
func names(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var result []string
	for _, e := range entries {
		if e.IsDir() && isName(e.Name()) {
			result = append(result, e.Name())
		}
	}
	return result, nil
}

// reserve returns the instance for params, with a directory and an address. It creates the instance if
// needed.
func (c *Cloud) reserve(ctx context.Context, params provider.StartParams) (inst instance, err error) {
	id := instanceID(params)
	dir := c.dir(params.Model, id)
	err = readJSON(filepath.Join(dir, instanceFile), &inst)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return inst, err
	}

	// Serialize allocation across processes.
	lock, err := lockfile.Take(ctx, filepath.Join(c.config.Dir, "addresses.lock"), "")
	if err != nil {
		return inst, err
	}
	defer lock.Unlock()
	address, err := c.allocate()
	if err != nil {
		return inst, err
	}
	inst = instance{
		ID: id, Controller: params.Controller, Model: params.Model, Machine: params.MachineID,
		Nonce: params.Nonce, Series: params.Series, Address: address, Hardware: provider.HostHardware(c.config.Dir), Jujud: params.RunsController,
	}
	// Create the directory and its file atomically.
	if err := os.MkdirAll(c.machines(params.Model), 0o700); err != nil {
		return inst, err
	}
	draft := c.dir(params.Model, "."+id+".new")
	if err := removeAll(draft); err != nil {
		return inst, err
	}
	agent, err := filepath.Rel(dir, c.agentDir(params.Model, id))
	if err != nil {
		return inst, err
	}
	if err := os.MkdirAll(filepath.Join(draft, agent), 0o700); err != nil {
		return inst, err
	}
	err = writeJSON(filepath.Join(draft, instanceFile), inst)
	if err == nil {
		err = os.Rename(draft, dir)
	}
	if err != nil {
		err = errors.Join(err, removeAll(draft))
	}
	return inst, err
}

// remove removes the directory of a stopped instance, which frees its address.
func (c *Cloud) remove(model, id string) error {
	grave := c.dir(model, "."+id+".gone")
	if err := removeAll(grave); err != nil { // left by an earlier attempt
		return err
	}
	if err := os.Rename(c.dir(model, id), grave); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return removeAll(grave)
}

// removeAll is os.RemoveAll that also works if a charm removed write permissions.
func removeAll(path string) error {
	if err := os.RemoveAll(path); err == nil {
		return nil
	}
	filepath.WalkDir(path, func(path string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(path)
}
