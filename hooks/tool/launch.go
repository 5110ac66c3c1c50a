package tool

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// An agent starts a hook by running the hook-tool program as
//
//	hook-tool launch -- PROGRAM ARG...
//
// with the reading end of a pipe as descriptor LaunchFD, in the hook's own process group,
// directory and environment. The agent records that process, then sends LaunchGo through the
// pipe, and the process becomes PROGRAM. If the pipe ends without LaunchGo, the agent has died
// or changed its mind, and PROGRAM does not run.
const (
	BinaryName      = "hook-tool"
	LaunchName      = "launch"
	LaunchFD        = 3
	LaunchGo   byte = 'g'
)

// LaunchCommand returns the command that starts a program with its arguments through the
// launcher at binary. Its first extra file must be the pipe.
func LaunchCommand(binary string, program ...string) *exec.Cmd {
	return &exec.Cmd{Path: binary, Args: append([]string{BinaryName, LaunchName, "--"}, program...)}
}

// Launch is what the process of a launcher runs: it waits until the agent tells it to go, and
// becomes the program in args, the arguments after "launch". It returns only if it can't, with
// the exit code that a shell would return.
func Launch(args []string) (code int, err error) {
	if len(args) < 2 || args[0] != "--" {
		return 2, fmt.Errorf("expected %s %s -- PROGRAM ARG..., got %q", BinaryName, LaunchName, args)
	}
	syscall.CloseOnExec(LaunchFD)
	pipe := os.NewFile(LaunchFD, "launch pipe")
	if pipe == nil {
		return 2, errors.New("only a unit agent can launch a hook")
	}
	var word [1]byte
	_, err = io.ReadFull(pipe, word[:])
	switch {
	case errors.Is(err, io.EOF):
		return 1, errors.New("the unit agent has gone away, nothing was run")
	case err != nil:
		return 2, fmt.Errorf("only a unit agent can launch a hook: %w", err)
	case word[0] != LaunchGo:
		return 2, fmt.Errorf("cannot launch a hook: unexpected word %q", word[0])
	}
	// The hook gets only its three standard descriptors. An agent may have inherited others
	// without knowing. A kernel that is too old for this call leaves them open.
	unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC)
	err = syscall.Exec(args[1], args[1:], os.Environ())
	code = 126
	if errors.Is(err, syscall.ENOENT) {
		code = 127
	}
	return code, fmt.Errorf("cannot run %s: %s", shortName(args[1]), whyNot(args[1], err))
}

// shortName is how the program is called from the directory that it runs in, which for
// a hook is the charm's.
func shortName(path string) string {
	if dir, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(dir, path); err == nil && !strings.HasPrefix(rel, "..") {
			return rel
		}
	}
	return path
}

// whyNot explains why the kernel does not run a program. If a script's interpreter is missing,
// the kernel's error says that the script is.
func whyNot(path string, err error) string {
	file, openErr := os.Open(path)
	if openErr != nil {
		return err.Error()
	}
	defer file.Close()
	head := make([]byte, 256)
	n, _ := io.ReadFull(file, head)
	head, isScript := bytes.CutPrefix(head[:n], []byte("#!"))
	line, _, _ := bytes.Cut(head, []byte("\n"))
	interpreter, _, _ := strings.Cut(strings.TrimLeft(string(line), " \t"), " ")
	switch {
	case isScript && errors.Is(err, syscall.ENOENT):
		return fmt.Sprintf("its interpreter %q does not exist", interpreter)
	case errors.Is(err, syscall.EACCES) && unix.Access(path, unix.X_OK) != nil:
		return "it is not executable"
	case isScript && errors.Is(err, syscall.EACCES):
		return fmt.Sprintf("its interpreter %q cannot be run: %v", interpreter, err)
	case errors.Is(err, syscall.ENOENT):
		return "the loader that it was built for does not exist"
	case errors.Is(err, syscall.ENOEXEC):
		return "it is neither a program for this machine nor a script that begins with #!"
	}
	return err.Error()
}
