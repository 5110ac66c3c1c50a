package cli

import (
	"fmt"
	"os"
	"sync"
	"time"

	"juju/apiserver/display"
	"juju/state/entity"
)

// A Progress shows what a command is waiting for. On a terminal it is one line with the elapsed time, erased at the
// end; otherwise it prints a line whenever the text changes, at a limited rate.
type Progress struct {
	s       *Session
	started time.Time
	quick   bool // it usually takes less than progressWait

	mu    sync.Mutex
	text  string // the current text
	shown string // the text of the last line
	at    time.Time

	outer  *Progress // hidden while this one is shown
	hidden bool      // an inner one is shown

	stop chan struct{}
	done sync.WaitGroup
}

const (
	progressWait = time.Second            // before the first line of Quickly, without a terminal
	progressTick = 500 * time.Millisecond // between redraws
	progressGap  = 2 * time.Second        // between lines, without a terminal
)

// Progress shows a text until Done is called.
func (s *Session) Progress(format string, args ...any) *Progress {
	return s.startProgress(false, format, args...)
}

// Quickly is Progress for what usually takes less than a second: without a terminal it prints nothing before then.
func (s *Session) Quickly(format string, args ...any) *Progress {
	return s.startProgress(true, format, args...)
}

func (s *Session) startProgress(quick bool, format string, args ...any) *Progress {
	if s.Planning() {
		return nil // nothing of it is done
	}
	p := &Progress{s: s, started: s.Now(), stop: make(chan struct{}), quick: quick, outer: s.current}
	p.outer.hide(true)
	s.current = p
	p.Say(format, args...)
	p.done.Go(p.run)
	return p
}

// Sized appends a file's size to its description, if it is large.
func Sized(what string, f *os.File) string {
	const large = 1 << 20
	if info, err := f.Stat(); err == nil && info.Size() >= large {
		return fmt.Sprintf("%s (%s)", what, entity.MiB(uint64(info.Size())/large))
	}
	return what
}

func (p *Progress) hide(hidden bool) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hidden = hidden
}

// Say changes the text.
func (p *Progress) Say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text = display.Line(fmt.Sprintf(format, args...))
	p.show()
}

// Done ends the progress. It can be called twice, and on nil.
func (p *Progress) Done() {
	if p == nil {
		return
	}
	select {
	case <-p.stop:
		return
	default:
	}
	close(p.stop)
	p.done.Wait()
	p.s.current = p.outer
	p.outer.hide(false)
	if p.s.ErrTerminal && !p.s.Quiet {
		fmt.Fprint(p.s.Stderr.Raw(), "\r\x1b[K")
	}
}

func (p *Progress) run() {
	tick := time.NewTicker(progressTick)
	defer tick.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-tick.C:
			p.mu.Lock()
			p.show()
			p.mu.Unlock()
		}
	}
}

func (p *Progress) show() {
	now := p.s.Now()
	switch {
	case p.s.Quiet || p.hidden:
	case p.s.ErrTerminal:
		p.draw(now)
	case p.quick && p.shown == "" && now.Sub(p.started) < progressWait:
	case p.text != p.shown && (p.shown == "" || now.Sub(p.at) >= progressGap):
		p.shown, p.at = p.text, now
		fmt.Fprintln(p.s.Stderr, p.text)
	}
}

// draw redraws the line. It leaves the last column free, because some terminals would wrap.
func (p *Progress) draw(now time.Time) {
	passed := fmt.Sprintf(" (%ds)", int(now.Sub(p.started).Seconds()))
	text := p.text
	if room := p.s.Width() - len(passed) - 1; display.Width(text) > room {
		text = display.Cut(text, room-1) + "…"
	}
	fmt.Fprintf(p.s.Stderr.Raw(), "\r%s%s\x1b[K", text, passed)
}
