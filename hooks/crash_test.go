package hooks

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"juju/agent/host/process"
	"juju/doc/tools/verify"
)

// The variables by which a test makes its own binary into an agent that can be
// killed: the rig's directory, the tools, and where it is to get stuck.
const (
	agentDirVar   = "HOOKS_TEST_AGENT_DIR"
	agentToolVar  = "HOOKS_TEST_AGENT_TOOL"
	agentStuckVar = "HOOKS_TEST_AGENT_STUCK"
)

// agentMain is an agent that runs one start hook. It prints the process it has
// recorded, and what became of the hook.
func agentMain(dir string) {
	hookTool = os.Getenv(agentToolVar)
	toolsDir = filepath.Join(filepath.Dir(hookTool), "tools")
	runner, err := NewRunner(rigParams(dir))
	if err != nil {
		fmt.Println(err)
		return
	}
	params := testParams(Info{Kind: Start})
	params.HostLock = true
	hctx, err := NewContext(newBackend(), params)
	if err != nil {
		fmt.Println(err)
		return
	}
	err = runner.Run(context.Background(), hctx, func(p Process) error {
		text, err := json.Marshal(p)
		fmt.Println(string(text))
		if os.Getenv(agentStuckVar) != "" {
			select {}
		}
		return err
	})
	fmt.Println("result:", err)
	runner.Close()
}

// startAgent starts such an agent in r's place. It returns the agent, and the process that it
// has recorded.
func startAgent(t *testing.T, r *rig, stuck string) (*exec.Cmd, Process) {
	t.Helper()
	r.close()
	agent := exec.Command(os.Args[0])
	agent.Env = append(os.Environ(), agentDirVar+"="+r.dir, agentToolVar+"="+hookTool, agentStuckVar+"="+stuck)
	agent.Stderr = os.Stderr
	stdout, err := agent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { agent.Process.Kill(); agent.Wait() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	var p Process
	if err == nil {
		err = json.Unmarshal([]byte(line), &p)
	}
	if err != nil {
		t.Fatalf("the agent recorded no process: %q: %v", line, err)
	}
	t.Cleanup(func() { EndInterrupted(p) }) // for a test that fails
	return agent, p
}

// kill ends the agent as a crash would.
func kill(t *testing.T, agent *exec.Cmd) {
	t.Helper()
	if err := agent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	agent.Wait()
}

// An agent that dies before it has given the word leaves a launcher that
// exits, and no hook.
func TestAgentKilledBeforeTheHook(t *testing.T) {
	verify.Only(t, "kills real processes")
	t.Parallel()
	r := newRig(t, map[string]string{"start": "touch ran"})
	agent, p := startAgent(t, r, "persist")
	if alive, err := p.runs(); err != nil || !alive {
		t.Fatalf("the launcher is not there: %v", err)
	}
	kill(t, agent)
	awaitGone(t, p)
	if _, err := os.Stat(filepath.Join(r.params.CharmDir, "ran")); !os.IsNotExist(err) {
		t.Errorf("the hook has run: %v", err)
	}
	if err := EndInterrupted(p); err != nil {
		t.Error(err)
	}
	// The next agent finds the record, and its hook runs.
	r.open()
	r.mustRun(Info{Kind: Start})
	if log := strings.Join(r.log.take(), "\n"); !strings.Contains(log, "the unit agent has gone away, nothing was run") {
		t.Errorf("the log is:\n%s", log)
	}
}

// An agent that dies in the middle of a hook leaves it running, to be ended,
// with all it has started, by the next agent; which also gets what it printed.
func TestAgentKilledInTheMiddle(t *testing.T) {
	verify.Only(t, "kills real processes")
	t.Parallel()
	r := newRig(t, map[string]string{
		"start": `
			echo one; echo two
			trap 'sh -c "sleep 0.2; touch asked"' TERM
			(trap '' TERM; while :; do sleep 1000; done) &
			echo in > events
			while :; do sleep 1000 & wait $!; done`,
		"config-changed": "true",
	})
	events := newFIFO(t, filepath.Join(r.params.CharmDir, "events"))
	agent, p := startAgent(t, r, "")
	events.next()
	kill(t, agent)
	if alive, err := p.runs(); err != nil || !alive {
		t.Fatalf("the hook died with its agent: %v", err)
	}
	r.open()
	// A record whose pid now belongs to another process does no harm.
	for _, other := range []process.Identity{
		{PID: p.PID, Start: p.Start + 1, Boot: p.Boot},
		{PID: p.PID, Start: p.Start, Boot: "another"},
		{PID: 1, Start: p.Start, Boot: p.Boot},
		{},
	} {
		if err := EndInterrupted(Process{Identity: other}); err != nil {
			t.Error(err)
		}
	}
	if alive, err := p.runs(); err != nil || !alive {
		t.Fatalf("the hook was taken for another process: %v", err)
	}
	begun := time.Now()
	if err := EndInterrupted(p); err != nil {
		t.Fatal(err)
	}
	if left := processes(p.PID); len(left) > 0 {
		t.Errorf("left running: %v", left)
	}
	if took := time.Since(begun); took < termGrace {
		t.Errorf("the hook had only %v to finish", took)
	}
	if _, err := os.Stat(filepath.Join(r.params.CharmDir, "asked")); err != nil {
		t.Errorf("the hook was not asked first: %v", err)
	}
	if err := EndInterrupted(p); err != nil {
		t.Errorf("the second time: %v", err)
	}
	r.mustRun(Info{Kind: ConfigChanged}) // the machine's lock has died with its holder
	log := strings.Join(r.log.take(), "\n")
	if !strings.Contains(log, "INFO one\n") || !strings.Contains(log, "INFO two") {
		t.Errorf("what the hook printed is lost; the log is:\n%s", log)
	}
}

// A hook that got to its end without its agent has left what it wanted to leave.
func TestFinishedHookKeepsItsChildren(t *testing.T) {
	verify.Only(t, "kills real processes")
	t.Parallel()
	r := newRig(t, map[string]string{"start": "(echo in > events; read line < go; echo bye > events) & read line < end"})
	events, end, proceed := newFIFO(t, filepath.Join(r.params.CharmDir, "events")),
		newFIFO(t, filepath.Join(r.params.CharmDir, "end")), newFIFO(t, filepath.Join(r.params.CharmDir, "go"))
	agent, p := startAgent(t, r, "")
	events.next()
	kill(t, agent)
	end.say("now")
	awaitEnd(t, p.PID)
	if err := EndInterrupted(p); err != nil {
		t.Fatal(err)
	}
	proceed.say("on")
	if got := events.next(); got != "bye" {
		t.Errorf("got %q", got)
	}
	awaitGone(t, p)
}

// The hook of an agent that is killed is gone, with all of its processes, before other units' hooks run on the machine, or
// on another machine with the host's lock: whether those wait already or come later, and whether or not the first unit has a new agent. A killed hook leaves its unit
// in error, so there is one for each kill; the others are counted, if the killed hook had begun.
func TestHooksOfKilledAgentsDontOverlap(t *testing.T) {
	verify.Only(t, "kills real processes")
	t.Parallel()
	rounds := 60
	switch {
	case os.Getenv("JUJU_SOAK") != "":
		rounds = 1000
	case testing.Short():
		rounds = 20
	}
	// All processes of the first hook hold a lock, which the others need.
	first := newRig(t, map[string]string{"start": `
		exec 9> busy; flock 9
		[ -e stubborn ] && (trap '' TERM; exec 8<> never; read line <&8) &
		echo in > events
		while :; do sleep 1000; done`})
	var others []*rig
	for n := range 2 {
		other := newRig(t, map[string]string{"start": "flock -n " + filepath.Join(first.params.CharmDir, "busy") + " echo in >> ran"})
		if other.params.HostLockPath = first.params.HostLockPath; n == 0 {
			other.params.LockPath = first.params.LockPath
		}
		other.open()
		others = append(others, other)
	}
	events := newFIFO(t, filepath.Join(first.params.CharmDir, "events"))
	newFIFO(t, filepath.Join(first.params.CharmDir, "never"))
	type situation struct{ waits, again bool } // the others wait already; the first unit has a new agent
	after := map[situation]int{}               // hooks that have run after a killed one
	for round := range rounds {
		stubborn := filepath.Join(first.params.CharmDir, "stubborn")
		os.Remove(stubborn)
		if round%10 == 5 || round%20 == 0 { // it takes termGrace
			if err := os.WriteFile(stubborn, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		agent, p := startAgent(t, first, "")
		begun := round%5 != 1
		if begun { // else the hook may not have begun
			events.next()
		}
		results, queued := make(chan error, len(others)+1), make(chan struct{}, len(others))
		run := func() {
			for _, other := range others {
				go func() { results <- other.queue(queued) }()
			}
		}
		now := situation{waits: round%2 == 0, again: round%3 > 0}
		if now.waits {
			run()
		}
		if now.waits && round%10 < 4 { // it takes sayAfter to know that they wait
			for range others {
				<-queued
			}
		}
		kill(t, agent)
		if now.again {
			go func() { results <- EndInterrupted(p) }()
		} else {
			results <- nil
		}
		if round%10 == 5 && now.again { // the hook is asked to end, and only its child is left
			awaitEnd(t, p.PID)
		}
		if !now.waits {
			run()
		}
		for range cap(results) {
			if err := <-results; err != nil {
				t.Fatalf("round %d: %v\n%s%s", round, err, strings.Join(others[0].log.take(), "\n"), strings.Join(others[1].log.take(), "\n"))
			}
		}
		if left := processes(p.PID); len(left) > 0 {
			t.Fatalf("round %d: left running: %v", round, left)
		}
		for _, other := range others {
			if ran := other.read("ran"); strings.Count(ran, "in\n") != round+1 {
				t.Fatalf("round %d: the other unit has run %q", round, ran)
			}
			if begun {
				after[now]++
			}
		}
	}
	t.Logf("%d kills; hooks after those of a hook that had begun: %v", rounds, after)
	for _, each := range []situation{{true, true}, {true, false}, {false, true}, {false, false}} {
		if after[each] < rounds/5 {
			t.Errorf("with %+v, only %d hooks have run after %d kills", each, after[each], rounds)
		}
	}
}

// queue runs a start hook that needs the host's lock, and says when it waits for a lock.
func (r *rig) queue(queued chan<- struct{}) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	params := testParams(Info{Kind: Start})
	params.HostLock = true
	params.Waiting = func(context.Context, string) { queued <- struct{}{} }
	hctx, err := NewContext(r.backend, params)
	if err != nil {
		return err
	}
	return r.runner.Run(ctx, hctx, r.record)
}
