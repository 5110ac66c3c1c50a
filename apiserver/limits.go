package apiserver

import (
	"math"
	"runtime"
	"syscall"
	"time"
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
	// Members is how many connections can be open that have logged in. UserConns and
	// AgentConns are how many of them for one user, and for one agent.
	Members, UserConns, AgentConns int
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

	// Frame is the maximum size of a request in bytes, LoginFrame before the login.
	Frame, LoginFrame int64
	// Requests is how many requests of a connection are in progress at the same time; the
	// next is read when one is done. RequestTime limits each.
	Requests    int
	RequestTime time.Duration
	// CloudTime is how long a cloud has to answer all questions of one request.
	CloudTime time.Duration
	// Watches is how many watches a connection can have open.
	Watches int

	// PingEvery is how often a connection is pinged. It is closed after Silence without a
	// word from the client, and if the client takes longer than WriteTime to read a frame.
	PingEvery, Silence, WriteTime time.Duration

	// Charm is the maximum size of an archive in bytes, Resource that of the file of a resource,
	// Programs that of an archive of programs, UploadTime the time for an upload.
	Charm, Resource, Programs int64
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
func DefaultLimits() Limits { return limitsFor(openFiles()) }

// limitsFor returns the limits of a controller that can have this many files open.
func limitsFor(files int) Limits {
	return Limits{
		Strangers: min(8192, files/4), StrangersFrom: min(1024, files/8), LoginTime: 20 * time.Second, Logins: 5,
		Members: min(50_000, files/2), UserConns: 512, AgentConns: 256,
		AgentLogins: 64, AgentWait: 5 * time.Second,
		UserLogins: max(1, min(4, runtime.GOMAXPROCS(0)/2)), UserQueue: 1024, UserWait: 30 * time.Second,
		// A configuration file can have 5 MiB, and grows when JSON escapes it.
		Frame: 16 << 20, LoginFrame: 64 << 10,
		Requests: 32, RequestTime: 5 * time.Minute, CloudTime: 30 * time.Second, Watches: 1024,
		PingEvery: 30 * time.Second, Silence: 3 * time.Minute, WriteTime: 30 * time.Second,
		Charm: 512 << 20, Resource: 1 << 30, Programs: 512 << 20, UploadTime: 10 * time.Minute,
		Uploads: 32, UserUploads: 8, UploadBytes: 2 << 30, JudgedUploads: 2,
		Downloads: 32, DownloadWait: 10 * time.Second, DownloadTime: 10 * time.Minute,
	}
}

// openFiles returns how many files the process can have open. Connections are files, and so
// is the store, which strangers must not starve.
func openFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 1024
	}
	return int(min(limit.Cur, math.MaxInt32))
}
