package controller

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"juju/provider"
	"juju/provider/local"
	"juju/provider/lxd"
	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
	"juju/worker/provisioner"
)

// mortalVariable has the mortal that a process of this program is to be, in JSON.
const mortalVariable = "JUJU_TEST_MORTAL"

// A mortal is a controller in a process of its own, in which a user acts, and that is killed.
type mortal struct {
	Dir    string // of the bootstrapped cloud, in which nothing else runs
	Model  string // UUID
	Socket string // of the remoteCloud; "" for this host's LXD

	Add     int    // how many machines the user adds
	Series  string // of these; "" for the model's
	Destroy int    // how many of all machines, drawn with Seed, the user destroys
	Seed    uint64
	At      moment // at which the process kills itself; "" for never
}

// A moment is when a mortal kills itself.
type moment string

const (
	beforeStart  moment = "before an instance is started"
	afterStart   moment = "after an instance was started"
	afterRecord  moment = "after an instance was recorded"
	beforeStop   moment = "before an instance is stopped"
	afterStop    moment = "after an instance was stopped"
	afterRemoval moment = "after a machine was removed"
)

// quick are times of provisioners with which nothing takes long.
var quick = provisioner.Config{Pause: 20 * time.Millisecond, Retry: 100 * time.Millisecond,
	ScanInterval: 300 * time.Millisecond, LostAfter: 100 * time.Millisecond}

// A mortalProcess is a mortal that runs.
type mortalProcess struct {
	s     *system
	cmd   *exec.Cmd
	about string
	log   bytes.Buffer
	life  io.Closer // the process ends when this is closed
	ends  io.Reader // has a byte when SIGTERM ends the process properly
}

// begin starts a mortal on the system's store. The system's own controller must have been stopped.
func (s *system) begin(v mortal) *mortalProcess {
	s.Helper()
	v.Dir, v.Model = s.c.dir, s.model
	text, err := json.Marshal(v)
	s.ok(err)
	p := &mortalProcess{s: s, about: string(text), cmd: exec.Command(os.Args[0])}
	p.cmd.Env = append(os.Environ(), mortalVariable+"="+string(text))
	p.cmd.Stderr = &p.log
	p.life, err = p.cmd.StdinPipe()
	s.ok(err)
	p.ends, err = p.cmd.StdoutPipe()
	s.ok(err)
	s.ok(p.cmd.Start())
	s.Cleanup(func() { p.life.Close() })
	return p
}

// end waits for the process, and checks which signal ended it; 0 means that it has exited properly.
func (p *mortalProcess) end(want syscall.Signal) {
	p.s.Helper()
	timer := time.AfterFunc(patience, func() { p.life.Close() })
	err := p.cmd.Wait()
	timer.Stop()
	status := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if want == 0 && err == nil || want != 0 && status.Signaled() && status.Signal() == want {
		return
	}
	p.s.Fatalf("the controller %s ended with %v\n%s", p.about, err, p.log.Bytes())
}

// signal sends a signal to the process, SIGTERM once it is listened to.
func (p *mortalProcess) signal(sig syscall.Signal) {
	p.s.Helper()
	if sig == syscall.SIGTERM {
		_, err := io.ReadFull(p.ends, make([]byte, 1))
		p.s.ok(err)
	}
	p.s.ok(p.cmd.Process.Signal(sig))
}

// runMortal is the whole of a mortal's process, and does not return.
func runMortal(text string) {
	var v mortal
	must(json.Unmarshal([]byte(text), &v))
	go func() { // if the test ends, so does this process
		io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	}()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	_, err := os.Stdout.WriteString("\n")
	must(err)
	conf, err := readConfig(local.ControllerDir(v.Dir))
	must(err)
	open, err := v.cloud(conf.Controller)
	must(err)
	ready := make(chan struct{})
	c := &running{dir: v.Dir, own: local.ControllerDir(v.Dir), conf: conf, ready: func() { close(ready) },
		options: Options{Open: v.fatal(open), Provisioner: quick}}
	c.options.State.PasswordCost = statetest.PasswordCost
	acted := make(chan struct{})
	go func() {
		defer close(acted)
		select {
		case <-ready:
			v.act(ctx, c)
		case <-ctx.Done():
		}
	}()
	must(c.run(ctx))
	<-acted
	os.Exit(0)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func die() {
	syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

func (v mortal) cloud(controller string) (provider.Open, error) {
	if v.Socket != "" {
		return dialCloud(v.Socket)
	}
	return onLXD(controller)
}

// act does what the user does, then kills the process if the machines are as v.At says.
func (v mortal) act(ctx context.Context, c *running) {
	err := v.try(ctx, c)
	if ctx.Err() == nil {
		must(err)
	}
}

func (v mortal) try(ctx context.Context, c *running) error {
	st, err := c.ctrl.Model(ctx, v.Model)
	if err != nil {
		return err
	}
	events, err := st.Watches().Status(ctx)
	if err != nil {
		return err
	}
	for range v.Add {
		if _, err := st.AddMachine(ctx, state.AddMachineParams{Series: v.Series}); err != nil {
			return err
		}
	}
	before, err := st.Machines(ctx)
	if err != nil {
		return err
	}
	rnd := rand.New(rand.NewPCG(v.Seed, 1))
	for range v.Destroy {
		m := before[rnd.IntN(len(before))]
		if err := m.Destroy(ctx, entity.Destruction{}); err != nil && !entity.IsNotFound(err) {
			return err
		}
		// It may have no agent that could do this.
		if err := m.EnsureDead(ctx); err != nil && !entity.IsNotFound(err) {
			return err
		}
	}
	if v.At != afterRecord && v.At != afterRemoval {
		return nil
	}
	for range events {
		now, err := st.Machines(ctx)
		if err != nil {
			return err
		}
		if v.At == afterRemoval && len(now) < len(before) ||
			v.At == afterRecord && len(now) > 0 && now[0].InstanceID() != "" {
			die()
		}
	}
	return nil
}

// fatal makes calls for the mortal's model kill the process as v.At says.
func (v mortal) fatal(open provider.Open) provider.Open {
	return func(ctx context.Context, config provider.Config) (provider.Environ, error) {
		e, err := open(ctx, config)
		if config.Model != v.Model {
			return e, err
		}
		return fatalEnviron{e, v.At}, err
	}
}

type fatalEnviron struct {
	provider.Environ
	at moment
}

func (e fatalEnviron) dieAt(at moment) {
	if e.at == at {
		die()
	}
}

func (e fatalEnviron) StartInstance(ctx context.Context, p provider.StartParams) (provider.Instance, error) {
	e.dieAt(beforeStart)
	in, err := e.Environ.StartInstance(ctx, p)
	if err == nil {
		e.dieAt(afterStart)
	}
	return in, err
}

func (e fatalEnviron) StopInstances(ctx context.Context, ids ...string) error {
	e.dieAt(beforeStop)
	err := e.Environ.StopInstances(ctx, ids...)
	if err == nil {
		e.dieAt(afterStop)
	}
	return err
}

// lxdSocket returns the path of the socket of the LXD that tests may use; "" if there is none.
func lxdSocket() string {
	if path := os.Getenv("JUJU_LXD"); path != "" {
		return path
	}
	if dir := os.Getenv("LXD_DIR"); dir != "" {
		return filepath.Join(dir, "unix.socket")
	}
	return ""
}

// onLXD returns how to open a controller's models on that LXD. Nothing downloads their agent binaries, so these
// never run.
func onLXD(controller string) (provider.Open, error) {
	cloud, err := lxd.New(lxd.Config{Endpoint: lxdSocket(), Controller: controller})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, config provider.Config) (provider.Environ, error) {
		e, err := cloud.Open(ctx, config)
		return withTools{e}, err
	}, nil
}

type withTools struct{ provider.Environ }

func (e withTools) StartInstance(ctx context.Context, p provider.StartParams) (provider.Instance, error) {
	some := provider.Tools{URLs: []string{"https://192.0.2.1/tools"}, SHA256: strings.Repeat("0", 64)}
	p.Tools = map[string]provider.Tools{"amd64": some, "arm64": some}
	return e.Environ.StartInstance(ctx, p)
}
