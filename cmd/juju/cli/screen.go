package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"juju/apiserver/display"
)

// Draws reports whether progress is drawn in place.
func (s *Session) Draws() bool {
	return s.ErrTerminal && !s.Quiet && s.Getenv("TERM") != "dumb"
}

// Paints reports whether what goes to standard output or error has colors, given whether that is a terminal.
func (s *Session) Paints(terminal bool) bool {
	return terminal && s.Getenv("NO_COLOR") == "" && s.Getenv("TERM") != "dumb"
}

// PaintErr paints a text for standard error, if that has colors.
func (s *Session) PaintErr(text, color string) string {
	if !s.Paints(s.ErrTerminal) {
		return text
	}
	return display.Paint(text, color)
}

// foldErr wraps the lines of a text between words, if standard error is a terminal.
func (s *Session) foldErr(text string) string {
	if !s.ErrTerminal {
		return text
	}
	return display.Fold(text, s.Width())
}

// above prints something above the current progress.
func (s *Session) above(print func()) {
	s.screen.Lock()
	defer s.screen.Unlock()
	p := s.current
	if p == nil || p.drawn == nil {
		print()
		return
	}
	p.erase()
	print()
	p.show()
}

// LogWriter returns a writer of log entries to standard error.
func (s *Session) LogWriter() io.Writer { return logWriter{s} }

type logWriter struct{ s *Session }

func (w logWriter) Write(p []byte) (n int, err error) {
	w.s.above(func() { n, err = w.s.Stderr.Raw().Write(p) })
	return n, err
}

// A view is where and when a tree is shown.
type view struct {
	title         string // with the elapsed time
	count         string // what of the current step is done
	flat          bool   // without branches
	width, height int
	now           time.Time
	paints        bool
}

func (v view) paint(text, color string) string {
	if !v.paints {
		return text
	}
	return display.Paint(text, color)
}

func (p *Progress) view() view {
	now := p.s.Now()
	title := p.text + p.count
	if p.tree != nil {
		title = p.tree.head()
	}
	// The last column stays free, because some terminals would wrap.
	return view{title: title + lasted(now.Sub(p.started)), width: p.s.Width() - 1, height: p.s.Height(), now: now,
		count: p.count, paints: p.s.Paints(p.s.ErrTerminal)}
}

// lasted formats a time in parentheses.
func lasted(d time.Duration) string { return fmt.Sprintf(" (%ds)", int(d.Seconds())) }

// textLines is how many lines a text may take.
const textLines = 4

// lines returns what to draw now.
func (p *Progress) lines() (lines []string) {
	v := p.view()
	lines = broken(v.title, v.width)
	if p.tree == nil {
		return lines
	}
	lines = append(lines, p.tree.lines(v)...)
	if p.after != "" {
		for _, line := range broken("After Ctrl-C: "+p.after+".", v.width) {
			lines = append(lines, v.paint(line, display.Dim))
		}
	}
	return lines
}

// broken breaks a text that ends in a time between words. If it takes too many lines, the text is cut, and the time stays.
func broken(text string, width int) []string {
	lines := display.Wrap(text, width)
	if len(lines) <= textLines {
		return lines
	}
	end := "…"
	if i := strings.LastIndex(text, " ("); i >= 0 && strings.HasSuffix(text, "s)") {
		end += text[i:]
	}
	last := cut(lines[textLines-1]+" "+lines[textLines], width-display.Width(end)+1)
	return append(lines[:textLines-1], strings.TrimSuffix(last, "…")+end)
}

// draw draws lines in place of those that were drawn last. The cursor stays behind the last.
func (p *Progress) draw(lines []string) {
	var b strings.Builder
	more := p.rows() > len(lines)
	b.WriteString(p.home())
	for i, line := range lines {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(line + "\x1b[K")
	}
	if more {
		b.WriteString("\x1b[J")
	}
	p.drawn = lines
	_, _ = io.WriteString(p.s.Stderr.Raw(), b.String()) // what else could tell the user?
}

// erase erases what was drawn.
func (p *Progress) erase() {
	if p.drawn == nil {
		return
	}
	rest := "\x1b[K"
	if p.rows() > 1 {
		rest = "\x1b[J"
	}
	_, _ = io.WriteString(p.s.Stderr.Raw(), p.home()+rest)
	p.drawn = nil
}

// home moves the cursor to where the drawn lines begin.
func (p *Progress) home() string {
	if n := p.rows(); n > 1 {
		return fmt.Sprintf("\x1b[%dA\r", n-1)
	}
	return "\r"
}

// rows returns how many rows of the terminal the drawn lines take, which may have become narrower.
func (p *Progress) rows() (n int) {
	width := max(p.s.Width(), 1)
	for _, line := range p.drawn {
		n += max((display.Width(display.Unpainted(line))+width-1)/width, 1)
	}
	return n
}
