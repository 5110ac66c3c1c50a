package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"

	"juju/apiserver/params"
	"juju/state/constraints"
	"juju/state/entity"
)

var update = flag.Bool("update", false, "write testdata/calls.txt")

// A fakeServer answers each request with a reply, and notes the request.
type fakeServer struct {
	reply    string            // JSON
	replies  map[string]string // instead, by method
	failure  *params.Error     // instead
	requests []string

	// answer, if set, replies to requests other than the login, each in a goroutine, and hang is called when the client closes
	// the connection, with its close code.
	answer  func(ws *websocket.Conn, req params.Request)
	mu      sync.Mutex // of answer, once there is a connection
	telling sync.Mutex // a frame is written
	hang    func(code int)
	login   string        // the result of the login, as JSON; "" for an empty one
	refusal *params.Error // instead
	pings   bool          // each minute
	pong    func(text string)
	// other serves what is not below /api.
	other http.HandlerFunc
}

// answers changes the answer while there is a connection.
func (f *fakeServer) answers(answer func(*websocket.Conn, params.Request)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer = answer
}

// info says how to reach the server, which ends with the test.
func (f *fakeServer) info(t *testing.T) Info {
	conns, done := make(chan net.Conn), make(chan struct{})
	server := &http.Server{Handler: http.HandlerFunc(f.serve)}
	go server.Serve(listener{conns, done})
	t.Cleanup(func() { close(done); server.Close() })
	return Info{Model: "u", Tag: entity.UserTag("bob"), Password: "secret", Dial: func(context.Context) (net.Conn, error) {
		ours, theirs := net.Pipe()
		conns <- theirs
		return ours, nil
	}}
}

// dial returns a connection to the server, which ends with the test.
func (f *fakeServer) dial(t *testing.T) *Conn {
	t.Helper()
	c, err := Dial(t.Context(), f.info(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func (f *fakeServer) serve(w http.ResponseWriter, r *http.Request) {
	if f.other != nil && !strings.HasSuffix(r.URL.Path, "/api") {
		f.other(w, r)
		return
	}
	ws, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer ws.Close()
	if f.pong != nil {
		ws.SetPongHandler(func(text string) error { f.pong(text); return nil })
	}
	if f.pings {
		over := make(chan struct{})
		defer close(over)
		go func() {
			for ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(time.Second)) == nil {
				select {
				case <-time.After(time.Minute):
				case <-over:
				}
			}
		}()
	}
	for {
		var req params.Request
		if err := ws.ReadJSON(&req); err != nil {
			var closed *websocket.CloseError
			if f.hang != nil && errors.As(err, &closed) {
				f.hang(closed.Code)
			}
			return
		}
		f.mu.Lock()
		answer := f.answer
		f.mu.Unlock()
		if answer != nil && req.Type != "Admin" {
			go answer(ws, req)
			continue
		}
		reply, ok := f.replies[req.Request]
		if !ok {
			reply = f.reply
		}
		frame, err := params.EncodeSuccess(req.RequestID, json.RawMessage(reply), params.Trace{})
		if req.Type == "Admin" && f.refusal != nil {
			frame, err = params.EncodeFailure(req.RequestID, f.refusal)
		} else if req.Type == "Admin" {
			frame, err = params.EncodeSuccess(req.RequestID, json.RawMessage(cmp.Or(f.login, "{}")), params.Trace{})
		} else if f.requests = append(f.requests, fmt.Sprintf("%s %d %s %s", req.Type, req.Version, req.Request, req.Params)); f.failure != nil {
			frame, err = params.EncodeFailure(req.RequestID, f.failure)
		}
		if err != nil || ws.WriteMessage(websocket.TextMessage, frame) != nil {
			return
		}
	}
}

// A listener accepts connections from a channel.
type listener struct {
	conns chan net.Conn
	done  chan struct{}
}

func (l listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}
func (listener) Close() error   { return nil }
func (listener) Addr() net.Addr { return &net.UnixAddr{} }

// A sampler makes values whose lists have some elements, down to a depth.
type sampler struct{ elements, depth int }

// sample returns a value for the n-th argument of a method.
func sample(t reflect.Type, n int) reflect.Value { return sampler{2, 0}.of(t, n) }

func (s sampler) of(t reflect.Type, n int) reflect.Value {
	v := reflect.New(t).Elem()
	if s.depth++; s.depth > 9 { // some types contain themselves
		return v
	}
	switch v.Interface().(type) {
	case *params.Error:
		return v
	case json.RawMessage:
		return reflect.ValueOf(json.RawMessage("{}"))
	case params.Tag:
		return reflect.ValueOf(params.TagOf(entity.UnitTag("web/0")))
	case entity.Tag:
		return reflect.ValueOf(entity.UnitTag("web/0"))
	case time.Time:
		return reflect.ValueOf(time.Unix(0, 0).UTC())
	case time.Duration:
		return reflect.ValueOf(time.Minute)
	case constraints.Value:
		c, err := constraints.Parse("mem=1G")
		if err != nil {
			panic(err)
		}
		return reflect.ValueOf(c)
	case entity.Destruction:
		return reflect.ValueOf(entity.Destruction{Strength: entity.Force, Timeout: time.Minute, Machines: true, Storage: true})
	}
	switch t.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("a%d", n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(n) + 3)
	case reflect.Uint64:
		v.SetUint(uint64(n) + 3)
	case reflect.Interface:
		v.Set(reflect.ValueOf("any"))
	case reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		v.Elem().Set(s.of(t.Elem(), n))
	case reflect.Slice:
		for i := range s.elements {
			v = reflect.Append(v, s.of(t.Elem(), 10*n+i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(t))
		v.SetMapIndex(s.of(t.Key(), 10*n), s.of(t.Elem(), 10*n+1))
	case reflect.Struct:
		for i := range t.NumField() {
			if t.Field(i).IsExported() {
				v.Field(i).Set(s.of(t.Field(i).Type, (10*n+i)%1000))
			}
		}
	}
	return v
}

// asks returns the arguments of a method that makes one request, and whether it does.
func asks(ctx context.Context, m reflect.Method) (args []reflect.Value, ok bool) {
	t := m.Type
	if t.NumIn() < 2 || t.In(1) != reflect.TypeFor[context.Context]() || t.NumOut() == 0 || t.Out(t.NumOut()-1) != reflect.TypeFor[error]() {
		return nil, false
	}
	args = append(args, reflect.ValueOf(ctx))
	for i := 2; i < t.NumIn(); i++ {
		if in := t.In(i); in == reflect.TypeFor[io.Reader]() || in.Kind() == reflect.Func {
			return nil, false
		}
		args = append(args, sample(t.In(i), i))
	}
	for i := range t.NumOut() {
		if out := t.Out(i); out.Kind() == reflect.Chan || out == reflect.TypeFor[io.ReadCloser]() || out == reflect.TypeFor[*LogSink]() {
			return nil, false
		}
	}
	return args, true
}

// replies have the types of what the controller answers; "{}" to other methods.
var replies = map[string]any{
	"AddCredential":          params.ErrorResults{},
	"AddMachine":             params.AddMachinesResults{},
	"AddOffer":               params.ErrorResults{},
	"AddPendingResources":    params.AddPendingResourcesResult{},
	"AddRelationVia":         params.AddRelationResults{},
	"AddSpace":               params.ErrorResults{},
	"AddStorage":             params.AddStorageResults{},
	"AddUnits":               params.AddApplicationUnitsResults{},
	"AddUser":                params.AddUserResults{},
	"Annotations":            params.AnnotationsGetResults{},
	"AttachStorage":          params.ErrorResults{},
	"AuditLog":               params.AuditEntries{},
	"Bind":                   params.ErrorResults{},
	"BlockedModels":          params.ModelBlockInfoList{},
	"Blocks":                 params.BlockResults{},
	"CheckDeploy":            params.CheckDeployResult{},
	"CheckUsers":             params.ErrorResults{},
	"ClearPendingResources":  params.PendingResources{},
	"Cloud":                  params.CloudResults{},
	"Clouds":                 params.CloudsResult{},
	"ConsumeDetails":         params.ConsumeOfferDetailsResults{},
	"ControllerConfig":       params.ControllerConfigResult{},
	"ControllerNodes":        params.ControllerDetailsResults{},
	"CreateLogin":            params.CreatedLogin{},
	"CreateModel":            params.ModelInfo{},
	"CreateToken":            params.CreatedToken{},
	"Credential":             params.CredentialContentResults{},
	"CreateStoragePool":      params.ErrorResults{},
	"CredentialNames":        params.StringsResults{},
	"Deploy":                 params.DeployResults{},
	"DestroyMachines":        params.DestroyMachineResults{},
	"DestroyModel":           params.ErrorResults{},
	"DestroyServices":        params.DestroyResults{},
	"DestroyUnits":           params.DestroyResults{},
	"DetachStorage":          params.ErrorResults{},
	"DumpModel":              params.MapResults{},
	"EnableHA":               params.ControllersChangeResults{},
	"EnqueueActions":         params.EnqueuedActions{},
	"Explain":                params.ExplainResults{},
	"Expose":                 params.ExposeResult{},
	"FindOffers":             params.QueryApplicationOffersResults{},
	"FindTasks":              params.FindTagsResults{},
	"HostKeys":               params.SSHPublicKeysResults{},
	"ImportFilesystem":       params.ImportStorageResults{},
	"Leader":                 params.StringResult{},
	"ModelConfig":            params.ModelConfigResults{},
	"ModelConstraints":       params.GetConstraintsResults{},
	"ModelDefaults":          params.ModelDefaultsResults{},
	"ModelInfo":              params.ModelInfoResults{},
	"ModelLeftovers":         params.LeftoverResults{},
	"ModelSummaries":         params.ModelSummaryResults{},
	"ModelUsers":             params.ModelUserInfoResults{},
	"Models":                 params.UserModelList{},
	"ModifyControllerAccess": params.ErrorResults{},
	"ModifyModelAccess":      params.ErrorResults{},
	"ModifyOfferAccess":      params.ErrorResults{},
	"MoveToSpace":            params.MoveSubnetsResults{},
	"Offer":                  params.ApplicationOffersResults{},
	"Operation":              params.OperationResults{},
	"Operations":             params.OperationResults{},
	"Payloads":               params.PayloadResults{},
	"PendingResources":       params.PendingResources{},
	"ProvisioningScript":     params.ProvisioningScriptResult{},
	"ProxiesSSH":             params.SSHProxyResult{},
	"RemoveOffers":           params.ErrorResults{},
	"RemoveRemotes":          params.ErrorResults{},
	"RemoveSpace":            params.RemoveSpaceResults{},
	"RemoveStorage":          params.ErrorResults{},
	"RemoveStoragePool":      params.ErrorResults{},
	"RenameSpace":            params.ErrorResults{},
	"ResetModelDefaults":     params.ErrorResults{},
	"ResetPassword":          params.AddUserResults{},
	"ResetServiceConfig":     params.ErrorResults{},
	"Resolve":                params.ErrorResults{},
	"ResolveAll":             params.ErrorResults{},
	"Resources":              params.ResourcesResults{},
	"RevertRollout":          params.SetCharmResult{},
	"RevokeCredential":       params.ErrorResults{},
	"RevokeToken":            params.ErrorResults{},
	"RunCommand":             params.EnqueuedActions{},
	"SSHKeys":                params.StringsResults{},
	"Sequences":              params.ModelSequencesResult{},
	"ServiceActions":         params.ApplicationsCharmActionsResults{},
	"ServiceConfig":          params.ApplicationGetResults{},
	"ServiceConstraints":     params.ApplicationGetConstraintsResults{},
	"SetAnnotations":         params.ErrorResults{},
	"SetBase":                params.ErrorResults{},
	"SetCharm":               params.SetCharmResult{},
	"SetModelConstraints":    params.SetConstraintsResult{},
	"SetModelCredential":     params.ErrorResults{},
	"SetModelDefaults":       params.ErrorResults{},
	"SetPassword":            params.ErrorResults{},
	"SetServiceConfig":       params.ErrorResults{},
	"SetServiceConstraints":  params.SetConstraintsResult{},
	"ShowSpace":              params.ShowSpaceResults{},
	"ShowStorage":            params.StorageDetailsResults{},
	"Spaces":                 params.ListSpacesResults{},
	"Status":                 params.FullStatus{},
	"StatusHistory":          params.StatusHistoryResults{},
	"Storage":                params.StorageDetailsListResults{},
	"StoragePools":           params.StoragePoolsResults{},
	"SuspendRelations":       params.ErrorResults{},
	"Tokens":                 params.TokenResults{},
	"UnitInfo":               params.UnitInfoResults{},
	"UpdateCredential":       params.UpdateCredentialResults{},
	"UpdateStoragePool":      params.ErrorResults{},
	"UpgradeModel":           params.UpgradeModelResult{},
	"UploadCharm":            params.CharmsResponse{},
	"UploadResource":         params.ResourceUploadResult{},
}

var random = regexp.MustCompile(`[0-9a-f-]{32,}`)

// Each method of a connection makes a request and reads its reply: testdata/calls.txt has the requests for some arguments, the
// replies, and what the methods return. A refusal is returned, and a reply without results is an error, or nothing.
func TestCalls(t *testing.T) {
	t.Parallel()
	f := &fakeServer{}
	c := f.dial(t)
	refused := params.ToError(entity.WithHint(entity.Errorf(entity.NotFound, "no"), "Look"))
	var got strings.Builder
	typ := reflect.TypeFor[*Conn]()
	for i := range typ.NumMethod() {
		m := typ.Method(i)
		args, ok := asks(t.Context(), m)
		if !ok {
			continue
		}
		call := func(reply string, failure *params.Error) (results []reflect.Value, err error) {
			f.reply, f.failure, f.requests = reply, failure, nil
			v := reflect.ValueOf(c).Method(i)
			if m.Type.IsVariadic() {
				results = v.CallSlice(args)
			} else {
				results = v.Call(args)
			}
			err, _ = results[len(results)-1].Interface().(error)
			return results[:len(results)-1], err
		}
		if _, err := call("{}", refused); len(f.requests) == 0 {
			continue // it makes none
		} else if m.Name != "Do" && (!errors.Is(err, entity.NotFound) || err.Error() != "no" || entity.Hint(err) != "Look") {
			t.Errorf("%s is refused: %v", m.Name, err)
		}
		reply := "{}"
		results, err := call(reply, nil)
		for n := 1; n <= 2; n++ { // as many results as the method wants
			if typ, ok := replies[m.Name]; ok && (n == 1 || err != nil) {
				text, marshalErr := json.Marshal(sampler{n, 0}.of(reflect.TypeOf(typ), 0).Interface())
				if marshalErr != nil {
					t.Fatal(marshalErr)
				}
				reply = string(text)
				results, err = call(reply, nil)
			}
		}
		fmt.Fprintf(&got, "%s\n", m.Name)
		for _, r := range f.requests {
			fmt.Fprintf(&got, "\tasks %s\n", r)
		}
		fmt.Fprintf(&got, "\tis told %s\n", reply)
		for _, r := range results {
			if errs, ok := r.Interface().([]error); ok {
				fmt.Fprintf(&got, "\treturns %v\n", errs)
				continue
			}
			text, err := json.Marshal(r.Interface())
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&got, "\treturns %s\n", text)
		}
		if err != nil {
			fmt.Fprintf(&got, "\tfails: %v\n", err)
		}
		for _, reply := range []string{`{"results":[]}`, `{"results":[{}]}`, `{"results":[{},{}]}`, `{"results":[{},{},{}]}`} { // they must not break it
			_, _ = call(reply, nil)
		}
	}
	text := random.ReplaceAllString(got.String(), "RANDOM")
	const path = "testdata/calls.txt"
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if diff := gocmp.Diff(string(want), text); diff != "" || err != nil {
		t.Errorf("%v (run with -update to accept):\n%s", err, diff)
	}
}

// What was asked for and has no result may not have been done: it is no success. This holds for all methods that make several
// changes, or one whose error is the only result.
func TestRepliesWithAnotherNumberOfResults(t *testing.T) {
	t.Parallel()
	f := &fakeServer{}
	c := f.dial(t)
	typ, errs, several := reflect.TypeFor[*Conn](), reflect.TypeFor[[]error](), 0
	for i := range typ.NumMethod() {
		m := typ.Method(i)
		args, ok := asks(t.Context(), m)
		if !ok || strings.Contains(m.Name, "All") { // which makes as many changes as the controller finds
			continue
		}
		asked := 0
		switch last := m.Type.In(m.Type.NumIn() - 1); {
		case m.Type.NumOut() > 1 && slices.ContainsFunc([]reflect.Type{m.Type.Out(0), m.Type.Out(1)}, func(t reflect.Type) bool { return t == errs }) &&
			last.Kind() == reflect.Slice:
			asked = 2
			several++
		case reflect.TypeOf(replies[m.Name]) == reflect.TypeFor[params.ErrorResults]():
			asked = 1
		default:
			continue
		}
		for n := range 4 {
			f.reply = fmt.Sprintf(`{"results":[%s]}`, strings.TrimSuffix(strings.Repeat("{},", n), ","))
			v, call := reflect.ValueOf(c).Method(i), reflect.Value.Call
			if m.Type.IsVariadic() {
				call = reflect.Value.CallSlice
			}
			results := call(v, args)
			err, _ := results[len(results)-1].Interface().(error)
			if (err == nil) != (n == asked) || err != nil && !errors.Is(err, entity.Unavailable) {
				t.Errorf("%s with %d requests got %d results, and returned error %v", m.Name, asked, n, err)
			}
		}
	}
	if several < 15 {
		t.Errorf("only %d methods make several changes", several)
	}
}

// Of several changes, those that are refused are reported in the order of the request.
func TestRefusedChanges(t *testing.T) {
	t.Parallel()
	f := &fakeServer{reply: `{"results":[{},{"error":{"message":"gone","code":"not found"}}]}`}
	c := f.dial(t)
	typ, several := reflect.TypeFor[*Conn](), 0
	for i := range typ.NumMethod() {
		m := typ.Method(i)
		args, ok := asks(t.Context(), m)
		if !ok || m.Type.NumOut() < 2 || m.Type.Out(0) != reflect.TypeFor[[]error]() {
			continue
		}
		several++
		call := reflect.Value.Call
		if m.Type.IsVariadic() {
			call = reflect.Value.CallSlice
		}
		errs := call(reflect.ValueOf(c).Method(i), args)[0].Interface().([]error)
		if len(errs) != 2 || errs[0] != nil || !errors.Is(errs[1], entity.NotFound) {
			t.Errorf("%s: %v", m.Name, errs)
		}
	}
	if several < 15 {
		t.Errorf("only %d methods make several changes", several)
	}
}

// What a reply names by what was asked, or what takes a second request, is found.
func TestFurtherReplies(t *testing.T) {
	t.Parallel()
	f := &fakeServer{replies: map[string]string{
		"FindActionTagsByPrefix": `{"matches":{"1":[{"tag":"action-1"},{"tag":"action-12"}],"2":[{"tag":"action-2"}]}}`,
		"UserInfo":               `{"results":[{"result":{"username":"bob"}},{"result":{"username":"eve"}}]}`,
		"SubnetsByCIDR":          `{"results":[{"subnets":[{"id":"7"}]},{"subnets":[{"id":"8"}]}]}`,
		"MoveSubnets":            `{"results":[{"new-space":"space-db","moved-subnets":[{"cidr":"10.1.0.0/16","old-space":"space-web"}]}]}`,
		"ModelInfo": `{"results":[{"result":{"name":"m","status":{"status":"destroying","info":"soon"},"cloud-tag":"cloud-rack",` +
			`"cloud-credential-tag":"cloudcred-rack_bob_ops"}}]}`,
		"ListModelSummaries": `{"results":[{"error":{"message":"gone","code":"not found"}},{"result":{"name":"m","status":{"status":"available"},"cloud-tag":"cloud-rack"}}]}`,
	}}
	c := f.dial(t)
	ctx := t.Context()
	if ids, err := c.FindTasks(ctx, "1"); err != nil || !slices.Equal(ids, []string{"1", "12"}) {
		t.Errorf("tasks %q, %v", ids, err)
	}
	if users, err := c.Users(ctx, false); err != nil || len(users) != 2 || users[1].Username != "eve" {
		t.Errorf("users %+v, %v", users, err)
	}
	info, err := c.ModelInfo(ctx, "u")
	if err != nil || info.Status.Status != "destroying" || info.Status.Message != "soon" || info.CloudName != "rack" || info.Credential != "ops" {
		t.Errorf("model %+v, %v", info, err)
	}
	if all, err := c.ModelSummaries(ctx); err != nil || len(all) != 1 || all[0].Status.Status != "available" || all[0].CloudName != "rack" {
		t.Errorf("models %+v, %v", all, err)
	}
	f.requests = nil
	moved, err := c.MoveToSpace(ctx, "db", []string{"10.0.0.0/16", "10.1.0.0/16"}, true)
	if want := []entity.MovedSubnet{{CIDR: "10.1.0.0/16", From: "web", To: "db"}}; err != nil || !slices.Equal(moved, want) {
		t.Errorf("moved %+v, %v", moved, err)
	}
	if want := `Spaces 6 MoveSubnets {"args":[{"subnets":["subnet-7","subnet-8"],"space-tag":"space-db","force":true}]}`; f.requests[1] != want {
		t.Errorf("asked %s, want %s", f.requests[1], want)
	}
	f.replies["SubnetsByCIDR"] = `{"results":[{"subnets":[{"id":"7"}]},{}]}`
	if _, err := c.MoveToSpace(ctx, "db", []string{"10.0.0.0/16", "10.2.0.0/16"}, false); !errors.Is(err, entity.NotFound) ||
		err.Error() != `subnet "10.2.0.0/16" not found` {
		t.Errorf("an unknown subnet: %v", err)
	}
	f.replies["MoveSubnets"], f.replies["SubnetsByCIDR"] = `{"results":[]}`, `{"results":[{"subnets":[{"id":"7"}]}]}`
	if _, err := c.MoveToSpace(ctx, "db", []string{"10.0.0.0/16"}, false); !errors.Is(err, entity.Unavailable) {
		t.Errorf("without a result: %v", err)
	}
}
