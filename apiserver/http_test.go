package apiserver

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"juju/apiserver/facades"
	"juju/apiserver/params"
	"juju/state/entity"
	"juju/state/statetest"
)

// An endpoint that panics is answered like other internal errors, and its request is over. A panic that aborts the reply
// is net/http's to handle.
func TestEndpointsThatPanic(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	serve := func(p any) (reply *httptest.ResponseRecorder, passed any) {
		defer func() { passed = recover() }()
		request := httptest.NewRequest(http.MethodGet, "/log", nil)
		request = request.WithContext(withNetConn(request.Context(), nil))
		request.SetBasicAuth(params.TagOf(entity.UserTag(statetest.Admin)).String(), statetest.Password)
		request.SetPathValue("uuid", w.st.UUID())
		reply = httptest.NewRecorder()
		w.server.serveEndpoint(endpoint{"GET", "/log", facades.Reader, facades.Reads, facades.AnyLogin,
			func(*Server, *visitor, http.ResponseWriter, *http.Request) error { panic(p) }}, reply, request)
		return reply, nil
	}
	reply, passed := serve("hunter2")
	if passed != nil || reply.Code != http.StatusInternalServerError || !strings.Contains(reply.Body.String(), params.Internal) {
		t.Errorf("%d %s, panics with %v", reply.Code, reply.Body, passed)
	}
	if _, passed := serve(http.ErrAbortHandler); passed != http.ErrAbortHandler {
		t.Errorf("a reply that is aborted panics with %v", passed)
	}
	if load := w.server.Load().Connections; load["superusers"]+load["users"] != 0 {
		t.Errorf("connections are left: %v", load)
	}
}
