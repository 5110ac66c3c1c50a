package hooks

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"juju/hooks/tool"
)

// A DebuggedHook is a hook that a user runs by hand, in its directory and environment.
type DebuggedHook struct {
	Name    string
	Dir     string // the charm's
	Env     []string
	Program string // what the charm has for it, in Dir: "./dispatch", "./hooks/install", or "" for nothing
}

// ErrDebugged is the error of DebugHooks if another process does the same for the unit.
var ErrDebugged = tool.ErrDebugged

// ErrAgentRemoved is the error of DebugHooks if the unit's agent is removed.
var ErrAgentRemoved = tool.ErrAgentRemoved

// DebugHooks gets the hooks with these names of the unit whose Runner has this RunDir, until ctx is
// done; all of its hooks if there are no names. It calls run in place of each, which returns its
// exit code. The context of run ends if the agent ends the hook. ready is called when no hook can
// be missed any more.
func DebugHooks(ctx context.Context, runDir string, names []string, ready func(),
	run func(context.Context, DebuggedHook) int) error {
	wants := func(hook string) bool { return len(names) == 0 || slices.Contains(names, hook) }
	return tool.ServeDebug(ctx, runDir, ready, wants, func(ctx context.Context, req tool.DebugRequest) int {
		return run(ctx, DebuggedHook{Name: req.Hook, Dir: req.Dir, Env: req.Env, Program: charmProgram(req.Dir, req.Env)})
	})
}

// charmProgram returns what the charm in a directory has for the hook with this environment.
func charmProgram(dir string, env []string) string {
	for _, variable := range env {
		if path, ok := strings.CutPrefix(variable, "JUJU_DISPATCH_PATH="); ok {
			if file, err := handler(dir, filepath.FromSlash(path)); err == nil && file != "" {
				return "." + strings.TrimPrefix(file, dir)
			}
		}
	}
	return ""
}

// A Shell runs in place of a hook.
type Shell = tool.Shell
