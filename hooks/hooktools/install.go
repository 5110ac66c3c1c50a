package hooktools

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"juju/hooks/tool"
)

// Install makes dir hold a link to binary, the hook-tool program, under
// the name of every hook tool, and as juju-run. Repeating it is harmless, also while hooks run:
// no name is ever missing once it has been there.
func Install(dir, binary string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("cannot install hook tools: %w", err)
	}
	for _, name := range append(Names(), tool.JujuRunName) {
		if err := installLink(filepath.Join(dir, name), binary); err != nil {
			return err
		}
	}
	return nil
}

// InstallJujuRun makes dir hold a link to binary, the hook-tool program, as juju-run.
func InstallJujuRun(dir, binary string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("cannot install juju-run: %w", err)
	}
	return installLink(filepath.Join(dir, tool.JujuRunName), binary)
}

// installLink makes link lead to a program.
func installLink(link, program string) error {
	if target, err := os.Readlink(link); err == nil && target == program {
		return nil
	}
	fresh := link + ".new"
	err := os.Remove(fresh)
	if err == nil || errors.Is(err, os.ErrNotExist) {
		err = os.Symlink(program, fresh)
	}
	if err == nil {
		err = os.Rename(fresh, link)
	}
	if err != nil {
		return fmt.Errorf("cannot install %s: %w", filepath.Base(link), err)
	}
	return nil
}
