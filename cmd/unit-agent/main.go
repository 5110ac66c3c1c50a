// Command unit-agent is the agent of one unit: it runs the hooks of the unit's
// charm, and deploys the unit's subordinates.
//
// Its only argument is the directory of the agent; see package agent.
package main

import (
	"os"

	"juju/agent"
	"juju/state/entity"
)

func main() { os.Exit(agent.Main(entity.KindUnit, os.Args[1:])) }
