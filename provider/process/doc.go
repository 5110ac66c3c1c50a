// Package process keeps long-lived processes honest without trusting pids.
//
// A process that must run once has a directory, and in it
//
//	lock        locked by flock for as long as the process lives; it tells who that is
//	alive       a FIFO that the process holds open for writing: its end is EOF
//	start.lock  locked by whoever is just starting the process
//	ended       there when the process is not to be started again
//	log         what the process and its children print
//
// The lock decides whether the process lives, for a lock can't outlive its
// holder and can't be had twice. The FIFO is how others learn of the end
// without asking again and again: a read of it can be given up, which a blocked
// flock can not, and a watcher never holds the lock for longer than a glance.
// A process can be killed only after the pid in its lock was compared with the
// time at which the kernel says that pid began.
//
// So nothing here depends on who started whom. A supervisor that comes back
// after a crash finds the processes it had started, watches those that live and
// starts those that don't, and two supervisors do no harm.
//
// It needs Linux, for its /proc, and no privileges.
package process
