package repair

import "fmt"

// obstacle is why a call cannot be checked, for its caller.
type obstacle struct {
	why string
	fix string // what to do, in whole sentences
}

const (
	otherTool = "Other arguments do not help: use another tool, or tell the user that strict repair must be off for this tool."
	sendLess  = "Send smaller and simpler arguments."
)

// Unchecked refuses a call that cannot be checked for a reason that is not in its tool's schema. fix says what to do.
func (g *Gate) Unchecked(c Call, why, fix string) Decision {
	d := Decision{Tool: c.Tool, Arguments: c.Arguments, gate: g, caller: c.Caller, called: c.Tool}
	d.refuse(obstacle{why, fix})
	return d
}

// refuse refuses a call that cannot be checked.
func (d *Decision) refuse(o obstacle) { d.Verdict, d.unchecked = Refused, o }

// explain tells the caller of such a call why it was not sent.
func (o obstacle) explain(tool string, times int) Message {
	m := message{tool: tool, times: times}
	m.summary = m.status() + ": it cannot be checked, because " + remark(o.why, 200) + ". Strict repair sends only calls that were checked."
	text := m.summary
	switch {
	case times >= 3:
		text += fmt.Sprintf(" This call has failed in the same way %d times: stop repeating it.", times)
	case times == 2:
		text += sameMistake
	}
	return Message{text + "\n" + o.fix, Report{Type: typeArguments, Summary: m.summary, Issues: []Issue{}}.encoded()}
}
