package clouds

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

	"juju/agent/binaries/pack"
	"juju/agent/host/atomicfile"
	"juju/agent/storeconf"
	"juju/cmd/juju/cli"
	"juju/provider"
	"juju/provider/local"
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

// About implements Home.
func (lxdCloud) About() string { return "LXD, where a machine is a system container" }

// GrantNote implements Cloud.
func (lxdCloud) GrantNote(user string) string { return "" }

// IsFree implements Home: a controller's storage is in LXD.
func (lxdCloud) IsFree(dir string) bool { return false }

// OutsideStorage implements Home: all storage is in LXD.
func (lxdCloud) OutsideStorage(dir string) (map[string][]string, error) { return nil, nil }

// maxCloudConfig is the maximum size of the --cloud-config file.
const maxCloudConfig = 1 << 20

// readCloudConfig reads the file given as --cloud-config.
func readCloudConfig(path string) (lxd.Config, error) {
	text, err := cli.ReadWhole(path, maxCloudConfig)
	if err != nil {
		return lxd.Config{}, fmt.Errorf("cannot read the cloud's configuration: %w", err)
	}
	return lxd.ParseConfig(text)
}

// Prepare implements Home.
func (lxdCloud) Prepare(ctx context.Context, p *BootstrapParams) error {
	config := lxd.Config{}
	var err error
	switch {
	case p.CloudConfig != "" && p.Definition != nil:
		return cli.Usagef("cannot use --cloud-config on cloud %q: its definition says how to reach it", p.CloudName)
	case p.CloudConfig != "":
		config, err = readCloudConfig(p.CloudConfig)
	case p.Definition != nil:
		config, err = p.Definition.lxd()
	}
	if err != nil {
		return err
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
	err = environ.PrecheckInstance(ctx, provider.PrecheckParams{Series: p.Series, Constraints: p.Machine})
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
	if err := record.write(dir); err != nil {
		return nil, err
	}
	if err := record.writeStore(dir, p.MongoURL); err != nil {
		return nil, err
	}
	cloud, err := record.cloud()
	if err != nil {
		return nil, err
	}
	params := lxd.ControllerParams{Series: p.Series, Constraints: p.Machine}
	params.Input = func(addresses []string) ([]byte, error) {
		inside := cloud.Inside()
		p.Hosts, p.LXD = addresses, &inside
		return json.Marshal(p)
	}
	out, err := startLXDController(ctx, cloud, p.Name, params, progress)
	if err != nil {
		return nil, err
	}
	return readBootstrapped(out, p.Model)
}

// startLXDController starts the container of a controller with this client's binaries, and returns jujud's output.
func startLXDController(
	ctx context.Context, cloud *lxd.Cloud, name string, params lxd.ControllerParams, progress *cli.Progress,
) ([]byte, error) {
	binaries, err := BinariesDir()
	if err != nil {
		return nil, err
	}
	progress.Say("Packing the binaries for controller %q", name)
	var archive bytes.Buffer
	if _, err := pack.WriteArchive(&archive, binaries, pack.Names...); err != nil {
		return nil, err
	}
	progress.Say("Starting the container of controller %q, with %s of binaries", name,
		entity.MiB(uint64(archive.Len())>>20))
	params.Arch, params.Archive = runtime.GOARCH, archive.Bytes()
	cloud.ReportTo(progress)
	out, err := cloud.StartController(ctx, params)
	var failed *lxd.JujudError
	switch {
	case errors.As(err, &failed):
		return nil, jujudError(failed.Said, errInContainer)
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil && params.Backup != nil:
		return nil, fmt.Errorf("cannot restore the controller: %w", err)
	case err != nil:
		return nil, fmt.Errorf("cannot create the controller: %w", err)
	}
	return out, nil
}

// write records a controller in its directory, so that it can be destroyed.
func (r lxdRecord) write(dir string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := atomicfile.WriteFile(filepath.Join(dir, lxdRecordName), append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("cannot record the controller: %w", err)
	}
	return nil
}

// writeStore records where the controller's MongoDB is, if it has one, so that its databases can be removed when the
// controller's container no longer exists.
func (r lxdRecord) writeStore(dir, url string) error {
	own := local.ControllerDir(dir)
	if url == "" {
		return storeconf.Remove(own)
	}
	return storeconf.Config{URL: url, Controller: r.Controller}.Write(own)
}

// errInContainer is the error of a jujud that failed in its container and printed no error.
var errInContainer = errors.New("it failed in the container")

// MigrateStore implements Home.
func (lxdCloud) MigrateStore(ctx context.Context, dir, _, url string) error {
	record, err := readLXDRecord(dir)
	if err != nil {
		return err
	}
	cloud, err := record.cloud()
	if err != nil {
		return err
	}
	if url != "" { // what an interrupted migration leaves there is found, too
		if err := record.writeStore(dir, url); err != nil {
			return err
		}
	}
	err = cloud.MigrateStore(ctx, url)
	var failed *lxd.JujudError
	switch {
	case errors.As(err, &failed):
		return jujudError(failed.Said, errInContainer)
	case err != nil:
		return fmt.Errorf("cannot migrate the store: %w", err)
	}
	return record.writeStore(dir, url)
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
	// No controller uses its databases any more.
	if err := removeStore(ctx, dir); err != nil {
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
		return entity.WithHint(why, "Check that its container is running and this host can reach its address: lxc list")
	case status == "":
		return lost(why, c.Name, fmt.Sprintf("LXD no longer has container %s", name))
	}
	return entity.WithHint(fmt.Errorf("%w; its container %s is %s", why, name, status),
		"To start it, on the LXD host: lxc start %s", name)
}
