package controller

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"juju/apiserver"
	"juju/provider"
	"juju/provider/cloudinit"
	"juju/state"
	"juju/state/entity"
)

// archiveName is the file in the controller's directory that new machines download. It is made at
// every start, because the programs may be others than before.
const archiveName = "agents.tar.gz"

// packPrograms makes the archive of agents' programs, if the cloud's machines download it.
func (c *running) packPrograms() error {
	if c.conf.Cloud != lxdCloud {
		return nil
	}
	dir, err := programDir()
	if err != nil {
		return err
	}
	path := filepath.Join(c.own, archiveName)
	sum, err := writeArchive(path, dir)
	if err != nil {
		return fmt.Errorf("cannot make the archive for new machines: %w", err)
	}
	c.programs = &apiserver.Programs{Path: path, SHA256: sum}
	tools := provider.Tools{SHA256: sum, CACert: c.conf.CA.Cert}
	for _, address := range c.conf.addresses() {
		tools.URLs = append(tools.URLs, "https://"+address+apiserver.ProgramsPath+sum)
	}
	c.tools = map[string]provider.Tools{runtime.GOARCH: tools}
	return nil
}

// manualHosts makes hosts that users have added into machines.
type manualHosts struct{ c *running }

// HasPrograms implements apiserver.ManualHosts.
func (h manualHosts) HasPrograms(arch string) bool {
	_, ok := h.c.tools[arch]
	return ok
}

// Script implements apiserver.ManualHosts.
func (h manualHosts) Script(st *state.State, m entity.MachineInfo, password string) (string, error) {
	tools, ok := h.c.tools[runtime.GOARCH]
	if !ok {
		return "", entity.Errorf(entity.NotSupported, "no programs of agents are known")
	}
	config, err := h.c.agentConfig(st)(m, password, m.Nonce)
	if err != nil {
		return "", err
	}
	return cloudinit.ManualScript(m.ID, config, tools)
}

// writeArchive makes the archive at path of the programs in dir, and returns its SHA-256.
func writeArchive(path, dir string) (string, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := sha256.New()
	if err := cloudinit.WriteArchive(io.MultiWriter(file, sum), dir, cloudinit.AgentPrograms...); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), file.Close()
}
