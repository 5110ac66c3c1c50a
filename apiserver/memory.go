package apiserver

import (
	"context"
	"errors"
	"io"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"juju/apiserver/facades"
	"juju/state/entity"
)

// A budget limits the total memory of requests, from the first byte of a frame until the reply is sent. A request that
// needs more than is left waits. The next turn goes to the owner that holds the least, so that a few large owners don't
// delay everyone else. While any request waits, a hold that has waited for its client for longer than grace is ended
// together with its connection: the oldest hold of the owner that holds the most. So clients that send or read slowly
// can't starve others of memory.
type budget struct {
	total, share int64 // bytes; share limits a user or agent that holds more than one
	wait, grace  time.Duration

	mu      sync.Mutex
	used    int64
	peak    int64 // the maximum of used
	of      map[member]*account
	waiting []*claim // in order of arrival
}

// An account is the memory that one user or agent holds.
type account struct {
	used  int64
	holds map[*hold]bool
}

// A hold is the memory of one request. A nil hold is unlimited: it is for the controller's own workers, and for
// unauthenticated clients, whose frames are small and few.
type hold struct {
	budget *budget
	who    member
	end    func(error) // ends the connection
	bytes  int64
	since  time.Time // when it began to wait for its client or for memory; zero while the server works
}

// A claim is a hold that waits for memory.
type claim struct {
	hold  *hold
	bytes int64
	given chan struct{}
}

// errMemory is the reason for ending a connection whose client is slow while others wait for memory.
var errMemory = errors.New("the controller needs the memory that this connection holds; try again")

func newBudget(l *Limits) *budget {
	return &budget{total: l.Memory, share: l.MemoryShare, wait: l.MemoryWait, grace: l.MemoryGrace,
		of: map[member]*account{}}
}

// open opens an empty hold. end ends its connection, and must not block.
func (b *budget) open(who member, end func(error)) *hold {
	h := &hold{budget: b, who: who, end: end}
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.of[who]
	if a == nil {
		a = &account{holds: map[*hold]bool{}}
		b.of[who] = a
	}
	a.holds[h] = true
	return h
}

// hold returns a hold for a request of an authenticated client. The controller's own workers have no limits.
func (s *Server) hold(model string, id identity, end func(error)) *hold {
	if id.Roles&facades.ControllerAgent != 0 {
		return nil
	}
	return s.budget.open(memberOf(model, id), end)
}

// frameOf returns the maximum size of a request of an authenticated client.
func (s *Server) frameOf(id identity) int64 {
	if id.Roles&(facades.MachineAgent|facades.UnitAgent|facades.Consumer) != 0 && id.Roles&facades.ControllerAgent == 0 {
		return s.limits.AgentFrame
	}
	return s.limits.Frame
}

// close releases the memory. It is idempotent.
func (h *hold) close() {
	if h == nil {
		return
	}
	b := h.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.of[h.who]
	if a == nil || !a.holds[h] {
		return
	}
	delete(a.holds, h)
	b.add(h, -h.bytes)
	if len(a.holds) == 0 {
		delete(b.of, h.who)
	}
	b.give()
}

// idle marks the hold as waiting for its client.
func (h *hold) idle() { h.wait(time.Now()) }

// busy marks the hold as being worked on by the server.
func (h *hold) busy() { h.wait(time.Time{}) }

func (h *hold) wait(since time.Time) {
	if h != nil {
		h.budget.mu.Lock()
		defer h.budget.mu.Unlock()
		h.since = since
	}
}

// force adds memory that is already in use, or releases some.
func (h *hold) force(bytes int64) {
	if h != nil {
		h.budget.mu.Lock()
		defer h.budget.mu.Unlock()
		h.budget.add(h, bytes)
		h.budget.give()
	}
}

// grow waits until it can add that many bytes. The error is Unavailable, or the context's.
func (h *hold) grow(ctx context.Context, bytes int64) error {
	if h == nil || bytes <= 0 {
		return nil
	}
	b := h.budget
	if bytes > h.left() {
		return entity.Errorf(entity.Invalid, "the request and its reply need more than the limit of %d MiB of memory",
			b.total/2>>20)
	}
	b.mu.Lock()
	c := &claim{hold: h, bytes: bytes, given: make(chan struct{})}
	b.waiting = append(b.waiting, c)
	b.give()
	select {
	case <-c.given: // the usual case, without a timer
		b.mu.Unlock()
		return nil
	default:
	}
	since := h.since
	if since.IsZero() {
		h.since = time.Now()
	}
	b.mu.Unlock()
	defer h.wait(since)
	end := time.NewTimer(b.wait)
	defer end.Stop()
	tick := time.NewTicker(max(b.grace/10, time.Millisecond))
	defer tick.Stop()
	var err error
	for err == nil {
		select {
		case <-c.given:
			return nil
		case <-tick.C:
			b.reclaim(c)
		case <-end.C:
			err = entity.Errorf(entity.Unavailable, "the controller currently has no memory for this request; try again")
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-c.given:
		return nil
	default:
	}
	b.drop(c)
	b.give() // others may have waited behind this one
	return err
}

// left returns how much the hold can grow: no request can have more than half of all memory.
func (h *hold) left() int64 {
	h.budget.mu.Lock()
	defer h.budget.mu.Unlock()
	return h.budget.total/2 - h.bytes
}

func (b *budget) add(h *hold, bytes int64) {
	h.bytes += bytes
	b.of[h.who].used += bytes
	b.used += bytes
	b.peak = max(b.peak, b.used)
}

func (b *budget) drop(c *claim) {
	for i, other := range b.waiting {
		if other == c {
			b.waiting = append(b.waiting[:i], b.waiting[i+1:]...)
			return
		}
	}
}

// short reports whether the claim exceeds the share of its owner.
func (b *budget) short(c *claim) bool {
	used := b.of[c.hold.who].used
	return used > c.hold.bytes && used+c.bytes > b.share
}

// give grants claims. Of the claims that fit in the share of their owner, it takes that of the owner that holds the
// least. It stops when there is too little memory for that claim, so that smaller ones can't starve it.
func (b *budget) give() {
	for {
		var next *claim
		for _, c := range b.waiting {
			if !b.short(c) && (next == nil || b.of[c.hold.who].used < b.of[next.hold.who].used) {
				next = c
			}
		}
		if next == nil || b.used+next.bytes > b.total {
			return
		}
		b.drop(next)
		b.add(next.hold, next.bytes)
		close(next.given)
	}
}

// reclaim ends a connection whose memory a claim needs: one that has waited for its client, or for memory, for longer
// than grace. It belongs to the owner that holds the most, or to the claim's own owner if that has used up its share.
func (b *budget) reclaim(c *claim) {
	b.mu.Lock()
	defer b.mu.Unlock()
	owners := b.of
	if b.short(c) {
		owners = map[member]*account{c.hold.who: b.of[c.hold.who]}
	}
	now := time.Now()
	var victim *hold
	var most int64
	for _, a := range owners {
		for h := range a.holds {
			if h == c.hold || h.bytes == 0 || h.since.IsZero() || now.Sub(h.since) < b.grace {
				continue
			}
			if victim == nil || a.used > most || a.used == most && h.since.Before(victim.since) {
				victim, most = h, a.used
			}
		}
	}
	if victim != nil {
		victim.since = time.Time{} // once is enough
		victim.end(errMemory)
	}
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
func readFrame(ctx context.Context, ws *websocket.Conn, h *hold, limit int64) (kind int, frame []byte, err error) {
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
					h.idle()
				}
				if err := h.grow(ctx, copies*int64(size-max(cap(frame), freeFrame))); err != nil {
					return kind, nil, err
				}
			}
			frame = append(make([]byte, 0, size), frame...)
		}
		n, err := r.Read(frame[len(frame):cap(frame)])
		frame = frame[:len(frame)+n]
		if err == io.EOF {
			h.busy()
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
	route *facades.Route
}

// expected returns the probable size of a request's result and of its frame.
func (a *answers) expected(model string, r *facades.Route) int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return copies * a.sizes[answerKey{model, r}]
}

// note records the size of a reply. A smaller size lowers the estimate only slowly.
func (a *answers) note(model string, r *facades.Route, size int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := answerKey{model, r}
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
