package bundle

import (
	"fmt"
	"regexp"
	"strconv"
)

// A Placement says where a unit goes: to a new machine if neither Machine nor Service is set, to
// the bundle's machine with the id Machine, or to the machine of a unit of Service.
type Placement struct {
	Container string // the type of the new container that it goes in; "" for none
	Machine   string
	Service   string
	Unit      int // which of the Service's units, counted from 0; -1 if not said
}

const (
	nameSnippet   = `[a-z][a-z0-9]*(?:-[a-z0-9]*[a-z][a-z0-9]*)*`
	numberSnippet = `0|[1-9][0-9]{0,8}`
)

var (
	placementPattern = regexp.MustCompile(`^(?:([a-z]+):)?(?:(` + nameSnippet + `)(?:/(` + numberSnippet + `))?|(` +
		numberSnippet + `))$`)
	machinePattern = regexp.MustCompile(`^(?:` + numberSnippet + `)$`)
)

// ParsePlacement parses "[container:](machine|new|service[/unit])".
func ParsePlacement(text string) (Placement, error) {
	m := placementPattern.FindStringSubmatch(text)
	if m == nil || m[2] == "new" && m[3] != "" {
		return Placement{}, fmt.Errorf("invalid placement syntax %q", text)
	}
	p := Placement{Container: m[1], Machine: m[4], Service: m[2], Unit: -1}
	if m[3] != "" {
		p.Unit, _ = strconv.Atoi(m[3]) // at most nine digits
	}
	if p.Service == "new" {
		p.Service = ""
	}
	return p, nil
}

// String returns the form that ParsePlacement parses.
func (p Placement) String() string {
	text := "new"
	switch {
	case p.Machine != "":
		text = p.Machine
	case p.Service != "" && p.Unit >= 0:
		text = fmt.Sprintf("%s/%d", p.Service, p.Unit)
	case p.Service != "":
		text = p.Service
	}
	if p.Container != "" {
		text = p.Container + ":" + text
	}
	return text
}

// Placements returns the placement of each unit of a service in a bundle that is valid. The last
// one that is written is repeated. One that names only a service stands for that service's next
// unit, and for a new machine after its last.
func (b *Bundle) Placements(service string) []Placement {
	s := b.Services[service]
	written := make([]Placement, len(s.To))
	for i, to := range s.To {
		written[i], _ = ParsePlacement(to)
	}
	places := make([]Placement, s.Units)
	next := map[string]int{} // service → the unit after the last that was named
	for i := range places {
		if len(written) == 0 {
			break
		}
		p := written[min(i, len(written)-1)]
		if p.Service != "" {
			if p.Unit < 0 {
				p.Unit = next[p.Service]
			}
			next[p.Service] = p.Unit + 1
			if host := b.Services[p.Service]; host == nil || p.Unit >= host.Units {
				p = Placement{Container: p.Container}
			}
		}
		places[i] = p
	}
	return places
}
