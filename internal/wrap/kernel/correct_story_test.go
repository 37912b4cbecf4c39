package kernel_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
	"github.com/gauze-mcp/gauze/llm"
)

// While a model is asked, anything may happen to the call. These tests stop at that moment.

// consult starts a call and returns its id once a model is being asked about it.
func (i *inn) consult(tool, arguments string) string {
	i.t.Helper()
	before := i.model.questions()
	id := i.start(tool, arguments)
	i.until("the model is asked", func() bool { return i.model.questions() > before })
	return id
}

// pausedInn is an inn whose model answers when reply is called.
func pausedInn(t *testing.T, o Options) (i *inn, reply func()) {
	t.Helper()
	wait := make(chan struct{})
	return openInn(t, &scripted{json: rightDays, wait: wait}, o), func() { close(wait) }
}

func TestACancelledCallIsNotCorrected(t *testing.T) {
	t.Parallel()
	i, reply := pausedInn(t, quick())
	id := i.consult("book", threeDays)
	i.withdraw(id)
	i.await(event.Cancelled, 1)
	reply()
	if i.call("find", `{"city":"Bergen","days":1}`); i.answers(id) != 0 || i.ran() != "find Bergen" {
		t.Errorf("%d answers, ran %q", i.answers(id), i.ran())
	}
	if n := i.session.Inside().Held; n != 0 {
		t.Errorf("%d calls still wait for the model", n)
	}
	i.want(event.Proposed, 0)
}

func TestTheRejectionIsTheAnswerIfTheServerDiesMeanwhile(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"find", "book"} {
		t.Run(tool, func(t *testing.T) {
			i, reply := pausedInn(t, quick())
			id := i.consult(tool, threeDays)
			i.answer(i.start("die", ""))
			reply()
			got := i.answer(id).raw
			if !strings.Contains(got, rejectedBy) || !strings.Contains(got, "A model proposed the call below.") {
				t.Error(got)
			}
			i.call("find", `{"city":"Bergen","days":1}`)
			if i.answers(id) != 1 || i.ran() != "find Bergen" {
				t.Errorf("%d answers, ran %q", i.answers(id), i.ran())
			}
			if e := i.await(event.Proposed, 1); !strings.Contains(e.Detail, "restarted") {
				t.Errorf("%+v", e)
			}
		})
	}
}

func TestTheRejectionIsTheAnswerIfTheClientLeaves(t *testing.T) {
	t.Parallel()
	i, _ := pausedInn(t, quick())
	id := i.consult("book", threeDays)
	i.cancel()
	if got := i.answer(id).raw; !strings.Contains(got, rejectedBy) {
		t.Error(got)
	}
	if i.end(); i.answers(id) != 1 || i.ran() != "" {
		t.Errorf("%d answers, ran %q", i.answers(id), i.ran())
	}
}

func TestAStrictRefusalIsTheAnswerIfTheClientLeaves(t *testing.T) {
	t.Parallel()
	o := quick()
	o.Repair = "strict"
	i, _ := pausedInn(t, o)
	id := i.consult("book", threeDays)
	i.cancel()
	i.wantFault(id, fault.ArgumentsInvalid)
}

func TestACorrectedWriteDoesNotOvertakeALaterOne(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"", "strict"} {
		t.Run("mode "+mode, func(t *testing.T) {
			o := quick()
			o.Repair = mode
			i, reply := pausedInn(t, o)
			id := i.consult("book", threeDays)
			i.call("book", `{"city":"Bergen","days":1}`)
			reply()
			if got := i.answer(id).raw; !strings.Contains(got, "A model proposed the call below.") || i.ran() != "book Bergen" {
				t.Errorf("%s\nran %q", got, i.ran())
			}
		})
	}
	t.Run("a read", func(t *testing.T) {
		i, reply := pausedInn(t, quick())
		id := i.consult("find", threeDays)
		i.call("book", `{"city":"Bergen","days":1}`)
		reply()
		if i.text(i.answer(id)); i.ran() != "book Bergen, find Oslo" {
			t.Errorf("ran %q", i.ran())
		}
	})
}

func TestACallOfAToolThatChangedIsNotCorrected(t *testing.T) {
	t.Parallel()
	i, reply := pausedInn(t, quick())
	id := i.consult("find", threeDays)
	i.answer(i.start("change", ""))
	reply()
	if got := i.answer(id).raw; !strings.Contains(got, rejectedBy) || strings.Contains(i.ran(), "find") {
		t.Errorf("%s\nran %q", got, i.ran())
	}
}

func TestAnIdIsInUseWhileAModelIsAsked(t *testing.T) {
	t.Parallel()
	i, reply := pausedInn(t, quick())
	id := i.consult("find", threeDays)
	i.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}`)
	i.await(event.Failed, 1)
	reply()
	i.until("both are answered", func() bool { return i.answers(id) == 2 })
	if i.ran() != "find Oslo" {
		t.Errorf("ran %q", i.ran())
	}
}

func TestFewModelsAreAskedAtTheSameTime(t *testing.T) {
	t.Parallel()
	i, reply := pausedInn(t, quick())
	var ids []string
	for range maxConsultations {
		ids = append(ids, i.consult("find", threeDays))
	}
	if got := i.answer(i.start("find", threeDays)).raw; !strings.Contains(got, rejectedBy) {
		t.Error(got)
	}
	reply()
	for _, id := range ids {
		i.text(i.answer(id))
	}
	if n := i.model.questions(); n != maxConsultations {
		t.Errorf("%d questions", n)
	}
}

func TestOtherCallsGoOnWhileAModelIsAsked(t *testing.T) {
	t.Parallel()
	i, reply := pausedInn(t, quick())
	id := i.consult("book", threeDays)
	for range 20 {
		i.call("find", `{"city":"Bergen","days":1}`)
	}
	if i.answers(id) != 0 {
		t.Error("it was answered before the model was")
	}
	reply()
	i.text(i.answer(id))
}

func TestACorrectedCallThatEndsTheServerHasOneAnswer(t *testing.T) {
	t.Parallel()
	i := openInn(t, &scripted{json: `{"arguments":{"city":"fatal","days":3}}`}, quick())
	id := i.start("book", `{"city":"fatal","days":"1 + 2"}`)
	got := i.wantFault(id, fault.OutcomeUnknown).raw
	if i.ran() != "book fatal" || !strings.Contains(got, "The server rejected the original call: ") {
		t.Errorf("%s\nran %q", got, i.ran())
	}
	if i.await(event.Corrected, 1); i.answers(id) != 1 {
		t.Errorf("%d answers", i.answers(id))
	}
}

func TestACorrectedCallWaitsForItsTurn(t *testing.T) {
	t.Parallel()
	o := quick()
	o.Tools = map[string]Policy{"find": {MaxInFlight: 1}}
	i, reply := pausedInn(t, o)
	id := i.consult("find", threeDays)
	slow := i.start("find", `{"city":"slow","days":1}`)
	i.until("the slow call is sent", func() bool { return i.session.Inside().Sent == 1 })
	reply()
	i.until("the corrected call waits", func() bool { return i.session.Inside().Queued == 1 })
	if err := os.WriteFile(filepath.Join(i.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	i.text(i.answer(slow))
	if i.text(i.answer(id)); i.ran() != "find slow, find Oslo" {
		t.Errorf("ran %q", i.ran())
	}
}

// maxConsultations is how many models are asked at the same time.
const maxConsultations = 4

func TestACauseInTheSetupIsNotCorrected(t *testing.T) {
	t.Parallel()
	o := quick()
	o.Calls = &callQuack{}
	model := &scripted{json: rightDays}
	o.Models = func(string, Sampler) llm.Model { return model }
	s := beginListed(t, "parrot", o)
	if got := s.say(`"error":{"code":-32602,"message":"Invalid params: the database is down"}`); !strings.Contains(got, "Start it.") || model.questions() != 0 {
		t.Errorf("%d questions: %s", model.questions(), got)
	}
	if s.say(`"error":{"code":-32602,"message":"Invalid params: the date is wrong"}`); model.questions() != 1 {
		t.Errorf("%d questions", model.questions())
	}
}

func TestSecretsDoNotReachTheModel(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-correct-horse"
	model := &scripted{json: `{"arguments":{"city":"Oslo","days":3,"token":"<secret-1>"}}`}
	i := openInn(t, model, quick())
	i.text(i.answer(i.start("book", `{"city":"Oslo","days":"1 + 2","token":"`+secret+`"}`)))
	if i.ran() != "book Oslo" {
		t.Errorf("ran %q", i.ran())
	}
	e := i.await(event.Corrected, 1)
	if strings.Contains(model.asked[0].Text+e.String()+string(e.Model.Before)+string(e.Model.After), secret) {
		t.Error("the secret is in the question or in the event")
	}
}

// The client's own model.

// samplingHello is what begins a session of a client that offers sampling.
const samplingHello = `{"protocolVersion":"2025-06-18","capabilities":{"sampling":{}},"clientInfo":{"name":"test","version":"1"}}`

func samplingInn(t *testing.T, hello string) *inn {
	t.Helper()
	dir := t.TempDir()
	o := quick()
	o.Spec = plainServer("booking", dir)
	o.Models = func(_ string, client Sampler) llm.Model {
		if client == nil {
			return nil
		}
		return llm.Sampling(client)
	}
	i := &inn{(&story{t: t, ended: make(chan error, 1)}).run(o), dir, nil}
	i.answer(i.request("initialize", hello))
	i.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	i.answer(i.request("tools/list", ""))
	return i
}

// reply answers a request that the client got.
func (s *story) reply(question message, members string) {
	s.send(`{"jsonrpc":"2.0","id":` + string(question.ID) + `,` + members + `}`)
}

func TestTheClientsModelIsAsked(t *testing.T) {
	t.Parallel()
	i := samplingInn(t, samplingHello)
	id := i.start("book", threeDays)
	question := i.notice("sampling/createMessage", 1)
	if !strings.Contains(question.raw, "1 + 2") {
		t.Error(question.raw)
	}
	i.reply(question, `"result":{"role":"assistant","model":"theirs","content":{"type":"text","text":"{\"arguments\":{\"city\":\"Oslo\",\"days\":3}}"}}`)
	if i.text(i.answer(id)); i.ran() != "book Oslo" {
		t.Errorf("ran %q", i.ran())
	}
	if e := i.await(event.Corrected, 1); e.Model.Model != "theirs" {
		t.Errorf("%+v", e.Model)
	}
}

func TestTheClientMayRefuseToSample(t *testing.T) {
	t.Parallel()
	i := samplingInn(t, samplingHello)
	id := i.start("book", threeDays)
	i.reply(i.notice("sampling/createMessage", 1), `"error":{"code":-1,"message":"the user said no"}`)
	if got := i.answer(id).raw; !strings.Contains(got, rejectedBy) {
		t.Error(got)
	}
	if e := i.await(event.Uncorrected, 1); !strings.Contains(e.Detail, "the user said no") {
		t.Errorf("%+v", e)
	}
}

func TestAClientWithoutSamplingIsNotAsked(t *testing.T) {
	t.Parallel()
	i := samplingInn(t, helloParams)
	if got := i.answer(i.start("book", threeDays)).raw; !strings.Contains(got, rejectedBy) || i.notices("sampling/createMessage") != 0 {
		t.Errorf("%d questions: %s", i.notices("sampling/createMessage"), got)
	}
}

func TestTheQuestionToTheClientIsWithdrawnWithItsCall(t *testing.T) {
	t.Parallel()
	i := samplingInn(t, samplingHello)
	id := i.start("book", threeDays)
	question := i.notice("sampling/createMessage", 1)
	i.withdraw(id)
	i.wantWithdrawn(question)
	i.reply(question, `"result":{"role":"assistant","model":"theirs","content":{"type":"text","text":"{}"}}`) // it crossed the withdrawal
	if i.call("find", `{"city":"Bergen","days":1}`); i.answers(id) != 0 || i.ran() != "find Bergen" {
		t.Errorf("%d answers, ran %q", i.answers(id), i.ran())
	}
}

// Servers behind a URL.

func TestACallOverHTTPIsCorrected(t *testing.T) {
	t.Parallel()
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			dir := t.TempDir()
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				m, _, err := wire.Scan(body)
				if err != nil || m.Kind != wire.Request {
					w.WriteHeader(http.StatusAccepted)
					return
				}
				var out strings.Builder
				serveBooking(strings.NewReader(string(body)+"\n"), &out, dir)
				w.Header().Set("Content-Type", "application/json")
				if strings.Contains(out.String(), `"error"`) {
					w.WriteHeader(http.StatusBadRequest)
				}
				io.WriteString(w, out.String())
			}))
			t.Cleanup(web.Close)
			o := unprobed()
			o.Spec.URL = web.URL
			model := &scripted{json: `{"arguments":{"city":"coded","days":3}}`}
			o.Models = func(string, Sampler) llm.Model { return model }
			i := &inn{(&story{t: t, ended: make(chan error, 1)}).run(o), dir, model}
			s := &webStory{story: i.story, modern: era == "modern"}
			if s.modern {
				s.discover()
			} else {
				s.initialize()
			}
			if s.text(s.answer(s.start("book", `{"city":"coded","days":"1 + 2"}`))); i.ran() != "book coded" || model.questions() != 1 {
				t.Errorf("ran %q after %d questions", i.ran(), model.questions())
			}
		})
	}
}

// A call that waits until the tools are listed, and is refused then, is corrected as any other.
func TestACallThatWaitedForTheListIsCorrected(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := strict()
	o.Spec = plainServer("booking", dir)
	o.Models = func(_ string, client Sampler) llm.Model { return llm.Sampling(client) }
	i := &inn{(&story{t: t, ended: make(chan error, 1)}).run(o), dir, nil}
	i.answer(i.request("initialize", samplingHello))
	i.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	id := i.start("book", threeDays)
	i.reply(i.notice("sampling/createMessage", 1), `"result":{"role":"assistant","model":"theirs","content":{"type":"text","text":"{\"arguments\":{\"city\":\"Oslo\",\"days\":3}}"}}`)
	if got := i.answer(id).raw; i.ran() != "book Oslo" || !strings.Contains(got, `"model":"theirs"`) {
		t.Errorf("ran %q: %s", i.ran(), got)
	}
}
