package hooktools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"juju/hooks/tool"
	"juju/state/entity"
)

// A command is one invocation of a hook tool.
type command interface {
	// flags adds the tool's own to the set.
	flags(*pflag.FlagSet)
	// init parses the arguments. An error is the charm's mistake, which has another exit code
	// than a tool that failed.
	init(hook Context, args []string) error
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

// A toolRun is one invocation of a tool.
type toolRun struct {
	hook   Context
	read   func(name string) ([]byte, error) // a file of the charm's, "-" for the tool's standard input
	stdout bytes.Buffer
	output string // a file that takes stdout
}

// table has all hook tools, by name.
var table = withActionTools(map[string]commandInfo{
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
	"secret-add":              secretAddInfo,
	"secret-get":              secretGetInfo,
	"secret-grant":            secretGrantInfo,
	"secret-ids":              secretIDsInfo,
	"secret-info-get":         secretInfoGetInfo,
	"secret-remove":           secretRemoveInfo,
	"secret-revoke":           secretRevokeInfo,
	"secret-set":              secretSetInfo,
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

// Names returns the names of all hook tools, sorted.
func Names() []string { return slices.Sorted(maps.Keys(table)) }

// Run executes a request for a hook. read reads a file of the charm, or the tool's standard input for "-".
func Run(ctx context.Context, hook Context, req tool.Request, read func(string) ([]byte, error)) tool.Reply {
	info, ok := table[req.Tool]
	if !ok {
		return tool.Failure(fmt.Errorf("unknown command: %s", req.Tool), "")
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
			id.DefValue = hook.HookStorage()
		}
		return tool.Reply{Stdout: []byte(info.help(req.Tool, flags))}
	}
	if err == nil {
		err = options.explain(cmd.init(hook, options.Args()))
	}
	if err != nil {
		reply := tool.Failure(err, entity.Hint(err))
		reply.Code = 2
		return reply
	}
	run := &toolRun{hook: hook, read: read}
	if err := cmd.run(ctx, run); err != nil {
		return tool.Failure(err, entity.Hint(err))
	}
	reply := tool.Reply{Stdout: run.stdout.Bytes(), Output: run.output}
	if format := options.Lookup(formatIgnored); format != nil && format.Hidden && format.Changed {
		reply.Stderr = fmt.Appendf(nil, "--format flag deprecated for command %q\n", req.Tool)
	}
	return reply
}

// checkText rejects arguments that are not UTF-8. For key=value arguments the error gives the key.
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

// A Help is the help of a hook tool.
type Help struct {
	Name, Purpose, Text string
	Examples            []string // command lines, in the text too
}

// Helps returns the help of all hook tools, sorted by name.
func Helps() []Help {
	var all []Help
	for _, name := range Names() {
		info := table[name]
		flags := pflag.NewFlagSet(name, pflag.ContinueOnError)
		info.make().flags(flags)
		all = append(all, Help{name, info.purpose, info.help(name, flags), info.examples})
	}
	return all
}

// formatIgnored is a flag that tools without output accept for compatibility.
const formatIgnored = "format"

// addIgnoredFormat adds the flag --format to a tool that ignores it.
func addIgnoredFormat(flags *pflag.FlagSet) {
	flags.String(formatIgnored, "", "")
	_ = flags.MarkHidden(formatIgnored) // it exists
}

// checkEmpty rejects extra arguments.
func checkEmpty(args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("unrecognized args: %q", args)
	}
	return nil
}
