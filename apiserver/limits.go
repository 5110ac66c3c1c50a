package apiserver

import (
	"fmt"
	"math"
	"runtime"
	"syscall"
	"time"

	"juju/state/entity"
)

// Limits bound the resources that clients can use. DefaultLimits are for production; tests use smaller ones.
type Limits struct {
	// Unauthenticated is the maximum number of open connections that have not logged in, and UnauthenticatedFrom the
	// maximum from one address other than the host's own. Beyond that the oldest is closed. LoginTime limits the time
	// until the login, and that for the body of an HTTP request until then, and Logins the number of attempts.
	Unauthenticated, UnauthenticatedFrom int
	LoginTime                            time.Duration
	Logins                               int
	// Members is the maximum number of open connections that have logged in. Of these, Reserved are reserved for each
	// of superusers, other users, machine agents, unit agents and consumers. UserConns and AgentConns limit the
	// connections of one user, whose consumers count too, and of one agent.
	Members, Reserved, UserConns, AgentConns int
	// AgentLogins is the maximum number of concurrent logins of agents. An agent that has waited for AgentWait is told
	// to try again, so that after a restart of the controller thousands of agents log in one after the other.
	AgentLogins int
	AgentWait   time.Duration
	// AgentTurns is the maximum number of agents' requests that are worked on at once, of all models together; others wait.
	// With a store that is not in this process there are remoteTurns, since requests mostly wait for it.
	AgentTurns int
	// UserLogins is the maximum number of user passwords that are hashed concurrently. It is small because hashing is
	// slow by design, and agents must not wait for it. UserQueue limits how many logins can wait for a turn, and
	// UserWait for how long; see queue.
	UserLogins, UserQueue int
	UserWait              time.Duration

	// Frame is the maximum size of a request in bytes, and LoginFrame before the login.
	// Values is the maximum number of values in the JSON of a request.
	Frame, LoginFrame int64
	Values            int
	// Memory is the maximum memory of all requests together, in bytes, from the first byte of a frame until the reply
	// is sent. MemoryShare limits a user or agent that has more than one request. A request waits for memory up to
	// MemoryWait, and then fails with "try again". A request whose client has been slow for MemoryGrace ends if others
	// are waiting.
	Memory, MemoryShare     int64
	MemoryWait, MemoryGrace time.Duration
	// Requests is the maximum number of concurrent requests on a connection; the next is read when one is done.
	// RequestTime is how long each may stand still: see clock.
	Requests    int
	RequestTime time.Duration
	// StopTime limits how long users' requests that change something are still answered when the server stops.
	StopTime time.Duration
	// CloudTime limits all calls to the cloud in one request.
	CloudTime time.Duration
	// Watches is the maximum number of watches of a connection, and MemberWatches that of all connections of one user
	// or agent.
	Watches, MemberWatches int

	// PingEvery is the interval at which connections are pinged. A connection is closed if its client sends nothing for
	// Silence, or takes longer than WriteTime to read a frame.
	PingEvery, Silence, WriteTime time.Duration

	// Commands is the maximum number of users' command lines that run at once, and UserCommands that of one user.
	// CommandTime limits each, and CommandOutput what it prints, in bytes.
	Commands, UserCommands int
	CommandTime            time.Duration
	CommandOutput          int

	// Charm is the maximum size of a charm archive in bytes, Resource that of a resource's file, and Binaries that of
	// an archive of binaries. UploadTime limits an upload.
	Charm, Resource, Binaries int64
	UploadTime                time.Duration
	// Uploads is the maximum number of concurrent uploads, and UserUploads that of one user. UploadBytes is the disk
	// space that they can use together until they are in the store, and UserUploadBytes what those of one user can use.
	// Beyond that, clients are told to try again. JudgedUploads is the maximum number of archives that are checked
	// concurrently; others wait.
	Uploads, UserUploads         int
	UploadBytes, UserUploadBytes int64
	JudgedUploads                int
	// Downloads is the maximum number of machines that download the agent binaries concurrently, DownloadWait limits
	// how long others wait for a turn, and DownloadTime a download.
	Downloads                  int
	DownloadWait, DownloadTime time.Duration
}

// DefaultLimits returns the limits in production.
func DefaultLimits() Limits { return limitsFor(openFiles(), memory()) }

// limitsFor returns the limits of a controller with this many file descriptors and this much memory.
func limitsFor(files int, memory int64) Limits {
	// The store, logs and uploads need files too, and connections must not starve them.
	conns := files - max(32, min(1024, files/4))
	members := min(50_000, conns-conns/4)
	requests := max(128<<20, min(1<<30, memory/4))
	return Limits{
		Unauthenticated: min(8192, conns/4), UnauthenticatedFrom: min(1024, conns/8), LoginTime: 20 * time.Second, Logins: 5,
		Members: members, Reserved: members / 8,
		UserConns: min(512, max(8, members/8)), AgentConns: min(256, max(8, members/16)),
		AgentLogins: 64, AgentWait: 5 * time.Second, AgentTurns: 2 * runtime.GOMAXPROCS(0),
		UserLogins: max(1, min(4, runtime.GOMAXPROCS(0)/2)), UserQueue: 1024, UserWait: 30 * time.Second,
		// A configuration file can have 5 MiB, and grows when escaped in JSON. The largest requests of agents contain a
		// task's results, 4 MiB, or what a hook changes, of which limits.HookBytes and limits.HookSettings leave room for the rest.
		Frame: 16 << 20, LoginFrame: 16 << 10, Values: 100_000,
		Memory: requests, MemoryShare: requests / 8, MemoryWait: 30 * time.Second, MemoryGrace: 10 * time.Second,
		Requests: 32, RequestTime: 5 * time.Minute, StopTime: 3 * time.Second, CloudTime: 30 * time.Second, Watches: 1024, MemberWatches: 8192,
		PingEvery: 30 * time.Second, Silence: 3 * time.Minute, WriteTime: 30 * time.Second,
		Commands: 8, UserCommands: 2, CommandTime: 5 * time.Minute, CommandOutput: 4 << 20,
		Charm: entity.MaxCharm, Resource: entity.MaxResource, Binaries: entity.MaxBinaries, UploadTime: 10 * time.Minute,
		Uploads: 32, UserUploads: 8, UploadBytes: 2 << 30, UserUploadBytes: 1 << 30, JudgedUploads: 2,
		Downloads: 32, DownloadWait: 10 * time.Second, DownloadTime: 10 * time.Minute,
	}
}

// remoteTurns is the minimum of AgentTurns if the store is a MongoDB: as many as a model's transactions there.
const remoteTurns = 64

// fewFiles is the number of file descriptors that suffice for a controller with a few machines.
const fewFiles = 1024

// Warnings returns what limits a controller that runs as this user; nothing if it can serve as many as it should.
func Warnings() []string {
	files := openFiles()
	if files >= fewFiles {
		return nil
	}
	return []string{fmt.Sprintf("the controller can open only %d files, and so serve at most %d connections of users and agents; "+
		"raise the limit of its user (ulimit -Hn)", files, DefaultLimits().Members)}
}

// openFiles returns how many files the process can have open. This is the system's maximum, because Go raises the soft
// limit when a program starts.
func openFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 1024
	}
	return int(min(limit.Cur, math.MaxInt32))
}
