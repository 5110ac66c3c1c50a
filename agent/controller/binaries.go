package controller

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"juju/agent/binaries"
	"juju/agent/binaries/pack"
	"juju/agent/install"
	"juju/apiserver"
	"juju/apiserver/facades"
	"juju/provider"
	"juju/state"
	"juju/state/entity"
)

// archiveName is the file in the controller's directory that machines download, unless the controller runs
// uploaded binaries. It is created at every start, because the binaries may have changed.
const archiveName = "agents.tar.gz"

// packBinaries finds or creates the archive of agent binaries that machines download, if they may need one.
func (c *running) packBinaries() error {
	if own := binaries.Own(); own != "" && c.archive(own) != "" {
		c.binaries = &facades.Binaries{Path: c.archive(own), SHA256: own}
	} else if c.conf.kind().Machines().OwnHost {
		path := filepath.Join(c.own, archiveName)
		sum, err := writeOwnArchive(path)
		if err != nil {
			return fmt.Errorf("cannot make the archive for new machines: %w", err)
		}
		c.binaries = &facades.Binaries{Path: path, SHA256: sum}
	}
	return nil
}

// archive returns the path of the archive with the given hash, or "" if there is none. It may be that of the
// running binaries, one from before an upgrade, or one that another controller has received.
func (c *running) archive(sha256 string) string {
	switch {
	case c.binaries != nil && c.binaries.SHA256 == sha256:
		return c.binaries.Path
	case !entity.IsSHA256(sha256):
		return ""
	case !exists(c.upgrades.Archive(sha256)):
		if c.members == nil {
			return ""
		}
		if err := c.fetchArchive(sha256); err != nil {
			if !entity.IsNotFound(err) {
				logger.Errorf("cannot get the archive of agent binaries %.12s from the store: %v", sha256, err)
			}
			return ""
		}
	}
	return c.upgrades.Archive(sha256)
}

// fetchArchive copies an archive of agent binaries from the store, once for all who ask for it at the same time.
func (c *running) fetchArchive(sha256 string) error {
	c.fetching.Lock()
	defer c.fetching.Unlock()
	if exists(c.upgrades.Archive(sha256)) {
		return nil
	}
	_, from, err := c.ctrl.OpenBinaries(sha256)
	if err != nil {
		return err
	}
	defer from.Close()
	return c.upgrades.KeepFrom(from, sha256)
}

// storeArchive stores an archive of agent binaries for the other controllers.
func (c *running) storeArchive(ctx context.Context, file string, p entity.Binaries) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	return c.ctrl.KeepBinaries(ctx, p, f)
}

// sweepStored removes the archives from the store that neither models want, as given, nor controllers.
func (c *running) sweepStored(ctx context.Context, wanted []string) error {
	u, err := c.ctrl.NodeUpgrade(ctx)
	if err != nil {
		return err
	}
	if u != nil {
		wanted = append(wanted, u.To.SHA256)
	}
	return c.ctrl.SweepBinaries(wanted...)
}

// hasTools reports whether the controller's machines download agent binaries. Others share its host.
func (c *running) hasTools() bool { return c.conf.kind().Machines().OwnHost && c.binaries != nil }

// tools returns the location of the agent binaries for a model's new machines. They get the version that the
// model's agents run, so that an upgrade of the controller does not affect models that are not upgraded yet.
func (c *running) tools(st *state.State) func(context.Context) (map[string]provider.Tools, error) {
	return func(ctx context.Context) (map[string]provider.Tools, error) {
		if !c.hasTools() {
			return nil, nil
		}
		want, err := st.Settings().Binaries(ctx)
		if err != nil {
			return nil, err
		}
		sum := want.SHA256
		if c.archive(sum) == "" {
			sum = c.binaries.SHA256
		}
		tools := provider.Tools{SHA256: sum, CACert: c.conf.CA.Cert}
		for _, address := range c.conf.addresses() {
			tools.URLs = append(tools.URLs, "https://"+address+apiserver.BinariesPath+sum)
		}
		return map[string]provider.Tools{runtime.GOARCH: tools}, nil
	}
}

// manualHosts turns hosts that users add into machines.
type manualHosts struct{ c *running }

// HasBinaries implements facades.ManualHosts.
func (h manualHosts) HasBinaries(arch string) bool {
	return arch == runtime.GOARCH && h.c.hasTools()
}

// Script implements facades.ManualHosts.
func (h manualHosts) Script(ctx context.Context, st *state.State, m entity.MachineInfo,
	password string) (string, error) {
	tools, err := h.c.tools(st)(ctx)
	if err != nil {
		return "", err
	}
	config, err := h.c.agentConfig(st)(m, password, m.Nonce)
	if err != nil {
		return "", err
	}
	return install.ManualScript(m.ID, config, tools[runtime.GOARCH])
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// writeOwnArchive writes an archive of this binary and its siblings to path, and returns its SHA-256. It
// reads this binary from /proc/self/exe, because another build may have replaced the file since it was
// started.
func writeOwnArchive(path string) (string, error) {
	dir, err := binaries.OwnDir()
	if err != nil {
		return "", err
	}
	links := path + ".links"
	if err := os.RemoveAll(links); err != nil { // a killed process may have left it
		return "", err
	}
	if err := os.Mkdir(links, 0o700); err != nil {
		return "", err
	}
	defer os.RemoveAll(links)
	for _, name := range pack.Names {
		to := filepath.Join(dir, name)
		if name == "jujud" {
			to = "/proc/self/exe"
		}
		if err := os.Symlink(to, filepath.Join(links, name)); err != nil {
			return "", err
		}
	}
	return writeArchive(path, links)
}

// writeArchive writes an archive of the binaries in dir to path, and returns its SHA-256.
func writeArchive(path, dir string) (string, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return "", err
	}
	sum, err := pack.WriteArchive(file, dir, pack.Names...)
	return sum, errors.Join(err, file.Close())
}
