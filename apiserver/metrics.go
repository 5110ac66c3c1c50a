package apiserver

import (
	"net/http"
	"time"

	"juju/apiserver/admission"
	"juju/apiserver/facades"
	"juju/state/entity"
)

// metricsPath is where Prometheus finds the controller's metrics. Who may read the controller's model may read them.
const metricsPath = "/metrics"

func (s *Server) serveMetrics(w http.ResponseWriter, r *http.Request) {
	if s.config.Metrics == nil {
		http.NotFound(w, r)
		return
	}
	r.SetPathValue("uuid", s.controllerModel.UUID())
	s.serveEndpoint(endpoint{http.MethodGet, metricsPath, facades.Reader, facades.Reads, facades.AnyLogin,
		func(s *Server, _ *visitor, w http.ResponseWriter, r *http.Request) error {
			_, err := s.start(http.NewResponseController(w).SetWriteDeadline)
			if err == nil {
				s.config.Metrics.ServeHTTP(w, r)
			}
			return err
		}}, w, r)
}

// The reasons for refusals, for the metrics.
const (
	refusedDenied = "denied" // a wrong name or password, or no access
	refusedAbsent = "absent" // a model that does not exist, or a machine whose instance is not recorded yet
	refusedBusy   = "busy"   // too many logins at once, or the store is away
	refusedFull   = "full"   // too many connections
	refusedOther  = "other"
)

// refusal returns the reason for which a login is refused with an error.
func refusal(err error) string {
	switch entity.KindOf(err) {
	case entity.Unauthorized:
		return refusedDenied
	case entity.NotFound, entity.NotProvisioned:
		return refusedAbsent
	case entity.Unavailable:
		return refusedBusy
	}
	return refusedOther
}

// A Load is what the server has to do at a moment.
type Load struct {
	Connections map[string]int // by kind: "users", "machine agents"; "unauthenticated" are those that have not logged in
	Requests    int            // of agents, that wait for their turn
	Logins      int            // of users, that wait until their passwords are checked
}

// Load returns what the server has to do now.
func (s *Server) Load() Load {
	load := Load{Connections: map[string]int{"unauthenticated": s.limiter.Count()}, Requests: s.agentTurns.Waiting(), Logins: s.hashing.Waiting()}
	for kind, n := range s.members.Connections() {
		load.Connections[admission.Kind(kind).String()] = n
	}
	return load
}

// unmetered is the Meter of a server that has none.
type unmetered struct{}

func (unmetered) HookRan(string, string, time.Duration) {}
func (unmetered) HookFailed(string, string)             {}
func (unmetered) LoginRefused(string)                   {}
