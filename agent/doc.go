// Package agent is what the programs machine-agent and unit-agent run: the agent of one
// machine or of one unit. It is the only package that knows which workers make up an agent,
// and connects them to the client of the API and to charms' hooks.
//
// Each agent has a directory:
//
//	agent.conf          who the agent is, and where its controller is
//	lock, alive, …      for package provider/process: the agent runs, and only once
//	log                 its log
//	agents/unit-…/      the agents that it deploys: of the units on its machine,
//	                    or of the subordinates of its unit
//	hooks.lock          a machine's: locked while a hook runs
//
// The directory of a unit's agent also has:
//
//	charm/              the deployed charm
//	state/              the uniter's state, and charms that are being deployed
//	tools/, run/        the hook tools, and what running hooks need
package agent
