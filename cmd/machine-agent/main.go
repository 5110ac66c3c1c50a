// Command machine-agent is the agent of one machine: it keeps the machine's own
// entity, and deploys the units that are assigned to it.
//
// Its one argument is the directory of the agent; see package agent.
package main

import (
	"os"

	"juju/agent"
	"juju/state/entity"
)

func main() { os.Exit(agent.Main(entity.KindMachine, os.Args[1:])) }
