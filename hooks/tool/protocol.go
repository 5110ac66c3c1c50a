package tool

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

// The environment variables by which a tool finds its agent and its context.
const (
	ContextVar = "JUJU_CONTEXT_ID"
	SocketVar  = "JUJU_AGENT_SOCKET"
)

// The bounds of what either side takes, in bytes. A file's content grows by a
// third on the wire, so it has the smaller one.
const (
	MaxMessage = 16 << 20
	MaxContent = 8 << 20
)

// A Request asks for one run of a hook tool.
type Request struct {
	Context string   `json:"context"` // the value of JUJU_CONTEXT_ID
	Tool    string   `json:"tool"`    // "relation-get"
	Args    []string `json:"args,omitempty"`
	// Mended are the indices of the Args that were not UTF-8. U+FFFD replaces what was invalid.
	Mended []int `json:"mended,omitempty"`
}

// A Reply is what came of a Request.
type Reply struct {
	Code   int    `json:"code,omitempty"` // the tool's exit code
	Stdout []byte `json:"stdout,omitempty"`
	Stderr []byte `json:"stderr,omitempty"`
	// Output names a file, as the tool's own process sees it, that takes Stdout
	// instead of the standard output.
	Output string `json:"output,omitempty"`
}

// An answer is what the agent sends: the Reply, or a wish for a file first.
type answer struct {
	Reply
	Read string `json:"read,omitempty"` // a file's name, "-" for the standard input; then nothing else is set
}

// content is what the tool sends for an answer with a Read.
type content struct {
	Data  []byte `json:"data,omitempty"`
	Error string `json:"error,omitempty"`
}

// encode returns v as a message: its length in four bytes, and JSON.
func encode(v any) ([]byte, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if len(body) > MaxMessage {
		return nil, fmt.Errorf("message of %d bytes is larger than %d", len(body), MaxMessage)
	}
	message := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(body)), uint32(len(body)))
	return append(message, body...), nil
}

// writeMessage sends v in one Write.
func writeMessage(w io.Writer, v any) error {
	message, err := encode(v)
	if err != nil {
		return err
	}
	_, err = w.Write(message)
	return err
}

// readMessage reads one message into v. Whatever length the message states, readMessage takes
// no more memory than bytes have arrived. The end of the stream is io.EOF before a message, and
// io.ErrUnexpectedEOF within one.
func readMessage(r io.Reader, v any) error {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > MaxMessage {
		return fmt.Errorf("message of %d bytes is larger than %d", size, MaxMessage)
	}
	var body bytes.Buffer
	if _, err := io.CopyN(&body, r, int64(size)); err == io.EOF {
		return io.ErrUnexpectedEOF
	} else if err != nil {
		return err
	}
	if err := json.Unmarshal(body.Bytes(), v); err != nil {
		return fmt.Errorf("message is not understood: %w", err)
	}
	return nil
}
