package apiserver

import "time"

// Limits bound what clients can make the server do. DefaultLimits are for
// service; tests make them small.
type Limits struct {
	// Strangers is how many connections may be open that have not logged in; one
	// more is told to try again. LoginTime is how long one may stay so, and
	// Logins how many attempts it has.
	Strangers int
	LoginTime time.Duration
	Logins    int
	// AgentLogins is how many agents' logins are looked at at once. One that has
	// waited AgentWait for its turn is told to try again, so that a restart of
	// the controller under thousands of agents is a queue and not a heap.
	AgentLogins int
	AgentWait   time.Duration
	// UserLogins are fewer, since a user's hash is slow on purpose; people wait.
	UserLogins int
	UserWait   time.Duration

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
func DefaultLimits() Limits {
	return Limits{
		Strangers: 4096, LoginTime: time.Minute, Logins: 5,
		AgentLogins: 64, AgentWait: 5 * time.Second,
		UserLogins: 4, UserWait: 30 * time.Second,
		// A configuration file may have 5 MiB, and JSON escapes some of it.
		Frame: 16 << 20, LoginFrame: 64 << 10,
		Requests: 32, RequestTime: 5 * time.Minute, CloudTime: 30 * time.Second, Watches: 1024,
		PingEvery: 30 * time.Second, Silence: 3 * time.Minute, WriteTime: 30 * time.Second,
		Charm: 512 << 20, UploadTime: 10 * time.Minute,
		Uploads: 32, UserUploads: 8, UploadBytes: 2 << 30, JudgedUploads: 2,
	}
}
