package entity

// JujuVersion is the version of the Juju whose commands and API these programs have. Clients and scripts decide by it
// what they can ask for. The programs' own version is agent.Version.
const JujuVersion = "3.6.9"

// CharmVersion is the version that charms see as JUJU_VERSION, and that what they assume is about. Their contract is that of
// JujuVersion but for secrets: the libraries of charms take it from 3.0.3 on that there are some.
const CharmVersion = "2.9.52"
