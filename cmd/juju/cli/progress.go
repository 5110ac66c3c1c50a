package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"juju/apiserver/display"
	"juju/state/entity"
)

// A Progress shows what a command is waiting for. On a terminal it is drawn in place, with the elapsed time: a text,
// erased at the end, or a tree of steps, which stays. Otherwise it prints a line whenever the text changes, at a limited
// rate.
type Progress struct {
	s       *Session
	started time.Time
	quick   bool // it usually takes less than progressWait

	// Session.screen guards the rest.
	text   string    // the current text
	count  string    // what of it is done, on terminals only
	shown  string    // the text of the last line
	at     time.Time // of the last line
	tree   *tree     // nil if it is only a text
	after  string    // what happens after Ctrl-C, below a tree
	drawn  []string  // the lines on the terminal, nil for none
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
	return s.startProgress(&Progress{}, format, args...)
}

// Quickly is Progress for what usually takes less than a second: without a terminal it prints nothing before then.
func (s *Session) Quickly(format string, args ...any) *Progress {
	return s.startProgress(&Progress{quick: true}, format, args...)
}

// Steps is Progress for what has several steps. On a terminal each text that follows the first is a step below it.
func (s *Session) Steps(format string, args ...any) *Progress {
	return s.startProgress(&Progress{tree: &tree{title: display.Line(fmt.Sprintf(format, args...))}}, format, args...)
}

func (s *Session) startProgress(p *Progress, format string, args ...any) *Progress {
	if s.Planning() {
		return nil // nothing of it is done
	}
	p.s, p.started, p.stop = s, s.Now(), make(chan struct{})
	p.text = display.Line(fmt.Sprintf(format, args...))
	s.screen.Lock()
	defer s.screen.Unlock()
	if p.outer = s.current; p.outer != nil {
		p.outer.erase()
		p.outer.hidden = true
	}
	s.current = p
	p.follow()
	p.show()
	p.done.Go(p.run)
	return p
}

// Say changes the text. Of Steps it begins the next step.
func (p *Progress) Say(format string, args ...any) {
	if p == nil {
		return
	}
	p.s.screen.Lock()
	defer p.s.screen.Unlock()
	text := display.Line(fmt.Sprintf(format, args...))
	if p.tree != nil && text != p.text {
		p.tree.begin(text, p.s.Now())
	}
	if p.s.afterInterrupt != "" {
		p.follow()
	}
	p.text, p.count = text, ""
	p.show()
}

// Await is Progress for a wait. On a terminal it shows in place of the text a tree of all that is awaited, with what each
// has done.
func (s *Session) Await(text string, all []Awaited) *Progress {
	t := &tree{}
	t.update(all, s.Now())
	return s.startProgress(&Progress{tree: t}, "%s", text)
}

// AwaitQuickly is Await for what usually takes less than a second. It is seen only on a terminal.
func (s *Session) AwaitQuickly() *Progress {
	return s.startProgress(&Progress{quick: true, tree: &tree{}}, "")
}

// Await changes the tree of Session.Await and, unless that is "", the text.
func (p *Progress) Await(text string, all []Awaited) {
	if p == nil {
		return
	}
	p.s.screen.Lock()
	defer p.s.screen.Unlock()
	if text != "" {
		p.text = display.Line(text)
	}
	p.tree.update(all, p.s.Now())
	p.follow()
	p.show()
}

// follow has a tree say what continues after Ctrl-C.
func (p *Progress) follow() {
	after, _, _ := strings.Cut(p.s.afterInterrupt, ". ")
	p.after = display.Line(strings.TrimSuffix(after, "."))
}

// OnInterrupt says below a tree what happens after Ctrl-C.
func (p *Progress) OnInterrupt(text string) {
	if p == nil {
		return
	}
	p.s.screen.Lock()
	defer p.s.screen.Unlock()
	p.after = text
}

// Upload is Progress, or Quickly, for the upload of a file from its start. It returns a reader of the file, which counts
// what is sent.
func (s *Session) Upload(start func(format string, args ...any) *Progress, what string,
	f *os.File) (*Progress, io.Reader) {
	const large = 1 << 20
	size := int64(0)
	if info, err := f.Stat(); err == nil {
		size = info.Size()
	}
	text := what
	if size >= large && !s.Draws() {
		text = fmt.Sprintf("%s (%s)", what, entity.MiB(uint64(size)/large))
	}
	p := start("Uploading %s", text)
	if p == nil || size < large {
		return p, f
	}
	return p, &counted{file: f, seen: func(n int64) { p.Count(n, size) }}
}

// Count says how many bytes of a size are done, after the text on a terminal.
func (p *Progress) Count(n, size int64) {
	if p == nil {
		return
	}
	p.s.screen.Lock()
	defer p.s.screen.Unlock()
	const mib = 1 << 20
	p.count = fmt.Sprintf(": %.1f of %.1f MiB", float64(n)/mib, float64(size)/mib) // the next tick shows it
}

// A counted file says how much of it was read.
type counted struct {
	file io.ReadSeeker
	at   int64
	seen func(int64)
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.file.Read(p)
	c.at += int64(n)
	c.seen(c.at)
	return n, err
}

func (c *counted) Seek(offset int64, whence int) (at int64, err error) {
	at, err = c.file.Seek(offset, whence)
	c.at = at
	return at, err
}

// End is Done, after the last of the steps unless err is set.
func (p *Progress) End(err error) {
	if p == nil {
		return
	}
	p.s.screen.Lock()
	if err == nil && p.tree != nil {
		p.tree.finish(p.s.Now())
	}
	p.s.screen.Unlock()
	p.Done()
}

// Clear is Done, and leaves no tree.
func (p *Progress) Clear() {
	if p == nil {
		return
	}
	p.s.screen.Lock()
	p.tree = nil
	p.s.screen.Unlock()
	p.Done()
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
	p.s.screen.Lock()
	defer p.s.screen.Unlock()
	p.s.current = p.outer
	if p.tree != nil && p.s.Draws() && !p.hidden {
		p.after = ""
		p.draw(p.tree.result(p.view()))
		fmt.Fprintln(p.s.Stderr.Raw())
		p.drawn = nil
	}
	p.erase()
	if p.outer != nil {
		p.outer.hidden = false
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
			p.s.screen.Lock()
			p.show()
			p.s.screen.Unlock()
		}
	}
}

func (p *Progress) show() {
	now := p.s.Now()
	switch {
	case p.s.Quiet || p.hidden:
	case p.s.Draws() && p.quick && p.tree != nil && p.drawn == nil && now.Sub(p.started) < progressTick:
	case p.s.Draws():
		p.draw(p.lines())
	case p.quick && p.shown == "" && now.Sub(p.started) < progressWait:
	case p.text != p.shown && (p.shown == "" || now.Sub(p.at) >= progressGap):
		p.shown, p.at = p.text, now
		fmt.Fprintln(p.s.Stderr, p.text)
	}
}
