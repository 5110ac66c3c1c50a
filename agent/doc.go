// Package agent is what the programs machine-agent and unit-agent run: the agent
// of one machine or of one unit. It knows which workers make up an agent, and is
// the one place where they, the API's client and the charms' hooks meet.
//
// An agent lives in a directory of its own:
//
//	agent.conf          who it is, and how it reaches the controller
//	lock, alive, …      that it runs, and runs once (package provider/process)
//	log                 what it prints
//	agents/unit-…/      the agents that it deploys: of the units on its machine,
//	                    or of the subordinates of its unit
//	hooks.lock          of a machine: held by the one hook that runs
//
// and a unit's also
//
//	charm/              the deployed charm
//	state/              what the uniter must not forget, and charms on their way
//	tools/, run/        the hook tools, and what running hooks need
package agent
