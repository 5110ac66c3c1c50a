package hooktools

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"juju/hooks/tool"
)

// Install creates symlinks in dir to binary, the hook-tool binary, with the names of all hook tools and
// of juju-exec. It can be repeated safely while hooks run: existing links are replaced atomically.
func Install(dir, binary string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("cannot install hook tools: %w", err)
	}
	for _, name := range Names() {
		if err := installLink(filepath.Join(dir, name), binary); err != nil {
			return err
		}
	}
	return InstallJujuExec(dir, binary)
}

// InstallJujuExec creates the symlinks juju-exec and juju-run in dir to binary, the hook-tool binary.
func InstallJujuExec(dir, binary string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("cannot install juju-exec: %w", err)
	}
	return errors.Join(installLink(filepath.Join(dir, tool.JujuExecName), binary),
		installLink(filepath.Join(dir, tool.JujuRunName), binary))
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
