package cli

import (
	"strconv"
	"time"
)

// Ago says how long ago something was, up to a day, and then on which day.
func Ago(when, now time.Time) string {
	ago := func(n time.Duration, unit string) string {
		if n != 1 {
			unit += "s"
		}
		return strconv.FormatInt(int64(n), 10) + " " + unit + " ago"
	}
	switch past := now.Sub(when); {
	case past >= 24*time.Hour:
		return when.Format(time.DateOnly)
	case past >= time.Hour:
		return ago(past/time.Hour, "hour")
	case past >= time.Minute:
		return ago(past/time.Minute, "minute")
	case past >= 5*time.Second:
		return ago(past/time.Second, "second")
	}
	return "just now"
}
