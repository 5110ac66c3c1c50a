package state_test

import (
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"juju/doc/tools/verify"
	"juju/state"
	"juju/state/controller"
	"juju/state/internal/annotations"
	ofBlocks "juju/state/internal/blocks"
	"juju/state/internal/charms"
	"juju/state/internal/networks"
	"juju/state/internal/resources"
	"juju/state/internal/storage"
	"juju/state/internal/tasks"
)

// A mutator is one way to call a method that changes what is stored.
type mutator struct {
	name string // "Unit.Destroy"
	how  string // what is special about the call; "" for the plain one
	// before prepares a copy of the stage; take reads the entity to call the method
	// on, and returns the call.
	before []func(*scene)
	take   func(*scene) func() error
	// logs says that failures are logged and left for the next call.
	logs bool
	// slow says that the call or its preparation takes a tenth of a second; secret,
	// that the change shows in no dump.
	slow, secret bool
	// mends says that the call repairs damage that before has done.
	mends bool
	// givesUp says that the call undoes what it has begun when it cannot continue.
	givesUp bool
	// leaves says that an interrupted call leaves something that a check repairs.
	leaves bool
	// steps says that the call changes two databases in turn: a concurrent change
	// can come first in one and last in the other.
	steps bool
	// free says that the call asserts nothing, so it never conflicts.
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

// mutators lists all mutators. A new method that changes something needs a row.
var mutators = slices.Concat(unitMutators, serviceMutators, machineMutators, storageMutators, modelMutators,
	taskMutators, resourceMutators, userMutators, crossModelMutators, secretMutators)

// readers lists the methods that change nothing that transactions assert.
var readers = map[string]string{
	"CrossModel": "Connections Consumed Consuming Counterpart Members OfConsumer Offer Offers Remote SharedSecret Shown WatchRemotes WatchShared",
	"Controller": `Audit AuditLog AuditModel MayConsume OfferAccess OfferUsers GrantedOffers Barrier CheckConsumer CheckKnownUser CheckSession CheckToken CheckUser Close Cloud CloudCredential CloudCredentials CredentialUsers LastLogins Model ModelDefaults ModelLeftovers ModelNamed ModelRow ModelUsers Models ModelsOf Name Nodes Opened Presences Remains Remote Rights SecretKeyID SingularHolder Sync Tokens UUID User Users AwaitSingular
		CheckForms Forms NodeUpgrade OpenBinaries WatchNodeUpgrade
		Principal WatchCloudCredentials WatchConsumer WatchModelRow WatchModels WatchModelsOf WatchNodes WatchPresences WatchRights WatchSession WatchToken WatchUnfinishedModels WatchUsers`,
	"Machine":      "Addresses CharmProfiles DistributionGroup Exposure HostKeys ID Info InstanceID IsManager Life Series Spaces Tasks",
	"Forms":        "Covers",
	"ModelRow":     "IsRemoving",
	"Relation":     "Endpoints ID Key Life",
	"Remains":      "IsRemoving",
	"Service":      "Bindings CharmURL ConfigSettings Constraints EffectiveConfig ExposedEndpoints IsSubordinate Leader Life MachinesLeft MinUnits MissingResources Name Origin Resource Resources Series StorageConstraints Trust UnitNames",
	"Agents":       "AsWatched Check Deployed KnownMachine KnownUnit Machines Moved Stamps Started WatchPasswords",
	"Blocks":       "All Check",
	"Charms":       "Archive Get Payloads Sum Warnings",
	"Cleaner":      "WatchCleanups",
	"MinUnits":     "WatchMinUnits",
	"Pools":        "All Stores",
	"Annotations":  "Get",
	"Networks":     "Demands Known Spaces Unused Uses",
	"Provisioning": "Attached Exposure FailedMachines Leftovers MachineInfos PersistentStorage ProfileWork StorageWork WatchExposure WatchProfiles WatchStorage",
	"Resources":    "CheckUser Open Pending",
	"Secrets":      "Content List WatchSecrets",
	"Storage":      "ID Life",
	"Tasks":        "Find Operation Operations Task",
	"Transactions": "Barrier Token",
	"Scope":        "Member Topic",
	"Watches":      "AgentTopics Application Binaries Deployed End HostExposure Live Machine MachineTasks Machines Members ModelConfig Operation RelationUnits Relations Rollout Rollouts ScopeOf Status Summary Unit",
	"Settings":     "Binaries Config Constraints Networks Sequences",
	"State": `Agents Annotations Blocks Charms Cleaner CrossModel Done Dump Explainer FindEntity Life Machine Machines MinUnits Name
		Pools Provisioning Refers Relation RelationByID Resources Secrets Service Settings Status
		StatusHistory Storage StorageStatus Tasks Transactions UUID Unit Unsettled Watches`,
	"Unit": `BlockUntilLeadershipReleased CharmState Config Deployer GoalState Info LeaderSettings Life Machine MachineLeft Name OpenedPorts OwnedSecrets Payloads Principal
		RelationData RelationSettings Relations Resource Secret Service ServiceStatus Status StorageStatus`,
	"User": "Stamp",
}

// direct lists the methods that write, but not by transactions of their own: no
// transaction asserts what they write, or they act on all transactions (tested
// in state/mongo).
var direct = map[string]string{
	"Controller":   "Beat BeginNodeUpgrade ClaimForms ClaimSingular DropDatabases DropPresence EndNodeUpgrade Fence ForgetNodeUpgrade IsBehind KeepBinaries NodeChanged NodeFailed NoteLogin PruneTransactions ReleaseSingular RemoveNode ResumeTransactions SetNode SetPresence SweepBinaries TakeTurn Upgrade",
	"Transactions": "Fence IfUnchanged PruneTransactions ResumeTransactions",
}

// ofTests lists the methods declared in test files.
var ofTests = map[string]string{
	"State": "Before BeforeNext Counts DB Die FailedAsserts LeadersText LongestQueue LosableTail MinUnitsChanges Refusals RewriteOps Write WriteText",
	"Unit":  "WriteAsLeader",
}

func TestEveryMutatorIsListed(t *testing.T) {
	verify.Smoke(t)
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
			t.Errorf("%s is both a mutator and in a list of other methods", m.name)
		}
	}
	methods := map[string]bool{}
	for typ := range exported(reflect.TypeFor[*controller.Controller](), reflect.TypeFor[*state.State]()) {
		for i := range typ.NumMethod() {
			methods[typ.Elem().Name()+"."+typ.Method(i).Name] = true
		}
	}
	for name := range methods {
		if !rows[name] && !known[name] {
			t.Errorf("%s is in no list: if it changes anything, add a row to mutators", name)
		}
	}
	for _, lists := range []map[string]bool{rows, known} {
		for name := range lists {
			if !methods[name] {
				t.Errorf("no method %s", name)
			}
		}
	}
}

// exported returns the given types and all types with methods that their
// methods lead to.
func exported(roots ...reflect.Type) map[reflect.Type]bool {
	found := map[reflect.Type]bool{}
	packages := []string{reflect.TypeFor[tasks.Tasks]().PkgPath(), reflect.TypeFor[storage.Pools]().PkgPath(), reflect.TypeFor[resources.Resources]().PkgPath(),
		reflect.TypeFor[charms.Charms]().PkgPath(),
		reflect.TypeFor[annotations.Annotations]().PkgPath(), reflect.TypeFor[ofBlocks.Blocks]().PkgPath(),
		reflect.TypeFor[networks.Networks]().PkgPath(), reflect.TypeFor[state.Watches]().PkgPath()}
	for _, t := range roots {
		packages = append(packages, t.Elem().PkgPath())
	}
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
		if !slices.Contains(packages, t.Elem().PkgPath()) || t.NumMethod() == 0 || found[t] {
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

// cast returns the mutators to test: every row, or with -short those of firsts.
func cast() []mutator {
	if testing.Short() {
		return firsts()
	}
	return mutators
}

// firsts returns one row of each method: in a soak every row, with -short a
// random thirtieth.
func firsts() []mutator { return oneOfEach(mutators) }

// quick returns a random row of each method, and a slow one only if all rows of
// the method are slow. In a soak, or to try a seed again, it returns every row.
func quick() []mutator {
	if soak || os.Getenv("JUJU_SIM_SEED") != "" {
		return mutators
	}
	all := slices.DeleteFunc(slices.Clone(mutators), func(m mutator) bool {
		return m.slow && slices.ContainsFunc(mutators, func(o mutator) bool { return o.name == m.name && !o.slow })
	})
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return oneOfEach(all)
}

// oneOfEach returns the first row of each method: in a soak every row, with
// -short a random thirtieth.
func oneOfEach(rows []mutator) (all []mutator) {
	for _, m := range rows {
		if soak || !slices.ContainsFunc(all, func(o mutator) bool { return o.name == m.name }) {
			all = append(all, m)
		}
	}
	if testing.Short() {
		rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		all = all[:len(all)/30]
	}
	return all
}

var soak = os.Getenv("JUJU_SOAK") != ""

// inParallel runs a subtest for each element, several at a time: they mostly wait.
func inParallel[T any](t *testing.T, all []T, name func(T) string, f func(*testing.T, T)) {
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

// What is a model's state is in types of their own for those who use it, so that State stays small.
func TestStateIsSmall(t *testing.T) {
	const most = 41
	test := strings.Fields(ofTests["State"])
	names := slices.Collect(func(yield func(string) bool) {
		typ := reflect.TypeFor[*state.State]()
		for i := range typ.NumMethod() {
			if name := typ.Method(i).Name; !slices.Contains(test, name) && !yield(name) {
				return
			}
		}
	})
	if len(names) > most {
		t.Errorf("State has %d exported methods, and should have no more than %d: %v", len(names), most, names)
	}
}
