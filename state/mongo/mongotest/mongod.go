package mongotest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/doc/tools/verify"
	"juju/state/mongo"
	"juju/state/mongo/adapter"
)

// A Mongod is the binary of a real MongoDB.
type Mongod struct {
	path         string
	Major, Minor int
}

// FindMongod finds the MongoDB in $MONGOD or on PATH; it skips the test if there is none.
func FindMongod(t testing.TB) Mongod {
	t.Helper()
	path := os.Getenv("MONGOD")
	if path == "" {
		var err error
		if path, err = exec.LookPath("mongod"); err != nil {
			t.Skip("no MongoDB to run on: MONGOD is not set and there is no mongod on PATH")
		}
	}
	out, err := exec.Command(path, "--version").Output()
	version := regexp.MustCompile(`(?m)^db version v(\d+)\.(\d+)`).FindSubmatch(out)
	if err != nil || version == nil {
		t.Skipf("%s is not a MongoDB: --version prints %q, %v", path, out, err)
	}
	m := Mongod{path: path}
	m.Major, _ = strconv.Atoi(string(version[1]))
	m.Minor, _ = strconv.Atoi(string(version[2]))
	if !m.atLeast(3, 6) {
		t.Skipf("%s is MongoDB %d.%d: the oldest supported release is 3.6", path, m.Major, m.Minor)
	}
	return m
}

func (m Mongod) atLeast(major, minor int) bool {
	return m.Major > major || m.Major == major && m.Minor >= minor
}

// TakesOpQuery reports whether mgo can connect to it without the adapter.
func (m Mongod) TakesOpQuery() bool { return !m.atLeast(5, 1) }

// Start starts a server on an empty directory and returns its address. The server ends with the test.
func (m Mongod) Start(t testing.TB, flags ...string) (address string) {
	t.Helper()
	address = verify.FreeAddress(t)
	_, port, _ := net.SplitHostPort(address)
	args := []string{"--dbpath", t.TempDir(), "--bind_ip", "127.0.0.1", "--port", port}
	cmd, release := Leashed(t, m.path, append(args, flags...)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		release.Close()
		cmd.Wait()
		if t.Failed() {
			t.Logf("output of %s:\n%s", m.path, out.Bytes())
		}
	})
	for end := time.Now().Add(verify.Patience); ; time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
			return address
		}
		if time.Now().After(end) {
			t.Fatalf("%s does not come up: %v", m.path, err)
		}
	}
}

// StartSet starts a replica set with this number of members, waits until it has a primary, and returns its URL.
func (m Mongod) StartSet(t testing.TB, members int) (url string) {
	t.Helper()
	var hosts []string
	var list []bson.M
	for i := range members {
		hosts = append(hosts, m.Start(t, "--replSet", Name))
		list = append(list, bson.M{"_id": i, "host": hosts[i]})
	}
	session := dialMember(t, hosts[0], nil)
	defer session.Close()
	err := session.Run(bson.D{{Name: "replSetInitiate", Value: bson.M{"_id": Name, "members": list}}}, nil)
	if err != nil {
		t.Fatalf("cannot make a replica set: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), verify.Patience)
	defer cancel()
	if err := awaitPrimary(ctx, t, hosts, nil); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("mongodb://%s/?replicaSet=%s", strings.Join(hosts, ","), Name)
}

// awaitPrimary returns once one of the hosts is primary, or with an error when ctx ends.
func awaitPrimary(ctx context.Context, t testing.TB, hosts []string, dial mongo.Dial) error {
	t.Helper()
	var sessions []*mgo.Session
	for _, host := range hosts {
		session := dialMember(t, host, dial)
		defer session.Close()
		sessions = append(sessions, session)
	}
	for {
		for _, session := range sessions {
			is, err := isPrimary(session)
			if is {
				return nil
			}
			if err != nil {
				session.Refresh()
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s has no primary: %w", strings.Join(hosts, ","), context.Cause(ctx))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func isPrimary(member *mgo.Session) (bool, error) {
	var is struct{ IsMaster bool }
	err := member.Run("ismaster", &is)
	return is.IsMaster, err
}

// DatabaseNames returns the names of all databases of a MongoDB, as one of its servers knows them. It writes nothing.
func DatabaseNames(t testing.TB, url *mongo.URL, dial mongo.Dial) []string {
	t.Helper()
	session := dialMember(t, url.Hosts()[0], dial)
	defer session.Close()
	names, err := session.DatabaseNames()
	if err != nil {
		t.Fatalf("cannot list the databases of %s: %v", url, err)
	}
	return names
}

// stepDown makes a primary step down for ten seconds, once another member has all its writes, for which it
// waits up to five: a server rejects a wait longer than the step-down, and the default is ten.
var stepDown = bson.D{{Name: "replSetStepDown", Value: 10}, {Name: "secondaryCatchUpPeriodSecs", Value: 5}}

// StepDown makes the primary of a replica set step down, whichever of the hosts it is. dial connects to them; nil is
// TCP.
func StepDown(t testing.TB, hosts []string, dial mongo.Dial) {
	t.Helper()
	for _, host := range hosts {
		session := dialMember(t, host, dial)
		if is, _ := isPrimary(session); is {
			// It may close the connection instead of replying.
			err := session.Run(stepDown, nil)
			session.Close()
			var refused *mgo.QueryError
			if errors.As(err, &refused) {
				t.Fatalf("%s does not step down: %v", host, err)
			}
			t.Logf("%s steps down: %v", host, err)
			return
		}
		session.Close()
	}
	t.Fatal("no member is primary")
}

// dialMember opens a session with one server in any role.
func dialMember(t testing.TB, host string, dial mongo.Dial) *mgo.Session {
	t.Helper()
	a := adapter.New(adapter.Options{Name: "test", Dial: dial})
	t.Cleanup(a.Close)
	session, err := mgo.DialWithInfo(&mgo.DialInfo{
		Addrs:      []string{host},
		Direct:     true,
		Timeout:    verify.Patience,
		DialServer: func(addr *mgo.ServerAddr) (net.Conn, error) { return a.Connect(addr.String()) },
	})
	if err != nil {
		t.Fatalf("cannot reach %s: %v", host, err)
	}
	session.SetMode(mgo.Monotonic, true)
	return session
}
