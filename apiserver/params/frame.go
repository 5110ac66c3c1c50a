package params

import "encoding/json"

// A Request is one frame from a client.
type Request struct {
	RequestID uint64          `json:"request-id"` // never 0; chosen by the client, unique among unanswered requests
	Type      string          `json:"type"`       // the facade
	Version   int             `json:"version"`
	ID        string          `json:"id,omitempty"` // of the watcher, for Next and Stop
	Request   string          `json:"request"`      // the method
	Params    json.RawMessage `json:"params,omitempty"`
	Trace
}

// A Response is one frame from the server, as read by a client. The server writes either the response or the three
// fields of the error, never both: clients distinguish them by the key "error".
type Response struct {
	RequestID uint64          `json:"request-id"`
	Response  json.RawMessage `json:"response,omitempty"`
	Error     string          `json:"error,omitempty"`
	ErrorCode string          `json:"error-code,omitempty"`
	ErrorInfo map[string]any  `json:"error-info,omitempty"`
	Trace
}

// Err returns the error in the frame, or nil.
func (r Response) Err() error {
	if r.Error == "" && r.ErrorCode == "" {
		return nil
	}
	return FromError(&Error{Message: r.Error, Code: r.ErrorCode, Info: r.ErrorInfo})
}

// failure is the frame of an error. The keys "error" and "response" are always present: clients read the latter first.
type failure struct {
	RequestID uint64         `json:"request-id"`
	Error     string         `json:"error"`
	ErrorCode string         `json:"error-code,omitempty"`
	ErrorInfo map[string]any `json:"error-info,omitempty"`
	Response  struct{}       `json:"response"`
}

// EncodeFailure returns the frame that replies to request id with e. An empty message becomes Internal, so that "error"
// is never empty.
func EncodeFailure(id uint64, e *Error) ([]byte, error) {
	if e.Message == "" {
		e = &Error{Message: Internal, Code: e.Code, Info: e.Info}
	}
	return json.Marshal(failure{RequestID: id, Error: e.Message, ErrorCode: e.Code, ErrorInfo: e.Info})
}

// EncodeSuccess returns the frame that replies to request id with result, of which t is the trace. nil is encoded as {},
// because clients expect an object.
func EncodeSuccess(id uint64, result any, t Trace) ([]byte, error) {
	if result == nil {
		result = struct{}{}
	}
	return json.Marshal(struct {
		RequestID uint64 `json:"request-id"`
		Response  any    `json:"response"`
		Trace
	}{id, result, t})
}

// Moving is the text of a ping that says that a request of the connection has made progress since the last one.
const Moving = "moving"

// CloseRevoked is the close code of a websocket whose user has lost all access.
const CloseRevoked = 4403
