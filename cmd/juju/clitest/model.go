package clitest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"juju/apiserver/client"
	"juju/apiserver/debuglog"
	"juju/apiserver/params"
	"juju/charm"
	"juju/state/constraints"
	"juju/state/entity"
	"juju/state/modelconfig"
)

// A FakeModel stands for the API of a model: it records the calls, and returns what it is set to return.
type FakeModel struct {
	Returns Returns

	// Mu guards Calls, and what Returns changes while a command runs.
	Mu       sync.Mutex
	Calls    []string
	Uploaded []byte // the last charm
	Token    string // of the plan that a change must have
	Watches  int    // how many have begun
	Opened   int    // connections
	Closed   int

	changed  chan struct{} // of the watch of the status; nil before there is one
	planOnly bool
	keeps    bool // changes, to plan them together
}

// Returns is what a FakeModel returns.
type Returns struct {
	Err          error // of every call
	Refused      error // by the cloud
	Refuse       func(client.DeployArgs) error
	Warnings     []string                  // of what the cloud accepts
	Restored     []string                  // settings, by a reverted upgrade
	Errs         []error                   // outcomes of bulk calls, nil for each that is missing
	Offers       []entity.Offer            // of the model
	Explanations []entity.Explanation      // one for each question, then there is nothing
	Explain      func() entity.Explanation // if there are none
	Statuses     []*entity.ModelStatus     // each once, and the last one from then on
	Silent       bool                      // WatchStatus does not answer
	Config       client.ServiceConfig
	Unit         client.UnitInfo
	Leader       func(service string) (string, error) // of services; nil if unit 7 leads each
	Logs         []debuglog.Message
	Blocks       []entity.Block
	Annotations  map[string]string // of every entity
	Constraints  constraints.Value
	ModelConfig  modelconfig.Config
	History      []entity.PastStatus
	Left         entity.DestroyInfo
	Tasks        []entity.Task // of the only operation, 1
	TaskEvents   chan struct{} // of the watch of the operation; nil for no events
	Actions      map[string]client.ActionInfo
	Keys         []string // of SSH
	Fingerprints []string
	Script       string      // of ProvisioningScript
	Plan         entity.Plan // of every change
	Sequences    map[string]int
	Storage      []entity.StorageStatus
	Payloads     []entity.UnitPayload
	Secrets      []client.Secret
	ProxiesSSH   bool
	Spaces       []entity.Space
	SpaceUse     entity.SpaceUse
	Resources    entity.ResourcesOf
	Pending      []entity.PendingResource
}

// Note records a call.
func (f *FakeModel) Note(call string, args ...any) error {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	f.Calls = append(f.Calls, strings.TrimSpace(call+" "+fmt.Sprint(args...)))
	if f.planOnly && !slices.Contains([]string{"Status", "Leader", "UploadCharm", "ResolveCharm", "AddCharm", "CharmInfo", "ServiceConfig", "CheckDeploy", "Annotations", "Resources",
		"FindOffers", "ConsumeDetails", "CheckUsers"}, call) {
		return cmp.Or(f.Returns.Err, client.ErrPlanned)
	}
	return f.Returns.Err
}

func (f *FakeModel) PlanOnly() { f.planOnly = true }

func (f *FakeModel) Planned() *entity.Plan { return &f.Returns.Plan }

func (f *FakeModel) KeepForPlan() { f.keeps = true }

func (f *FakeModel) Sequences(context.Context) (map[string]int, error) {
	return f.Returns.Sequences, nil
}

func (f *FakeModel) PlanMachine() (id, host string) { return "7", "7" }

func (f *FakeModel) PlanKept(context.Context) error {
	if !f.keeps {
		return errors.New("no changes were kept")
	}
	return client.ErrPlanned
}

func (f *FakeModel) CheckUnchanged(context.Context) error { return nil }

func (f *FakeModel) OnlyIfUnchanged(token string) { f.Token = token }

// DestroyModel is only called with the flags of plans.
func (f *FakeModel) DestroyModel(_ context.Context, uuid string, how entity.Destruction) error {
	return f.Note("DestroyModel", uuid, " ", how.Strength)
}

func (f *FakeModel) outcomes(n int) []error {
	errs := make([]error, n)
	copy(errs, f.Returns.Errs)
	return errs
}

func (f *FakeModel) Close() error {
	f.Closed++
	f.planOnly, f.keeps = false, false
	return nil
}

// Status returns each status once, and the last one forever.
func (f *FakeModel) Status(ctx context.Context, patterns ...string) (*entity.ModelStatus, error) {
	if err := f.Note("Status", strings.Join(patterns, ",")); err != nil {
		return nil, err
	}
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if len(f.Returns.Statuses) == 0 {
		return &entity.ModelStatus{Model: entity.ModelHeader{Name: "default"}}, nil
	}
	m := f.Returns.Statuses[0]
	if len(f.Returns.Statuses) > 1 {
		f.Returns.Statuses = f.Returns.Statuses[1:]
		f.tell()
	}
	return m, nil
}

// WatchStatus fires at once, and after each call of Status that has another status to follow.
func (f *FakeModel) WatchStatus(ctx context.Context) (<-chan struct{}, error) {
	if f.Returns.Silent {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if f.Returns.Err != nil {
		return nil, f.Returns.Err
	}
	f.changed = make(chan struct{}, 1)
	f.Watches++
	f.tell()
	return f.changed, nil
}

// Change makes the watch of the status fire, and Status return m from now on, unless nil.
func (f *FakeModel) Change(m *entity.ModelStatus) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if m != nil {
		f.Returns.Statuses = []*entity.ModelStatus{m}
	}
	f.tell()
}

func (f *FakeModel) tell() {
	select {
	case f.changed <- struct{}{}:
	default: // it will fire, or there is no watch
	}
}

// EndWatch ends the watch of the status, as if the controller had ended it.
func (f *FakeModel) EndWatch() {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	close(f.changed)
	f.changed = nil
}

func (f *FakeModel) UploadCharm(ctx context.Context, archive io.Reader, series string) (string, error) {
	text, err := io.ReadAll(archive)
	if err != nil {
		return "", err
	}
	f.Uploaded = text
	return "local:jammy/web-0", f.Note("UploadCharm", series)
}

func (f *FakeModel) ResolveCharm(ctx context.Context, name string, want client.CharmOrigin) (string, client.CharmOrigin, error) {
	asked, err := json.Marshal(want)
	if err != nil {
		return "", want, err
	}
	if want.Revision == nil {
		one := 1
		want.Revision = &one
	}
	if want.Base == nil {
		want.Base = &entity.Base{Name: "ubuntu", Channel: "22.04/stable"}
	}
	want.ID, want.Risk = "abc", cmp.Or(want.Risk, "stable")
	url := fmt.Sprintf("ch:amd64/%s-%d", strings.TrimPrefix(name, "ch:"), *want.Revision)
	return url, want, f.Note("ResolveCharm", name, string(asked))
}

func (f *FakeModel) AddCharm(ctx context.Context, url string, origin client.CharmOrigin) (client.CharmOrigin, error) {
	return origin, f.Note("AddCharm", url)
}

func (f *FakeModel) CharmInfo(ctx context.Context, url string) (*client.CharmInfo, error) {
	u, err := charm.ParseURL(url)
	if err != nil {
		return nil, err
	}
	return &client.CharmInfo{Meta: &params.CharmMeta{Name: u.Name}, Revision: u.Revision}, f.Note("CharmInfo", url)
}

func (f *FakeModel) CheckDeploy(ctx context.Context, args client.DeployArgs, charm entity.Platforms) (string, []string, error) {
	if f.Returns.Refuse != nil {
		return args.Series, f.Returns.Warnings, f.Returns.Refuse(args)
	}
	return args.Series, f.Returns.Warnings, f.Returns.Refused
}

func (f *FakeModel) Deploy(ctx context.Context, args client.DeployArgs) ([]string, error) {
	text, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	return f.Returns.Warnings, f.Note("Deploy", string(text))
}

func (f *FakeModel) SetCharm(ctx context.Context, args client.SetCharmArgs) ([]string, error) {
	text, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	return f.Returns.Warnings, f.Note("SetCharm", string(text))
}

func (f *FakeModel) ResumeRollout(ctx context.Context, service string, how client.Rollout) error {
	return f.Note("ResumeRollout", service, " ", how.Batch, " ", how.HealthTimeout)
}

func (f *FakeModel) RevertRollout(ctx context.Context, service string, how client.Rollout) (restored, warnings []string, err error) {
	return f.Returns.Restored, f.Returns.Warnings, f.Note("RevertRollout", service, " ", how.Batch, " ", how.HealthTimeout)
}

func (f *FakeModel) AddUnits(
	ctx context.Context, service string, n int, placement []entity.Placement, attach ...string,
) (units, warnings []string, err error) {
	for i := range n {
		units = append(units, fmt.Sprintf("%s/%d", service, i))
	}
	var at []string
	for _, p := range placement {
		at = append(at, p.String())
	}
	if len(attach) > 0 {
		at = append(at, "with "+strings.Join(attach, ","))
	}
	if err = f.Note("AddUnits", service, " ", n, " ", at); errors.Is(err, client.ErrPlanned) {
		units = nil
	}
	return units, f.Returns.Warnings, err
}

func (f *FakeModel) DestroyUnits(ctx context.Context, how entity.Destruction, units ...string) ([]error,
	entity.DestroyInfo, error) {
	return f.outcomes(len(units)), f.Returns.Left, f.Note("DestroyUnits"+with(how), units)
}

func (f *FakeModel) DestroyServices(ctx context.Context, how entity.Destruction, services ...string) ([]error,
	entity.DestroyInfo, error) {
	return f.outcomes(len(services)), f.Returns.Left, f.Note("DestroyServices"+with(how), services)
}

func (f *FakeModel) DestroyMachines(ctx context.Context, how entity.Destruction, ids ...string) ([]error,
	entity.DestroyInfo, error) {
	return f.outcomes(len(ids)), entity.DestroyInfo{DestroyedStorage: f.Returns.Left.DestroyedStorage}, f.Note("DestroyMachines"+with(how), ids)
}

func (f *FakeModel) AddRelation(ctx context.Context, ends ...string) (map[string]string, error) {
	return f.AddRelationVia(ctx, nil, ends...)
}

func (f *FakeModel) AddRelationVia(ctx context.Context, via []string, ends ...string) (map[string]string, error) {
	if len(via) > 0 {
		return nil, f.Note("AddRelation via", via, ends)
	}
	return map[string]string{"web": "store", "store": "db"}, f.Note("AddRelation", ends)
}

func (f *FakeModel) DestroyRelation(ctx context.Context, how entity.Destruction, ends ...string) error {
	return f.Note("DestroyRelation"+with(how), ends)
}

func (f *FakeModel) DestroyRelationByID(ctx context.Context, how entity.Destruction, id int) error {
	return f.Note("DestroyRelationByID"+with(how), id)
}

// with formats the strength of a destruction, "" for plain.
func with(how entity.Destruction) (text string) {
	switch how.Strength {
	case entity.Lenient:
		text = " leniently"
	case entity.Force:
		text = fmt.Sprintf(" with force after %v", how.Timeout)
	}
	if how.Machines {
		text += " with machines"
	}
	if how.Storage {
		text += " with storage"
	}
	if how.Release {
		text += " releasing storage"
	}
	return text
}

func (f *FakeModel) Explain(ctx context.Context, words ...string) ([]entity.Explanation, int, error) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if len(f.Returns.Explanations) == 0 && f.Returns.Explain != nil {
		return []entity.Explanation{f.Returns.Explain()}, 0, nil
	}
	if len(f.Returns.Explanations) == 0 {
		return nil, 0, entity.Errorf(entity.NotFound, "%v not found", words)
	}
	e := f.Returns.Explanations[0]
	f.Returns.Explanations = f.Returns.Explanations[1:]
	return []entity.Explanation{e}, 0, nil
}

func (f *FakeModel) AddMachine(ctx context.Context, args client.MachineArgs) (string, []string, error) {
	f.Mu.Lock()
	id := fmt.Sprint(len(f.Calls))
	f.Mu.Unlock()
	return id, f.Returns.Warnings, f.Note("AddMachine",
		fmt.Sprintf("%q %q %q", args.Series, args.Constraints.String(), args.Placement))
}

func (f *FakeModel) ProvisioningScript(ctx context.Context, machine, nonce string) (string, error) {
	return f.Returns.Script, f.Note("ProvisioningScript", machine)
}

func (f *FakeModel) ServiceConfig(ctx context.Context, service string) (client.ServiceConfig, error) {
	return f.Returns.Config, f.Note("ServiceConfig", service)
}

func (f *FakeModel) Leader(ctx context.Context, service string) (string, error) {
	if err := f.Note("Leader", service); err != nil || f.Returns.Leader == nil {
		return service + "/7", err
	}
	return f.Returns.Leader(service)
}

func (f *FakeModel) UnitInfo(ctx context.Context, unit string) (client.UnitInfo, error) {
	return f.Returns.Unit, f.Note("UnitInfo", unit)
}

func (f *FakeModel) SetServiceConfig(ctx context.Context, service string, values map[string]string, yaml string) error {
	return f.Note("SetServiceConfig", service, " ", values, " ", fmt.Sprintf("%q", yaml))
}

func (f *FakeModel) ResetServiceConfig(ctx context.Context, service string, options ...string) error {
	return f.Note("ResetServiceConfig", service, " ", options)
}

func (f *FakeModel) Resolve(ctx context.Context, retry bool, units ...string) ([]error, error) {
	return f.outcomes(len(units)), f.Note("Resolve", retry, " ", units)
}

func (f *FakeModel) ResolveAll(ctx context.Context, retry bool) ([]error, error) {
	return f.Returns.Errs, f.Note("ResolveAll", retry)
}

func (f *FakeModel) PrepareUpgrade(ctx context.Context, machine string, base entity.Base, force bool) error {
	return f.Note("PrepareUpgrade", machine, " ", base.Short(), " ", force)
}

func (f *FakeModel) CompleteUpgrade(ctx context.Context, machine string, keep bool) error {
	return f.Note("CompleteUpgrade", machine, " ", keep)
}

func (f *FakeModel) RetryProvisioning(
	ctx context.Context, constraints *constraints.Value, ids ...string,
) ([]error, []string, error) {
	return f.outcomes(len(ids)), f.Returns.Warnings, f.Note("RetryProvisioning"+replacing(constraints), ids)
}

func (f *FakeModel) RetryAllProvisioning(
	ctx context.Context, constraints *constraints.Value,
) ([]error, []string, error) {
	return f.Returns.Errs, f.Returns.Warnings, f.Note("RetryAllProvisioning" + replacing(constraints))
}

// replacing says which constraints a call replaces.
func replacing(constraints *constraints.Value) string {
	if constraints == nil {
		return ""
	}
	return fmt.Sprintf(" with %q", constraints.String())
}

func (f *FakeModel) Expose(ctx context.Context, service string, endpoints entity.ExposedEndpoints) ([]string, error) {
	if len(endpoints) > 0 && !endpoints.IsEverywhere() {
		return nil, f.Note("Expose", service, " ", endpoints)
	}
	return nil, f.Note("Expose", service)
}

func (f *FakeModel) Unexpose(ctx context.Context, service string, endpoints ...string) error {
	if len(endpoints) > 0 {
		return f.Note("Unexpose", service, " ", endpoints)
	}
	return f.Note("Unexpose", service)
}

func (f *FakeModel) ServiceConstraints(ctx context.Context, service string) (constraints.Value, error) {
	return f.Returns.Constraints, f.Note("ServiceConstraints", service)
}

func (f *FakeModel) SetServiceConstraints(ctx context.Context, service string, c constraints.Value) ([]string, error) {
	return f.Returns.Warnings, f.Note("SetServiceConstraints", service, " ", fmt.Sprintf("%q", c.String()))
}

func (f *FakeModel) ModelConfig(ctx context.Context) (modelconfig.Config, error) {
	return f.Returns.ModelConfig, f.Note("ModelConfig")
}

func (f *FakeModel) SetModelConfig(ctx context.Context, config map[string]string) error {
	return f.Note("SetModelConfig", config)
}

func (f *FakeModel) ResetModelConfig(ctx context.Context, keys ...string) error {
	return f.Note("ResetModelConfig", keys)
}

func (f *FakeModel) ModelConstraints(ctx context.Context) (constraints.Value, error) {
	return f.Returns.Constraints, f.Note("ModelConstraints")
}

func (f *FakeModel) SetModelConstraints(ctx context.Context, c constraints.Value) ([]string, error) {
	return f.Returns.Warnings, f.Note("SetModelConstraints", fmt.Sprintf("%q", c.String()))
}

func (f *FakeModel) StatusHistory(ctx context.Context, kind entity.HistoryKind, of entity.Tag,
	q client.HistoryQuery) ([]entity.PastStatus, error) {
	from := ""
	if !q.From.IsZero() {
		from = q.From.Format(time.RFC3339)
	}
	return f.Returns.History, f.Note("StatusHistory", kind, " ", of, " ", q.Size, " ", q.Ago, " ", from)
}

func (f *FakeModel) Annotations(ctx context.Context, of ...entity.Tag) ([]map[string]string, error) {
	all := make([]map[string]string, len(of))
	for i := range of {
		all[i] = f.Returns.Annotations
	}
	return all, f.Note("Annotations", of)
}

func (f *FakeModel) SetAnnotations(ctx context.Context, of entity.Tag, values map[string]string) error {
	return f.Note("SetAnnotations", of, " ", values)
}

func (f *FakeModel) CharmArchive(ctx context.Context, url string) (io.ReadCloser, string, error) {
	return io.NopCloser(bytes.NewReader(f.Uploaded)), "", f.Note("CharmArchive", url)
}

func (f *FakeModel) SetMinUnits(ctx context.Context, service string, n int) error {
	return f.Note("SetMinUnits", service, " ", n)
}

func (f *FakeModel) DebugLog(ctx context.Context, q client.LogQuery, line func(debuglog.Message) error) error {
	text, err := json.Marshal(q)
	if err != nil {
		return err
	}
	if err := f.Note("DebugLog", string(text)); err != nil {
		return err
	}
	for _, m := range f.Returns.Logs {
		if err := line(m); err != nil {
			return err
		}
	}
	if !q.NoTail {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return nil
}

func (f *FakeModel) Blocks(ctx context.Context) ([]entity.Block, error) {
	return f.Returns.Blocks, f.Note("Blocks")
}

func (f *FakeModel) SwitchBlockOn(ctx context.Context, t entity.BlockType, message string) error {
	return f.Note("SwitchBlockOn", t, fmt.Sprintf(" %q", message))
}

func (f *FakeModel) SwitchBlockOff(ctx context.Context, t entity.BlockType) error {
	return f.Note("SwitchBlockOff", t)
}

func (f *FakeModel) SSHKeys(ctx context.Context, whole bool) ([]string, error) {
	if !whole {
		return f.Returns.Fingerprints, f.Note("SSHKeys")
	}
	return f.Returns.Keys, f.Note("SSHKeys", " whole")
}

func (f *FakeModel) AddSSHKeys(ctx context.Context, keys []string) ([]error, error) {
	return f.outcomes(len(keys)), f.Note("AddSSHKeys", strings.Join(keys, "; "))
}

func (f *FakeModel) RemoveSSHKeys(ctx context.Context, ids []string) ([]error, error) {
	return f.outcomes(len(ids)), f.Note("RemoveSSHKeys", ids)
}

func (f *FakeModel) ProxiesSSH(context.Context) (bool, error) {
	return f.Returns.ProxiesSSH, f.Note("ProxiesSSH")
}

func (f *FakeModel) HostKeys(ctx context.Context, machine entity.Tag) ([]string, error) {
	err := f.Note("HostKeys", machine)
	if err == nil && len(f.Returns.Keys) == 0 {
		err = entity.Errorf(entity.NotFound, "keys not found")
	}
	return f.Returns.Keys, err
}
