// Hook-tool is the program behind every hook tool. Links to it have the names of the tools
// (config-get, relation-set, ...). It asks the agent of the unit whose hook it runs in to do
// the work.
//
// Under its own name, it takes the name of the tool as its first argument; "hook-tool launch"
// is how a unit agent starts a hook (see juju/hooks/tool).
package main
