package main

import (
	"fmt"
	"sync"
	"time"

	"juju/cmd/juju/display"
)

// A progress shows during a long wait what the command is waiting for. On a terminal it is one
// line with the elapsed time, which is erased at the end; otherwise it is a line whenever the
// text changes, with a minimum interval.
type progress struct {
	s     *session
	begun time.Time

	mu    sync.Mutex
	text  string // the current text
	shown string // the text of the last line
	at    time.Time

	stop  chan struct{}
	ended sync.WaitGroup
}

const (
	progressTick = 500 * time.Millisecond // between redraws
	progressGap  = 2 * time.Second        // between two lines, without a terminal
)

// progress shows a text until done is called.
func (s *session) progress(format string, args ...any) *progress {
	p := &progress{s: s, begun: s.now(), stop: make(chan struct{})}
	p.say(format, args...)
	p.ended.Go(p.run)
	return p
}

// say changes the text.
func (p *progress) say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text = display.Line(fmt.Sprintf(format, args...))
	p.show()
}

// done ends the progress. It can be called twice, and on nil.
func (p *progress) done() {
	if p == nil {
		return
	}
	select {
	case <-p.stop:
		return
	default:
	}
	close(p.stop)
	p.ended.Wait()
	if p.s.errTerminal && !p.s.quiet {
		fmt.Fprint(p.s.stderr.Raw(), "\r\x1b[K")
	}
}

func (p *progress) run() {
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

func (p *progress) show() {
	now := p.s.now()
	switch {
	case p.s.quiet:
	case p.s.errTerminal:
		p.draw(now)
	case p.text != p.shown && (p.shown == "" || now.Sub(p.at) >= progressGap):
		p.shown, p.at = p.text, now
		fmt.Fprintln(p.s.stderr, p.text)
	}
}

// draw redraws the line. It never fills the last column, which would make some terminals wrap.
func (p *progress) draw(now time.Time) {
	passed := fmt.Sprintf(" (%ds)", int(now.Sub(p.begun).Seconds()))
	text := p.text
	if room := p.s.width() - len(passed) - 1; display.Width(text) > room {
		text = display.Cut(text, room-1) + "…"
	}
	fmt.Fprintf(p.s.stderr.Raw(), "\r%s%s\x1b[K", text, passed)
}
