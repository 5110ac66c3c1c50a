// Command unit-agent is a unit's agent: it runs the hooks of the unit's charm and deploys the unit's subordinates.
//
// Its only argument is the agent's directory; see package agent.
package main

import (
	"os"

	"juju/agent"
	"juju/state/entity"
)

func main() { os.Exit(agent.Main(entity.KindUnit, os.Args[1:])) }
