package tool

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"juju/state/entity/shell"
)

// JujuExecName is the name of the program that runs a command as a hook is run, from a shell of the
// machine or a job of cron. JujuRunName is what it was called before Juju 3: charms call the one or the other.
const (
	JujuExecName = "juju-exec"
	JujuRunName  = "juju-run"
)

const jujuExecUsage = `Usage: juju-exec [options] [UNIT] COMMAND
       juju-exec [options] --interactive [UNIT]
       juju-exec --no-context COMMAND

Summary:
Run a command of a shell as a hook of a unit is run.

Options:
      --force-remote-unit   do not check that the remote unit is in the relation
  -i, --interactive         open a shell instead
      --no-context          run the command on the machine, outside of any unit
  -r, --relation id         the relation that the command is about, like db:3 or 3
      --remote-app name     the service at the other end of it
      --remote-unit name    the unit there; needed if there are several
  -u, --unit name           the unit, or "" for the only one; all arguments are the command's

Details:
UNIT can be left out in a session of juju ssh UNIT, which has set JUJU_UNIT_NAME, and if
the machine has only one. juju-run is the older name of this program.

If COMMAND is one argument, it is a script for a shell. Several arguments are the words of
a command: no shell changes them, and NAME=VALUE before its name sets a variable for it.

The command runs in the charm's directory, with the hook tools, while no hook runs on
the machine: it waits for that. What it has changed is written if it exits with 0. Its
exit code is that of juju-exec. It reads and writes what juju-exec does. If juju-exec ends
first, so does the command.

Only root and the user of the unit's agent can use it, and no hook can.

Examples:
  juju-exec web/0 'config-get title'
  juju-exec -r db:3 web/0 'relation-get password'
  juju-exec --interactive web/0
  juju-exec -u web/0 JUJU_DISPATCH_PATH=hooks/tick ./dispatch
  juju ssh web/0 juju-exec config-get title
`

// unitVar is the variable in which a session of juju ssh has its unit.
const unitVar = "JUJU_UNIT_NAME"

// IsJujuExec reports whether a program that is called by this path is juju-exec.
func IsJujuExec(self string) bool {
	name := filepath.Base(self)
	return name == JujuExecName || name == JujuRunName
}

// JujuExec is what juju-exec runs. self is how it was called, and getenv reads the environment. It returns the exit code.
func JujuExec(self string, args []string, getenv func(string) string, streams [3]*os.File) int {
	code, err := jujuExec(self, args, getenv, streams)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(streams[1], jujuExecUsage)
		return 0
	}
	if err != nil {
		streams[2].Write(Failure(err, hintOf(err)).Stderr)
	}
	return code
}

func jujuExec(self string, args []string, getenv func(string) string, streams [3]*os.File) (code int, err error) {
	var req CommandRequest
	var unit string
	var noContext, operator bool
	name := filepath.Base(self)
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(&bytes.Buffer{})
	for _, name := range []string{"i", "interactive"} {
		flags.BoolVar(&req.Shell, name, false, "")
	}
	for _, name := range []string{"r", "relation"} {
		flags.StringVar(&req.Relation, name, "", "")
	}
	for _, name := range []string{"u", "unit"} {
		flags.StringVar(&unit, name, noUnit, "")
	}
	flags.StringVar(&req.RemoteUnit, "remote-unit", "", "")
	flags.StringVar(&req.RemoteApplication, "remote-app", "", "")
	flags.BoolVar(&req.ForceRemoteUnit, "force-remote-unit", false, "")
	flags.BoolVar(&noContext, "no-context", false, "")
	flags.BoolVar(&operator, "operator", false, "")
	if err := flags.Parse(args); err != nil {
		return 2, err
	}
	args = flags.Args()
	if id := getenv(ContextVar); id != "" {
		return 2, hinted{fmt.Errorf("%s cannot be called from within a hook, have context %q", name, id),
			"it would wait for the end of the hook; what a hook has left running must unset " + ContextVar}
	}
	root, err := rootOf(self)
	if err != nil {
		return 1, err
	}
	switch {
	case operator:
		return 2, errors.New("--operator is for Kubernetes only")
	case noContext && (unit != noUnit || req != CommandRequest{Shell: req.Shell}):
		return 2, errors.New("--no-context goes with neither a unit nor a relation")
	case noContext:
		unit = ""
	case unit == "":
		if unit = cmp.Or(getenv(unitVar), onlyUnit(root)); unit == "" {
			return 2, errors.New("no unit: this machine has none, or several")
		}
	case unit == noUnit:
		if unit, args, err = unitOf(args, req.Shell, getenv(unitVar), root); err != nil {
			return 2, err
		}
	}
	switch {
	case !req.Shell && len(args) == 0:
		return 2, errors.New("missing commands")
	case req.Shell && len(args) > 0:
		return 2, fmt.Errorf("unrecognized args: %q", args)
	case !req.Shell:
		req.Command = shell.Script(args)
	}
	if req.Relation == "" && (req.RemoteUnit != "" || req.RemoteApplication != "") {
		return 2, errors.New("a remote unit or service needs a relation: --relation")
	}
	dir, err := agentDir(root, unit)
	if err != nil {
		return 1, err
	}
	if req.Shell {
		code, err = askShell(dir, req, streams, getenv("TERM"), unit)
	} else {
		code, err = askCommand(dir, req, streams)
	}
	if errors.Is(err, fs.ErrPermission) {
		with := cmp.Or(unit, "--no-context")
		err = hinted{err, "only root and the user of the agent can; as root: sudo " + name + " " + with + " …"}
	}
	return code, err
}

// noUnit is the unit of a command line without the option --unit.
const noUnit = "-"

// unitOf returns the unit that juju-exec is about, and the arguments after it. session is the unit of a session of
// juju ssh, or "".
func unitOf(args []string, interactive bool, session, root string) (unit string, rest []string, err error) {
	other := cmp.Or(session, onlyUnit(root)) // unless the first argument is a unit
	switch {
	case len(args) == 0 && (other == "" || !interactive):
		return "", nil, errors.New("missing unit-name")
	case len(args) == 0:
		return other, nil, nil
	case !interactive && other != "" && !aUnit.MatchString(args[0]):
		return other, args, nil
	}
	unit, rest = args[0], args[1:]
	if len(rest) > 0 && rest[0] == "--" {
		rest = rest[1:] // before a command that begins with an option, or out of habit
	}
	return unit, rest, nil
}

// aUnit is the name or the tag of a unit, which no one means as a command.
var aUnit = regexp.MustCompile(`^([a-z][a-z0-9-]*/|unit-[a-z][a-z0-9-]*-)[0-9]+$`)

// defaultRoot holds all of a machine's files, unless juju-exec is called by a link elsewhere.
const defaultRoot = "/var/lib/juju"

// onlyUnit returns the tag of the unit of a machine that has one, otherwise "".
func onlyUnit(root string) string {
	found, _ := filepath.Glob(filepath.Join(root, "agents", "unit-*"))
	if len(found) != 1 {
		return ""
	}
	return filepath.Base(found[0])
}

// rootOf returns the directory of the machine's files. All its agents are in the directory agents there. Beside or below it
// is the link by which juju-exec was called.
func rootOf(self string) (string, error) {
	if path, err := exec.LookPath(self); err == nil {
		self = path
	}
	self, err := filepath.Abs(self)
	if err != nil {
		return "", err
	}
	for dir := filepath.Dir(self); dir != "/"; dir = filepath.Dir(dir) {
		if info, err := os.Stat(filepath.Join(dir, "agents")); err == nil && info.IsDir() {
			return dir, nil
		}
	}
	return defaultRoot, nil
}

// agentDir returns the directory in which the agent of a unit listens; for "" that of the machine's.
func agentDir(root, unit string) (string, error) {
	if unit == "" {
		found, _ := filepath.Glob(filepath.Join(root, "agents", "machine-*"))
		if len(found) != 1 {
			return "", fmt.Errorf("no agent of a machine found in %s", root)
		}
		return filepath.Join(found[0], "run"), nil
	}
	name, number, ok := strings.Cut(unit, "/")
	tag := "unit-" + name + "-" + number
	if !ok && strings.HasPrefix(unit, "unit-") {
		tag = unit
	} else if !ok || strings.Contains(number, "/") {
		return "", fmt.Errorf("%q is not a valid unit name", unit)
	}
	dir := filepath.Join(root, "agents", tag)
	if _, err := os.Stat(dir); err != nil {
		return "", fmt.Errorf("unit %q not found on this machine", unit)
	}
	return filepath.Join(dir, "run"), nil
}

// askShell asks the agent to let the user run a shell, and runs it.
func askShell(dir string, req CommandRequest, streams [3]*os.File, terminal, unit string) (code int, err error) {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return 1, fmt.Errorf("cannot open a shell: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "shell"), os.NewFile(uintptr(pair[1]), "shell")
	conn, err := net.FileConn(ours)
	ours.Close()
	if err != nil {
		theirs.Close()
		return 1, fmt.Errorf("cannot open a shell: %w", err)
	}
	_, err = unix.IoctlGetTermios(int(streams[0].Fd()), unix.TCGETS)
	shell := Shell{Prompt: unit + " % ", Terminal: err == nil, Term: terminal,
		Stdin: streams[0], Stdout: streams[1], Stderr: streams[2]}
	var serving sync.WaitGroup
	serving.Go(func() {
		var hook DebugRequest
		if readMessage(conn, &hook) != nil {
			return
		}
		during, over := untilClosed(context.Background(), conn)
		defer over()
		code, err := shell.Run(during, hook.Dir, hook.Env)
		if err != nil {
			streams[2].Write(Failure(err, "").Stderr)
		}
		_ = writeMessage(conn, debugReply{Code: code})
	})
	code, err = askCommand(dir, req, [3]*os.File{theirs, streams[1], streams[2]})
	theirs.Close()
	conn.Close() // if the shell runs, that ends it
	serving.Wait()
	return code, err
}
