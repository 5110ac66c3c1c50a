// Package nftables closes ports of one host: a manual machine, which has no cloud that would do it. It keeps
// the rules of the machine in a table of nftables that is its own, by the command nft, as root.
//
// The host belongs to a user, so the table only rejects, and only what it is told to. A packet that
// another table of the host rejects stays rejected.
//
// It rejects new connections where a packet comes in, before a rule of the host can send it to a container
// at another port. So a port that the host forwards to a container of its own is closed too. What comes
// from the host itself passes, even to an address that the host has outside; what comes from its
// containers counts as outside.
//
// The kernel keeps the table until the host is restarted. A service of the host that replaces all rules,
// as that of Debian's package nftables does at its start, removes it too, until the rules are compared again.
package nftables
