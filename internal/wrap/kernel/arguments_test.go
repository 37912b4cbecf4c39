package kernel_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/mend/repair"
)

// beginPicky starts a session with a server that declares schemas.
func beginPicky(t *testing.T, o Options) *story {
	t.Helper()
	o.Spec = plainServer("picky", t.TempDir())
	s := (&story{t: t, ended: make(chan error, 1)}).run(o).initialize()
	s.answer(s.request("tools/list", ""))
	return s
}

// strict returns options with which a call that does not fit never reaches the server.
func strict() Options {
	o := quick()
	o.Repair = "strict"
	return o
}

// result is the part of a result that the tests read.
type result struct {
	Content []struct{ Type, Text string }
	IsError bool
	Meta    struct {
		Repair struct {
			Called, Tool string
			Changes      []repair.Change
			Notes        []string
		} `json:"io.github.gauze-mcp/repair"`
		Report json.RawMessage `json:"io.github.gauze-mcp/arguments"`
		A      int
	} `json:"_meta"`
}

func (s *story) result(id string) (r result) {
	s.t.Helper()
	m := s.answer(id)
	if err := json.Unmarshal(m.Result, &r); err != nil {
		s.t.Fatalf("%v: %s", err, m.raw)
	}
	return r
}

func TestAValidCallGoesAsItCame(t *testing.T) {
	t.Parallel()
	s := beginPicky(t, quick())
	const params = `{ "name" : "book","arguments":{"days":5 ,"city":"Os\u006co"},"x":1 }`
	if got := s.text(s.answer(s.request("tools/call", params))); got != params {
		t.Errorf("%s\nwant %s", got, params)
	}
	s.want(event.Repaired, 0)
}

func TestARepairedCallCarriesItsReceipt(t *testing.T) {
	t.Parallel()
	s := beginPicky(t, quick())
	r := s.result(s.request("tools/call", `{"x":1,"arguments":{"City":"Oslo","days":"5","units":"Celsius"},"name":"book"}`))
	if got, want := r.Content[0].Text, `{"x":1,"arguments":{"city":"Oslo","days":5,"units":"celsius"},"name":"book"}`; got != want {
		t.Errorf("the server got %s\nwant %s", got, want)
	}
	if len(r.Content) != 1 {
		t.Errorf("a change of spelling is reported to the model: %v", r.Content)
	}
	if n := len(r.Meta.Repair.Changes); n != 3 {
		t.Errorf("%d receipts: %v", n, r.Meta.Repair.Changes)
	}
	if e := s.await(event.Repaired, 1); e.Tool != "book" || !strings.Contains(e.Detail, "days: "+repair.RuleNumberText) {
		t.Errorf("%+v", e)
	}
	if n := s.session.Counters().Repaired; n != 1 {
		t.Errorf("%d repaired", n)
	}
}

// Repairs with more than one reading are made only for safe tools, and reported to the model.
func TestOnlyHarmlessToolsAreRepairedFurther(t *testing.T) {
	t.Parallel()
	s := beginPicky(t, strict())
	s.wantFault(s.start("book", `{"city":"Oslo","tags":"a"}`), fault.ArgumentsInvalid)
	r := s.result(s.start("weather.get_forecast", `{"city":"Oslo","tags":"a"}`))
	if !strings.Contains(r.Content[0].Text, `"tags":["a"]`) {
		t.Errorf("%v", r.Content)
	}
	if len(r.Content) != 2 || !strings.Contains(r.Content[1].Text, "tags") {
		t.Errorf("not reported to the model: %v", r.Content)
	}
}

func TestTheUserDecidesAboutRepair(t *testing.T) {
	t.Parallel()
	o := quick()
	o.Repair = "silent"
	o.Tools = map[string]Policy{"book": {Repair: "off"}, "open": {Repair: "report"}, "hidden": {Repair: "off"}}
	s := beginPicky(t, o)
	if r := s.result(s.start("book", `{"days":"2 + 3"}`)); !strings.Contains(r.Content[0].Text, `"2 + 3"`) {
		t.Errorf("%v", r.Content)
	}
	if r := s.result(s.start("hidden", `{}`)); !strings.Contains(r.Content[0].Text, `"hidden"`) {
		t.Errorf("%v", r.Content)
	}
	s.answer(s.start("weather.get_forecast", `{"city":"complain-error"}`)) // proves that the server validates
	if r := s.result(s.start("weather.get_forecast", `{"city":"Oslo","tags":"a"}`)); len(r.Content) != 1 || len(r.Meta.Repair.Changes) != 1 {
		t.Errorf("silent: %+v", r)
	}
	if r := s.result(s.start("open", `{"city":"Oslo","days":"5"}`)); len(r.Content) != 2 || !strings.Contains(r.Content[1].Text, `days: "5" became 5`) {
		t.Errorf("report: %+v", r)
	}
}

func TestReceiptsFindTheirPlace(t *testing.T) {
	t.Parallel()
	s := beginPicky(t, quick())
	r := s.result(s.start("book", `{"city":"with-meta","days":"5"}`))
	if r.Meta.A != 1 || len(r.Meta.Repair.Changes) != 1 {
		t.Errorf("%+v", r)
	}
	if r := s.result(s.start("open", `{"city":"empty","days":"5"}`)); len(r.Meta.Repair.Changes) != 1 {
		t.Errorf("%+v", r)
	}
	if r := s.result(s.start("open", `{"city":"fail","days":"5"}`)); !r.IsError || len(r.Meta.Repair.Changes) != 1 {
		t.Errorf("%+v", r)
	}
}

func TestARefusedCallIsExplained(t *testing.T) {
	t.Parallel()
	s := beginPicky(t, strict())
	var said []string
	for range 4 {
		m := s.wantFault(s.start("book", `{"days":"2 + 3","city":"Oslo"}`), fault.ArgumentsInvalid)
		if _, delivery := s.faultOf(m); delivery != "unsent" {
			t.Errorf("%q", delivery)
		}
		said = append(said, string(m.Result))
	}
	if !strings.Contains(said[0], "days") || !strings.Contains(said[0], "2 + 3") || !strings.Contains(said[0], "14") {
		t.Errorf("%s", said[0])
	}
	if len(said[1]) >= len(said[0]) || len(said[2]) >= len(said[0]) || said[2] == said[1] {
		t.Errorf("the second is not shorter, or the third is not different:\n%s\n%s\n%s", said[0], said[1], said[2])
	}
	s.call("book", `{"city":"Oslo"}`) // ends the series
	if m := s.wantFault(s.start("book", `{"days":"2 + 3","city":"Oslo"}`), fault.ArgumentsInvalid); string(m.Result) != said[0] {
		t.Errorf("a different message for the same mistake:\n%s\n%s", m.Result, said[0])
	}
}

func TestToolNames(t *testing.T) {
	t.Parallel()
	s := beginPicky(t, strict())
	for _, name := range []string{"get_forecast", "Weather_GetForecast", "mcp.weather.get_forecast"} {
		r := s.result(s.start(name, `{"city":"Oslo"}`))
		if !strings.Contains(r.Content[0].Text, `"name":"weather.get_forecast"`) || r.Meta.Repair.Called != name || r.Meta.Repair.Tool != "weather.get_forecast" {
			t.Errorf("%s: %+v", name, r)
		}
	}
	m := s.wantFault(s.start("get_forcast", `{"city":"Oslo"}`), fault.ToolUnknown)
	if m.Error == nil || m.Error.Code != -32602 || !strings.Contains(m.Error.Message, "weather.get_forecast") {
		t.Errorf("the closest name is not shown: %s", m.raw)
	}
}

func TestAbsentArguments(t *testing.T) {
	t.Parallel()
	s := beginPicky(t, strict())
	s.wantFault(s.request("tools/call", `{"name":"book"}`), fault.ArgumentsInvalid)
	if r := s.result(s.request("tools/call", `{"name":"change"}`)); len(r.Meta.Repair.Changes) != 0 {
		t.Errorf("a receipt for nothing: %+v", r)
	}
	s.want(event.Repaired, 0)
}

// After the server has announced new tools, a call waits for their list and is checked against it.
func TestNoCallIsCheckedAgainstToolsThatChanged(t *testing.T) {
	t.Parallel()
	s := beginPicky(t, waitsLong(quick()))
	s.answer(s.start("change", `{}`))
	s.notice("notifications/tools/list_changed", 1)
	if got := s.call("book", `{"city":"Oslo","days":5}`); !strings.Contains(got, `"days":"5"`) {
		t.Errorf("%s", got)
	}
}

// What is checked strictly waits for the new tools.
func TestTheCatalogueFollowsTheServer(t *testing.T) {
	t.Parallel()
	s := beginPicky(t, strict())
	s.answer(s.start("change", `{}`))
	s.notice("notifications/tools/list_changed", 1)
	if m := s.wantFault(s.start("book", `{"days":"7"}`), fault.ArgumentsInvalid); !strings.Contains(m.raw, "Kept as sent: days") {
		t.Errorf("not checked against the new schema: %s", m.raw)
	}
	s.wantFault(s.start("book", `{"days":7}`), fault.ArgumentsInvalid)
	if got := s.call("book", `{"city":"Oslo","days":5}`); !strings.Contains(got, `"days":"5"`) {
		t.Errorf("not checked against the new schema: %s", got)
	}
}

// A server that registers several tools announces each of them. The announcements that arrive while the
// tools are listed are followed too: the next call is checked.
func TestTheCatalogueFollowsAServerThatChangesWhileItIsListed(t *testing.T) {
	t.Parallel()
	s := beginPicky(t, strict())
	s.answer(s.start("change", `{"twice":true}`))
	s.notice("notifications/tools/list_changed", 2)
	s.until("the tools are known", func() bool {
		return !s.session.Inside().Stale
	})
	s.wantFault(s.start("book", `{"days":7}`), fault.ArgumentsInvalid)
}

func TestAServersOwnComplaintIsExplained(t *testing.T) {
	t.Parallel()
	s := beginPicky(t, quick())
	m := s.answer(s.start("book", `{"city":"complain-error","days":5}`))
	if m.Error == nil || m.Error.Code != -32602 || !strings.HasPrefix(m.Error.Message, "MCP error -32602: Invalid arguments for tool book: ") ||
		!strings.Contains(m.Error.Message, "[gauze] The server rejected the call to `book`: its arguments must be changed.") || !strings.Contains(m.Error.Message, "14") {
		t.Errorf("%s", m.raw)
	}
	r := s.result(s.start("book", `{"city":"complain-result","days":5}`))
	if len(r.Content) != 2 || !strings.HasPrefix(r.Content[0].Text, "1 validation error") || !strings.Contains(r.Content[1].Text, "14") ||
		!r.IsError || !strings.Contains(string(r.Meta.Report), `"days"`) {
		t.Errorf("%+v", r)
	}
	if r := s.result(s.start("book", `{"city":"fail"}`)); r.Content[0].Text != "no such city" {
		t.Errorf("%+v", r)
	}
}

func TestAnUnknownKeyIsMentioned(t *testing.T) {
	t.Parallel()
	s := beginPicky(t, quick())
	r := s.result(s.start("open", `{"city":"Oslo","unit":"celsius"}`))
	if len(r.Meta.Repair.Notes) != 1 || len(r.Content) != 2 || !strings.Contains(r.Content[1].Text, "units") {
		t.Errorf("%+v", r)
	}
	if r := s.result(s.start("open", `{"city":"Oslo","else":"celsius"}`)); len(r.Content) != 1 {
		t.Errorf("%+v", r)
	}
}

func TestAWaitingCallIsRepairedToo(t *testing.T) {
	t.Parallel()
	s := beginPicky(t, quick())
	s.kill()
	if got := s.call("open", `{"city":"Oslo","days":"5"}`); !strings.Contains(got, `"days":5`) {
		t.Errorf("%s", got)
	}
}

func TestRepairCannotBeHadByAnotherName(t *testing.T) {
	t.Parallel()
	o := strict()
	o.Tools = map[string]Policy{"weather.get_forecast": {Repair: "off"}}
	s := beginPicky(t, o)
	if got := s.call("get_forecast", `{"city":"Oslo","days":"5"}`); !strings.Contains(got, `"get_forecast"`) || !strings.Contains(got, `"5"`) {
		t.Errorf("%s", got)
	}
}

func TestReceiptsKeepSecretsAndLength(t *testing.T) {
	t.Parallel()
	s := beginPicky(t, quick())
	long := strings.Repeat("x", 5000)
	m := s.answer(s.start("open", `{"city":"Oslo","tags":["a"],"params":{"password":"correct horse","note":"`+long+`"},"days":"5"}`))
	if receipt := string(m.Result[:strings.Index(string(m.Result), `"content"`)]); strings.Contains(receipt, "correct horse") || len(receipt) > 2000 {
		t.Errorf("%.3000s", receipt)
	}
}

// With strict, no call reaches the server unchecked.
func TestStrictSendsNoCallThatCannotBeChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ params, why string }{
		{`{"name":"book","arguments":{"city":"Oslo","days":5,"days":5}}`, "the key days occurs twice"},
		{"{\"name\":\"book\",\"arguments\":{\"city\":\"Os\xfflo\"}}", "it is not valid UTF-8"},
		{"{\"name\":\"book\",\"arguments\":{\"city\":\"Oslo\"},\"_meta\":{\"x\":\"\xff\"}}", "it is not valid UTF-8"},
		{`{"name":7,"arguments":{"city":"Oslo"}}`, "it names no tool"},
	} {
		s := beginPicky(t, strict())
		if m := s.wantFault(s.request("tools/call", c.params), fault.ArgumentsInvalid); !strings.Contains(string(m.raw), c.why) {
			t.Errorf("%s: %s", c.params, m.raw)
		}
		s = beginPicky(t, quick())
		if m := s.answer(s.request("tools/call", c.params)); strings.Contains(string(m.raw), c.why) {
			t.Errorf("%s: %s", c.params, m.raw)
		}
	}
}
