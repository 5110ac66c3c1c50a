package modelcheck

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"gopkg.in/mgo.v2/bson"

	"juju/state/check"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/limits"
	"juju/state/porttable"
)

// Agents' reports are checked against the limits of package entity when they are received.
// These rules find documents written by older versions or edited by hand.

// judgeStatus finds statuses that can't be shown unchanged.
func judgeStatus(v *view, id string) *check.Wrong {
	s := v.Get(modeldb.StatusesC, id)
	if s == nil {
		return nil
	}
	said := entity.Status{Status: entity.StatusWord(s.Text("status")), Message: s.Text("message")}
	data, ok := plainRows(s["data"]).(map[string]any)
	said.Data = modeldb.UnescapeKeys(data)
	var okSince bool
	said.Since, okSince = s["since"].(time.Time)
	if _, okMessage := s["message"].(string); !okMessage || !okSince || !ok && s["data"] != nil {
		said.Data = map[string]any{"a field is of another type": said} // which no status may contain
	}
	damage := limits.StatusDamage(said)
	if damage == "" {
		return nil
	}
	mended := limits.MendStatus(said)
	if mended.Since.IsZero() {
		mended.Since = v.Now
	}
	return check.Update(check.DocID{modeldb.StatusesC, id}, "it is damaged: "+damage, "keep its valid parts",
		bson.D{{"$set", bson.D{{"status", mended.Status}, {"message", mended.Message},
			{"data", modeldb.EscapeKeys(mended.Data)}, {"since", mended.Since.Truncate(time.Millisecond)}}}})
}

// plainRows converts the rows in a value to maps.
func plainRows(v any) any {
	switch v := v.(type) {
	case check.Row:
		out := make(map[string]any, len(v))
		for k, inner := range v {
			out[k] = plainRows(inner)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = plainRows(v[i])
		}
		return out
	}
	return v
}

// judgeRanges finds invalid open ports, and ranges that overlap.
func judgeRanges(v *view, machine string) *check.Wrong {
	p := v.Get(modeldb.PortsC, machine)
	if p == nil {
		return nil
	}
	where := check.DocID{modeldb.PortsC, machine}
	table := porttable.New(nil)
	var bad []bson.M
	for _, open := range p.Docs("ports") {
		r := entity.PortRange{From: open.Number("from"), To: open.Number("to"), Protocol: open.Text("protocol")}
		if r.Check() != nil {
			bad = append(bad, bson.M{"from": open["from"], "to": open["to"], "protocol": open["protocol"]})
		} else if with, conflict := table.Conflict(r); conflict {
			return &check.Wrong{Where: where,
				What: fmt.Sprintf("port ranges %v and %v conflict: a unit must close one of them", with, r)}
		} else {
			table.Add(r)
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return check.Update(where, fmt.Sprintf("it has invalid open ports: %d", len(bad)), "close them",
		bson.D{{"$pull", bson.D{{"ports", bson.D{{"$or", bad}}}}}, {"$inc", bson.D{{"version", 1}}}})
}

// judgeAddresses finds invalid addresses of a machine.
func judgeAddresses(v *view, id string) *check.Wrong {
	m := v.Get(modeldb.MachinesC, id)
	if m == nil {
		return nil
	}
	var wrong error
	good := bson.D{}
	for _, field := range []string{"addresses", "cloudaddresses", "hostaddresses"} {
		addresses := m.Texts(field)
		err := limits.CheckAddresses(addresses)
		if err == nil {
			continue
		}
		kept := slices.DeleteFunc(slices.Clone(addresses),
			func(a string) bool { return limits.CheckAddresses([]string{a}) != nil })
		good = append(good, bson.DocElem{Name: field, Value: kept[:min(len(kept), limits.Addresses.Max)]})
		wrong = cmp.Or(wrong, err)
	}
	if wrong == nil {
		return nil
	}
	return check.Update(check.DocID{modeldb.MachinesC, id}, "its addresses are damaged: "+limits.StatusMessage.Cut(wrong.Error()),
		"keep the valid ones",
		bson.D{{"$set", good}})
}
