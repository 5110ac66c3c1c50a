package local

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"juju/agent/host/process"
	"juju/doc/tools/verify"
	"juju/provider"
	"juju/provider/providertest"
	"juju/state/constraints"
	"juju/state/entity"
)

func TestConformance(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Harness {
		h := newHost(t, newController())
		c := h.cloud()
		return providertest.Harness{
			Profile:    providertest.Local,
			Controller: h.controller,
			Open:       c.Open,
			Agents: func(t *testing.T) (living []string) {
				found, err := c.list("")
				if err != nil {
					t.Fatal(err)
				}
				for _, mark := range h.marks() {
					at := slices.IndexFunc(found, func(i instance) bool { return c.mark(i.Model, i.ID) == mark })
					if at < 0 {
						t.Errorf("a process with mark %s belongs to no instance", mark)
						continue
					}
					living = append(living, found[at].Model+"/"+found[at].Machine)
				}
				return living
			},
		}
	})
}

func TestHostSeries(t *testing.T) {
	path := filepath.Join(t.TempDir(), "os-release")
	for text, want := range map[string]string{
		"":                                    "linux",
		"ID=arch\n":                           "arch",
		"VERSION_CODENAME=bookworm\nID=x\n":   "bookworm",
		"ID=\"centos\"\nVERSION_ID='7'\n":     "centos7",
		"ID=alpine\nVERSION_ID=3.19.1\n":      "alpine3191",
		"VERSION_CODENAME=\"Not One\"\nID=\n": "linux",
	} {
		if text != "" {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := seriesOf(path); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestInstance(t *testing.T) {
	t.Parallel()
	h := newHost(t, newController())
	e := h.environ(h.cloud())
	inst := h.start(e, "0")
	h.hear("machine 0")

	info, err := os.Stat(filepath.Join(h.agent(inst), AgentConfigName))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the agent's configuration: %v, %v; want it readable only by its owner", info, err)
	}
	l, err := net.Listen("tcp", inst.Addresses[0]+":0")
	if err != nil {
		t.Errorf("its address can't be used: %v", err)
	} else {
		l.Close()
	}
	if h := inst.Hardware; h.Arch == "" || h.Cores == 0 || h.Mem == 0 || h.RootDisk == 0 {
		t.Errorf("got hardware %q", h)
	}

	// Repeat the start with another password, which the agent must get.
	p := params("0")
	p.AgentConfig = []byte("machine 0, new password")
	if again, err := e.StartInstance(t.Context(), p); err != nil || again.ID != inst.ID {
		t.Errorf("got %v, %v, want %s", again, err, inst.ID)
	}
	h.hear("machine 0, new password")
}

// The local cloud has no containers.
func TestContainersAreRefused(t *testing.T) {
	t.Parallel()
	h := newHost(t, newController())
	e := h.environ(h.cloud())
	p := params("0/lxd/0")
	p.Parent = h.start(e, "0").ID
	_, started := e.StartInstance(t.Context(), p)
	for what, err := range map[string]error{
		"start":    started,
		"precheck": e.PrecheckInstance(t.Context(), provider.PrecheckParams{Container: "lxd"}),
	} {
		if !errors.Is(err, entity.Invalid) ||
			err.Error() != "the local cloud has no containers: its machines are processes of this host" {
			t.Errorf("%s of a container: %v", what, err)
		}
	}
}

// A host that was upgraded has another series than the machines that were added before: these start there all the same.
func TestMachinesOfAnotherSeriesStart(t *testing.T) {
	t.Parallel()
	e := newHost(t, newController())
	env := e.environ(e.cloud())
	p := params("0")
	p.Series = "plan9"
	if zones, err := env.Zones(t.Context(), provider.PrecheckParams{Series: p.Series}); err != nil || len(zones) > 0 {
		t.Errorf("the zones are %v, %v", zones, err)
	}
	if _, err := env.StartInstance(t.Context(), p); err != nil {
		t.Error(err)
	}
	if err := env.PrecheckInstance(t.Context(), provider.PrecheckParams{Series: p.Series}); !errors.Is(err, entity.Invalid) {
		t.Errorf("a new machine of another series: %v", err)
	}
}

// Stopping an instance also removes what charms leave behind: daemons in their own sessions, and
// directories without write permission.
func TestStopEndsEverything(t *testing.T) {
	t.Parallel()
	h := newHost(t, newController())
	inst := h.start(h.environ(h.cloud(daemonVariable+"=1")), "0")
	heard := []string{}
	for range 2 {
		b := make([]byte, 4096)
		h.conn.SetReadDeadline(time.Now().Add(verify.Patience))
		n, err := h.conn.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		heard = append(heard, string(b[:n]))
	}
	if !strings.Contains(strings.Join(heard, ""), "daemon") {
		t.Fatalf("heard %q, want a daemon", heard)
	}
	h.kill(h.agent(inst)) // so that the daemon has no parent
	if err := h.environ(h.cloud()).StopInstances(t.Context(), inst.ID); err != nil {
		t.Fatal(err)
	}
	if left := h.marks(); len(left) != 0 {
		t.Errorf("processes with marks %q are left", left)
	}
	if entries, err := os.ReadDir(filepath.Join(h.dir, "machines", inst.Model)); err != nil || len(entries) != 0 {
		t.Errorf("left %v, %v", entries, err)
	}
}

// The hint of a failed stop tells how to remove the instance by hand.
func TestInstanceThatIsRemovedByHand(t *testing.T) {
	t.Parallel()
	h := newHost(t, newController())
	c := h.cloud()
	e := h.environ(c)
	inst := h.start(e, "0")
	hint := entity.Hint(c.byHand(errors.New("no"), inst.Model, []string{inst.ID}))
	said := regexp.MustCompile(`^By hand: end process (\d+), then the processes that have (\S+)=(\S+) in their ` +
		`environment, and remove (\S+)$`).FindStringSubmatch(hint)
	if said == nil {
		t.Fatalf("got hint %q", hint)
	}
	pid, _ := strconv.Atoi(said[1])
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	if err := process.EndMarked(t.Context(), said[2], func(mark, _ string) bool { return mark == said[3] },
		time.Second); err != nil {
		t.Error(err)
	}
	if err := removeAll(said[4]); err != nil {
		t.Error(err)
	}
	if left, err := e.Instances(t.Context()); err != nil || len(left) > 0 || len(h.marks()) > 0 {
		t.Errorf("left: %v, %v, %v", left, h.marks(), err)
	}
	if err := c.byHand(errors.New("no"), inst.Model, []string{inst.ID}); entity.Hint(err) != "" {
		t.Errorf("nothing is left, but got hint %q", entity.Hint(err))
	}
}

func TestSupervise(t *testing.T) {
	verify.Only(t, "kills real processes")
	t.Parallel()
	h := newHost(t, newController())
	c := h.cloud()
	before := h.start(h.environ(c), "0")
	h.hear("machine 0")
	stop := h.supervise(c)
	after := h.start(h.environ(c), "1")
	h.hear("machine 1")
	for range 2 {
		h.kill(h.agent(before))
		h.hear("machine 0")
		h.kill(h.agent(after))
		h.hear("machine 1")
	}

	// The controller stops and its agents continue; then one of them dies.
	stop()
	survivor := h.holder(h.agent(after))
	h.kill(h.agent(before))
	if err := process.WaitEnd(t.Context(), h.agent(before)); err != nil {
		t.Fatal(err)
	}
	c = h.cloud()
	h.supervise(c)
	h.hear("machine 0")
	if pid := h.holder(h.agent(after)); pid != survivor {
		t.Errorf("machine 1 has agent %d, want %d still", pid, survivor)
	}
	h.kill(h.agent(after))
	h.hear("machine 1")

	// The agent of a Dead machine exits and is not restarted. The instance exists until it is
	// stopped.
	p := params("2")
	p.AgentConfig = []byte("machine is Dead")
	dead, err := h.environ(c).StartInstance(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if err := process.WaitEnd(t.Context(), h.agent(dead)); err != nil {
		t.Fatal(err)
	}
	if err := h.environ(c).StopInstances(t.Context(), before.ID); err != nil {
		t.Fatal(err)
	}
	h.kill(h.agent(after)) // so that Supervise has run
	h.hear("machine 1")
	all, err := h.environ(c).Instances(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []provider.Instance{after, dead}
	slices.SortFunc(want, func(a, b provider.Instance) int { return strings.Compare(a.ID, b.ID) })
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("instances (-want +got):\n%s", diff)
	}
	if left := h.marks(); len(left) != 1 {
		t.Errorf("processes with marks %q are running, want only machine 1's", left)
	}
}

// If a controller is killed at any point of a start, the start can be repeated or the instance stopped.
func TestInterruptedStart(t *testing.T) {
	t.Parallel()
	h := newHost(t, newController())
	c := h.cloud()
	h.supervise(c)
	e := h.environ(c)
	p := params("0")
	if err := provider.CheckStart(provider.Config{Controller: h.controller, Model: providertest.ModelA}, &p); err != nil {
		t.Fatal(err)
	}
	id := instanceID(p)

	// Killed with only a draft, which is not listed.
	draft := c.dir(p.Model, "."+id+".new")
	if err := os.MkdirAll(draft, 0o700); err != nil {
		t.Fatal(err)
	}
	if all, err := e.Instances(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("got %v, %v, want no instance", all, err)
	}

	// An instance without an agent is listed, started again, and stopped.
	reserved, err := c.reserve(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(draft); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the draft is still there: %v", err)
	}
	if all, err := e.Instances(t.Context()); err != nil || len(all) != 1 || all[0].MachineID != "0" {
		t.Errorf("got %v, %v, want the incomplete instance of machine 0", all, err)
	}
	if inst := h.start(e, "0"); inst.ID != reserved.ID || inst.Addresses[0] != reserved.Address {
		t.Errorf("got %v, want %v finished", inst, reserved)
	}
	h.hear("machine 0")

	// Killed during a stop, when only the agent was stopped.
	if err := process.End(t.Context(), c.agentDir(p.Model, id), "stopped", time.Second); err != nil {
		t.Fatal(err)
	}
	inst := h.start(e, "0")
	h.hear("machine 0")
	if inst.ID != id {
		t.Errorf("got instance %s, want %s again", inst.ID, id)
	}
	h.kill(h.agent(inst)) // it is supervised as the first was
	h.hear("machine 0")

	// An instance with a damaged file has no machine, and can be stopped.
	if err := os.WriteFile(filepath.Join(h.machine(inst), instanceFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := e.Instances(t.Context())
	if err != nil || len(all) != 1 || all[0].ID != id || all[0].MachineID != "" {
		t.Errorf("got %v, %v, want an instance of no machine", all, err)
	}
	if err := e.StopInstances(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if left := h.marks(); len(left) != 0 {
		t.Errorf("processes with marks %q are left", left)
	}
}

func TestAgentThatDoesNotStart(t *testing.T) {
	t.Parallel()
	h := newHost(t, newController())
	c := h.cloud(roleVariable + "=fail")
	_, err := h.environ(c).StartInstance(t.Context(), params("0"))
	if err == nil || !provider.IsRetryable(err) || !strings.Contains(err.Error(), "no controller answers") {
		t.Errorf("got error %v, want a retryable one that quotes the log", err)
	}
	config := h.config()
	config.MachineAgent = filepath.Join(h.dir, "no-such-program")
	c, err = New(config)
	if err != nil {
		t.Fatal(err)
	}
	_, err = h.environ(c).StartInstance(t.Context(), params("0"))
	if err == nil || provider.IsRetryable(err) {
		t.Errorf("got error %v, want a permanent one", err)
	}
	if all, err := h.environ(c).Instances(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("got %v, %v after failed starts", all, err)
	}
	config.MachineAgent = ""
	if c, err = New(config); err != nil {
		t.Fatal(err)
	}
	if _, err = h.environ(c).StartInstance(t.Context(), params("0")); !errors.Is(err, entity.NotSupported) {
		t.Errorf("got error %v, want NotSupported", err)
	}
}

func TestDirectoryOfAnother(t *testing.T) {
	t.Parallel()
	h := newHost(t, newController())
	c := h.cloud()
	config := h.config()
	config.Controller = newController()
	if _, err := New(config); !errors.Is(err, entity.Invalid) {
		t.Errorf("got error %v for the directory of another controller", err)
	}
	if _, err := c.Open(t.Context(),
		provider.Config{Controller: config.Controller, Model: providertest.ModelA}); !errors.Is(err, entity.Invalid) {
		t.Errorf("got error %v for a model of another controller", err)
	}
	if _, err := c.Open(t.Context(), provider.Config{Controller: h.controller, Model: "../x"}); !errors.Is(
		err, entity.Invalid) {
		t.Errorf("got error %v for a model that is a path", err)
	}
	config.Controller = ""
	if _, err := New(config); !errors.Is(err, entity.Invalid) {
		t.Errorf("got error %v for no controller", err)
	}
}

// Memory that no agent could do with is not a limit here, so the user is told.
func TestTooLittleForAnAgent(t *testing.T) {
	t.Parallel()
	rules, err := (&environ{}).ConstraintRules(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{"mem=10M": 1, "root-disk=1M": 1, "mem=1M root-disk=1M": 2, "mem=2G root-disk=1G cores=1": 0} {
		cons, err := constraints.Parse(text)
		if small := rules.TooSmall(cons); err != nil || len(small) != want {
			t.Errorf("of %s, too small is %q (%v)", text, small, err)
		}
	}
}
