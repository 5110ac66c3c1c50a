package entity

// JujuVersion is the version of the Juju whose commands and API these programs have. Clients and scripts decide by it
// what they can ask for. The programs' own version is agent.Version.
const JujuVersion = "3.6.9"
