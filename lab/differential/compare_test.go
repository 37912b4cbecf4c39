package differential

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/mend/repair"
)

// The differences that may remain between a direct answer and a wrapped one. Each is an improvement:
// it adds to what the server said, or heals what failed directly.
const (
	silentRepair = "receipt in _meta: the arguments were respelled, nothing else"
	noteBehind   = "a note after the server's own result"
	healed       = "a call that the server refuses directly gets further, with a receipt"
	explained    = "an explanation after the server's own error"
	diagnosed    = "the cause of a failure after the server's own error"
	afterHealed  = "a different failure after an earlier call was healed and had its effect"
	saidMore     = "notifications and questions of a call that got further"
	noArguments  = "no arguments, or null, sent as {}"
	repeated     = "a read that failed with an error that may be over soon, sent again"
	coalesced    = "list_changed notifications in a row sent as fewer"
)

// verdict is what comparing a wrapped run with direct ones found.
type verdict struct {
	harms        []string
	improvements map[string]int
	compared     int             // answers that all direct runs agree on
	random       int             // answers that they do not agree on
	bare         map[string]bool // ids of calls without arguments
	again        map[string]bool // keys of the answers to calls that gauze sent again: they come later
}

func (v *verdict) harm(format string, args ...any) {
	v.harms = append(v.harms, fmt.Sprintf(format, args...))
}

// maxReported bounds what one failing server prints.
const maxReported = 6

func (v *verdict) report(t *testing.T) {
	t.Helper()
	for i, harm := range v.harms {
		if i == maxReported {
			t.Errorf("and %d more", len(v.harms)-i)
			return
		}
		t.Error(harm)
	}
}

// compare compares a wrapped run with several direct ones. The ids of calls without arguments are in
// bare. inOrder is set for servers whose messages have one order.
func compare(direct []transcript, wrapped transcript, bare map[string]bool, inOrder bool) *verdict {
	v := &verdict{improvements: map[string]int{}, bare: bare, again: map[string]bool{}}
	for _, tr := range direct {
		if len(tr.lost) > 0 {
			v.harm("a direct run itself lost %q: the script is wrong", tr.lost)
			return v
		}
	}
	for _, id := range wrapped.lost {
		v.harm("never answered: %s", id)
	}
	var again []map[string]message
	for _, tr := range direct[1:] {
		again = append(again, tr.answers())
	}
	all := func(id string, holds func(message) bool) bool {
		return !slices.ContainsFunc(again, func(answers map[string]message) bool { return !holds(answers[id]) })
	}
	got := wrapped.answers()
	for _, m := range direct[0].messages {
		id := string(m.ID)
		if m.Method != "" {
			continue
		}
		if !all(id, func(other message) bool { return other.raw == m.raw }) {
			v.random++
			if w, ok := got[id]; ok && m.succeeded() && all(id, message.succeeded) && !w.succeeded() {
				v.harm("%s succeeds directly and fails wrapped:\n  direct   %s\n  wrapped  %s", id, show(m.raw), show(w.raw))
			}
			continue
		}
		v.compared++
		if w, ok := got[id]; ok {
			v.judge(id, m, w)
		}
	}
	// A real server may say more while it runs a call that it refuses directly.
	v.compareOthers(direct, wrapped, !inOrder && v.improvements[healed]+v.improvements[silentRepair] > 0)
	if inOrder && len(wrapped.lost) == 0 {
		v.compareOrder(direct, wrapped)
	}
	return v
}

// judge compares the two answers to one call.
func (v *verdict) judge(id string, direct, wrapped message) {
	if direct.raw == wrapped.raw {
		return
	}
	name := improvement(direct, wrapped)
	same := direct.succeeded() == wrapped.succeeded() && (direct.Error == nil) == (wrapped.Error == nil)
	if name == "" && v.bare[id] && (same || direct.refused()) {
		name = noArguments // the protocol makes no difference between the two
	}
	if name == "" && v.improvements[healed] > 0 && !direct.succeeded() && wrapped.result().Meta[fault.MetaKey] == nil && wrapped.Error == nil {
		name = afterHealed
	}
	if name == "" {
		v.harm("%s differs:\n  direct   %s\n  wrapped  %s", id, show(direct.raw), show(wrapped.raw))
		return
	}
	v.improvements[name]++
	v.again[wrapped.key()] = name == repeated || name == healed && failedTwice(wrapped)
}

// failedTwice reports whether gauze sent a call again, so that its answer may come after those of later calls.
func failedTwice(wrapped message) bool {
	return strings.Contains(wrapped.raw, fault.ModelMark+"] The call failed twice. ")
}

// improvement names what the difference between two answers is, or returns "" if it is harm.
func improvement(direct, wrapped message) string {
	d, w := direct.result(), wrapped.result()
	var receipt struct {
		Changes []struct{ Tier repair.Tier }
		Called  string
		Notes   []string
	}
	if strings.Contains(wrapped.raw, fault.ModelMark+"] Likely cause: ") && (direct.Error != nil && strings.Contains(wrapped.raw, quotedMessage(direct.Error)) ||
		direct.Error == nil && d.IsError && w.IsError && w.begins(d)) {
		return diagnosed
	}
	if failedTwice(wrapped) && direct.Error != nil && strings.Contains(wrapped.raw, quotedMessage(direct.Error)) {
		return repeated
	}
	// An error has no place for a receipt: what shows is that the server no longer refuses the call.
	if direct.refused() && wrapped.Error != nil && !strings.Contains(string(wrapped.Error), `"source":"gauze"`) {
		return healed
	}
	has := json.Unmarshal(w.Meta[fault.ReceiptKey], &receipt) == nil
	respelled := len(receipt.Changes) > 0
	for _, c := range receipt.Changes {
		respelled = respelled && c.Tier <= repair.Silent
	}
	if direct.succeeded() {
		switch {
		case !wrapped.succeeded() || !has || receipt.Called != "":
			return ""
		case len(receipt.Changes) == 0:
			if w.begins(d) {
				return noteBehind
			}
			return ""
		}
		if respelled {
			return silentRepair
		}
		return ""
	}
	switch {
	case respelled && w.IsError && len(w.Content) == len(d.Content):
		return silentRepair
	case has && (wrapped.succeeded() || direct.refused()):
		return healed
	case direct.Error != nil && strings.Contains(wrapped.raw, quotedMessage(direct.Error)):
		return explained
	case direct.Error == nil && w.IsError && w.begins(d):
		return explained
	}
	return ""
}

// toolResult is as much of a result as the comparison needs.
type toolResult struct {
	Content []json.RawMessage
	IsError bool
	Meta    map[string]json.RawMessage `json:"_meta"`
}

func (m message) result() (r toolResult) {
	json.Unmarshal(m.Result, &r)
	return r
}

// refused reports whether the server says that the arguments are wrong, and not that the tool failed.
func (m message) refused() bool {
	var e struct {
		Code    int
		Message string
	}
	if json.Unmarshal(m.Error, &e) == nil {
		return e.Code == -32602 || e.Code == -32603
	}
	var block struct{ Text string }
	r := m.result()
	return r.IsError && len(r.Content) == 1 && json.Unmarshal(r.Content[0], &block) == nil &&
		(repair.IsComplaint(block.Text, false) || strings.HasPrefix(block.Text, inOwnWords))
}

func (m message) succeeded() bool { return m.Result != nil && !m.result().IsError }

// begins reports whether the content of r is all of the server's own and then something of ours.
func (r toolResult) begins(own toolResult) bool {
	return len(r.Content) >= len(own.Content) && slices.EqualFunc(r.Content[:len(own.Content)], own.Content,
		func(a, b json.RawMessage) bool { return string(a) == string(b) })
}

// quotedMessage is the message of an error as it would be inside of another JSON string.
func quotedMessage(e json.RawMessage) string {
	var said struct{ Message string }
	json.Unmarshal(e, &said)
	text, _ := json.Marshal(said.Message)
	return strings.Trim(string(text), `"`)
}

// compareOthers compares what the server said without being asked: its notifications and questions,
// each kind in its order, and more of it if that may be. The ids of its questions are not compared:
// gauze gives them its own.
func (v *verdict) compareOthers(direct []transcript, wrapped transcript, more bool) {
	w := wrapped.others()
	var all []map[string][]string
	for _, tr := range direct {
		all = append(all, tr.others())
	}
	for key, said := range all[0] {
		if slices.ContainsFunc(all[1:], func(other map[string][]string) bool { return !slices.Equal(said, other[key]) }) {
			v.random++
		} else if n := len(w[key]); isListChanged(key) && n > 0 && n < len(said) {
			v.improvements[coalesced]++
		} else if more && len(said) < n && within(said, w[key]) {
			v.improvements[saidMore]++
		} else if !slices.Equal(said, w[key]) {
			v.harm("%s: %d directly, %d wrapped: %s", key, len(said), len(w[key]), firstDifference(said, w[key]))
		}
	}
	for key, said := range w {
		switch {
		case slices.ContainsFunc(all, func(other map[string][]string) bool { return other[key] != nil }):
		case more:
			v.improvements[saidMore]++
		default:
			v.harm("%s: never directly, %d wrapped: %s", key, len(said), show(said[0]))
		}
	}
}

// within reports whether a list has all of few, in their order.
func within(few, list []string) bool {
	for _, one := range list {
		if len(few) > 0 && few[0] == one {
			few = few[1:]
		}
	}
	return len(few) == 0
}

func (tr transcript) others() map[string][]string {
	all := map[string][]string{}
	for _, m := range tr.messages {
		if m.Method != "" {
			all[m.key()] = append(all[m.key()], string(m.Params))
		}
	}
	return all
}

func (v *verdict) compareOrder(direct []transcript, wrapped transcript) {
	a, w := direct[0].keys(v.again), wrapped.keys(v.again)
	for _, tr := range direct[1:] {
		if !slices.Equal(a, tr.keys(v.again)) {
			return
		}
	}
	if !slices.Equal(a, w) {
		v.harm("the order differs: %s", firstDifference(a, w))
	}
}

// keys names the messages in order, without some and those that may be coalesced.
func (tr transcript) keys(without map[string]bool) (all []string) {
	for _, m := range tr.messages {
		if key := m.key(); !isListChanged(key) && !without[key] {
			all = append(all, key)
		}
	}
	return all
}

func isListChanged(key string) bool {
	return strings.HasPrefix(key, "notification ") && strings.HasSuffix(key, "/list_changed")
}

func firstDifference(a, b []string) string {
	for i := range max(len(a), len(b)) {
		x, y := "nothing", "nothing"
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if x != y {
			return fmt.Sprintf("at %d, directly %s, wrapped %s", i, show(x), show(y))
		}
	}
	return "nothing"
}

func show(text string) string {
	if len(text) > 400 {
		return text[:400] + fmt.Sprintf("… (%d bytes)", len(text))
	}
	return text
}
