package mongotest

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/doc/tools/verify"
	"juju/state/mongo"
	"juju/state/mongo/embedded"
	"juju/state/mongo/embedded/raw"
	"juju/state/mongo/embedded/wire"
)

// TestAwaitPrimary waits for the election of a set without a primary, and no longer than it may.
func TestAwaitPrimary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(time.Minute) }) // runs last: mgo's pings end
		set := NewSet(t, 3)
		set.primary, set.elects = -1, time.Now().Add(time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		err := awaitPrimary(ctx, t, set.Hosts(), set.Dial)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "has no primary") {
			t.Errorf("without an election: %v", err)
		}
		began := time.Now()
		time.AfterFunc(10*time.Second, set.Elect)
		if err := awaitPrimary(t.Context(), t, set.Hosts(), set.Dial); err != nil || time.Since(began) < 10*time.Second {
			t.Errorf("got %v after %v, before the election", err, time.Since(began))
		}
	})
}

// TestMongodIsStarted starts a set of one and a standalone with a program that plays mongod. The set has a primary when
// it is returned, and transactions, which the standalone has not.
func TestMongodIsStarted(t *testing.T) {
	verify.Only(t, "starts processes on ports that others may take")
	t.Setenv("MONGOD", playedMongod(t))
	mongod := FindMongod(t)
	open := func(text string) *mongo.Store {
		t.Helper()
		url, err := mongo.ParseURL(text)
		if err != nil {
			t.Fatal(err)
		}
		store, err := mongo.OpenURL(t.Context(), url, mongo.Options{Dial: Tenant(t, url, nil)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { store.Close() })
		return store
	}
	text := mongod.StartSet(t, 1)
	url, err := mongo.ParseURL(text)
	if err != nil {
		t.Fatal(err)
	}
	member := dialMember(t, url.Hosts()[0], nil)
	defer member.Close()
	if is, err := isPrimary(member); !is || err != nil {
		t.Errorf("it was returned before it had a primary (%v)", err)
	}
	if !open(text).Shareable() {
		t.Error("the set has no transactions")
	}
	if open("mongodb://" + mongod.Start(t)).Shareable() {
		t.Error("the standalone has transactions")
	}
}

// TestMongodEndsWithTheTests kills a process of tests in the middle of one, as a timeout does: its mongod ends too.
func TestMongodEndsWithTheTests(t *testing.T) {
	verify.Only(t, "starts processes on ports that others may take")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tests := exec.Command(self, "-test.run", "^TestWithAMongod$")
	tests.Env = append(os.Environ(), "MONGOD="+playedMongod(t), withAMongod+"=1", "TMPDIR="+t.TempDir())
	out, err := tests.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := tests.Start(); err != nil {
		t.Fatal(err)
	}
	address, err := bufio.NewReader(out).ReadString('\n')
	tests.Process.Kill()
	tests.Wait()
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(verify.Patience); ; time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("tcp", strings.TrimSpace(address))
		if err != nil {
			break
		}
		conn.Close()
		if time.Now().After(end) {
			t.Fatalf("the mongod at %s is left", address)
		}
	}
}

// withAMongod has TestWithAMongod start one.
const withAMongod = "JUJU_WITH_A_MONGOD"

// TestWithAMongod is not a test: it is one that never ends, after it has printed the address of its mongod.
func TestWithAMongod(t *testing.T) {
	verify.Only(t, "starts a mongod for another test")
	if os.Getenv(withAMongod) != "" {
		fmt.Println(FindMongod(t).Start(t))
		<-t.Context().Done()
	}
}

// playedArguments are the arguments of the mongod that TestPlayMongod plays, on a line.
const playedArguments = "JUJU_PLAYED_MONGOD"

// playedMongod writes a program that runs TestPlayMongod, and returns its path.
func playedMongod(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "mongod")
	script := fmt.Sprintf("#!/bin/sh\nexport %s=\"$*\"\nexec %q -test.run '^TestPlayMongod$' -test.timeout 0\n", playedArguments, self)
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestPlayMongod is not a test: it is a process that plays mongod, as a standalone or as a set of one. The set elects its
// primary a second after it is made.
func TestPlayMongod(t *testing.T) {
	verify.Only(t, "plays mongod for another test")
	line := os.Getenv(playedArguments)
	if line == "--version" {
		fmt.Println("db version v6.0.0")
	}
	if line == "" || line == "--version" {
		return
	}
	flags := flag.NewFlagSet("mongod", flag.ExitOnError)
	flags.String("dbpath", "", "ignored: it is in memory")
	host, port, name := flags.String("bind_ip", "", ""), flags.String("port", "", ""), flags.String("replSet", "", "")
	flags.Parse(strings.Fields(line))
	l, err := net.Listen("tcp", net.JoinHostPort(*host, *port))
	if err != nil {
		t.Fatal(err)
	}
	if *name == "" {
		server, err := embedded.Open("store", embedded.Options{FS: vfs.NewMem(), Standalone: true, OnlyMsg: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Fatal(server.Serve(t.Context(), l))
	}
	set := NewSet(t, 1)
	set.hosts = []string{l.Addr().String()}
	set.primary, set.elects = -1, time.Now().Add(24*time.Hour)
	for {
		client, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		server, err := set.Dial(t.Context(), set.hosts[0])
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			io.Copy(client, server)
			client.Close()
		}()
		go func() {
			playInitiate(set, client, server)
			server.Close()
		}()
	}
}

// playInitiate forwards a client's requests, but executes replSetInitiate itself. A Set takes no sequences, so that they
// become arrays.
func playInitiate(set *Set, client, server net.Conn) {
	for in := bufio.NewReader(client); ; {
		head, m, err := wire.Read(in, wire.MaxMessage)
		if err != nil {
			return
		}
		switch m := m.(type) {
		case *wire.Query:
			server.Write(wire.AppendQuery(nil, head.RequestID, *m))
		case *wire.Msg:
			if _, ok := raw.Get(m.Body, "replSetInitiate"); !ok {
				for _, s := range m.Sequences {
					docs := bsoncore.NewArrayBuilder()
					for _, doc := range s.Documents {
						docs.AppendDocument(doc)
					}
					m.Body = with(m.Body, func(b []byte) []byte { return bsoncore.AppendArrayElement(b, s.ID, docs.Build()) })
				}
				server.Write(wire.AppendMsg(nil, head.RequestID, 0, m.Body))
				continue
			}
			time.AfterFunc(time.Second, set.Elect)
			client.Write(wire.AppendMsg(nil, 0, head.RequestID, bsoncore.NewDocumentBuilder().AppendDouble("ok", 1).Build()))
		}
	}
}
