package main

import (
	"encoding/json"
	"strings"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/lab/bench/history"
)

// wireAnswer holds the parts of a response that the history needs.
type wireAnswer struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Result *struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
		IsError bool                       `json:"isError"`
		Meta    map[string]json.RawMessage `json:"_meta"`
	} `json:"result"`
	Error *struct {
		Data json.RawMessage `json:"data"`
	} `json:"error"`
}

// readAnswer turns a line from gauze into an event. It returns false for notifications. A line that
// is neither a tool's result nor a fault reported by gauze is Foreign.
func readAnswer(line []byte) (e history.Event, ok bool) {
	var a wireAnswer
	if err := json.Unmarshal(line, &a); err != nil {
		return history.Event{Kind: history.Foreign, ID: "(not JSON)", Code: string(line)}, true
	}
	if a.Method != "" && a.ID == nil {
		return e, false
	}
	e = history.Event{Kind: history.Foreign, ID: string(a.ID), Code: string(line)}
	switch {
	case a.Error != nil:
		readFault(&e, a.Error.Data)
	case a.Result == nil:
	case a.Result.IsError:
		readFault(&e, a.Result.Meta[fault.MetaKey])
	case len(a.Result.Content) == 1:
		e.Kind, e.Code = history.OK, ""
		e.Key = strings.TrimPrefix(a.Result.Content[0].Text, appendedPrefix)
	}
	return e, true
}

// readFault sets the event from a fault, if gauze reported it.
func readFault(e *history.Event, data json.RawMessage) {
	var f struct{ Source, Code, Delivery string }
	if json.Unmarshal(data, &f) != nil || f.Source != "gauze" {
		return
	}
	e.Kind, e.Code, e.Unsent = history.Fail, f.Code, f.Delivery == fault.Unsent.String()
	if fault.Code(f.Code) == fault.OutcomeUnknown {
		e.Kind = history.Unknown
	}
}
