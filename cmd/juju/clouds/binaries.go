package clouds

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"juju/state/entity"
)

// binary returns the path of one of juju's binaries: in this program's directory, else on PATH.
func binary(name string) (string, error) {
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
	if path := filepath.Join(filepath.Dir(self), name); isExecutable(path) {
		return path, nil
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

// BinariesDir returns the directory of jujud and the agent binaries.
func BinariesDir() (string, error) {
	jujud, err := binary("jujud")
	if err == nil {
		jujud, err = filepath.EvalSymlinks(jujud)
	}
	return filepath.Dir(jujud), err
}

// CheckBinaries checks that the controller and agent binaries exist. The agents' must be in jujud's directory.
func CheckBinaries() error {
	dir, err := BinariesDir()
	if err != nil {
		return err
	}
	for _, name := range []string{"machine-agent", "unit-agent", "hook-tool"} {
		if !isExecutable(filepath.Join(dir, name)) {
			return missing(name, fmt.Sprintf("it is not in %s, where jujud is", dir))
		}
	}
	return nil
}

func isExecutable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

func missing(name, why string) error {
	return entity.WithHint(fmt.Errorf("cannot find %s: %s", name, why),
		"Install all of juju's binaries in one directory, or build them there: make build")
}
