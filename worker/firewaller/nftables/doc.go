// Package nftables closes ports of a manual machine, which has no cloud to do it. It maintains the machine's
// rules in an nftables table of its own, by running the command nft as root.
//
// The host belongs to a user, so the table only rejects packets, and only on ports that must be closed. It
// never accepts a packet that another table rejects.
//
// The chain is in the prerouting hook, before destination NAT, so a port that the host forwards to one of
// its containers is closed too. Packets from the host itself pass, even to its external addresses; packets
// from its containers are treated as coming from outside.
//
// The table is lost when the host restarts, and when a service replaces all rules, as Debian's nftables
// service does on startup. The firewaller's periodic comparison restores it.
package nftables
