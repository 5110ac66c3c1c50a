package clouds

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"juju/state/entity"
)

// program returns the path of another of juju's programs: beside this program, else on PATH.
func program(name string) (string, error) {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return "", fmt.Errorf("cannot find %s: %w", name, err)
	}
	if name == "juju" {
		return self, nil
	}
	beside := filepath.Join(filepath.Dir(self), name)
	if isProgram(beside) {
		return beside, nil
	}
	path, err := exec.LookPath(name)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return "", missing(name, fmt.Sprintf("it is neither in %s nor on PATH", filepath.Dir(self)))
	}
	return path, nil
}

// BinariesDir returns the directory of jujud, and of the programs of agents beside it.
func BinariesDir() (string, error) {
	jujud, err := program("jujud")
	if err == nil {
		jujud, err = filepath.EvalSymlinks(jujud)
	}
	return filepath.Dir(jujud), err
}

// CheckBinaries checks, before bootstrap creates anything, that the programs of a local
// controller exist. Those of the agents must be beside jujud.
func CheckBinaries() error {
	dir, err := BinariesDir()
	if err != nil {
		return err
	}
	for _, name := range []string{"machine-agent", "unit-agent", "hook-tool"} {
		if !isProgram(filepath.Join(dir, name)) {
			return missing(name, fmt.Sprintf("it is not in %s, where jujud is", dir))
		}
	}
	return nil
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

func missing(name, why string) error {
	return entity.WithHint(fmt.Errorf("cannot find %s: %s", name, why),
		"Install all programs of juju in one directory, or build them there: make build")
}
