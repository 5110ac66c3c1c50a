package apiserver

import (
	"math"
	"runtime"
	"syscall"
	"time"

	"juju/state/entity"
)

// Limits bound what clients can make the server do. DefaultLimits are for production; tests
// have smaller ones.
type Limits struct {
	// Strangers is how many connections can be open that have not logged in, and
	// StrangersFrom how many of them from one address that is not the host's own. Beyond
	// that the oldest is closed. LoginTime is how long one has to log in, and Logins how many
	// attempts it has.
	Strangers, StrangersFrom int
	LoginTime                time.Duration
	Logins                   int
	// Members is how many connections can be open that have logged in. Reserved is how many of them are
	// kept for each of superusers, other users, agents of machines and agents of units. UserConns and
	// AgentConns are how many of them for one user, and for one agent.
	Members, Reserved, UserConns, AgentConns int
	// AgentLogins is how many logins of agents are processed at the same time. An agent that
	// has waited for AgentWait is told to try again, so that thousands of agents get in one
	// after the other after a restart of the controller.
	AgentLogins int
	AgentWait   time.Duration
	// UserLogins is how many users' passwords are hashed at the same time: few, since that is
	// slow on purpose, and agents must not wait for it. UserQueue is how many logins can wait
	// for a turn, and UserWait how long; see queue.
	UserLogins, UserQueue int
	UserWait              time.Duration

	// Frame is the maximum size of a request in bytes, AgentFrame that of an agent's, and LoginFrame
	// before the login. Values is how many values the JSON of one can have.
	Frame, AgentFrame, LoginFrame int64
	Values                        int
	// Memory is how many bytes requests can take together, from the first byte of a frame until the
	// answer is sent; MemoryShare what one user or agent can take with more than one request. A request
	// waits for MemoryWait, and is told to try again then. One whose client has been slow for MemoryGrace
	// ends if others wait.
	Memory, MemoryShare     int64
	MemoryWait, MemoryGrace time.Duration
	// Requests is how many requests of a connection are in progress at the same time; the
	// next is read when one is done. RequestTime limits each.
	Requests    int
	RequestTime time.Duration
	// CloudTime is how long a cloud has to answer all questions of one request.
	CloudTime time.Duration
	// Watches is how many watches a connection can have open, MemberWatches all connections of one user or agent.
	Watches, MemberWatches int

	// PingEvery is how often a connection is pinged. It is closed after Silence without a
	// word from the client, and if the client takes longer than WriteTime to read a frame.
	PingEvery, Silence, WriteTime time.Duration

	// Charm is the maximum size of an archive in bytes, Resource that of the file of a resource,
	// Binaries that of an archive of programs, UploadTime the time for an upload.
	Charm, Resource, Binaries int64
	UploadTime                time.Duration
	// Uploads is how many uploads can be in progress, and UserUploads how many of one user.
	// UploadBytes is how much disk they can use together until they are in the store. Beyond
	// that clients are told to try again. JudgedUploads is how many archives are read at the
	// same time; others wait.
	Uploads, UserUploads int
	UploadBytes          int64
	JudgedUploads        int
	// Downloads is how many machines can download the programs of agents at the same time,
	// DownloadWait how long others wait for a turn, and DownloadTime the time for one.
	Downloads                  int
	DownloadWait, DownloadTime time.Duration
}

// DefaultLimits returns the limits in production.
func DefaultLimits() Limits { return limitsFor(openFiles(), memory()) }

// limitsFor returns the limits of a controller that can have this many files open, and use so much memory.
func limitsFor(files int, memory int64) Limits {
	// The store, logs and uploads need files too, and must not be starved by connections.
	conns := files - max(32, min(1024, files/4))
	members := min(50_000, conns-conns/4)
	requests := max(128<<20, min(1<<30, memory/4))
	return Limits{
		Strangers: min(8192, conns/4), StrangersFrom: min(1024, conns/8), LoginTime: 20 * time.Second, Logins: 5,
		Members: members, Reserved: members / 8,
		UserConns: min(512, max(8, members/8)), AgentConns: min(256, max(8, members/16)),
		AgentLogins: 64, AgentWait: 5 * time.Second,
		UserLogins: max(1, min(4, runtime.GOMAXPROCS(0)/2)), UserQueue: 1024, UserWait: 30 * time.Second,
		// A configuration file can have 5 MiB, and grows when JSON escapes it.
		// The largest requests of agents have the results of a task, 4 MiB, or what a hook sets in a
		// relation and in its charm's state, 2 MiB each.
		Frame: 16 << 20, AgentFrame: 8 << 20, LoginFrame: 16 << 10, Values: 100_000,
		Memory: requests, MemoryShare: requests / 8, MemoryWait: 30 * time.Second, MemoryGrace: 10 * time.Second,
		Requests: 32, RequestTime: 5 * time.Minute, CloudTime: 30 * time.Second, Watches: 1024, MemberWatches: 8192,
		PingEvery: 30 * time.Second, Silence: 3 * time.Minute, WriteTime: 30 * time.Second,
		Charm: entity.MaxCharm, Resource: entity.MaxResource, Binaries: entity.MaxBinaries, UploadTime: 10 * time.Minute,
		Uploads: 32, UserUploads: 8, UploadBytes: 2 << 30, JudgedUploads: 2,
		Downloads: 32, DownloadWait: 10 * time.Second, DownloadTime: 10 * time.Minute,
	}
}

// fewFiles is how many files a controller with a few machines can do with.
const fewFiles = 1024

// openFiles returns how many files the process can have open: what the system allows at most, to which
// Go raises the limit when a program starts.
func openFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 1024
	}
	return int(min(limit.Cur, math.MaxInt32))
}
