// Package machineactions runs users' commands on a machine, outside its units: those of juju run --machine,
// which are tasks on the controller, and those of juju-run on the machine itself.
//
// Tasks that are parallel run at once, up to AtOnce of them. Those of an execution group run one after another, and so do
// all others, which also wait for the machine's hooks, as do the commands of juju-run. They begin in the order in which
// users asked for them.
//
// Each running command is recorded in a file, so that after an agent was killed its successor stops the command and
// reports the task's outcome. No task runs twice.
package machineactions
