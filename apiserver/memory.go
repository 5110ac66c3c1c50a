package apiserver

import (
	"context"
	"io"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"

	"github.com/gorilla/websocket"

	"juju/apiserver/facades"
	"juju/state/budget"
	"juju/state/entity"
)

// hold returns a hold for a request of an authenticated client. The controller's own workers have no limits.
func (s *Server) hold(model string, id identity, end func(error)) *budget.Hold {
	if id.Roles&facades.ControllerAgent != 0 {
		return nil
	}
	return s.budget.Open(memberOf(model, id), end)
}

// The memory of requests, besides their frames.
const (
	// requestMemory is the minimum for a request: its goroutine, and the documents that it reads.
	requestMemory = 16 << 10
	// valueMemory is the maximum size of a decoded JSON value, which can have two bytes of text. requestMemory covers
	// the first freeValues of them.
	valueMemory = 512
	freeValues  = 32
	// copies is the number of copies of a frame in memory: the frame, the method's arguments, and the decoded values.
	copies = 3
	// freeFrame is the size that a connection can always read.
	freeFrame = 4 << 10
	// maxNesting exceeds the depth of any request.
	maxNesting = 64
)

// readFrame reads a frame of at most limit bytes as it arrives. Beyond its first bytes it grows only as far as h can,
// which accounts for all copies of it.
func readFrame(ctx context.Context, ws *websocket.Conn, h *budget.Hold,
	limit int64) (kind int, frame []byte, err error) {
	ws.SetReadLimit(limit)
	kind, r, err := ws.NextReader()
	if err != nil {
		return kind, nil, err
	}
	frame = make([]byte, 0, 512)
	for {
		if len(frame) == cap(frame) {
			size := min(2*cap(frame), int(limit)+1) // so that a frame of limit bytes needs no more
			if size > freeFrame {
				if cap(frame) <= freeFrame { // it holds memory from here on
					h.Idle()
				}
				if err := h.Grow(ctx, copies*int64(size-max(cap(frame), freeFrame))); err != nil {
					return kind, nil, err
				}
			}
			frame = append(make([]byte, 0, size), frame...)
		}
		n, err := r.Read(frame[len(frame):cap(frame)])
		frame = frame[:len(frame)+n]
		if err == io.EOF {
			h.Busy()
			return kind, frame, nil
		}
		if err != nil {
			return kind, nil, err
		}
	}
}

// weigh returns the size of the values of a JSON text when decoded. It can be many times that of the text.
func weigh(text []byte, limit int) (int64, error) {
	values, depth := 1, 0
	inside, escaped := false, false
	for _, c := range text {
		switch {
		case escaped:
			escaped = false
		case inside:
			escaped, inside = c == '\\', c != '"'
		case c == '"':
			inside = true
		case c == ',':
			values++
		case c == '{' || c == '[':
			values++
			if depth++; depth > maxNesting {
				return 0, entity.Errorf(entity.Invalid, "nesting: the request has more than %d levels", maxNesting)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	if values > limit {
		return 0, entity.Errorf(entity.Invalid, "the request has %d values, the limit is %d", values, limit)
	}
	return valueMemory * int64(max(0, values-freeValues)), nil
}

// answers remembers the sizes of methods' replies by model, because the size of a reply is not known before the request
// has been executed.
type answers struct {
	mu    sync.Mutex
	sizes map[answerKey]int64
}

type answerKey struct {
	model string
	of    any // a *facades.Route, or the path of a view
}

// expected returns the probable size of a request's result and of its frame.
func (a *answers) expected(model string, of any) int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return copies * a.sizes[answerKey{model, of}]
}

// note records the size of a reply. A smaller size lowers the estimate only slowly.
func (a *answers) note(model string, of any, size int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := answerKey{model, of}
	if before := a.sizes[key]; size < before {
		size = before - (before-size)/8
	}
	if size < requestMemory {
		delete(a.sizes, key)
		return
	}
	if a.sizes == nil {
		a.sizes = map[answerKey]int64{}
	}
	a.sizes[key] = size
}

// memory returns how much memory the process may use: its own limit, or the host's.
func memory() int64 {
	limit := debug.SetMemoryLimit(-1)
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		if _, rest, ok := strings.Cut(string(text), "MemTotal:"); ok {
			line, _, _ := strings.Cut(rest, "kB")
			if n, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64); err == nil && n < math.MaxInt64>>10 {
				limit = min(limit, n<<10)
			}
		}
	}
	return limit
}
