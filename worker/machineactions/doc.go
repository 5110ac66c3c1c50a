// Package machineactions runs the commands that users run on one machine, outside of its units:
// those of juju run --machine, which the controller has as tasks, and those of juju-run on the
// machine itself.
//
// They run one at a time. What runs is recorded in a file, so that an agent that was killed leaves
// no command running, and tells the controller how each task has ended. No task runs twice.
package machineactions
