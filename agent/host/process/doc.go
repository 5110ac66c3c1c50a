// Package process runs long-lived processes, each at most once, without trusting pids.
//
// Such a process has a directory with these files:
//
//	lock        locked by flock while the process lives; its content identifies the process
//	alive       a FIFO that the process holds open for writing: its end is EOF
//	start.lock  locked while the process is being started
//	ended       exists when the process must not be started again
//	log         what the process and its children print
//
// The lock decides whether the process lives: a lock can't outlive its holder and can't be held
// twice. Through the FIFO others learn of the end without polling. A read from it can be
// abandoned, unlike a blocked flock, and a watcher never has to hold the lock itself for more
// than a moment. A process is killed only after comparing the pid in its lock with the time at
// which the kernel says that this pid began.
//
// So nothing depends on which process started which. A supervisor that restarts after a crash
// finds the processes it had started, watches those that live and starts the others, and two
// supervisors do no harm.
//
// It needs Linux, for /proc, and no privileges.
package process
