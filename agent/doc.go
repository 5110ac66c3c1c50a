// Package agent implements machine-agent and unit-agent, the agents of a machine and of a unit. It
// is the only package that knows which workers make up an agent, and connects them to the API client and to
// charms' hooks.
//
// The directories of all agents of a machine, including those of subordinates, are siblings below the machine's
// directory, which is /var/lib/juju if the machine has an operating system of its own.
//
//	agents/machine-N/         the machine's agent
//	agents/unit-NAME-N/       the agents of the units
//	tools/machine-N/jujud     prints the Juju version with which charms are compatible
//	tools/machine-N/juju-exec runs a command in a unit's hook context
//	hooks.lock                locked while a hook runs
//
// Each agent's directory has:
//
//	agent.conf          the agent's identity, and its controller's addresses
//	lock, alive, …      files of package agent/host/process, which allow one process at a time
//	log                 its log
//
// The directory of a machine's agent also has run/, with the runtime files of commands. That of a unit's
// agent has:
//
//	charm/              the deployed charm
//	state/              the uniter's state, and charms that are being deployed
//	tools/, run/        the hook tools, and the runtime files of hooks
package agent
