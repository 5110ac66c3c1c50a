package apiserver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"juju/apiserver/client"
	"juju/apiserver/facades"
	"juju/apiserver/params"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/statetest"
)

// agentsEnv makes the test binary run agents; see TestAgentsProcess.
const agentsEnv = "JUJU_TEST_AGENTS"

// agentsJob is the job of such a process.
type agentsJob struct {
	Info client.Info
	N    int
	At   int // how many connect at the same time
}

// TestAgentsProcess is not a test. The benchmarks run it as a process, so that memory and time
// of the clients are not counted as the server's. It connects agents with the watches of a
// unit's agent and the connection for its log, prints "ready", waits for a line, and exits.
func TestAgentsProcess(t *testing.T) {
	text := os.Getenv(agentsEnv)
	if text == "" {
		t.Skip("only benchmarks run this")
	}
	var job agentsJob
	if err := json.Unmarshal([]byte(text), &job); err != nil {
		t.Fatal(err)
	}
	var busy atomic.Int64
	turns := make(chan struct{}, job.At)
	var wg sync.WaitGroup
	for range job.N {
		turns <- struct{}{}
		wg.Go(func() {
			defer func() { <-turns }()
			for {
				c, err := client.Dial(t.Context(), job.Info)
				if err != nil {
					busy.Add(1)
					continue
				}
				if err := watchAsUnit(t.Context(), c); err != nil {
					t.Error(err)
				}
				if _, err := c.LogSink(t.Context()); err != nil {
					t.Error(err)
				}
				return
			}
		})
	}
	wg.Wait()
	fmt.Println("ready", busy.Load())
	bufio.NewReader(os.Stdin).ReadString('\n')
}

// watchAsUnit opens the watches of a unit's agent, takes the first event of each, and leaves a
// Next waiting on the server.
func watchAsUnit(ctx context.Context, c *client.Conn) error {
	uniter := client.UniterFacade{Caller: c}
	relations, err := uniter.Relations(ctx, c.Tag())
	if err != nil {
		return err
	}
	unit, err1 := uniter.WatchUnit(ctx, c.Tag())
	rels, err2 := uniter.WatchRelations(ctx, c.Tag())
	members, err3 := uniter.WatchRelationUnits(ctx, c.Tag(), relations[0].ID)
	deployed, err4 := client.DeployerFacade{Caller: c}.WatchDeployed(ctx, c.Tag())
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return err
	}
	drain(unit)
	drain(rels)
	drain(members)
	drain(deployed)
	return nil
}

func drain[T any](ch <-chan T) {
	<-ch
	go func() {
		for range ch {
		}
	}()
}

// agents runs a process with n agents of mysql/0 and returns once all are connected and idle.
// stop ends the process.
func (w *world) agents(n, at int) (took time.Duration, refused int, stop func()) {
	w.Helper()
	job, err := json.Marshal(agentsJob{w.info(entity.UnitTag("mysql/0")), n, at})
	if err != nil {
		w.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestAgentsProcess$", "-test.timeout=10m")
	cmd.Env = append(os.Environ(), agentsEnv+"="+string(job))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		w.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		w.Fatal(err)
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		w.Fatal(err)
	}
	if _, err := fmt.Fscanf(stdout, "ready %d", &refused); err != nil {
		rest, _ := io.ReadAll(stdout)
		w.Fatalf("the agents: %v %s", err, rest)
	}
	took = time.Since(start)
	return took, refused, func() {
		stdin.Close()
		io.Copy(io.Discard, stdout)
		cmd.Wait()
	}
}

// agentCount returns how many agents a benchmark has: 1000, or with JUJU_SOAK the number in
// its target.
func agentCount(soak int) int {
	if os.Getenv("JUJU_SOAK") != "" {
		return soak
	}
	return 1000
}

// inUse returns the memory in use for objects and stacks.
func inUse() float64 {
	for range 5 { // each halves unused stacks
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapInuse + m.StackInuse)
}

// manyConns lets one unit have as many connections as a benchmark needs.
func manyConns(c *Config) {
	c.Limits = DefaultLimits()
	c.Limits.AgentConns = 100_000
}

// BenchmarkIdleAgents reports the server's memory for an idle agent: two connections, one for its
// log, TLS, and four watches. Target: 50 kB without that for the log.
func BenchmarkIdleAgents(b *testing.B) {
	w := newWorld(b, manyConns).populate()
	n := agentCount(10_000)
	for range b.N {
		before := inUse()
		_, _, stop := w.agents(n, 64)
		b.ReportMetric((inUse()-before)/float64(n)/1000, "kB/agent")
		stop()
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkReconnect reports how long it takes until all agents are back after a restart, if
// all come at the same time. That includes the login, four watches each, and the agents' own
// work on the same machine. Target: 5,000 in 30 s, none refused for good.
func BenchmarkReconnect(b *testing.B) {
	w := newWorld(b, manyConns).populate()
	n := agentCount(5_000)
	for range b.N {
		took, refused, stop := w.agents(n, n)
		b.ReportMetric(took.Seconds(), "s")
		b.ReportMetric(float64(n)/took.Seconds(), "agents/s")
		b.ReportMetric(float64(refused), "refused-once")
		stop()
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkRequest measures one small request and its reply, from one client and from many at
// the same time.
func BenchmarkRequest(b *testing.B) {
	w := newWorld(b).populate()
	u0 := entity.UnitTag("mysql/0")
	memory := w.info(u0)
	memory.Dial = w.server.Dial
	for name, info := range map[string]client.Info{"tls": w.info(u0), "memory": memory} {
		c := client.UniterFacade{Caller: w.dial(info)}
		b.Run(name+"/unit", func(b *testing.B) {
			for b.Loop() {
				if _, err := c.Unit(b.Context(), u0); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/parallel", func(b *testing.B) {
			b.SetParallelism(16)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := c.Unit(b.Context(), u0); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}

// BenchmarkStatus measures the status of a large model, from what state has read to what the
// client returns.
func BenchmarkStatus(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			w := newWorld(b)
			status := &entity.ModelStatus{Services: []entity.ServiceStatus{{Name: "s", CharmURL: "local:jammy/s-0"}}}
			for i := range n {
				status.Services[0].Units = append(status.Services[0].Units, entity.UnitStatus{
					Name: "s/" + strconv.Itoa(i), Machine: strconv.Itoa(i), PublicAddress: "127.1.2.3",
					Workload: entity.Status{Status: entity.StatusActive, Message: "ready", Since: time.Now()},
					Agent:    entity.Status{Status: entity.StatusIdle, Since: time.Now()},
				})
				status.Machines = append(status.Machines, entity.MachineStatus{
					ID: strconv.Itoa(i), Series: "jammy", InstanceID: "i-" + strconv.Itoa(i), Addresses: []string{"127.1.2.3"},
					Status: entity.Status{Status: entity.StatusStarted, Since: time.Now()},
				})
			}
			w.server.table.Route("Client", 7, "FullStatus").Handler = facades.Do(
				func(context.Context, *facades.Caller, facades.None) (*params.FullStatus, error) {
					return params.FullStatusOf(status), nil
				})
			c := w.dial(w.adminInfo(w.st.UUID()))
			for b.Loop() {
				if got, err := c.Status(b.Context()); err != nil || len(got.Services[0].Units) != n {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkAudit measures add-unit through the API by users, one after another and several at once, on a store on disk:
// with the audit log, without it, and their ratio.
func BenchmarkAudit(b *testing.B) {
	for _, users := range []int{1, 16} {
		b.Run(strconv.Itoa(users), func(b *testing.B) {
			store, err := mongo.OpenEmbedded(b.TempDir(), mongo.Options{})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { store.Close() })
			c, st := statetest.ControllerOn(b, store, controller.Options{})
			w := newWorldOf(b, c, st).populate()
			conns := make([]*client.Conn, users)
			for i := range conns {
				conns[i] = w.dial(w.adminInfo(w.st.UUID()))
			}
			const calls = 20
			route := w.server.table.Route("Application", 19, "AddUnits")
			effect := route.Effect
			took := map[facades.Effect]time.Duration{}
			for range b.N {
				for _, e := range []facades.Effect{effect, facades.Reads} { // what reads is not in the log
					route.Effect = e
					began := time.Now()
					var all sync.WaitGroup
					for _, conn := range conns {
						all.Go(func() {
							for range calls {
								if _, _, err := conn.AddUnits(b.Context(), "mysql", 1, nil); err != nil {
									b.Error(err)
								}
							}
						})
					}
					all.Wait()
					took[e] += time.Since(began)
				}
			}
			perCall := func(e facades.Effect) float64 {
				return took[e].Seconds() * 1000 / float64(b.N*calls*users)
			}
			b.ReportMetric(perCall(effect), "ms/call")
			b.ReportMetric(perCall(facades.Reads), "ms/call-unaudited")
			b.ReportMetric(float64(took[effect])/float64(took[facades.Reads]), "ratio")
			b.ReportMetric(0, "ns/op")
		})
	}
}
