package hooks

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"juju/hooks/tool"
)

// A DebuggedHook is a hook that a user runs manually, in its directory and environment.
type DebuggedHook struct {
	Name    string
	Dir     string // the charm's
	Env     []string
	Program string // what the charm has for it, in Dir: "./dispatch", "./hooks/install", or "" for nothing
}

// ErrDebugged is returned by DebugHooks if another process is already debugging the unit's hooks.
var ErrDebugged = tool.ErrDebugged

// ErrAgentRemoved is returned by DebugHooks if the unit's agent is removed.
var ErrAgentRemoved = tool.ErrAgentRemoved

// DebugHooks intercepts the hooks with these names, or all if there are none, of the unit whose Runner
// has this RunDir, until ctx is done. It calls run instead of each hook, and uses its exit code. run's
// context is cancelled if the agent kills the hook. ready is called once interception is active.
func DebugHooks(ctx context.Context, runDir string, names []string, ready func(),
	run func(context.Context, DebuggedHook) int) error {
	wants := func(hook string) bool { return len(names) == 0 || slices.Contains(names, hook) }
	return tool.ServeDebug(ctx, runDir, ready, wants, func(ctx context.Context, req tool.DebugRequest) int {
		// Charms on ops also log to the shell if this is set, whatever it is; in Juju it is a directory.
		env := append(slices.Clone(req.Env), "JUJU_DEBUG="+req.Dir)
		return run(ctx, DebuggedHook{Name: req.Hook, Dir: req.Dir, Env: env, Program: charmProgram(req.Dir, req.Env)})
	})
}

// charmProgram returns the charm's program for the hook with this environment.
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

// A Shell runs instead of a hook.
type Shell = tool.Shell
