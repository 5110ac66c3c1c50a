package modelstatus

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"juju/state/entity"
)

var (
	validPattern = regexp.MustCompile(`^[a-z0-9*/-]+$`)
	portPattern  = regexp.MustCompile(`^[0-9]+(-[0-9]+)?/(tcp|udp)$|^icmp$`)
)

// Match removes everything from a status that matches none of the patterns. A pattern is a
// glob of names of services or units, a machine's id, "exposed", "not exposed", a status,
// a port or an address; SERVICE/leader is the service's leader. A matching subordinate keeps its principal, and a principal its
// subordinates; a machine is kept with its units, and a relation with either of its
// services. s.Unmatched gets the patterns that match nothing. Errors are entity.Invalid.
func Match(s *entity.ModelStatus, patterns []string) error {
	if len(patterns) == 0 {
		return nil
	}
	var err error
	if patterns, err = joinNot(patterns); err != nil {
		return err
	}
	s.Unmatched = unmatched(s, patterns)
	hosts := map[string]bool{}
	kept := map[string]bool{}
	var services []entity.ServiceStatus
	for _, svc := range s.Services {
		whole := anyMatches(patterns, func(p string) bool { return serviceMatches(svc, p) })
		var units []entity.UnitStatus
		for _, u := range svc.Units {
			if u, ok := keepUnit(u, patterns, whole); ok {
				units = append(units, u)
				hosts[u.Machine] = true
				for _, sub := range u.Subordinates {
					kept[sub.Name] = true
				}
			}
		}
		if whole || len(units) > 0 || svc.Subordinate {
			svc.Units = units
			services = append(services, svc)
			if whole || len(units) > 0 {
				kept[svc.Name] = true
			}
		}
	}
	// A subordinate service is kept if it matches or if one of its units was kept.
	s.Services = slices.DeleteFunc(services, func(svc entity.ServiceStatus) bool {
		if kept[svc.Name] {
			return false
		}
		for name := range kept {
			if entity.UnitService(name) == svc.Name {
				return false
			}
		}
		return true
	})
	s.Machines = slices.DeleteFunc(s.Machines, func(m entity.MachineStatus) bool {
		return !hosts[m.ID] && !machineMatches(m, patterns, hosts)
	})
	s.Remotes = slices.DeleteFunc(s.Remotes, func(r entity.RemoteStatus) bool {
		return !anyMatches(patterns, func(p string) bool { return glob(p, r.Name) })
	})
	s.Offers = slices.DeleteFunc(s.Offers, func(o entity.OfferStatus) bool {
		return !kept[o.Service] && !anyMatches(patterns, func(p string) bool { return glob(p, o.Name) })
	})
	s.Relations = slices.DeleteFunc(s.Relations, func(r entity.RelationStatus) bool {
		return !slices.ContainsFunc(r.Endpoints, func(e entity.EndpointStatus) bool {
			return slices.ContainsFunc(s.Services, func(svc entity.ServiceStatus) bool { return svc.Name == e.Service })
		})
	})
	return nil
}

// joinNot joins the words "not exposed" into one pattern, and rejects invalid patterns.
func joinNot(patterns []string) ([]string, error) {
	var all []string
	for i := 0; i < len(patterns); i++ {
		p := strings.ToLower(patterns[i])
		if p == "not" && i+1 < len(patterns) && strings.ToLower(patterns[i+1]) == "exposed" {
			p = "not exposed"
			i++
		}
		switch {
		case p == "not exposed" || portPattern.MatchString(p) || strings.ContainsAny(p, ".:"):
		case strings.Count(p, "/") > 1 && !entity.IsValidMachine(p):
			return nil, entity.Errorf(entity.Invalid, "pattern %q contains too many '/' characters", p)
		case !validPattern.MatchString(p):
			return nil, entity.Errorf(entity.Invalid, "pattern %q contains invalid characters", p)
		}
		all = append(all, p)
	}
	return all, nil
}

// unmatched returns the patterns that match nothing in s.
func unmatched(s *entity.ModelStatus, patterns []string) []string {
	return slices.DeleteFunc(slices.Clone(patterns), func(p string) bool {
		inUnit := func(u entity.UnitStatus) bool { return unitMatches(u, p) }
		return slices.ContainsFunc(s.Services, func(svc entity.ServiceStatus) bool {
			return serviceMatches(svc, p) || slices.ContainsFunc(svc.Units, func(u entity.UnitStatus) bool {
				return inUnit(u) || slices.ContainsFunc(u.Subordinates, inUnit)
			})
		}) ||
			slices.ContainsFunc(s.Machines, func(m entity.MachineStatus) bool { return machineMatches(m, []string{p}, nil) }) ||
			slices.ContainsFunc(s.Remotes, func(r entity.RemoteStatus) bool { return glob(p, r.Name) }) ||
			slices.ContainsFunc(s.Offers, func(o entity.OfferStatus) bool { return glob(p, o.Name) })
	})
}

func anyMatches(patterns []string, f func(string) bool) bool { return slices.ContainsFunc(patterns, f) }

func glob(pattern, name string) bool {
	ok, _ := path.Match(pattern, name)
	return ok
}

func serviceMatches(s entity.ServiceStatus, p string) bool {
	switch p {
	case "exposed":
		return s.Exposed
	case "not exposed":
		return !s.Exposed
	}
	return !strings.Contains(p, "/") && glob(p, s.Name)
}

// keepUnit returns the unit with only the subordinates to keep.
func keepUnit(u entity.UnitStatus, patterns []string, whole bool) (entity.UnitStatus, bool) {
	self := whole || anyMatches(patterns, func(p string) bool { return unitMatches(u, p) })
	if self {
		return u, true
	}
	var subordinates []entity.UnitStatus
	for _, s := range u.Subordinates {
		if anyMatches(patterns, func(p string) bool { return unitMatches(s, p) || glob(p, entity.UnitService(s.Name)) }) {
			subordinates = append(subordinates, s)
		}
	}
	u.Subordinates = subordinates
	return u, len(subordinates) > 0
}

func unitMatches(u entity.UnitStatus, p string) bool {
	if strings.Contains(p, "/") && (glob(p, u.Name) || u.Leader && glob(p, entity.UnitService(u.Name)+"/leader")) {
		return true
	}
	if string(u.Workload.Status) == p || string(u.Agent.Status) == p || u.PublicAddress == p || u.Machine == p {
		return true
	}
	return slices.ContainsFunc(u.OpenedPorts, func(r entity.PortRange) bool { return r.String() == p })
}

func machineMatches(m entity.MachineStatus, patterns []string, hosts map[string]bool) bool {
	for _, p := range patterns {
		if m.ID == p || string(m.Status.Status) == p || slices.Contains(m.Addresses, p) {
			return true
		}
	}
	return slices.ContainsFunc(m.Containers, func(c entity.MachineStatus) bool {
		return hosts[c.ID] || machineMatches(c, patterns, hosts)
	})
}
