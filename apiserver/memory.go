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

// A budget bounds the memory that requests take together, from the first byte of a frame until its
// answer is sent. Whoever needs more than is left waits. The next turn goes to the one who holds the
// least, so that a few who ask for much make no one else wait long. While someone waits, a hold that
// has waited for its client for longer than grace ends, and its connection with it: of the one who
// holds the most, the oldest. So clients that send or read slowly can't keep memory from others.
type budget struct {
	total, share int64 // bytes; share is what one user or agent can have while it has something else
	wait, grace  time.Duration

	mu      sync.Mutex
	used    int64
	peak    int64 // the most that was ever used
	of      map[member]*account
	waiting []*claim // in order of arrival
}

// An account is what one user or agent holds.
type account struct {
	used  int64
	holds map[*hold]bool
}

// A hold is the memory of one request. A nil hold holds any amount: that of the controller's own workers,
// and of strangers, whose frames are small and few.
type hold struct {
	budget *budget
	who    member
	end    func(error) // ends the connection
	bytes  int64
	since  time.Time // since when it has waited for its client or for memory; zero while the server works
}

// A claim is a hold that waits for memory.
type claim struct {
	hold  *hold
	bytes int64
	given chan struct{}
}

// errMemory is why a connection ends whose client is slow while others wait for memory.
var errMemory = errors.New("the controller needs the memory that this connection holds; try again")

func newBudget(l *Limits) *budget {
	return &budget{total: l.Memory, share: l.MemoryShare, wait: l.MemoryWait, grace: l.MemoryGrace,
		of: map[member]*account{}}
}

// open begins a hold of nothing. end ends the connection whose memory it is; it must not wait.
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

// hold returns a hold for a request of one who has logged in. The controller's own workers have no limits.
func (s *Server) hold(model string, id identity, end func(error)) *hold {
	if id.Roles&facades.ControllerAgent != 0 {
		return nil
	}
	return s.budget.open(memberOf(model, id), end)
}

// frameOf returns how large a request of one who has logged in can be.
func (s *Server) frameOf(id identity) int64 {
	if id.Roles&(facades.MachineAgent|facades.UnitAgent) != 0 && id.Roles&facades.ControllerAgent == 0 {
		return s.limits.AgentFrame
	}
	return s.limits.Frame
}

// close gives back what is held. The second time it does nothing.
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

// idle says that the hold waits for its client from now on.
func (h *hold) idle() { h.wait(time.Now()) }

// busy says that the server works on what is held.
func (h *hold) busy() { h.wait(time.Time{}) }

func (h *hold) wait(since time.Time) {
	if h != nil {
		h.budget.mu.Lock()
		defer h.budget.mu.Unlock()
		h.since = since
	}
}

// force adds memory that is already in use, or gives some back.
func (h *hold) force(bytes int64) {
	if h != nil {
		h.budget.mu.Lock()
		defer h.budget.mu.Unlock()
		h.budget.add(h, bytes)
		h.budget.give()
	}
}

// grow waits until there are so many bytes more. The error is Unavailable, or the context's.
func (h *hold) grow(ctx context.Context, bytes int64) error {
	if h == nil || bytes <= 0 {
		return nil
	}
	b := h.budget
	if bytes > h.left() {
		return entity.Errorf(entity.Invalid, "the request and its answer need more than the %d MiB of memory that one can have",
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
			err = entity.Errorf(entity.Unavailable, "the controller has no memory for this request now; try again")
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

// left returns how much more the hold can have: no request can have more than half of all memory.
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

// short reports whether the claim needs more than the share of its owner.
func (b *budget) short(c *claim) bool {
	used := b.of[c.hold.who].used
	return used > c.hold.bytes && used+c.bytes > b.share
}

// give serves claims: of those that fit in the share of their owner, that of the owner who holds the
// least. It stops when there is too little for that one, which must not starve behind smaller ones.
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

// reclaim ends the connection that keeps memory from a claim: one that has waited for its client, or
// itself for memory, for longer than grace. It is one of the owner who holds the most, or of the claim's
// own owner if the share of that one is used up.
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

// What requests take, besides their frames.
const (
	// requestMemory is what a request takes at least: its goroutine, and what it reads.
	requestMemory = 16 << 10
	// valueMemory is what one value of JSON, of two bytes, can take once it is decoded. freeValues of
	// them are part of requestMemory.
	valueMemory = 512
	freeValues  = 32
	// copies is how often the text of a frame is in memory: as it came, as the method's arguments, and
	// decoded.
	copies = 3
	// freeFrame is what a connection can always read.
	freeFrame = 4 << 10
	// maxNesting is more than any request has.
	maxNesting = 64
)

// readFrame reads a frame of at most limit bytes as it comes. Beyond its first bytes it grows only as far
// as h can, which takes copies of it.
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
				if cap(frame) <= freeFrame { // from here on it holds memory
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

// weigh returns what the values of a JSON text take once they are decoded. They can take many times
// as much as their text.
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

// answers remembers how large the answers of methods are, by model: what a request will take is not
// known before it has been made.
type answers struct {
	mu    sync.Mutex
	sizes map[answerKey]int64
}

type answerKey struct {
	model string
	route *facades.Route
}

// expected returns what the result of a request probably takes, and its frame.
func (a *answers) expected(model string, r *facades.Route) int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return copies * a.sizes[answerKey{model, r}]
}

// note records the size of an answer. A smaller one than before counts for little.
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

// memory returns how much the process may use: its own limit, or that of the host.
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
