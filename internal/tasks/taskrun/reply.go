package taskrun

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/tasks/task"
)

// result is the result of a tools/call.
type result struct {
	Content []struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		Resource struct {
			Text string `json:"text"`
		} `json:"resource"`
	} `json:"content"`
	StructuredContent json.RawMessage            `json:"structuredContent"`
	IsError           bool                       `json:"isError"`
	ResultType        string                     `json:"resultType"`
	Meta              map[string]json.RawMessage `json:"_meta"`
}

// foundFault is what a task needs of a fault of gauze's own.
type foundFault struct {
	Source   string `json:"source"`
	Code     string `json:"code"`
	Title    string `json:"title"`
	Detail   string `json:"detail"`
	Delivery string `json:"delivery"`
	WaitedMS int64  `json:"waitedMs"`
	Cause    struct {
		Code        string `json:"code"`
		Explanation string `json:"explanation"`
		Remedy      string `json:"remedy"`
	} `json:"cause"`
}

// replyOf reads an answer. Marks of gauze's own in it are genuine: the session removes a server's.
func replyOf(a answer) task.Reply {
	if a.Error != nil {
		r := reply{Status: task.Failed, Text: a.Error.Message, Asked: a.asked}
		r.explain(a.Error.Data)
		if f, ok := readFault(a.Error.Data); ok && f.Source == fault.DisownedSource {
			r.doubt(a.Error.Data)
		}
		return task.Reply(r)
	}
	return resultOf(a)
}

func resultOf(a answer) task.Reply {
	var got result
	if len(a.Result) == 0 || a.Result[0] != '{' {
		return task.Reply{Status: task.Lost, Delivery: task.Answered, Text: "the server's answer is not a tool result"}
	}
	_ = json.Unmarshal(a.Result, &got) // a result of a different form has no text
	var texts []string
	for _, block := range got.Content {
		switch {
		case block.Type == "text":
			texts = append(texts, block.Text)
		case block.Type == "resource" && block.Resource.Text != "":
			texts = append(texts, block.Resource.Text)
		}
	}
	r := reply{Status: task.OK, Text: strings.Join(texts, "\n")}
	if s := string(got.StructuredContent); s != "" && s != "null" {
		r.JSON = got.StructuredContent
	}
	if raw := got.Meta[fault.ReceiptKey]; len(raw) > 0 {
		r.Healed = append(r.Healed, "arguments repaired")
	}
	if got.ResultType == "input_required" {
		r.Status, r.Asked, r.Text = task.Failed, true, "the server requires input from the user"
	}
	if got.IsError {
		r.Status, r.Asked = task.Failed, a.asked
		r.explain(got.Meta[fault.MetaKey])
		for key, data := range got.Meta {
			if fault.IsDisownedFault(key) {
				r.doubt(data)
			}
		}
	}
	return task.Reply(r)
}

type reply task.Reply

// explain adds what a fault of gauze's own says: a call without a usable answer is lost.
func (r *reply) explain(data json.RawMessage) {
	f, ok := readFault(data)
	if !ok || f.Source != fault.Source {
		return
	}
	r.Fault, r.Cause, r.Remedy = f.Code, f.Cause.Code, f.Cause.Remedy
	switch fault.Code(f.Code) {
	case fault.ArgumentsInvalid, fault.ToolUnknown, fault.RequestTooLarge:
		return // the same call always fails
	case "":
		return
	}
	r.Status, r.Delivery, r.Report = task.Lost, f.delivery(), f.report()
}

// report returns a fault as a person reads it. The fault's own text tells a model what to do.
func (f foundFault) report() string {
	text := f.Title
	if f.WaitedMS > 0 {
		text += fmt.Sprintf(" (waited %v)", (time.Duration(f.WaitedMS) * time.Millisecond).Round(100*time.Millisecond))
	}
	if f.Cause.Explanation != "" {
		return text + ": " + f.Cause.Explanation
	}
	if f.Detail != "" {
		text += ": " + f.Detail
	}
	return text
}

// doubt adds what a fault of a gauze behind this one says: the server may itself be wrapped. It is
// the server's word, so it counts only against a repetition. A call that it says was not sent has
// failed, as the server says.
func (r *reply) doubt(data json.RawMessage) {
	f, ok := readFault(data)
	if _, known := fault.Lookup(f.Code); ok && known && f.delivery() != task.Unsent {
		r.Status, r.Delivery, r.Fault = task.Lost, f.delivery(), f.Code
	}
}

func readFault(data json.RawMessage) (f foundFault, ok bool) {
	return f, len(data) > 0 && json.Unmarshal(data, &f) == nil
}

// delivery returns how far the call got. Anything that is not known to be harmless is unknown.
func (f foundFault) delivery() task.Delivery {
	switch f.Delivery {
	case fault.Unsent.String():
		return task.Unsent
	case fault.Refused.String():
		return task.Refused
	case fault.Answered.String():
		return task.Answered
	}
	return task.Unknown
}
