package bundle

import (
	"fmt"
	"regexp"
	"strconv"
)

// A Placement says where a unit goes: to the bundle's machine with the id Machine, to the machine
// of a unit of Service, or to a new machine if neither is set.
type Placement struct {
	Container string // the type of a new container on that machine; "" for none
	Machine   string
	Service   string
	Unit      int // the index of Service's unit, from 0; -1 if not given
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
		p.Unit, _ = strconv.Atoi(m[3]) // at most nine digits: no overflow
	}
	if p.Service == "new" {
		p.Service = ""
	}
	return p, nil
}

// String formats p so that ParsePlacement parses it.
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

// Placements returns the placement of each unit of a service; the bundle must be valid. Units
// beyond the given placements use the last of them. A placement that names only a service means
// that service's next unit, and a new machine after its last unit.
func (b *Bundle) Placements(service string) []Placement {
	s := b.Services[service]
	written := make([]Placement, len(s.To))
	for i, to := range s.To {
		written[i], _ = ParsePlacement(to)
	}
	places := make([]Placement, s.Units)
	next := map[string]int{} // service → the next unit to place beside
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
