package main

import (
	"fmt"
	"os"
	"path/filepath"

	"juju/hooks/tool"
)

const usage = `Usage: hook-tool NAME [ARG...]

Runs the hook tool NAME, such as config-get or relation-set. Hook tools work only
inside a unit's hooks, where they are in PATH under their own names:

    config-get --help
`

func main() {
	if tool.IsJujuExec(os.Args[0]) {
		os.Exit(tool.JujuExec(os.Args[0], os.Args[1:], os.Getenv, [3]*os.File{os.Stdin, os.Stdout, os.Stderr}))
	}
	os.Exit(run(os.Args, tool.Streams{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}))
}

// run runs the hook tool, or the launcher, named by argv, and returns the exit code.
func run(argv []string, streams tool.Streams) int {
	name, args := filepath.Base(argv[0]), argv[1:]
	if name != tool.BinaryName {
		return tool.Main(name, args, os.Getenv, streams)
	}
	if len(args) == 0 {
		fmt.Fprint(streams.Stderr, usage)
		return 2
	}
	name, args = args[0], args[1:]
	switch name {
	case "-h", "--help", "help":
		fmt.Fprint(streams.Stdout, usage)
		return 0
	case tool.DebugName:
		code, err := tool.Debug(args)
		if err != nil {
			fmt.Fprintf(streams.Stderr, "ERROR %v\n", err)
		}
		return code
	case tool.LaunchName:
		code, err := tool.Launch(args)
		fmt.Fprintf(streams.Stderr, "ERROR %v\n", err)
		return code
	}
	return tool.Main(name, args, os.Getenv, streams)
}
