package conformancetest_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/doc/tools/verify"
)

// TestJujud runs the store as a jujud process.
func TestJujud(t *testing.T) {
	verify.Only(t, "starts and kills jujud")
	verify.NoRace(t)
	t.Parallel()
	jujud := buildJujud(t)
	t.Run("KeepsItsData", func(t *testing.T) { testKeepsItsData(t, jujud) })
	t.Run("MgoTransactionSuite", func(t *testing.T) {
		t.Parallel()
		mongod := asMongod(t, fmt.Sprintf("exec %q mongod \"$@\"\n", jujud))
		testMgoTransactionSuite(t, mongod, os.Getenv("JUJU_SOAK") == "")
	})
	t.Run("MgoTransactionSuiteThroughTheProxy", func(t *testing.T) {
		t.Parallel()
		mongod := asMongod(t, fmt.Sprintf(proxied, jujud))
		testMgoTransactionSuite(t, mongod, true)
	})
}

// proxied is a mongod that accepts only OP_MSG, behind mongo-proxy on the requested port. They
// end together.
const proxied = `
jujud=%q
while [ $# -gt 0 ]; do
	case $1 in
	--port) port=$2 ;;
	--dbpath) dir=$2 ;;
	esac
	shift
done
"$jujud" mongod --only-op-msg --nojournal --dbpath "$dir" --port 0 >"$dir/address" &
mongod=$!
trap 'kill $mongod $proxy' INT TERM
until address=$(sed -n 's/^waiting for connections on //p' "$dir/address") && [ -n "$address" ]; do sleep 0.01; done
"$jujud" mongo-proxy --url "mongodb://$address/" --port "$port" &
proxy=$!
wait $proxy
wait
`

// process is a running `jujud mongod`.
type process struct {
	*exec.Cmd
	addr string
	errs bytes.Buffer
}

func start(t *testing.T, jujud, dir string, flags ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(jujud, append([]string{"mongod", "--dbpath", dir, "--port", "0"}, flags...)...)}
	p.Stderr = &p.errs
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.ProcessState == nil {
			p.Process.Kill()
			p.Wait()
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	var ok bool
	if p.addr, ok = strings.CutPrefix(strings.TrimSpace(line), "waiting for connections on "); err != nil || !ok {
		p.Process.Kill()
		p.Wait()
		t.Fatalf("jujud mongod printed %q, %v\n%s", line, err, p.errs.Bytes())
	}
	return p
}

// end sends a signal and waits for the process to exit.
func (p *process) end(t *testing.T, sig os.Signal) error {
	t.Helper()
	if err := p.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	gone := make(chan error, 1)
	go func() { gone <- p.Wait() }()
	select {
	case err := <-gone:
		return err
	case <-time.After(verify.Patience):
		p.Process.Kill()
		<-gone
		t.Fatalf("it did not end on %v\n%s", sig, p.errs.Bytes())
		return nil
	}
}

// testKeepsItsData stops jujud in each way and restarts it: everything that it acknowledged is
// still there, whether clients were connected or not. A kill may lose the last 100 ms of writes,
// as on MongoDB, but none that requested the journal.
func testKeepsItsData(t *testing.T, jujud string) {
	dir := t.TempDir()
	inserted := 0
	for _, run := range []struct {
		signal syscall.Signal
		flags  []string
	}{
		{syscall.SIGTERM, nil}, {syscall.SIGINT, []string{"--nojournal"}}, {syscall.SIGKILL, nil}, {syscall.SIGKILL, []string{"--bind_ip", "localhost"}}, {syscall.SIGTERM, nil},
	} {
		p := start(t, jujud, dir, run.flags...)
		session := dial(t, &mgo.DialInfo{Addrs: []string{p.addr}})
		if run.signal == syscall.SIGKILL {
			session.SetSafe(&mgo.Safe{J: true})
		}
		c := session.DB("test").C("kept")
		if n, err := c.Count(); n != inserted || err != nil {
			t.Fatalf("found %d documents of %d, %v", n, inserted, err)
		}
		for range 20 {
			if err := c.Insert(bson.M{"_id": inserted}); err != nil {
				t.Fatal(err)
			}
			inserted++
		}
		err := p.end(t, run.signal)
		session.Close()
		if run.signal != syscall.SIGKILL && err != nil {
			t.Errorf("ended by %v: %v\n%s", run.signal, err, p.errs.Bytes())
		}
	}
	// Two processes on one directory would corrupt it.
	p := start(t, jujud, dir)
	out, err := exec.Command(jujud, "mongod", "--dbpath", dir, "--port", "0").CombinedOutput()
	if err == nil || !bytes.HasPrefix(out, []byte("ERROR cannot open the store")) {
		t.Errorf("a second one on the same directory: %v, %s", err, out)
	}
	if err := p.end(t, syscall.SIGTERM); err != nil {
		t.Error(err)
	}
}

// testMgoTransactionSuite runs the tests of mgo/txn, including its simulations, on jujud's
// mongod. The seed is in the output of a failing test; MGO_TXN_SEED sets it.
//
// One test of the suite sleeps for two minutes. Except in a soak it is replaced by "stashed at
// once" of TestEmbedded, a smaller version of it.
//
// mgo itself skips another, TestTxnQueueStressTest, without -flaky: when transactions on the same
// documents are delayed for long, two mgo/txn clients may order them differently, and an update
// is lost. It fails on MongoDB, as a comment in it says, and here; every single reply of the
// store in such a run was correct.
func testMgoTransactionSuite(t *testing.T, path string, fast bool) {
	seeds, duration := 1, "200ms" // the suite's own default
	switch {
	case os.Getenv("JUJU_SOAK") != "":
		seeds, duration = 5, "10s"
	case testing.Short():
		duration = "100ms"
	}
	var flags []string
	if fast {
		flags = []string{"-fast"}
	}
	given := os.Getenv("MGO_TXN_SEED")
	if given != "" {
		seeds = 1
	}
	for range seeds {
		seed := given
		if seed == "" {
			seed = fmt.Sprint(rand.Int32())
		}
		t.Run("seed "+seed, func(t *testing.T) {
			t.Logf("go test gopkg.in/mgo.v2/txn -seed %s -duration %s", seed, duration)
			// The whole process group is killed, so a suite that hangs or panics leaves no mongod
			// behind.
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			args := []string{"test", "-v", "-vet=off", "-count=1", "gopkg.in/mgo.v2/txn", "-seed", seed, "-duration", duration, "-check.v"}
			cmd := exec.CommandContext(ctx, "go", append(args, flags...)...)
			cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "PATH="+path+string(os.PathListSeparator)+os.Getenv("PATH"))
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
			cmd.WaitDelay = verify.Patience
			out, err := cmd.CombinedOutput()
			left := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			if err != nil {
				t.Fatalf("the suite failed: %v\n%s", err, tail(out))
			}
			if !errors.Is(left, syscall.ESRCH) {
				t.Errorf("the suite left a process behind: %v", left)
			}
			passed := regexp.MustCompile(`(?m)^PASS: .*\.go:\d+: `).FindAll(out, -1)
			if want := 40 - len(flags); len(passed) != want {
				t.Errorf("%d tests passed, want %d\n%s", len(passed), want, tail(out))
			}
		})
	}
}

// tail returns the end of a long output.
func tail(out []byte) []byte {
	const most = 20000
	if len(out) > most {
		return append([]byte("…"), out[len(out)-most:]...)
	}
	return out
}
