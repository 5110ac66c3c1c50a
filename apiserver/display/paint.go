package display

import "strings"

// The colors and styles of Paint: parameters of a terminal's SGR.
const (
	Red    = "31"
	Green  = "32"
	Yellow = "33"
	Cyan   = "36"
	Bold   = "1"
	Dim    = "2"
)

// Paint returns a text in a color or style, "" for none.
func Paint(text, color string) string {
	if color == "" || text == "" {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

// Unpainted returns a text without the colors and styles of Paint.
func Unpainted(text string) string {
	for {
		i := strings.Index(text, "\x1b[")
		end := strings.IndexByte(text[max(i, 0):], 'm')
		if i < 0 || end < 0 {
			return text
		}
		text = text[:i] + text[i+end+1:]
	}
}

// LevelColor returns the color of a level of log entries, which shows how bad they are.
func LevelColor(level string) string {
	return map[string]string{"INFO": Green, "WARNING": Yellow, "ERROR": Red, "CRITICAL": "1;" + Red}[level]
}
