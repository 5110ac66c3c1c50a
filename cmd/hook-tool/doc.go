// Hook-tool is the binary behind all hook tools, which are links to it (config-get, relation-set and so on). It forwards
// its arguments to the agent of the unit whose hook it runs in.
//
// When run under its own name, it takes the name of the tool as its first argument. Unit agents start hooks with
// "hook-tool launch" (see juju/hooks/tool).
package main
