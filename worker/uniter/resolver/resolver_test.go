package resolver

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"juju/agent/host/process"
	"juju/hooks"
	"juju/state/entity"
	"juju/worker/uniter/localstate"
)

var rewrite = flag.Bool("rewrite", false, "write into testdata what happens, instead of comparing")

// TestStories plays the files in testdata. Each is the story of one unit, in blocks: what
// happens, a line of dashes, and what the unit does until it has to wait.
//
//	reset                      a new unit of a service whose charm is local:web-1
//	unit life=dying ...        what the controller says about the unit
//	relation 3 db life=...     and about a relation; members=mysql/0:1,mysql/1:7
//	local installed ...        what the unit remembers; settled: config-changed has run since the restart
//	told 3 members=... ...     and what its charm knows about a relation
//	storage data/0 here ...    storage that the unit has; life=dying, gone
//	secret changed ID 3        something that the unit must be told; of-service; gone for nothing more
//	hooks remove ...           which of the later hooks its charm has, or dispatch
//	op run-hook pending ...    what is in progress
//	task 12 running            the unit has a task that is not over
//	command                    a user of the machine waits for a command
//	gone 3                     the controller no longer lists a relation
//	fail start                 the next run of this hook, or deployment of this charm, fails
//	restart                    the agent is a new process
//	chatty 3                   what changed hooks of this relation set makes the other unit set something
//	steps 5                    only so many steps
func TestStories(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			w := newWorld()
			var out strings.Builder
			for i, block := range strings.Split(strings.TrimSpace(string(content)), "\n\n") {
				happens, want, _ := strings.Cut(block+"\n", "----\n")
				got := w.play(t, happens)
				if strings.TrimSpace(got) != strings.TrimSpace(want) {
					if !*rewrite {
						t.Errorf("block %d:\n%sgot\n%swant\n%s", i+1, happens, got, want)
					}
				}
				if i > 0 {
					out.WriteString("\n")
				}
				out.WriteString(happens)
				if got != "" {
					out.WriteString("----\n" + got)
				}
			}
			if *rewrite {
				if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// A world is a unit and its controller. Operations take effect at once.
type world struct {
	local  localstate.State
	remote Remote
	fails  []string
	chatty []int // relations
}

func newWorld() *world {
	return &world{remote: Remote{
		Recovering: true,
		EpochKnown: true,
		Asked:      map[string]entity.Strength{},
		Unit: entity.UnitInfo{Name: "web/0", Service: "web", ServiceCharmURL: "local:web-1", ConfigVersion: 1,
			PrivateAddress: "10.0.0.1"},
	}}
}

// play applies the lines, and returns what the unit does, one line each.
func (w *world) play(t *testing.T, lines string) string {
	steps, silent := 0, true
	for _, line := range strings.Split(lines, "\n") {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		silent = false
		if words[0] == "steps" {
			steps, _ = strconv.Atoi(words[1])
			continue
		}
		if err := w.happen(words[0], words[1:]); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	if silent { // a comment
		return ""
	}
	var out strings.Builder
	for n := range 100 {
		op := NextOp(w.local, w.remote)
		fmt.Fprintln(&out, op)
		if op.Verb == Wait || op.Verb == AwaitResolution || op.Verb == AwaitReboot || op.Verb == Terminate {
			return out.String()
		}
		w.do(op)
		if n+1 == steps {
			return out.String()
		}
	}
	t.Fatalf("the unit finds no rest:\n%s", out.String())
	return ""
}

// do applies op.
func (w *world) do(op Op) {
	unit := &w.remote.Unit
	w.remote.RetryDue = false
	switch op.Verb {
	case DestroyUnit:
		unit.Life = entity.Dying
	case DestroySubordinates:
		for _, name := range unit.Subordinates {
			w.remote.Asked[name] = w.remote.Unit.Strength
		}
	case Die:
		unit.Life = entity.Dead
	case Deploy:
		if op.Resolved {
			unit.Resolved = entity.ResolvedNone
		}
		var after *localstate.Op
		if w.local.Op != nil {
			if after = w.local.Op; w.local.Op.Kind == localstate.DeployCharm {
				after = w.local.Op.After
			}
		}
		if i := slices.Index(w.fails, op.Charm); i >= 0 {
			w.fails = slices.Delete(w.fails, i, i+1)
			w.local.Op = localstate.Op{Charm: op.Charm, After: after}.ConflictsWith(errors.New("no"))
			return
		}
		w.local = w.local.Deployed(op.Charm, after)
		unit.CharmURL = op.Charm
		w.local.Endpoints = []string{"db", "cache"}
		if op.Charm != "local:web-1" {
			w.local.Endpoints = append(w.local.Endpoints, "log")
		}
	case PassSecret:
		w.ran(op.Hook)
	case Run:
		if op.Resolved {
			unit.Resolved = entity.ResolvedNone
		}
		if i := slices.Index(w.fails, op.Hook.String()); i >= 0 {
			w.fails = slices.Delete(w.fails, i, i+1)
			w.local.Op = &localstate.Op{Kind: localstate.RunHook, Step: localstate.Failed, Hook: op.Hook}
			return
		}
		w.ran(op.Hook)
	case Skip:
		unit.Resolved = entity.ResolvedNone
		w.ran(w.local.Op.Hook)
	case FailTask:
		w.over(op.Task)
	case CancelTask:
		w.noTask(op.Task)
	case RunTask, RunCommand:
		w.local.Op = &localstate.Op{Kind: localstate.RunTask, Task: op.Task, After: w.local.Op}
		w.over(op.Task)
	case Fail:
		failed := *w.local.Op
		if failed.Kind == localstate.RunTask {
			failed.Step = localstate.Done
			w.local.Op = &failed
			return
		}
		failed.Step = localstate.Failed
		w.local.Op = &failed
	case Commit:
		switch op := w.local.Op; op.Kind {
		case localstate.DeployCharm:
			w.local = w.local.Deployed(op.Charm, op.After)
		case localstate.RunTask:
			w.over(op.Task)
		default:
			w.ran(op.Hook)
		}
	case Abandon:
		w.local.Op = nil
	case ClearResolved:
		unit.Resolved = entity.ResolvedNone
	case Enter, Leave:
		for i := range w.remote.Relations {
			rel := &w.remote.Relations[i]
			if rel.ID == op.Relation {
				created := hooks.Info{Kind: hooks.RelationCreated}.Name(rel.Endpoint)
				if op.Verb == Enter && !rel.Implicit && w.remote.Hooks.Has(created) {
					w.local = w.local.Entering(rel.ID)
				}
				rel.InScope, rel.Known = op.Verb == Enter, true
				if op.Verb == Leave && rel.Life != entity.Alive {
					w.remote.Relations = slices.Delete(w.remote.Relations, i, i+1)
					break
				}
			}
		}
		if op.Verb == Leave {
			w.local = w.local.Without(op.Relation)
		}
	case Forget:
		w.local = w.local.Without(op.Relation)
	case Detach:
		unit.Storage = slices.DeleteFunc(unit.Storage, func(s entity.UnitStorage) bool { return s.ID == op.Storage })
		w.local = w.local.WithoutStorage(op.Storage)
	case ReportUpgrade:
		up := *unit.Upgrade
		up.Done = true
		unit.Upgrade = &up
	case ForgetStorage:
		w.local = w.local.WithoutStorage(op.Storage)
	}
}

// noTask has the controller drop a task that is over.
func (w *world) noTask(id string) {
	w.remote.Unit.Tasks = slices.DeleteFunc(w.remote.Unit.Tasks, func(t entity.TaskRef) bool { return t.ID == id })
}

// over ends a task.
func (w *world) over(id string) {
	w.noTask(id)
	if op := w.local.Op; op != nil && op.Kind == localstate.RunTask {
		w.remote.Command = w.remote.Command && id != ""
		w.local = w.local.AfterTask()
	}
}

func (w *world) ran(hook hooks.Info) {
	if hook.Kind == hooks.UpdateStatus {
		w.remote.UpdateStatusDue = false
	}
	if hook.Kind.IsSecret() {
		w.told(hook)
	}
	w.local = w.local.Ran(localstate.Op{Hook: hook, Config: localstate.ConfigOf(w.remote.Unit), Boot: w.remote.Boot})
	if hook.Kind == hooks.ConfigChanged {
		w.remote.Recovering = false
	}
	if hook.Kind != hooks.RelationChanged || !slices.Contains(w.chatty, hook.RelationID) {
		return
	}
	for i := range w.remote.Relations {
		if rel := &w.remote.Relations[i]; rel.ID == hook.RelationID {
			rel.Members = maps.Clone(rel.Members)
			rel.Members[hook.RemoteUnit]++
		}
	}
}

func (w *world) happen(what string, words []string) error {
	switch what {
	case "reset":
		*w = *newWorld()
	case "restart":
		w.remote.Recovering = true
		w.remote.Asked = map[string]entity.Strength{}
	case "fail":
		w.fails = append(w.fails, strings.Join(words, " "))
	case "chatty":
		id, err := strconv.Atoi(words[0])
		w.chatty = append(w.chatty, id)
		return err
	case "gone":
		id, err := strconv.Atoi(words[0])
		w.remote.Relations = slices.DeleteFunc(w.remote.Relations, func(r Relation) bool { return r.ID == id })
		return err
	case "task":
		w.remote.Unit.Tasks = append(w.remote.Unit.Tasks, entity.TaskRef{ID: words[0], Status: entity.TaskStatus(words[1])})
	case "command":
		w.remote.Command = true
	case "unit":
		return each(words, w.unit)
	case "local":
		return each(words, w.remember)
	case "relation":
		return w.relation(words)
	case "told":
		return w.seen(words)
	case "storage":
		return w.storage(words)
	case "secret":
		return w.secret(words)
	case "hooks":
		w.remote.Hooks = hooks.Implemented{Dispatch: slices.Contains(words, "dispatch"), Files: map[string]bool{}}
		for _, word := range words {
			w.remote.Hooks.Files[word] = true
		}
	case "op":
		return w.op(words)
	default:
		return fmt.Errorf("unknown")
	}
	return nil
}

// each calls f for words like "key=value" and "key".
func each(words []string, f func(key, value string) error) error {
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		if err := f(key, value); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) unit(key, value string) (err error) {
	u := &w.remote.Unit
	switch key {
	case "life":
		return u.Life.UnmarshalText([]byte(value))
	case "service":
		return u.ServiceLife.UnmarshalText([]byte(value))
	case "leads": // by the claim with this epoch; 0 for not
		w.remote.EpochKnown = true
		w.remote.Epoch, err = strconv.ParseInt(value, 10, 64)
	case "leads-unknown":
		w.remote.EpochKnown = false
	case "leader-settings":
		u.LeaderSettingsVersion, err = strconv.ParseInt(value, 10, 64)
	case "resolved":
		u.Resolved = entity.Resolved(value)
	case "forced":
		u.Strength = entity.Force
	case "boot":
		w.remote.Boot = value
	case "lenient":
		u.Strength = entity.Lenient
	case "charm":
		u.ServiceCharmURL = value
	case "force-charm":
		u.ForceCharm = value != "no"
	case "config":
		u.ConfigVersion, err = strconv.ParseInt(value, 10, 64)
	case "resources":
		u.ResourcesVersion, err = strconv.ParseInt(value, 10, 64)
	case "awaits-profile": // no for none
		w.remote.Unit.AwaitedProfile = strings.TrimPrefix(value, "no")
	case "address":
		u.PrivateAddress = value
	case "subordinates":
		u.Subordinates = slices.DeleteFunc(strings.Split(value, ","), func(s string) bool { return s == "" })
	case "orphaned":
		u.OrphanedBySubRel = true
	case "barred":
		w.remote.Barred = value != "no"
	case "retry-due":
		w.remote.RetryDue = true
	case "upgrade": // preparing or completing, of the machine's operating system
		u.Upgrade = &entity.UnitUpgrade{Number: 1, Completing: value == "completing"}
	case "upgraded":
		u.Upgrade = nil
	case "update-status-due":
		w.remote.UpdateStatusDue = true
	default:
		return fmt.Errorf("unknown key %q", key)
	}
	return err
}

func (w *world) remember(key, value string) (err error) {
	l := &w.local
	switch key {
	case "settled": // since this agent's start
		w.remote.Recovering = false
	case "installed":
		l.Installed = true
	case "started":
		l.Installed, l.Started = true, true
	case "stopped":
		l.Stopped = true
	case "upgrade-pending":
		l.UpgradePending = true
	case "config-pending":
		l.ConfigPending = true
	case "boot":
		l.Boot = value
	case "reboot":
		l.Reboot = value
	case "charm":
		l.Charm, l.Endpoints = value, []string{"db", "cache"}
	case "config":
		l.Config = localstate.ConfigOf(w.remote.Unit)
		l.Config.Version, err = strconv.ParseInt(value, 10, 64)
	default:
		return fmt.Errorf("unknown key %q", key)
	}
	return err
}

func members(value string) map[string]int64 {
	all := map[string]int64{}
	for _, one := range strings.Split(value, ",") {
		if name, version, ok := strings.Cut(one, ":"); ok {
			all[name], _ = strconv.ParseInt(version, 10, 64)
		}
	}
	return all
}

func (w *world) relation(words []string) error {
	id, err := strconv.Atoi(words[0])
	if err != nil {
		return err
	}
	i := slices.IndexFunc(w.remote.Relations, func(r Relation) bool { return r.ID >= id })
	if i < 0 {
		i = len(w.remote.Relations)
	}
	if i == len(w.remote.Relations) || w.remote.Relations[i].ID != id {
		w.remote.Relations = slices.Insert(w.remote.Relations, i,
			Relation{RelationInfo: entity.RelationInfo{ID: id, Remote: "mysql"}})
	}
	rel := &w.remote.Relations[i]
	return each(words[1:], func(key, value string) error {
		switch key {
		case "life":
			return rel.Life.UnmarshalText([]byte(value))
		case "in":
			rel.InScope = true
		case "out":
			rel.InScope = false
		case "implicit":
			rel.Endpoint, rel.Implicit = "juju-info", true
		case "members":
			rel.Members, rel.Known = members(value), true
		case "unknown":
			rel.Known = false
		case "app":
			rel.Application, err = strconv.ParseInt(value, 10, 64)
			return err
		case "peer":
			rel.Endpoint, rel.Role, rel.Remote = "cache", "peer", "web"
		case "barred":
			rel.Barred = value != "no"
		default:
			rel.Endpoint = key
		}
		return nil
	})
}

func (w *world) storage(words []string) error {
	all := &w.remote.Unit.Storage
	i := slices.IndexFunc(*all, func(s entity.UnitStorage) bool { return s.ID == words[0] })
	if i < 0 {
		i = len(*all)
		*all = append(*all, entity.UnitStorage{ID: words[0]})
	}
	s := &(*all)[i]
	return each(words[1:], func(key, value string) error {
		switch key {
		case "here":
			s.Location = "/" + s.ID
		case "life":
			return s.Life.UnmarshalText([]byte(value))
		case "gone":
			*all = slices.Delete(*all, i, i+1)
		default:
			return fmt.Errorf("unknown key %q", key)
		}
		return nil
	})
}

// secret reads "changed 9m4e2mr0ui3e8a215n4g 3 of-service", something to be told, and "gone" for nothing more.
func (w *world) secret(words []string) (err error) {
	unit := &w.remote.Unit
	if words[0] == "gone" {
		unit.Secrets = nil
		return nil
	}
	event := entity.SecretEvent{Kind: entity.SecretEventKind(words[0]), ID: words[1], OfService: len(words) > 3}
	event.Revision, err = strconv.Atoi(words[2])
	unit.Secrets = append(slices.Clone(unit.Secrets), event)
	return err
}

// told has the controller drop what the unit was told.
func (w *world) told(hook hooks.Info) {
	if w.remote.isFor(hook.Secret, w.local) {
		w.remote.Unit.Secrets = slices.DeleteFunc(slices.Clone(w.remote.Unit.Secrets),
			func(e entity.SecretEvent) bool { return e == hook.Secret })
	}
}

func (w *world) seen(words []string) error {
	id, err := strconv.Atoi(words[0])
	if err != nil {
		return err
	}
	var seen localstate.Relation
	err = each(words[1:], func(key, value string) error {
		switch key {
		case "members":
			seen.Members = members(value)
		case "changed-pending":
			seen.ChangedPending = value
		case "broken":
			seen.Broken = true
		case "created-pending":
			seen.CreatedPending = true
		default:
			return fmt.Errorf("unknown key %q", key)
		}
		return nil
	})
	if w.local.Relations == nil {
		w.local.Relations = map[int]localstate.Relation{}
	}
	w.local.Relations[id] = seen
	return err
}

// op reads "run-hook pending relation-joined relation=3 unit=mysql/0 begun resolved" and
// "deploy-charm done charm=local:web-2 after=install".
func (w *world) op(words []string) error {
	op := &localstate.Op{Kind: localstate.OpKind(words[0]), Step: localstate.Step(words[1])}
	w.local.Op = op
	return each(words[2:], func(key, value string) error {
		switch key {
		case "charm":
			op.Charm = value
		case "task":
			op.Task = value
		case "after":
			op.After = &localstate.Op{Kind: localstate.RunHook, Step: localstate.Failed,
				Hook: hooks.Info{Kind: hooks.Kind(value)}}
		case "begun":
			op.Process = &hooks.Process{Identity: process.Identity{PID: 1234}}
		case "resolved":
			op.Resolved = true
		case "retried":
			op.Retried = true
		case "storage":
			op.Hook.Storage = value
		case "secret": // the first that there is to be told
			op.Hook = hooks.SecretHook(w.remote.Unit.Secrets[0])
		case "relation":
			op.Hook.RelationID, _ = strconv.Atoi(value)
		case "unit":
			op.Hook.RemoteUnit = value
		default:
			op.Hook.Kind = hooks.Kind(key)
		}
		return nil
	})
}
