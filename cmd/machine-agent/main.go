// Command machine-agent is a machine's agent: it keeps the machine's entity up to date and deploys its units.
//
// Its only argument is the agent's directory; see package agent.
package main

import (
	"os"

	"juju/agent"
	"juju/state/entity"
)

func main() { os.Exit(agent.Main(entity.KindMachine, os.Args[1:])) }
