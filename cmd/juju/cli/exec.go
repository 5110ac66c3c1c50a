package cli

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// A Replacement is the program that runs in place of this one.
type Replacement struct {
	Argv []string
	Dir  string            // it begins there; "" for the present directory
	Env  map[string]string // in addition to this program's variables
}

// execute replaces this program by another one.
func execute(r Replacement) error {
	path, err := exec.LookPath(r.Argv[0])
	if err == nil && r.Dir != "" {
		err = os.Chdir(r.Dir)
	}
	for name, value := range r.Env {
		if err == nil {
			err = os.Setenv(name, value)
		}
	}
	if err == nil {
		err = syscall.Exec(path, r.Argv, os.Environ())
	}
	return fmt.Errorf("cannot run %s: %w", r.Argv[0], err)
}
