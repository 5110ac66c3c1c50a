// Package process runs long-lived processes, each at most once, without trusting pids.
//
// Such a process has a directory with these files:
//
//	lock        locked by flock while the process is alive; its content identifies the process
//	alive       a FIFO that the process holds open for writing: readers get EOF when it exits
//	start.lock  locked while the process is being started
//	ended       exists if the process must not be started again
//	log         the output of the process and its children
//
// The process is alive as long as the lock is held: a lock can't outlive its holder, and can't be held twice. The
// FIFO lets others wait for the exit without polling. Unlike a blocked flock, a read from it can be
// cancelled, and a watcher never has to hold the lock itself for more than a moment. A process is killed only
// if the start time recorded with the pid in its lock matches the kernel's.
//
// So it does not matter which process started which. A supervisor that restarts after a crash finds the
// processes it had started, watches those that are alive and starts the others. Two supervisors do no harm.
//
// The package requires Linux's /proc, but no privileges.
package process
