package users

import (
	"testing"
	"time"
)

// Times that have passed are said in words, up to a day.
func TestTimesInWords(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	for past, want := range map[time.Duration]string{
		0: "just now", 5*time.Second - 1: "just now", 5 * time.Second: "5 seconds ago", time.Minute - 1: "59 seconds ago",
		time.Minute: "1 minute ago", time.Hour - 1: "59 minutes ago", time.Hour: "1 hour ago", 24*time.Hour - 1: "23 hours ago",
		24 * time.Hour: "2026-03-01", -time.Hour: "just now",
	} {
		if got := (times{now: now}).words(now.Add(-past)); got != want {
			t.Errorf("%v ago: %q, want %q", past, got, want)
		}
	}
	if got := (times{exact: true, now: now}).words(now.In(time.FixedZone("", 3600))); got != "2026-03-02 12:00:00 +0000 UTC" {
		t.Errorf("exactly: %q", got)
	}
	if got := (times{now: now}).shown(&time.Time{}); got.Words != "never connected" {
		t.Errorf("a zero time: %+v", got)
	}
}
