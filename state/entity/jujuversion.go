package entity

// JujuVersion is the version of the Juju whose commands, API and contract with charms these programs have. Clients,
// scripts and charms decide by it what they can ask for. The programs' own version is agent.Version.
const JujuVersion = "3.6.9"
