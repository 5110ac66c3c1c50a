package controller

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"juju/agent/agenttest"
	"juju/agent/host/process"
	"juju/charm/journaltest"
	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
	"juju/worker/provisioner"
)

// The hooks of a few services write a journal, while units and relations come and go, settings and
// charms change, agents are killed and machines vanish. What the journal says must be what charms
// are promised. The agents of units are processes, and are killed by SIGKILL. JUJU_JOURNAL_SEED=n
// plays the events of a seed again; the agents' own pace is never the same.
func TestJournalsOfRandomLives(t *testing.T) {
	hooks, kills, acts := 300, 4, 20
	switch {
	case soaks():
		hooks, kills, acts = 50_000, 500, 200
	case testing.Short():
		hooks, kills, acts = 200, 3, 12
	}
	seed := rand.Uint64N(1 << 32)
	if text := os.Getenv("JUJU_JOURNAL_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("JUJU_JOURNAL_SEED=%d", seed)
	p := newPlayer(t, seed)
	began, round := time.Now(), 0
	for p.checker.Hooks < hooks || p.kills < kills {
		round++
		p.chat(p.rand.IntN(2) == 0)
		for range acts {
			p.act(hooks, kills)
			p.pass(p.rand.IntN(40), 150*time.Millisecond)
		}
		p.chat(false)
		p.settle()
		took := time.Since(began).Round(time.Second)
		p.Logf("after %v and %d rounds: %d hooks, %d kills", took, round, p.checker.Hooks, p.kills)
	}
	p.end()
}

// The services that are played with. The charm of store has only the original hooks.
var played = map[string]string{
	"site": `{name: site, summary: s, description: d, requires: {db: {interface: mysql}},
  peers: {ring: {interface: ring}}, storage: {data: {type: filesystem, multiple: {range: 0+}}}}`,
	"store": `{name: store, summary: s, description: d, provides: {server: {interface: mysql}}}`,
	"log": `{name: log, summary: s, description: d, subordinate: true,
  requires: {host: {interface: juju-info, scope: container}}}`,
}

const journalConfig = "options: {n: {type: int, default: 0}}\n"

// journalHook is each hook. Some fail, by the number of their process.
const journalHook = `#!/bin/sh
set -eu
journal=ROOT/journal
hook=${0##*/}
[ $hook != dispatch ] || hook=${JUJU_DISPATCH_PATH#hooks/}
read -r charm <version
at=${PWD#ROOT/}
if [ -n "${JUJU_ACTION_UUID:-}" ]; then
	trap 'echo "done $JUJU_UNIT_NAME $JUJU_ACTION_UUID" >>$journal' EXIT
	echo "task $JUJU_UNIT_NAME $JUJU_ACTION_UUID" >>$journal
	[ $(($$ % 3)) != 0 ] || sleep 0.03
	[ $(($$ % 5)) != 0 ]
	exit
fi
line="begin $JUJU_UNIT_NAME $hook at=${at%%/*} charm=$charm"
[ ! -e dispatch ] || line="$line later=true"
case $hook in
config-changed) line="$line config=$(config-get n)" ;;
leader-elected) line="$line leads=$(is-leader | tr TF tf)" ;;
*-storage-*) line="$line storage=$JUJU_STORAGE_ID" ;;
*-relation-joined | *-relation-departed | *-relation-changed)
	line="$line relation=$JUJU_RELATION_ID remote=${JUJU_REMOTE_UNIT:-$JUJU_REMOTE_APP}"
	[ -z "${JUJU_DEPARTING_UNIT:-}" ] || line="$line departing=$JUJU_DEPARTING_UNIT" ;;
*-relation-*) line="$line relation=$JUJU_RELATION_ID" ;;
esac
trap 'code=$?; echo "end $JUJU_UNIT_NAME $code" >>$journal' EXIT
echo "$line" >>$journal
give() {
	n=$(date +%s%N)
	echo "set $JUJU_UNIT_NAME $1 $n" >>$journal
	relation-set -r $1 n=$n
}
see() {
	n=$(relation-get n $JUJU_REMOTE_UNIT)
	[ -z "$n" ] || echo "saw $JUJU_UNIT_NAME $JUJU_RELATION_ID $JUJU_REMOTE_UNIT $n" >>$journal
}
case $hook in
*-relation-joined) give $JUJU_RELATION_ID ;;
*-relation-changed)
	if [ -n "$JUJU_REMOTE_UNIT" ]; then
		see
		[ $(($$ % 4)) != 0 ] || see
		[ ! -e ROOT/chatty ] || give $JUJU_RELATION_ID
	fi ;;
config-changed)
	for name in ENDPOINTS; do
		for r in $(relation-ids $name); do give $r; done
	done ;;
leader-elected) leader-set leader=$JUJU_UNIT_NAME || [ $(is-leader) = False ] ;;
esac
[ $(($$ % 7)) != 0 ] || sleep 0.03
[ $(($$ % 151)) != 0 ]
`

// A player plays with the units, and reads their journal.
type player struct {
	*system
	rand    *rand.Rand
	checker *journaltest.Checker
	file    *os.File
	read    int64 // how many bytes of it were
	lines   int
	kills   int
	setting int
	version map[string]int  // of the services' charms
	changed <-chan struct{} // see watch
}

func newPlayer(t *testing.T, seed uint64) *player {
	t.Helper()
	units := &agenttest.Processes{Program: filepath.Join(builtDir, "unit-agent")}
	s := newSystemOn(t, "", Options{Provisioner: provisioner.Config{
		Retry: 200 * time.Millisecond, ScanInterval: 300 * time.Millisecond, LostAfter: 200 * time.Millisecond}}, units)
	s.keepsLog()
	p := &player{system: s, rand: rand.New(rand.NewPCG(seed, 0)), checker: journaltest.NewChecker(),
		version: map[string]int{}}
	var err error
	p.file, err = os.OpenFile(filepath.Join(s.machines, "journal"), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	s.ok(err)
	t.Cleanup(func() { p.file.Close() })
	p.checker.Lag = 20 // hooks are quick, and events take a while
	p.watch()
	for _, name := range []string{"store", "site", "log"} {
		n := 2
		if name == "log" {
			n = 0
		}
		params := state.AddServiceParams{Name: name, CharmURL: p.charm(name), Units: n}
		if name == "site" {
			params.Storage = map[string]entity.StorageConstraints{"data": {Count: 1}}
		}
		_, err := s.st.AddService(s.ctx, params)
		s.ok(err)
	}
	for _, r := range relations {
		_, err := s.st.AddRelation(s.ctx, r...)
		s.ok(err)
	}
	return p
}

var relations = [][]string{{"site:db", "store:server"}, {"log:host", "site:juju-info"}}

// charm adds the next version of a service's charm.
func (p *player) charm(service string) (url string) {
	p.version[service]++
	endpoints := map[string]string{"site": "db ring", "store": "server"}[service]
	hook := strings.NewReplacer("ROOT", p.machines, "ENDPOINTS", endpoints).Replace(journalHook)
	files := []string{"config.yaml", journalConfig, "version", fmt.Sprintf("%d\n", p.version[service])}
	if service == "store" {
		for _, name := range []string{"install", "config-changed", "start", "upgrade-charm", "stop"} {
			files = append(files, "hooks/"+name, hook)
		}
		for _, event := range []string{"joined", "changed", "departed", "broken"} {
			files = append(files, "hooks/server-relation-"+event, hook)
		}
	} else {
		files = append(files, "dispatch", hook, "actions.yaml", "act: {description: d}\n")
	}
	return statetest.Charm(p.T, p.st, played[service], files...)
}

// chat has hooks that hear of another unit's settings set something themselves, or not: then the
// units of a relation never come to rest.
func (p *player) chat(on bool) {
	p.Helper()
	path := filepath.Join(p.machines, "chatty")
	if on {
		p.ok(os.WriteFile(path, nil, 0o600))
	} else if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		p.ok(err)
	}
}

// note writes a line to the journal.
func (p *player) note(format string, args ...any) {
	p.Helper()
	_, err := fmt.Fprintf(p.file, format+"\n", args...)
	p.ok(err)
}

// say tells the checker what the journal does not have, after what it has.
func (p *player) say(format string, args ...any) {
	p.Helper()
	p.look()
	entries, err := journaltest.Parse(fmt.Sprintf(format, args...), p.lines)
	p.ok(err)
	for _, e := range entries {
		p.ok(p.checker.Add(e))
	}
}

// look reads what was written since the last time, and fails if it is wrong.
func (p *player) look() {
	p.Helper()
	info, err := p.file.Stat()
	p.ok(err)
	more := make([]byte, info.Size()-p.read)
	_, err = p.file.ReadAt(more, p.read)
	p.ok(err)
	text := string(more[:strings.LastIndexByte(string(more), '\n')+1])
	entries, err := journaltest.Parse(text, p.lines+1)
	p.ok(err)
	for _, e := range entries {
		p.ok(p.checker.Add(e))
		if wrong := p.checker.Violations(); len(wrong) > 0 {
			p.Fatalf("%v\n%s", wrong, p.tail(wrong[0], e.Line))
		}
	}
	p.read += int64(len(text))
	p.lines += strings.Count(text, "\n")
}

// tail returns what the journal says, up to a line, about the units that a violation is about, and the log of the unit's
// agent.
func (p *player) tail(v journaltest.Violation, line int) string {
	text, err := os.ReadFile(p.file.Name())
	p.ok(err)
	about := append(strings.Fields(v.Text), v.Unit, entity.UnitService(v.Unit))
	var lines []string
	for i, l := range strings.Split(string(text), "\n") {
		words := strings.Fields(l)
		if i < line && len(words) > 0 && (len(words) == 1 || slices.Contains(about, words[1])) {
			lines = append(lines, fmt.Sprintf("%d\t%s", i+1, l))
		}
	}
	return strings.Join(lines[max(0, len(lines)-200):], "\n") + "\n" + p.log.String() + "\n" +
		process.LogTail(p.home(v.Unit))
}

// pass waits until n more hooks have begun, but not longer than d.
func (p *player) pass(n int, d time.Duration) {
	p.Helper()
	goal := p.checker.Hooks + n
	p.await(d, func() bool {
		p.look()
		return p.checker.Hooks >= goal
	})
	p.resolve()
}

// everyUnit returns all units, those of subordinates too.
func everyUnit(m *entity.ModelStatus) (all []entity.UnitStatus) {
	for _, svc := range m.Services {
		for _, u := range svc.Units {
			all = append(append(all, u), u.Subordinates...)
		}
	}
	return all
}

// resolve resolves the units in error, and notes those that are gone. It returns what it saw.
func (p *player) resolve() (m *entity.ModelStatus) {
	p.Helper()
	m, err := p.st.Status(p.ctx)
	p.ok(err)
	p.look()
	alive := map[string]bool{}
	for _, s := range m.Services {
		alive[s.Name] = s.Life == entity.Alive
	}
	there := map[string]bool{}
	for _, u := range everyUnit(m) {
		there[u.Name] = true
		if u.Workload.Status != entity.StatusError || u.Resolved != entity.ResolvedNone {
			continue
		}
		word := "retry"
		hook, failed := p.checker.Last(u.Name)
		// If the agent was killed before the hook could write that it began, the journal does not
		// know what would be skipped.
		if failed && hook == u.Workload.Data["hook"] && p.rand.IntN(3) == 0 {
			word = "no-retry"
		}
		if service := entity.UnitService(u.Name); p.rand.IntN(3) == 0 && alive[service] {
			p.upgrade(service, true)
		}
		unit, err := p.st.Unit(p.ctx, u.Name)
		if errors.Is(err, entity.NotFound) {
			continue
		}
		p.ok(err)
		p.note("resolved %s %s", u.Name, word)
		if err := unit.Resolve(p.ctx, word == "retry"); !errors.Is(err, entity.NotFound) && !errors.Is(err, entity.Invalid) {
			p.ok(err)
		}
	}
	for _, name := range p.checker.Units() {
		if !there[name] && p.home(name) == "" {
			p.note("gone %s", name)
		}
	}
	p.look()
	return m
}

// home returns the directory of a unit's agent, or "".
func (p *player) home(unit string) string {
	homes, err := filepath.Glob(filepath.Join(p.machines, "*", "agents", entity.UnitTag(unit).String()))
	p.ok(err)
	if len(homes) == 0 {
		return ""
	}
	return homes[len(homes)-1]
}

// end destroys everything.
func (p *player) end() {
	p.Helper()
	for _, name := range []string{"log", "site", "store"} {
		svc, err := p.st.Service(p.ctx, name)
		p.ok(err)
		p.ok(svc.Destroy(p.ctx, entity.Destruction{Storage: true}))
	}
	if !p.await(patience, func() bool {
		p.resolve()
		return len(p.checker.Units()) == 0
	}) {
		p.Fatalf("these units do not go: %v\n%s", p.checker.Units(), p.circumstances())
	}
	findings, err := p.st.Check(p.ctx, false)
	p.ok(err)
	for _, f := range findings {
		p.Errorf("found afterwards: %v", f)
	}
}
