// Package machineactions runs users' commands on a machine, outside its units: those of juju run --machine,
// which are tasks on the controller, and those of juju-run on the machine itself.
//
// Commands run one at a time. The running command is recorded in a file, so that after an agent was killed its
// successor stops the command and reports the task's outcome. No task runs twice.
package machineactions
