// Hook-tool is the binary behind every hook tool. Links to it have the names of the tools (config-get, relation-set,
// ...). It sends its arguments to the agent of the unit whose hook it runs in, which does the work.
//
// When run under its own name, it takes the name of the tool as its first argument. A unit agent starts hooks with
// "hook-tool launch" (see juju/hooks/tool).
package main
