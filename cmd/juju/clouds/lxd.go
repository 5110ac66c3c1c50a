package clouds

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/google/uuid"

	"juju/agent/binaries/pack"
	"juju/agent/host/atomicfile"
	"juju/cmd/juju/cli"
	"juju/provider"
	"juju/provider/lxd"
	"juju/state/entity"
)

// lxdName is the name of the LXD cloud, where machines and the controller are containers.
const lxdName = "lxd"

// lxdTimeout is how long creating a controller on LXD may take. LXD may have to download an image.
const lxdTimeout = 20 * time.Minute

// lxdRecordName is the file with an lxdRecord, readable only by its owner.
const lxdRecordName = "lxd.json"

// An lxdRecord is what is needed to destroy a controller on LXD.
type lxdRecord struct {
	Controller string     `json:"controller-uuid"`
	LXD        lxd.Config `json:"lxd"`
}

// cloud returns the controller's view of LXD.
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
		return r, fmt.Errorf("cannot read the controller's record: %w", err)
	}
	return r, nil
}

// The lxdCloud is an LXD server or cluster, whose containers are machines.
type lxdCloud struct{}

// TakesHosts implements Cloud.
func (lxdCloud) TakesHosts() bool { return true }

// TakesKeys implements Cloud.
func (lxdCloud) TakesKeys() bool { return true }

// HasSSH implements Cloud.
func (lxdCloud) HasSSH() bool { return true }

// MachineDir implements Cloud.
func (lxdCloud) MachineDir(dir, model, instance string) string { return "" }

// GrantNote implements Cloud.
func (lxdCloud) GrantNote(user string) string { return "" }

// IsFree implements Home: a controller's storage is in LXD.
func (lxdCloud) IsFree(dir string) bool { return false }

// OutsideStorage implements Home: all storage is in LXD.
func (lxdCloud) OutsideStorage(dir string) (map[string][]string, error) { return nil, nil }

// maxCloudConfig is the maximum size of the --cloud-config file.
const maxCloudConfig = 1 << 20

// Prepare implements Home.
func (lxdCloud) Prepare(ctx context.Context, p *BootstrapParams) error {
	if p.MongoURL != "" {
		return entity.WithHint(cli.Usagef("cannot use --mongo-url on cloud %q", lxdName),
			"The controller's store is in its container.")
	}
	config := lxd.Config{}
	if p.CloudConfig != "" {
		text, err := cli.ReadWhole(p.CloudConfig, maxCloudConfig)
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
	err = environ.PrecheckInstance(ctx, provider.PrecheckParams{Series: p.Series, Constraints: p.Constraints})
	if err != nil {
		return fmt.Errorf("cannot bootstrap: %w", err)
	}
	return nil
}

// Create implements Home.
func (lxdCloud) Create(
	ctx context.Context, dir string, p BootstrapParams, progress *cli.Progress,
) (*Bootstrapped, error) {
	ctx, cancel := context.WithTimeout(ctx, lxdTimeout)
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
	binaries, err := BinariesDir()
	if err != nil {
		return nil, err
	}
	progress.Say("Packing the binaries for controller %q", p.Name)
	var archive bytes.Buffer
	if _, err := pack.WriteArchive(&archive, binaries, pack.Names...); err != nil {
		return nil, err
	}
	progress.Say("Starting the container of controller %q, with %s of binaries", p.Name, entity.MiB(uint64(archive.Len())>>20))
	out, err := cloud.StartController(ctx, lxd.ControllerParams{
		Series: p.Series, Constraints: p.Constraints, Arch: runtime.GOARCH, Archive: archive.Bytes(),
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

// Restore implements Home: not yet.
func (lxdCloud) Restore(context.Context, string, io.Reader, string) (*Bootstrapped, error) {
	return nil, entity.Errorf(entity.NotSupported, "cannot restore the controller: its cloud is lxd, where that is not implemented")
}

// Start implements Home: the container starts it.
func (lxdCloud) Start(context.Context, string, string) error { return nil }

// Destroy implements Home.
func (lxdCloud) Destroy(ctx context.Context, dir, _ string, destroyStorage bool) (kept []string, err error) {
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

// An lxdController is a controller in a container.
type lxdController struct{ registered }

// Controller implements Cloud.
func (lxdCloud) Controller(at At) Controller { return lxdController{registered{at}} }

// lxdQueryTimeout is how long LXD may take to report the status of a controller's container.
const lxdQueryTimeout = 5 * time.Second

// container returns the name and LXD status of the controller's container; the status is "" if it no longer exists.
func (c lxdController) container(ctx context.Context) (name, status string, err error) {
	ctx, cancel := context.WithTimeout(ctx, lxdQueryTimeout)
	defer cancel()
	record, err := readLXDRecord(c.Dir)
	if err != nil {
		return "", "", err
	}
	cloud, err := record.cloud()
	if err != nil {
		return "", "", err
	}
	return cloud.Controller(ctx)
}

// IsDown implements Controller.
func (c lxdController) IsDown(ctx context.Context) (down, gone bool) {
	_, status, err := c.container(ctx)
	gone = err == nil && status == ""
	return gone || status == "stopped" || status == "frozen", gone
}

// Unreachable implements Controller: it adds the container's status.
func (c lxdController) Unreachable(why error) error {
	name, status, err := c.container(context.Background())
	switch {
	case err != nil || status == "running":
		return entity.WithHint(why, "Check that its container is running and this host can reach its address: lxc list\n"+
			"To destroy the controller instead: juju destroy-environment %s", c.Name)
	case status == "":
		return lost(why, c.Name, fmt.Sprintf("LXD no longer has container %s", name))
	}
	return entity.WithHint(fmt.Errorf("%w; its container %s is %s", why, name, status),
		"To start it, on the LXD host: lxc start %s", name)
}
