package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// A replacement is the program that runs in place of this one.
type replacement struct {
	argv []string
	dir  string            // it begins there; "" for the present directory
	env  map[string]string // in addition to this program's variables
}

// execute replaces this program by another one.
func execute(r replacement) error {
	path, err := exec.LookPath(r.argv[0])
	if err == nil && r.dir != "" {
		err = os.Chdir(r.dir)
	}
	for name, value := range r.env {
		if err == nil {
			err = os.Setenv(name, value)
		}
	}
	if err == nil {
		err = syscall.Exec(path, r.argv, os.Environ())
	}
	return fmt.Errorf("cannot run %s: %w", r.argv[0], err)
}
