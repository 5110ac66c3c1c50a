package nftables

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"juju/provider"
	"juju/state/entity"
)

// listed is one element of nft's JSON output.
type listed struct {
	Table *struct {
		Family string `json:"family"`
		Name   string `json:"name"`
	} `json:"table"`
	Chain *struct {
		Name   string `json:"name"`
		Hook   string `json:"hook"`
		Policy string `json:"policy"`
	} `json:"chain"`
	Rule *struct {
		Chain string `json:"chain"`
		Expr  []struct {
			Match *struct {
				Right json.RawMessage `json:"right"`
			} `json:"match"`
		} `json:"expr"`
	} `json:"rule"`
	Set *struct {
		Name     string            `json:"name"`
		Elements []json.RawMessage `json:"elem"`
	} `json:"set"`
}

func decode(out []byte) ([]listed, error) {
	var list struct {
		All []listed `json:"nftables"`
	}
	if err := json.Unmarshal(out, &list); err != nil {
		return nil, fmt.Errorf("cannot parse the output of nft: %w", err)
	}
	return list.All, nil
}

// Ingress returns the table's rules. It returns none, rather than an error that would prevent the rules from
// being set, if the table does not exist, lacks some of SetIngress's rules, or has elements that SetIngress never
// writes.
func (h *Host) Ingress(ctx context.Context) (provider.Ingress, error) {
	none := provider.Ingress{Ports: map[string][]entity.PortRange{}}
	tables, err := h.tables(ctx)
	if err != nil || !tables[h.table] {
		return none, err
	}
	out, err := h.nft(ctx, "", "-n", "-j", "list", "table", "inet", h.table)
	if err != nil {
		return none, err
	}
	list, err := decode(out)
	if err != nil {
		return none, err
	}
	hooked, count, sets := false, 0, map[string][]string{}
	networks := map[string]string{} // of the sets of ports that are open to one network
	for _, one := range list {
		switch {
		case one.Chain != nil && one.Chain.Name == chain:
			hooked = one.Chain.Hook == "prerouting" && one.Chain.Policy == "accept"
		case one.Rule != nil && one.Rule.Chain == chain:
			if set, network := accepted(one); set != "" {
				networks[set] = network
			} else {
				count++
			}
		case one.Set != nil:
			texts, ok := elements(one.Set.Elements)
			if !ok {
				return none, nil
			}
			sets[one.Set.Name] = texts
		}
	}
	if !hooked || count != len(rules) {
		return none, nil
	}
	has := provider.Ingress{Peers: slices.Concat(sets[peersIPv4], sets[peersIPv6])}
	var open []entity.PortRange
	var from []entity.PortsFrom
	for set, texts := range sets {
		_, protocol, _ := strings.Cut(set, "_")
		isClosed := set == closedTCP || set == closedUDP
		if !isClosed && !strings.HasPrefix(set, fromPrefix) {
			continue
		}
		var ports []entity.PortRange
		for _, text := range texts {
			r, err := entity.ParsePortRange(text + "/" + protocol)
			if err != nil {
				return none, nil
			}
			ports = append(ports, r)
		}
		if isClosed {
			open = append(open, provider.ClosedPorts(protocol, ports)...)
		} else {
			from = append(from, entity.PortsFrom{CIDR: networks[set], Ports: ports})
		}
	}
	has.Ports = map[string][]entity.PortRange{h.instance: open}
	has.From = map[string][]entity.PortsFrom{h.instance: from}
	return has.Normal(), nil
}

// accepted returns the set and the network of a rule that accepts packets from a network to the ports of a set; "" for
// other rules.
func accepted(rule listed) (set, network string) {
	for _, e := range rule.Rule.Expr {
		var text string
		var family int
		var prefix struct {
			Prefix *struct {
				Addr string `json:"addr"`
				Len  int    `json:"len"`
			} `json:"prefix"`
		}
		switch {
		case e.Match == nil:
		case json.Unmarshal(e.Match.Right, &text) == nil && strings.HasPrefix(text, "@"+fromPrefix):
			set = text[1:]
		case json.Unmarshal(e.Match.Right, &family) == nil && family == syscall.AF_INET:
			network = entity.AllIPv4
		case family == syscall.AF_INET6:
			network = entity.AllIPv6
		case text != "":
			if a, err := netip.ParseAddr(text); err == nil {
				network = netip.PrefixFrom(a, a.BitLen()).String()
			}
		case json.Unmarshal(e.Match.Right, &prefix) == nil && prefix.Prefix != nil:
			network = fmt.Sprintf("%s/%d", prefix.Prefix.Addr, prefix.Prefix.Len)
		}
	}
	return set, network
}

// elements returns a set's elements in nft's syntax ("80", "80-90", "10.0.0.1"); false if some have another form.
func elements(all []json.RawMessage) (texts []string, ok bool) {
	for _, raw := range all {
		var number int
		var text string
		var span struct {
			Range []int `json:"range"`
		}
		switch {
		case json.Unmarshal(raw, &number) == nil:
			text = strconv.Itoa(number)
		case json.Unmarshal(raw, &text) == nil:
		case json.Unmarshal(raw, &span) == nil && len(span.Range) == 2:
			text = fmt.Sprintf("%d-%d", span.Range[0], span.Range[1])
		default:
			return nil, false
		}
		texts = append(texts, text)
	}
	return texts, true
}
