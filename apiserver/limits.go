package apiserver

import (
	"math"
	"runtime"
	"syscall"
	"time"
)

// Limits bound what clients can make the server do. DefaultLimits are for
// service; tests make them small.
type Limits struct {
	// Strangers is how many connections may be open that have not logged in, and
	// StrangersFrom how many of them from one address that is not the host's own; for
	// one more the oldest goes. LoginTime is how long one may take to say what it must,
	// and Logins how many attempts it has.
	Strangers, StrangersFrom int
	LoginTime                time.Duration
	Logins                   int
	// Members is how many connections may be open that have logged in, UserConns and
	// AgentConns how many of them as one user and as one agent.
	Members, UserConns, AgentConns int
	// AgentLogins is how many agents' logins are looked at at once. One that has
	// waited AgentWait for its turn is told to try again, so that a restart of
	// the controller under thousands of agents is a queue and not a heap.
	AgentLogins int
	AgentWait   time.Duration
	// UserLogins is how many users' passwords are hashed at once: few, since that is
	// slow on purpose, and agents must not wait for it. UserQueue is how many may wait
	// for their turn, no longer than UserWait; see queue.
	UserLogins, UserQueue int
	UserWait              time.Duration

	// Frame is the greatest request in bytes, LoginFrame before the login.
	Frame, LoginFrame int64
	// Requests is how many of a connection's requests are worked on at once;
	// more are read when one of them is done. RequestTime bounds each.
	Requests    int
	RequestTime time.Duration
	// CloudTime is how long a cloud may take to answer all that one request asks it.
	CloudTime time.Duration
	// Watches is how many a connection may have open.
	Watches int

	// PingEvery is how often a connection is pinged; one that says nothing for
	// Silence is closed, and so is one that has not read a frame within WriteTime.
	PingEvery, Silence, WriteTime time.Duration

	// Charm is the greatest archive in bytes, UploadTime the time for it.
	Charm      int64
	UploadTime time.Duration
	// Uploads is how many uploads may be under way, UserUploads how many of one
	// user's; UploadBytes is what they may take on the disk together until they are
	// in the store. What is beyond is told to try again. JudgedUploads is how many
	// archives are read at once; others wait.
	Uploads, UserUploads int
	UploadBytes          int64
	JudgedUploads        int
}

// DefaultLimits returns the limits of a controller in service.
func DefaultLimits() Limits { return limitsFor(openFiles()) }

// limitsFor returns the limits of a controller that may have so many files open.
func limitsFor(files int) Limits {
	return Limits{
		Strangers: min(8192, files/4), StrangersFrom: min(1024, files/8), LoginTime: 20 * time.Second, Logins: 5,
		Members: min(50_000, files/2), UserConns: 512, AgentConns: 256,
		AgentLogins: 64, AgentWait: 5 * time.Second,
		UserLogins: max(1, min(4, runtime.GOMAXPROCS(0)/2)), UserQueue: 1024, UserWait: 30 * time.Second,
		// A configuration file may have 5 MiB, and JSON escapes some of it.
		Frame: 16 << 20, LoginFrame: 64 << 10,
		Requests: 32, RequestTime: 5 * time.Minute, CloudTime: 30 * time.Second, Watches: 1024,
		PingEvery: 30 * time.Second, Silence: 3 * time.Minute, WriteTime: 30 * time.Second,
		Charm: 512 << 20, UploadTime: 10 * time.Minute,
		Uploads: 32, UserUploads: 8, UploadBytes: 2 << 30, JudgedUploads: 2,
	}
}

// openFiles returns how many files the process may have open. Connections are files, and
// so is the store: strangers must not take those that it needs.
func openFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 1024
	}
	return int(min(limit.Cur, math.MaxInt32))
}
