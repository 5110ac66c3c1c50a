package apiserver

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"juju/apiserver/dashboard"
	"juju/apiserver/debuglog"
	"juju/apiserver/logs"
	"juju/state/entity"
)

// pagePause is how long after one event of a page the next one comes at the earliest, so that a busy model does not keep
// browsers and the controller busy.
const pagePause = 250 * time.Millisecond

// pageStream begins a stream to a page, which lasts until the session ends or its user may no longer read the model.
func (s *Server) pageStream(w http.ResponseWriter, r *http.Request, v *pageVisit) (e *sse, leave func(), err error) {
	uncount, err := s.admitWatch(v.row.UUID, v.identity)
	if err != nil {
		return nil, nil, err
	}
	e, end := s.newSSE(w, r)
	stop := e.guard(streamAccess{model: v.model, identity: v.identity, expires: v.session.Expires,
		changes: s.watchRights(e.ctx, v.identity, v.row.UUID),
		look:    func() (identity, error) { return s.identifyBy(e.ctx, v.identity, v.row.UUID) }})
	return e, func() { stop(); end(); uncount() }, nil
}

// A logLine is a line of an agent's log, as a page gets it.
type logLine struct {
	Time     time.Time `json:"time"`
	Severity string    `json:"severity"`
	Module   string    `json:"module"`
	Message  string    `json:"message"`
}

// pageBacklog is how many lines a page shows of what was logged before.
const pageBacklog = 200

// pageLog sends a page the log of an agent as it grows.
func (s *Server) pageLog(w http.ResponseWriter, r *http.Request, v *pageVisit) error {
	tag, err := entity.ParseTag(r.Form.Get("entity"))
	if err != nil {
		return err
	}
	e, leave, err := s.pageStream(w, r, v)
	if err != nil {
		return err
	}
	defer leave()
	if r.Method == http.MethodHead || e.begin() != nil {
		return nil
	}
	q := logs.Query{Filter: logs.Filter{IncludeEntity: []string{tag.String()}}, Backlog: pageBacklog}
	h := s.hold(v.model.UUID(), v.identity, e.end)
	defer h.Close()
	q.Keep = keeping(e.ctx, h)
	err = s.followLog(e.ctx, v.visitor, q, func(m debuglog.Message) error {
		text, err := event("line", "", logLine{m.Timestamp, m.Severity, m.Module, m.Message})
		if err != nil {
			return err
		}
		h.Idle() // while the browser reads, the memory can be reclaimed for others
		defer h.Busy()
		return e.write(text)
	})
	_ = e.bye(cmp.Or(context.Cause(e.ctx), err, errBye))
	return nil
}

// pageEvents tells a page whenever what it shows has changed.
func (s *Server) pageEvents(w http.ResponseWriter, r *http.Request, v *pageVisit, m *dashboard.Mirror,
	done <-chan struct{}) error {
	e, leave, err := s.pageStream(w, r, v)
	if err != nil {
		return err
	}
	defer leave()
	if r.Method == http.MethodHead || e.begin() != nil {
		return nil
	}
	beat := time.NewTicker(s.limits.PingEvery)
	defer beat.Stop()
	topics := dashboard.TopicsOf(r.Form.Get("page"))
	for known := ""; ; {
		changed := m.Changed()
		if now := m.Version(topics); now != known {
			known = now
			text, err := event("changed", "", m.Revision())
			if err != nil {
				return err
			}
			if e.write(text) != nil {
				_ = e.bye(e.reason(v.model))
				return nil
			}
			select {
			case <-time.After(pagePause):
			case <-e.ctx.Done():
			}
		}
		select {
		case <-changed:
		case <-beat.C:
			if e.write([]byte(":\n\n")) != nil {
				_ = e.bye(e.reason(v.model))
				return nil
			}
		case <-done:
			_ = e.bye(errNoModel)
			return nil
		case <-e.ctx.Done():
			_ = e.bye(context.Cause(e.ctx))
			return nil
		}
	}
}
