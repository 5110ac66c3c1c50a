// Command machine-agent is the agent of one machine: it keeps the machine's entity up to date,
// and deploys the units assigned to it.
//
// Its only argument is the directory of the agent; see package agent.
package main

import (
	"os"

	"juju/agent"
	"juju/state/entity"
)

func main() { os.Exit(agent.Main(entity.KindMachine, os.Args[1:])) }
