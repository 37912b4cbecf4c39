package repair

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// proposal returns what the gate accepted.
func (g *closedGate) proposal(rank map[string]int) Proposal {
	p := Proposal{Arguments: encode(g.proposed, rank), Tier: max(g.tier, Silent), Touched: g.touched, Opened: len(g.owned) > 0,
		Doubt: g.doubt, Dropped: g.dropped}
	if g.altered && p.Doubt == "" {
		p.Doubt = "it changes a valid value"
	}
	known := g.schema.masker(g.sent, g.proposed)
	p.Lost = g.lostValues(known)
	p.Shown = encode(known.safe(g.proposed, nil), rank)
	if g.text == "" {
		g.diff(&p, nil, g.sent, g.proposed, rank)
	} else {
		p.Changes = []Change{change(nil, encode(g.text, nil), p.Arguments)}
		for _, path := range g.owned {
			p.Changes = append(p.Changes, change(path, nil, encode(lookup(g.proposed, path), rank)))
		}
	}
	if !isObject(g.sent) { // all of it is one change
		for _, path := range g.owned {
			p.Changes = append(p.Changes, change(path, nil, encode(lookup(g.proposed, path), rank)))
		}
	}
	for i := range p.Changes {
		p.Changes[i].Tier = p.Tier
		p.Changes[i].Rule = g.ruleOf(p.Changes[i].Path)
	}
	if len(p.Changes) > maxChanges { // what is the model's own must be among those that are shown
		p.Changes = slices.Concat(Own(p.Changes), slices.DeleteFunc(slices.Clone(p.Changes), Change.isOwn))
	}
	p.Changes = g.schema.shown(p.Changes)
	return p
}

// diff lists the fields that differ.
func (g *closedGate) diff(p *Proposal, path []string, before, after any, rank map[string]int) {
	x, isX := before.(map[string]any)
	y, isY := after.(map[string]any)
	if !isX || !isY {
		if !bytes.Equal(encode(before, nil), encode(after, nil)) {
			p.Changes = append(p.Changes, change(path, encode(before, rank), encode(after, rank)))
		}
		return
	}
	for _, key := range orderedKeys(x, rank) {
		at := append(slices.Clone(path), key)
		if item, there := y[key]; there {
			g.diff(p, at, x[key], item, rank)
		} else {
			p.Changes = append(p.Changes, change(at, encode(x[key], rank), nil))
		}
	}
	for _, key := range orderedKeys(y, rank) {
		if _, there := x[key]; !there {
			p.Changes = append(p.Changes, change(append(slices.Clone(path), key), nil, encode(y[key], rank)))
		}
	}
}

// ruleOf returns the rule of a change at a place: whether a value in it is the model's own.
func (g *closedGate) ruleOf(place string) string {
	for _, path := range g.owned {
		if at := Path(path); at == place || strings.HasPrefix(at, place+".") || strings.HasPrefix(place, at+".") {
			return RuleOwn
		}
	}
	return RuleModel
}

func change(path []string, before, after json.RawMessage) Change {
	return Change{Path: Path(path), Before: before, After: after, Rule: RuleModel}
}
