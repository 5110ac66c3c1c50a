package apiserver

import (
	"flag"
	"fmt"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"juju/doc/tools/verify"
	"juju/state/limits"
)

var update = flag.Bool("update", false, "write the tables of doc/security.md anew")

// limitRows describes the fields of Limits: what each limits, and what happens beyond. The %s in
// value stand for the fields' values, in order.
var limitRows = []struct{ fields, what, value, beyond string }{
	{"Unauthenticated", "connections without a login",
		"%s, or a quarter of the files that the process may open, less a quarter (32 to 1024) for itself",
		"the oldest connection of the busiest address is closed"},
	{"UnauthenticatedFrom", "… from one address (IPv6: a /64)", "%s, or an eighth of these files", "that address's oldest is closed"},
	{"LoginTime Logins", "time until the login, and for the body of a request before it; failed logins", "%s; %s", "the connection ends"},
	{"Members", "connections with a login", "%s, or three quarters of these files", "told to try again"},
	{"Reserved", "… kept for each of superusers, other users, agents of machines, agents of units, consumers of offers",
		"%s, or an eighth of all with a login", "–"},
	{"UserConns AgentConns", "… of one user, with all consumers whose tokens are the user's; of one agent",
		"%s, or an eighth of all, at least 8; %s, or a sixteenth, at least 8", "told to try again"},
	{"AgentTurns", "requests of agents that are worked on at once, of all models",
		"twice the CPUs; with a MongoDB 64", "the others wait; each model has its share"},
	{"AgentLogins AgentWait", "concurrent agent logins; their queueing time", "%s; %s", "told to try again"},
	{"UserLogins UserQueue UserWait", "concurrent password hashes; logins queued for one; their queueing time",
		"half the CPUs, at least 1 and at most 4; %s; %s", "told to try again"},
	{"Frame LoginFrame", "a request; before the login", "%s; %s", "the connection ends"},
	{"Values", "values in a request's JSON", "%s", "refused"},
	{"Memory MemoryWait", "memory of all requests and replies; wait for some",
		"a quarter of what the process may use, at least 128 MiB and at most %s; %s", "told to try again"},
	{"MemoryShare MemoryGrace", "… of one user or agent with several requests; a slow client while others wait",
		"an eighth of that, at most %s; %s", "waits; the connection of the one who holds the most ends"},
	{"Requests RequestTime", "requests of a connection at once; how long each may make no progress", "%s; %s",
		"more are read when one is done; took too long"},
	{"StopTime", "users' requests for changes by the API that are answered when the controller stops; uploads and pages are cut", "%s",
		"the connection is closed, and nobody says whether the change was made"},
	{"CloudTime", "a cloud's answers to one request", "%s", "told to try again, and nothing is written"},
	{"Watches MemberWatches", "watches of a connection; of one user, with such consumers, or agent", "%s; %s", "refused"},
	{"PingEvery Silence WriteTime", "time between pings; of silence; until a frame is read", "%s; %s; %s",
		"the connection ends"},
	{"Charm Resource Binaries UploadTime",
		"a charm's archive; the file of a resource; an archive of binaries; the time for each", "%s; %s; %s; %s", "refused"},
	{"Uploads UserUploads UploadBytes UserUploadBytes", "concurrent uploads; of one user; their temporary files together; those of one user", "%s; %s; %s; %s",
		"503, told to try again"},
	{"JudgedUploads", "archives that are read at once", "%s", "others wait until their request ends"},
	{"Commands UserCommands", "commands of users that the controller runs at once; of one user", "%s; %s", "told to try again"},
	{"CommandTime CommandOutput", "time for one; what it may print", "%s; %s", "it is killed"},
	{"Downloads DownloadWait DownloadTime", "downloads of agent binaries, without a login; queueing time; time for one",
		"%s; %s; %s", "503, told to try again"},
}

// The page on security has the limits of the code.
func TestSecurityPage(t *testing.T) {
	verify.Smoke(t)
	const path = "../doc/security.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	for section, table := range map[string]string{"values": valuesTable(), "limits": limitsTable(t)} {
		before, rest, ok := strings.Cut(page, "; begin "+section+" -->\n")
		_, after, ended := strings.Cut(rest, "<!-- end "+section+" -->")
		if !ok || !ended {
			t.Fatalf("%s has no section %s", path, section)
		}
		page = before + "; begin " + section + " -->\n" + table + "<!-- end " + section + " -->" + after
	}
	if page == string(text) {
		return
	}
	if !*update {
		t.Fatalf("%s does not say what the limits are; go test ./apiserver -run %s -update writes it anew", path, t.Name())
	}
	if err := os.WriteFile(path, []byte(page), 0o666); err != nil {
		t.Fatal(err)
	}
}

func valuesTable() string {
	var b strings.Builder
	b.WriteString("| what | limit |\n|---|---|\n")
	for _, l := range limits.All {
		value := fmt.Sprint(l.Max, " ", l.Unit)
		if l.Unit == "bytes" {
			value = size(int64(l.Max))
		}
		fmt.Fprintf(&b, "| %s | %s |\n", l.Of, value)
	}
	return b.String()
}

func limitsTable(t *testing.T) string {
	limits := reflect.ValueOf(limitsFor(math.MaxInt32, math.MaxInt64))
	missing := map[string]bool{}
	for i := range limits.NumField() {
		missing[limits.Type().Field(i).Name] = true
	}
	var b strings.Builder
	b.WriteString("| what | limit | beyond it |\n|---|---|---|\n")
	for _, row := range limitRows {
		var values []any
		for _, name := range strings.Fields(row.fields) {
			if !missing[name] {
				t.Errorf("%s is not a field of Limits, or is there twice", name)
				continue
			}
			delete(missing, name)
			if name != "UserLogins" && name != "AgentTurns" { // depend on the machine
				values = append(values, shown(limits.FieldByName(name)))
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", row.what, fmt.Sprintf(row.value, values...), row.beyond)
	}
	for name := range missing {
		t.Errorf("no row says what Limits.%s is", name)
	}
	return b.String()
}

func shown(v reflect.Value) string {
	switch value := v.Interface().(type) {
	case time.Duration:
		if value%time.Minute == 0 {
			return fmt.Sprint(int(value.Minutes()), " min")
		}
		return fmt.Sprint(value.Seconds(), " s")
	case int64:
		return size(value)
	default:
		return fmt.Sprint(value)
	}
}

func size(n int64) string {
	switch {
	case n%(1<<30) == 0:
		return fmt.Sprint(n>>30, " GiB")
	case n%(1<<20) == 0:
		return fmt.Sprint(n>>20, " MiB")
	case n%(1<<10) == 0:
		return fmt.Sprint(n>>10, " KiB")
	}
	return fmt.Sprint(n, " bytes")
}
