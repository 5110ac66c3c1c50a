package cli

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// A Replacement is a program to exec.
type Replacement struct {
	Argv []string
	Dir  string            // working directory; "" for the current one
	Env  map[string]string // in addition to the current environment
}

// execute execs a program.
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
