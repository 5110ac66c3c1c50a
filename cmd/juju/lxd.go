package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/google/uuid"

	"juju/agent/host/atomicfile"
	"juju/provider"
	"juju/provider/cloudinit"
	"juju/provider/lxd"
	"juju/state/entity"
)

// lxdCloud is the name of the cloud of containers on an LXD. A controller there runs in a container
// too.
const lxdCloud = "lxd"

// lxdBound is how long the creation of a controller on LXD may take. LXD may have to download an
// image.
const lxdBound = 20 * time.Minute

// lxdRecordName is the file with an lxdRecord, which only its owner can read.
const lxdRecordName = "lxd.json"

// An lxdRecord is what must be known to destroy a controller on LXD.
type lxdRecord struct {
	Controller string     `json:"controller-uuid"`
	LXD        lxd.Config `json:"lxd"`
}

// cloud returns what the controller has on LXD.
func (r lxdRecord) cloud() (*lxd.Cloud, error) {
	config := r.LXD
	config.Controller = r.Controller
	return lxd.New(config)
}

// environ opens the controller's own model.
func (r lxdRecord) environ(ctx context.Context) (provider.Environ, error) {
	cloud, err := r.cloud()
	if err != nil {
		return nil, err
	}
	return cloud.Open(ctx, provider.Config{Controller: r.Controller, Model: r.Controller})
}

func readLXDRecord(dir string) (r lxdRecord, err error) {
	text, err := os.ReadFile(filepath.Join(dir, lxdRecordName))
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		return r, fmt.Errorf("cannot read what is known of the controller: %w", err)
	}
	return r, nil
}

type lxdHome struct{}

// maxCloudConfig is the maximum size of the file of --cloud-config.
const maxCloudConfig = 1 << 20

// prepare implements home.
func (lxdHome) prepare(ctx context.Context, p *bootstrapParams) error {
	if p.MongoURL != "" {
		return entity.WithHint(usagef("cannot use --mongo-url on cloud %q", lxdCloud),
			"The controller has its store in its container.")
	}
	config := lxd.Config{}
	if p.cloudConfig != "" {
		text, err := readWhole(p.cloudConfig, maxCloudConfig)
		if err != nil {
			return fmt.Errorf("cannot read the cloud's configuration: %w", err)
		}
		if config, err = lxd.ParseConfig(text); err != nil {
			return err
		}
	}
	p.Controller, p.LXD = uuid.NewString(), &config
	environ, err := lxdRecord{p.Controller, config}.environ(ctx)
	if err != nil {
		return err
	}
	if p.Series == "" {
		have, err := environ.Series(ctx)
		if err != nil {
			return fmt.Errorf("cannot bootstrap: %w", err)
		}
		if len(have) > 0 {
			p.Series = have[0]
		}
	}
	err = environ.PrecheckInstance(ctx, provider.PrecheckParams{Series: p.Series, Constraints: p.constraints})
	if err != nil {
		return fmt.Errorf("cannot bootstrap: %w", err)
	}
	return nil
}

// create implements home.
func (lxdHome) create(
	ctx context.Context, dir string, p bootstrapParams, progress *progress,
) (*bootstrapped, error) {
	ctx, cancel := context.WithTimeout(ctx, lxdBound)
	defer cancel()
	record := lxdRecord{p.Controller, *p.LXD}
	text, err := json.MarshalIndent(record, "", "  ")
	if err != nil {
		return nil, err
	}
	if err := atomicfile.WriteFile(filepath.Join(dir, lxdRecordName), append(text, '\n'), 0o600); err != nil {
		return nil, fmt.Errorf("cannot record the controller: %w", err)
	}
	cloud, err := record.cloud()
	if err != nil {
		return nil, err
	}
	programs, err := programsDir()
	if err != nil {
		return nil, err
	}
	progress.say("Packing the programs of controller %q", p.Name)
	var archive bytes.Buffer
	if _, err := cloudinit.WriteArchive(&archive, programs, cloudinit.Programs...); err != nil {
		return nil, err
	}
	progress.say("Starting the container of controller %q, with %s of programs", p.Name, entity.MiB(uint64(archive.Len())>>20))
	out, err := cloud.StartController(ctx, lxd.ControllerParams{
		Series: p.Series, Constraints: p.constraints, Arch: runtime.GOARCH, Archive: archive.Bytes(),
		Bootstrap: func(addresses []string) ([]byte, error) {
			inside := cloud.Inside()
			p.Hosts, p.LXD = addresses, &inside
			return json.Marshal(p)
		},
	})
	var failed *lxd.BootstrapError
	switch {
	case errors.As(err, &failed):
		return nil, jujudError(failed.Said, errors.New("it failed in the container"))
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, fmt.Errorf("cannot create the controller: %w", err)
	}
	return readBootstrapped(out)
}

// start implements home: the container has started it.
func (lxdHome) start(context.Context, string, string) error { return nil }

// destroy implements home.
func (lxdHome) destroy(ctx context.Context, dir, _ string, destroyStorage bool) (kept []string, err error) {
	record, err := readLXDRecord(dir)
	if errors.Is(err, fs.ErrNotExist) { // bootstrap has created nothing yet
		return nil, os.RemoveAll(dir)
	} else if err != nil {
		return nil, err
	}
	cloud, err := record.cloud()
	if err != nil {
		return nil, err
	}
	if !destroyStorage {
		if kept, err = cloud.Volumes(ctx); err != nil {
			return nil, err
		}
	}
	environ, err := record.environ(ctx)
	if err != nil {
		return nil, err
	}
	if err := environ.DestroyController(ctx, destroyStorage); err != nil {
		return nil, err
	}
	return kept, os.RemoveAll(dir)
}
