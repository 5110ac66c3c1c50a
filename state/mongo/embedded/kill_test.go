package embedded_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/bson"
	"gopkg.in/mgo.v2"
	mgobson "gopkg.in/mgo.v2/bson"

	"juju/doc/tools/verify"
	"juju/state/mongo/embedded"
)

// victimDir is an environment variable with a store's directory. It turns the test binary into the process to
// be killed.
const victimDir = "EMBEDDED_TEST_VICTIM"

func TestMain(m *testing.M) {
	if dir := os.Getenv(victimDir); dir != "" {
		if err := victim(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

const killWriters = 8

// victim writes until it is killed. After each barrier it prints what is now durable: a writer and a number.
func victim(dir string) error {
	s, err := embedded.Open(dir, embedded.Options{MemTableSize: 256 << 10})
	if err != nil {
		return err
	}
	fmt.Println("open")
	var mu sync.Mutex
	failed := make(chan error, killWriters)
	for w := range killWriters {
		go func() { failed <- victimWriter(s, w, &mu) }()
	}
	return <-failed
}

// victimWriter repeats an insert, an upsert and a removal. Number n is done when all its writes are durable.
func victimWriter(s *embedded.Server, w int, mu *sync.Mutex) error {
	session, err := dialServer(s)
	if err != nil {
		return err
	}
	c, sums := session.DB("db").C("c"), session.DB("db").C("sums")
	last, err := lastOf(c, w)
	if err != nil {
		return err
	}
	for n := last + 1; ; n++ {
		key := func(n int) string { return fmt.Sprintf("%d-%06d", w, n) }
		err := c.Insert(mgobson.M{"_id": key(n), "w": w, "n": n, "ten": n / 10, "tags": []int{n, n + 1}, "pad": strings.Repeat("x", n%500)})
		if err != nil {
			return err
		}
		if _, err := sums.UpsertId(w, mgobson.M{"$set": mgobson.M{"n": n, "mark": key(n)}}); err != nil {
			return err
		}
		if n > 50 {
			if err := c.RemoveId(key(n - 50)); err != nil && err != mgo.ErrNotFound {
				return err
			}
		}
		if err := s.Barrier(context.Background()); err != nil {
			return err
		}
		mu.Lock()
		fmt.Println(w, n)
		mu.Unlock()
	}
}

// lastOf returns the number of a writer's newest document, or 0.
func lastOf(c *mgo.Collection, w int) (int, error) {
	var doc struct{ N int }
	err := c.Find(mgobson.M{"w": w}).Sort("-n").One(&doc)
	if err == mgo.ErrNotFound {
		err = nil
	}
	return doc.N, err
}

// TestKill repeatedly kills a process that is writing. Everything that the process reported as durable must
// survive, and the indexes must agree with the documents.
func TestKill(t *testing.T) {
	verify.Only(t, "kills real processes")
	kills := 8
	switch {
	case os.Getenv("JUJU_SOAK") != "":
		kills = 100
	case testing.Short():
		kills = 3
	}
	dir := filepath.Join(t.TempDir(), "store")
	prepare(t, dir)
	total := 0
	for i := range kills {
		safe := killOne(t, dir, 50+i%7*40)
		total += surviving(t, dir, safe)
		if t.Failed() {
			t.Fatalf("failed after kill %d", i+1)
		}
	}
	if total < kills*killWriters {
		t.Errorf("only %d writes were durable in %d runs: the test is too easy", total, kills)
	}
}

func prepare(t *testing.T, dir string) {
	t.Helper()
	s := onDisk(t, dir)
	defer shut(t, s)
	c := connect(t, s)
	index := func(fields ...string) d {
		key := d{}
		for _, f := range fields {
			key = append(key, bson.E{Key: f, Value: 1})
		}
		return d{{Key: "name", Value: strings.Join(fields, "_")}, {Key: "key", Value: key}}
	}
	unique := append(index("w", "n"), bson.E{Key: "unique", Value: true})
	c.must(d{{Key: "createIndexes", Value: "c"}, {Key: "indexes", Value: bson.A{unique, index("ten"), index("tags")}}})
	c.must(d{{Key: "createIndexes", Value: "sums"}, {Key: "indexes", Value: bson.A{index("mark")}}})
}

func onDisk(t testing.TB, dir string) *embedded.Server {
	t.Helper()
	s, err := embedded.Open(dir, embedded.Options{Logger: testLog{t}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func shut(t testing.TB, s *embedded.Server) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// killOne lets a victim run until it has printed the given number of lines, and returns the last number that
// each writer reported as durable.
func killOne(t *testing.T, dir string, lines int) map[int]int {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), victimDir+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	safe := map[int]int{}
	read := bufio.NewReader(out)
	if line, err := read.ReadString('\n'); err != nil || line != "open\n" {
		t.Errorf("the victim printed %q, %v", line, err)
	}
	for i := 0; ; i++ {
		if i == lines {
			if err := cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
		line, err := read.ReadString('\n')
		if err != nil {
			// The last line may be cut off; only a complete line counts.
			if err != io.EOF {
				t.Error(err)
			}
			break
		}
		var w, n int
		if _, err := fmt.Sscan(line, &w, &n); err != nil {
			t.Errorf("the victim printed %q", line)
		}
		safe[w] = n
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the victim exited by itself")
	}
	return safe
}

// surviving checks the store after a kill, and returns how many writers had durable writes.
func surviving(t *testing.T, dir string, safe map[int]int) int {
	t.Helper()
	s := onDisk(t, dir)
	defer shut(t, s)
	if err := s.Check(t.Context(), nil); err != nil {
		t.Error(err)
	}
	session, err := dialServer(s)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	c, sums := session.DB("db").C("c"), session.DB("db").C("sums")
	for w, n := range safe {
		last, err := lastOf(c, w)
		if err != nil {
			t.Error(err)
		}
		if last < n {
			t.Errorf("writer %d's document %d was durable, but its last one is now %d", w, n, last)
		}
		for i := max(1, n-49); i <= n; i++ {
			// Writes after n may have removed the oldest of these.
			if count, err := c.FindId(fmt.Sprintf("%d-%06d", w, i)).Count(); err != nil || count == 0 && i > last-50 {
				t.Errorf("writer %d's document %d of %d is missing, %v", w, i, n, err)
			}
		}
		var sum struct{ N int }
		if err := sums.FindId(w).One(&sum); err != nil || sum.N < n {
			t.Errorf("writer %d's sum is %d, %v; %d was durable", w, sum.N, err, n)
		}
	}
	return len(safe)
}

// dialServer opens an mgo session on a server.
func dialServer(s *embedded.Server) (*mgo.Session, error) {
	return mgo.DialWithInfo(dialInfo(s))
}
