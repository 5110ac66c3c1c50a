package status

import (
	"fmt"
	"io"
	"strings"

	"juju/apiserver/display"
	"juju/apiserver/statusfmt"
	"juju/state/entity"
)

// draws reports whether each status is drawn in place of the one before.
func (c *status) draws() bool { return c.watch > 0 && c.OutTerminal && c.Getenv("TERM") != "dumb" }

// draw draws a status over the one before. Only what differs changes on the terminal, so that nothing flickers.
func (c *status) draw(text string, m *entity.ModelStatus, o statusfmt.Options) error {
	if !o.Color {
		text = display.Text(text)
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	foot := c.foot(m, o)
	if room := c.Height() - len(foot); len(lines) > room {
		more := len(lines) - max(room-1, 1)
		lines = append(lines[:len(lines)-more], fmt.Sprintf("… %d more lines; to see fewer: juju status --watch %v PATTERN",
			more, c.watch))
	}
	var b strings.Builder
	if b.WriteString("\x1b[H"); !c.drawn {
		b.WriteString("\x1b[2J")
		c.drawn = true
	}
	for i, line := range append(lines, foot...) {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(line)
		if display.Width(display.Unpainted(line)) < c.Width() { // else the cursor stands on its last character
			b.WriteString("\x1b[K")
		}
	}
	b.WriteString("\x1b[J")
	_, err := io.WriteString(c.Stdout.Raw(), b.String())
	return err
}

// leave ends the last line that was drawn.
func (c *status) leave() error {
	if !c.drawn {
		return nil
	}
	_, err := fmt.Fprintln(c.Stdout)
	return err
}

// foot returns the lines below a status.
func (c *status) foot(m *entity.ModelStatus, o statusfmt.Options) []string {
	lines := []string{""}
	say := func(text string) {
		for _, line := range display.Wrap(display.Line(text), c.Width()) {
			if o.Color {
				line = display.Paint(line, display.Dim)
			}
			lines = append(lines, line)
		}
	}
	if len(m.Unmatched) > 0 { // there may be something later
		say(noMatch(m).Error())
	} else if statusfmt.IsEmpty(m) {
		say(empty(m, o))
	}
	if o.Changes != nil {
		if gone := o.Changes.Gone(); len(gone) > 0 {
			say("Gone: " + strings.Join(gone, ", "))
		}
	}
	say(fmt.Sprintf("Every %v, until Ctrl-C.", c.watch))
	return lines
}
