package params

import "encoding/json"

// A Request is one frame from a client.
type Request struct {
	RequestID uint64          `json:"request-id"` // never 0; the client's own, unique among those unanswered
	Type      string          `json:"type"`       // the facade
	Version   int             `json:"version"`
	ID        string          `json:"id,omitempty"` // of the watcher, for Next and Stop
	Request   string          `json:"request"`      // the method
	Params    json.RawMessage `json:"params,omitempty"`
}

// A Response is one frame from the server, as a client reads it. The server
// writes either response or the error's three, never both: clients look for
// the key "error" to know which it is.
type Response struct {
	RequestID uint64          `json:"request-id"`
	Response  json.RawMessage `json:"response,omitempty"`
	Error     string          `json:"error,omitempty"`
	ErrorCode string          `json:"error-code,omitempty"`
	ErrorInfo map[string]any  `json:"error-info,omitempty"`
}

// Err returns the error that the frame carries, or nil.
func (r Response) Err() error {
	if r.Error == "" && r.ErrorCode == "" {
		return nil
	}
	return FromError(&Error{Message: r.Error, Code: r.ErrorCode, Info: r.ErrorInfo})
}

// failure is the frame of an error; its error is never omitted.
type failure struct {
	RequestID uint64         `json:"request-id"`
	Error     string         `json:"error"`
	ErrorCode string         `json:"error-code,omitempty"`
	ErrorInfo map[string]any `json:"error-info,omitempty"`
}

// EncodeFailure writes the frame that answers request id with e. A text that
// would be empty becomes Internal, so that the key "error" always says something.
func EncodeFailure(id uint64, e *Error) ([]byte, error) {
	if e.Message == "" {
		e = &Error{Message: Internal, Code: e.Code, Info: e.Info}
	}
	return json.Marshal(failure{id, e.Message, e.Code, e.Info})
}

// EncodeSuccess writes the frame that answers request id with result. A nil
// result is written as {}: clients expect an object.
func EncodeSuccess(id uint64, result any) ([]byte, error) {
	if result == nil {
		result = struct{}{}
	}
	return json.Marshal(struct {
		RequestID uint64 `json:"request-id"`
		Response  any    `json:"response"`
	}{id, result})
}

// CloseRevoked is the code with which a websocket ends whose user may do nothing
// there any more.
const CloseRevoked = 4403
