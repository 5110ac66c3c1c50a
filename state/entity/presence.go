package entity

import "time"

// An AgentPresence is what a controller knows about the connection of an agent.
type AgentPresence struct {
	Agent     Tag  `bson:"agent"`
	Connected bool `bson:"connected,omitempty"`
	// Away is since when the agent is disconnected or, if it is connected, silent; zero if it responds.
	Away          time.Time       `bson:"away,omitempty"`
	Failures      []WorkerFailure `bson:"failures,omitempty"`
	Binaries      Binaries        `bson:"binaries,omitempty"` // those that it last connected with
	UpgradeError  string          `bson:"upgradeerror,omitempty"`
	FirewallError string          `bson:"firewallerror,omitempty"`
	Disk          FullDisk        `bson:"disk,omitempty"`
}
