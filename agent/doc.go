// Package agent is what the programs machine-agent and unit-agent run: the agent of one
// machine or of one unit. It is the only package that knows which workers make up an agent,
// and connects them to the client of the API and to charms' hooks.
//
// The agents of a machine, those of subordinates too, have their directories side by side, below
// the directory that holds everything of the machine's: /var/lib/juju on a machine of its own.
//
//	agents/machine-N/         the machine's agent
//	agents/unit-NAME-N/       the agents of the units
//	tools/machine-N/jujud     says which Juju's contract with charms is kept
//	tools/machine-N/juju-run  runs a command as a unit's hook is run
//	hooks.lock                locked while a hook runs, unless the cloud names another file
//
// Each agent's directory has:
//
//	agent.conf          who the agent is, and where its controller is
//	lock, alive, …      for package agent/host/process: the agent runs, and only once
//	log                 its log
//
// The directory of a machine's agent also has run/: what running commands need. That of a unit's has:
//
//	charm/              the deployed charm
//	state/              the uniter's state, and charms that are being deployed
//	tools/, run/        the hook tools, and what running hooks need
package agent
