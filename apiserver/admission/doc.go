// Package admission decides who of a server's clients is let in, and whose turn it is, so that none can crowd out the
// others: a connection is counted by its address until the login (Conns), and by who has logged in after it (Members);
// users take turns at having their passwords hashed (Queue), and agents at having their requests worked on (AgentTurns);
// other work has so many slots (Slots, UserSlots); and of failed logins so many are logged (Failures). What each limit is
// in production is said in apiserver.Limits.
package admission
