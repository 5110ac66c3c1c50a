// Hook-tool is the program behind every hook tool. Links to it carry the tools'
// names (config-get, relation-set, ...), and it asks the unit agent whose hook
// it runs in to do the work.
//
// Under its own name it takes the tool's as its first argument; and
// "hook-tool launch" is how a unit agent starts a hook (see juju/hooks/tool).
package main
