package state_test

import (
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"juju/state"
)

// A mutator is a method that changes what is stored, in one of the ways that it has
// to do that.
type mutator struct {
	name string // "Unit.Destroy"
	how  string // what is special; "" for the plain way
	// before takes a copy of the stage to where the method is called; take reads what
	// it is called on, and returns the call.
	before []func(*scene)
	take   func(*scene) func() error
	// logs says that it logs what it fails at, and leaves it for the next time.
	logs bool
	// slow says that it takes a tenth of a second, or its stage does; secret, that
	// nobody sees what it changes.
	slow, secret bool
	// mends says that something is wrong before it.
	mends bool
	// givesUp says that it takes back what it has begun when it can't go on.
	givesUp bool
	// leaves says that what is cut short leaves something that a check finds and mends.
	leaves bool
	// steps says that it is done in two databases: what another does in between may
	// come first there and not here.
	steps bool
	// free says that nothing can be in its way: it asserts nothing.
	free bool
}

func (m mutator) ready(s *scene) func() error {
	s.Helper()
	for _, f := range m.before {
		f(s)
	}
	return m.take(s)
}

func (m mutator) String() string {
	if m.how == "" {
		return m.name
	}
	return m.name + ", " + m.how
}

// mutators are all of them. Who adds a method that changes something adds a row.
var mutators = slices.Concat(unitMutators, serviceMutators, machineMutators, modelMutators, userMutators)

// readers are the methods that change nothing that a transaction rests on.
var readers = map[string]string{
	"Controller": `Barrier CheckKnownUser CheckUser Close Cloud Model ModelLeftovers ModelUsers Models ModelsOf Name Rights UUID User Users
		WatchModels WatchRights WatchUnfinishedModels`,
	"Endpoint":     "String",
	"Machine":      "Addresses ID Info InstanceID IsManager Life",
	"ModelRow":     "IsRemoving",
	"Relation":     "Endpoints ID Key Life",
	"Service":      "CharmURL ConfigSettings Constraints EffectiveConfig IsExposed IsSubordinate Life MachinesLeft MinUnits Name Series",
	"Agents":       "Check Stamp Started WatchPasswords",
	"Blocks":       "All Check",
	"Charms":       "Archive Get Warnings",
	"Cleaner":      "WatchCleanups",
	"MinUnits":     "WatchMinUnits",
	"Transactions": "Barrier",
	"Watches":      "Deployed End Machine Machines ModelConfig RelationUnits Relations Status Unit",
	"State": `Agents Annotations Blocks Charms Cleaner Constraints DeployedUnits Done Dump Explain FailedMachines FindEntity Leftovers Life
		Machine MachineInfos Machines MinUnits ModelConfig Name Relation RelationByID Service Status StatusHistory Transactions UUID
		Unit Unsettled Watches`,
	"Unit": `BlockUntilLeadershipReleased Config Deployer Info Life Machine MachineLeft Name OpenedPorts Principal RelationSettings Relations Service Status`,
	"User": "Stamp",
}

// Those that write, and not by transactions of their own: what they write is nobody's
// ground, or they are about all transactions (see mongo_test.go there).
var direct = map[string]string{
	"Controller":   "DropDatabases NoteLogin PruneTransactions ResumeTransactions",
	"Transactions": "PruneTransactions ResumeTransactions",
}

// ofTests are methods of export_test.go.
var ofTests = map[string]string{
	"Controller": "Before BeforeNext Contents DB Leases Make PutLease RewriteOps ShareStore Write",
	"State":      "Before BeforeNext Counts DB Die FailedAsserts LeadersText LongestQueue LoseTail MinUnitsChanges Refusals RewriteOps Write",
	"Unit":       "WriteAsLeader",
}

func TestEveryMutatorIsListed(t *testing.T) {
	known := map[string]bool{}
	for _, lists := range []map[string]string{readers, direct, ofTests} {
		for of, names := range lists {
			for _, name := range strings.Fields(names) {
				known[of+"."+name] = true
			}
		}
	}
	rows := map[string]bool{}
	for _, m := range mutators {
		rows[m.name] = true
		if known[m.name] {
			t.Errorf("%s is a mutator, and in a list of those that are not", m.name)
		}
	}
	methods := map[string]bool{}
	for typ := range exported(reflect.TypeFor[*state.Controller](), reflect.TypeFor[*state.State]()) {
		for i := range typ.NumMethod() {
			methods[typ.Elem().Name()+"."+typ.Method(i).Name] = true
		}
	}
	for name := range methods {
		if !rows[name] && !known[name] {
			t.Errorf("%s is in no list: does it change anything? Then it is a row of mutators", name)
		}
	}
	for _, lists := range []map[string]bool{rows, known} {
		for name := range lists {
			if !methods[name] {
				t.Errorf("there is no method %s any more", name)
			}
		}
	}
}

// exported returns the types with methods that the methods of some types lead to,
// these included.
func exported(roots ...reflect.Type) map[reflect.Type]bool {
	found := map[reflect.Type]bool{}
	var visit func(reflect.Type)
	visit = func(t reflect.Type) {
		switch t.Kind() {
		case reflect.Slice, reflect.Map, reflect.Chan:
			visit(t.Elem())
			return
		case reflect.Struct:
			visit(reflect.PointerTo(t))
			return
		case reflect.Pointer:
		default:
			return
		}
		if t.Elem().PkgPath() != roots[0].Elem().PkgPath() || t.NumMethod() == 0 || found[t] {
			return
		}
		found[t] = true
		for i := range t.NumMethod() {
			m := t.Method(i).Type
			for out := range m.Outs() {
				visit(out)
			}
		}
	}
	for _, t := range roots {
		visit(t)
	}
	return found
}

// cast are the mutators, in all their ways or, in short, some in the first of them.
func cast() []mutator {
	if testing.Short() {
		return firsts()
	}
	return mutators
}

// firsts are the mutators, each in the first of its ways; in a soak in all, and in short
// a few of them, others in each run.
func firsts() (all []mutator) {
	for _, m := range mutators {
		if soak || !slices.ContainsFunc(all, func(o mutator) bool { return o.name == m.name }) {
			all = append(all, m)
		}
	}
	if testing.Short() {
		rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		all = all[:len(all)/5]
	}
	return all
}

// quick are those of the cast that are not slow, and of a mutator that is always slow
// the first; in a soak all.
func quick() (all []mutator) {
	for _, m := range cast() {
		same := func(o mutator) bool { return o.name == m.name && !o.slow }
		if m.slow && !soak && (slices.ContainsFunc(mutators, same) || slices.ContainsFunc(all, func(o mutator) bool { return o.name == m.name })) {
			continue
		}
		all = append(all, m)
	}
	return all
}

var soak = os.Getenv("JUJU_SOAK") != ""

// atOnce runs a test for each, a few of them at a time: they wait a lot.
func atOnce[T any](t *testing.T, all []T, name func(T) string, f func(*testing.T, T)) {
	next := make(chan T)
	var workers sync.WaitGroup
	for range 12 {
		workers.Go(func() {
			for one := range next {
				t.Run(name(one), func(t *testing.T) { f(t, one) })
			}
		})
	}
	for _, one := range all {
		next <- one
	}
	close(next)
	workers.Wait()
}
