package main

import (
	"fmt"
	"os"
	"sync"
	"time"

	"juju/cmd/juju/display"
	"juju/state/entity"
)

// A progress shows during a long wait what the command is waiting for. On a terminal it is one
// line with the elapsed time, which is erased at the end; otherwise it is a line whenever the
// text changes, with a minimum interval.
type progress struct {
	s     *session
	begun time.Time
	quick bool // it usually takes less than progressWait

	mu    sync.Mutex
	text  string // the current text
	shown string // the text of the last line
	at    time.Time

	outer *progress // of which this one is a part: it is not shown meanwhile
	part  bool      // a part of this one is shown

	stop  chan struct{}
	ended sync.WaitGroup
}

const (
	progressWait = time.Second            // before the first line of what is usually quick, without a terminal
	progressTick = 500 * time.Millisecond // between redraws
	progressGap  = 2 * time.Second        // between two lines, without a terminal
)

// progress shows a text until done is called.
func (s *session) progress(format string, args ...any) *progress {
	return s.startProgress(false, format, args...)
}

// quickly is progress for what usually takes less than a second: without a terminal it says nothing before.
func (s *session) quickly(format string, args ...any) *progress {
	return s.startProgress(true, format, args...)
}

func (s *session) startProgress(quick bool, format string, args ...any) *progress {
	p := &progress{s: s, begun: s.now(), stop: make(chan struct{}), quick: quick, outer: s.current}
	p.outer.hide(true)
	s.current = p
	p.say(format, args...)
	p.ended.Go(p.run)
	return p
}

// sized adds to the words for a file its size, if that takes time to send.
func sized(what string, f *os.File) string {
	const large = 1 << 20
	if info, err := f.Stat(); err == nil && info.Size() >= large {
		return fmt.Sprintf("%s (%s)", what, entity.MiB(uint64(info.Size())/large))
	}
	return what
}

// hide ends or begins the time in which the progress is shown.
func (p *progress) hide(part bool) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.part = part
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
	p.s.current = p.outer
	p.outer.hide(false)
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
	case p.s.quiet || p.part:
	case p.s.errTerminal:
		p.draw(now)
	case p.quick && p.shown == "" && now.Sub(p.begun) < progressWait:
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
