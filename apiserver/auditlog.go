package apiserver

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"juju/apiserver/audit"
	"juju/apiserver/facades"
	"juju/apiserver/params"
	"juju/state"
	"juju/state/entity"
)

// maxAudited limits the text of an entry's error in bytes.
const maxAudited = 1 << 10

// audits reports whether a call belongs into the audit log: a user's that changes something. One by someone who is not
// logged in does only if it succeeded, so that strangers can't fill the log.
func audits(who *facades.Caller, r *facades.Route, failed bool) bool {
	if r == nil || r.Effect == facades.Reads || r.Effect == facades.Checks {
		return false
	}
	if who.Roles == facades.Unauthenticated {
		return r.Method == "Register" && !failed
	}
	return who.Tag.Kind == entity.KindUser && r.ForUsers()
}

// An auditing is the entry of one request in the audit log. It is written when the request has first changed something, so
// that it is on disk with the change, and replaced if the outcome is another one. A request that changes nothing is in the
// log when it has failed.
type auditing struct {
	*conn
	who   *facades.Caller
	route *facades.Route
	req   *params.Request
	began time.Time

	mu       sync.Mutex
	ended    bool
	redactor audit.Redactor
	entry    entity.AuditEntry
	written  string // the entry's id
	failed   error  // to write it
}

// auditing returns the entry of a request, not written yet. r may be nil.
func (c *conn) auditing(who *facades.Caller, r *facades.Route, req *params.Request, began time.Time) *auditing {
	if r != nil {
		r, req = c.server.table.Guarded(r, req)
	}
	return &auditing{conn: c, who: who, route: r, req: req, began: began}
}

// note writes the entry of a request that has changed something.
func (a *auditing) note() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.ended && audits(a.who, a.route, false) {
		a.write(nil, nil)
	}
}

// end writes the entry of a request that has ended, unless it has been written and says the same. It does so even if the
// client has gone, and again if the store was away when note wrote it: the change has been made.
func (a *auditing) end(result any, err error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = true
	if !audits(a.who, a.route, err != nil) {
		return nil
	}
	a.write(result, err)
	return a.failed
}

func (a *auditing) write(result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			logger.Criticalf("%s: audit of %s.%s: panic: %v\n%s", a.conn, a.req.Type, a.req.Request, p, debug.Stack())
			a.failed = errors.New("panic")
		}
	}()
	e := a.entry
	if a.written == "" {
		a.redactor.Options = secretOptions(context.WithoutCancel(a.ctx), a.who.Model)
		e = entity.AuditEntry{Time: a.began, User: a.who.Tag.ID, From: a.remote, Call: a.route.Facade + "." + a.route.Method,
			Version: a.route.Version, Args: a.redactor.Args(executed(a.route, a.req.Params))}
		if a.route.Method == "Register" {
			var p params.RegisterRequest
			if json.Unmarshal(a.req.Params, &p) == nil {
				e.User = p.User.ID
			}
		}
	}
	outcome(&e, &a.redactor, result, err)
	created, creates := result.(params.ModelInfo)
	if a.written != "" && e.Error == "" && !creates {
		return
	}
	var models []string
	switch {
	case a.who.Model != nil:
		models = []string{a.who.Model.UUID()}
	case creates && err == nil:
		models = []string{created.UUID}
	default:
		models = named(a.req.Params)
	}
	if a.written == "" && !a.server.failedCalls.lists(&e) {
		return
	}
	a.entry = e
	a.written, a.failed = a.server.audited(e, models, a.written)
}

// executed returns the parameters as the method has read them, whatever else the request has. If it can't be read, the
// request as it is.
func executed(r *facades.Route, request json.RawMessage) json.RawMessage {
	p, err := r.Handler.Decode(request)
	if err != nil {
		return request
	}
	if text, err := json.Marshal(p); err == nil {
		return text
	}
	return request
}

// outcome sets an entry's error: the call's, or those of the changes that it asked for.
func outcome(e *entity.AuditEntry, redactor *audit.Redactor, result any, err error) {
	failures := params.Failures(result)
	if err != nil {
		failures = []*params.Error{facades.Told(err)}
	}
	var texts []string
	for _, f := range failures {
		if text := redactor.Text(f.Message); len(texts) == 0 || text != texts[len(texts)-1] {
			texts = append(texts, text)
		}
	}
	if len(failures) > 0 {
		e.Error, e.Code = entity.Cut(strings.Join(texts, "; "), maxAudited), failures[0].Code
	}
}

// named returns the UUIDs of the models that a request at the controller names.
func named(request json.RawMessage) (uuids []string) {
	var collect func(v any)
	collect = func(v any) {
		switch v := v.(type) {
		case string:
			if tag, err := params.ParseTag(v); err == nil && tag.Kind == entity.KindModel && len(uuids) < maxNamed {
				uuids = append(uuids, tag.ID)
			}
		case []any:
			for _, e := range v {
				collect(e)
			}
		case map[string]any:
			for _, e := range v {
				collect(e)
			}
		}
	}
	var v any
	if len(request) <= maxNaming && json.Unmarshal(request, &v) == nil {
		collect(v)
	}
	return uuids
}

// The limits of the models that an entry is about: their number, and the bytes of the request that names them.
const (
	maxNamed  = 20
	maxNaming = 64 << 10
)

// audited adds an entry about models to the audit log, in the place of another one if replaced is its id. It does so even if
// the client has gone.
func (s *Server) audited(e entity.AuditEntry, models []string, replaced string) (id string, err error) {
	for _, uuid := range models {
		m, err := s.controller.AuditModel(context.Background(), uuid)
		if err != nil {
			return "", err
		}
		e.Models = append(e.Models, m)
	}
	return s.controller.Audit(context.Background(), e, replaced)
}

// secretOptions looks up which options of a model's charms are secrets. st is nil at the controller itself.
func secretOptions(ctx context.Context, st *state.State) func(service, url string) audit.IsSecretOption {
	return func(service, url string) audit.IsSecretOption {
		unknown := func(string) (bool, bool) { return false, false }
		if st == nil {
			return unknown
		}
		if url == "" {
			svc, err := st.Service(ctx, service)
			if err != nil {
				return unknown
			}
			url = svc.CharmURL()
		}
		ch, err := st.Charms().Get(ctx, url)
		if err != nil {
			return unknown
		}
		return func(option string) (secret, known bool) {
			o, known := ch.Config.Options[option]
			return o.IsSecret(), known
		}
	}
}

// auditingHTTP returns the function that writes the outcome of a visitor's request into the audit log, if it is a user's that
// changes something. Only its first call has an effect.
func (s *Server) auditingHTTP(e endpoint, v *visitor, r *http.Request) func(err error) error {
	began, done := s.config.now(), v.Tag.Kind != entity.KindUser || e.effect == facades.Reads
	return func(err error) error {
		if done {
			return nil
		}
		done = true
		ctx := context.WithoutCancel(r.Context())
		redactor := &audit.Redactor{Options: secretOptions(ctx, v.model)}
		path := strings.TrimPrefix(r.URL.Path, "/model/"+r.PathValue("uuid"))
		entry := entity.AuditEntry{Time: began, User: v.Tag.ID, From: r.RemoteAddr, Call: entity.Cut(r.Method+" "+path, maxAudited)}
		if query, jsonErr := json.Marshal(r.URL.Query()); jsonErr == nil && r.URL.RawQuery != "" {
			entry.Args = redactor.Args(query)
		}
		if outcome(&entry, redactor, nil, err); !s.failedCalls.lists(&entry) {
			return nil
		}
		_, err = s.audited(entry, []string{v.model.UUID()}, "")
		return err
	}
}
