package hooks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"juju/hooks/tool"
	"juju/state/entity"
)

// A command is one use of a hook tool.
type command interface {
	// flags adds the tool's own to the set.
	flags(*pflag.FlagSet)
	// init parses the arguments. An error is the charm's mistake, which has another exit code
	// than a tool that failed.
	init(hook *Context, args []string) error
	// run does the work.
	run(ctx context.Context, run *toolRun) error
}

// A commandInfo is the help text of a tool, and its constructor.
type commandInfo struct {
	args     string
	purpose  string
	details  string
	examples []string
	// shown is set if the arguments are only shown to people. Then bytes that are not UTF-8 are
	// replaced. The arguments of other tools are data, which must not change in silence.
	shown bool
	make  func() command
}

// A toolRun is one use of a tool.
type toolRun struct {
	hook   *Context
	read   func(name string) ([]byte, error) // a file of the charm's, "-" for the tool's standard input
	stdout bytes.Buffer
	output string // a file that takes stdout
}

// commands returns the table of all hook tools.
func commands() map[string]commandInfo {
	return withActionTools(map[string]commandInfo{
		"add-metric":              addMetricInfo,
		"application-version-set": applicationVersionSetInfo,
		"close-port":              closePortInfo,
		"config-get":              configGetInfo,
		"credential-get":          credentialGetInfo,
		"goal-state":              goalStateInfo,
		"is-leader":               isLeaderInfo,
		"juju-fail":               jujuFailInfo,
		"juju-log":                jujuLogInfo,
		"juju-reboot":             jujuRebootInfo,
		"leader-get":              leaderGetInfo,
		"leader-set":              leaderSetInfo,
		"network-get":             networkGetInfo,
		"open-port":               openPortInfo,
		"opened-ports":            openedPortsInfo,
		"payload-register":        payloadRegisterInfo,
		"payload-status-set":      payloadStatusSetInfo,
		"payload-unregister":      payloadUnregisterInfo,
		"relation-get":            relationGetInfo,
		"relation-ids":            relationIDsInfo,
		"relation-list":           relationListInfo,
		"relation-model-get":      relationModelGetInfo,
		"relation-set":            relationSetInfo,
		"resource-get":            resourceGetInfo,
		"state-delete":            stateDeleteInfo,
		"state-get":               stateGetInfo,
		"state-set":               stateSetInfo,
		"status-get":              statusGetInfo,
		"status-set":              statusSetInfo,
		"storage-add":             storageAddInfo,
		"storage-get":             storageGetInfo,
		"storage-list":            storageListInfo,
		"unit-get":                unitGetInfo,
	})
}

// ToolNames returns the names of all hook tools, sorted.
func ToolNames() []string { return slices.Sorted(maps.Keys(commands())) }

// serve does a hook tool's work, for as long as the server that calls it runs.
func (c *Context) serve(ctx context.Context, req tool.Request, read func(string) ([]byte, error)) tool.Reply {
	if !c.owns(req.Context) {
		return tool.Failure(errors.New("hook context is over"), "a hook tool works only while the hook that started it runs")
	}
	info, ok := commands()[req.Tool]
	if !ok {
		return tool.Failure(fmt.Errorf("unknown hook tool %q", req.Tool), "")
	}
	if err := checkText(req); err != nil && !info.shown {
		return tool.Failure(err, "")
	}
	cmd := info.make()
	flags := pflag.NewFlagSet(req.Tool, pflag.ContinueOnError)
	cmd.flags(flags)
	options := newOptions(flags)
	err := options.parse(req.Args)
	if errors.Is(err, pflag.ErrHelp) {
		if id := flags.Lookup(storageFlag); id != nil {
			id.DefValue = c.params.Info.Storage
		}
		return tool.Reply{Stdout: []byte(info.help(req.Tool, flags))}
	}
	if err == nil {
		err = options.explain(cmd.init(c, options.Args()))
	}
	if err != nil {
		reply := tool.Failure(err, entity.Hint(err))
		reply.Code = 2
		return reply
	}
	run := &toolRun{hook: c, read: read}
	if err := cmd.run(ctx, run); err != nil {
		return tool.Failure(err, entity.Hint(err))
	}
	reply := tool.Reply{Stdout: run.stdout.Bytes(), Output: run.output}
	if format := options.Lookup(formatIgnored); format != nil && format.Hidden && format.Changed {
		reply.Stderr = fmt.Appendf(nil, "--format flag deprecated for command %q\n", req.Tool)
	}
	return reply
}

// checkText refuses arguments that were not UTF-8, and names the key of one like key=value.
func checkText(req tool.Request) error {
	for _, i := range req.Mended {
		if i < 0 || i >= len(req.Args) {
			continue
		}
		if key, value, ok := strings.Cut(req.Args[i], "="); ok && strings.ContainsRune(value, utf8.RuneError) {
			return fmt.Errorf("value of key %q is not valid UTF-8", key)
		}
		return fmt.Errorf("argument %d is not valid UTF-8", i+1)
	}
	return nil
}

// help returns what --help prints.
func (i commandInfo) help(name string, flags *pflag.FlagSet) string {
	text := "Usage: " + name
	if flags.HasAvailableFlags() {
		text += " [options]"
	}
	if i.args != "" {
		text += " " + i.args
	}
	text += "\n\nSummary:\n" + i.purpose + "\n"
	if flags.HasAvailableFlags() {
		text += "\nOptions:\n" + optionsHelp(flags)
	}
	if i.details != "" {
		text += "\nDetails:\n" + i.details
	}
	text += "\nExamples:\n"
	for _, example := range i.examples {
		text += "  " + example + "\n"
	}
	return text
}

// A ToolHelp is what a hook tool says of itself.
type ToolHelp struct{ Name, Purpose, Text string }

// ToolHelps returns the help of all hook tools, sorted by name.
func ToolHelps() []ToolHelp {
	var all []ToolHelp
	for _, name := range slices.Sorted(maps.Keys(commands())) {
		info := commands()[name]
		flags := pflag.NewFlagSet(name, pflag.ContinueOnError)
		info.make().flags(flags)
		all = append(all, ToolHelp{name, info.purpose, info.help(name, flags)})
	}
	return all
}

// formatIgnored is the flag that tools take which print nothing, as the first tools did.
const formatIgnored = "format"

// addIgnoredFormat adds the flag --format to a tool that has no use for it.
func addIgnoredFormat(flags *pflag.FlagSet) {
	flags.String(formatIgnored, "", "")
	_ = flags.MarkHidden(formatIgnored) // it exists
}

// checkEmpty refuses arguments that a tool has no use for.
func checkEmpty(args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("unrecognized args: %q", args)
	}
	return nil
}

// InstallTools makes dir hold a link to binary, the hook-tool program, under
// the name of every hook tool, and as juju-run. Repeating it is harmless, also while hooks run:
// no name is ever missing once it has been there.
func InstallTools(dir, binary string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("cannot install hook tools: %w", err)
	}
	for _, name := range append(ToolNames(), tool.JujuRunName) {
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
