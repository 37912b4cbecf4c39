package demo

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
	"github.com/gauze-mcp/gauze/llm"
)

// sceneModel is a model that only one scene asks: in the others, gauze shows what it does without.
type sceneModel struct {
	llm.Model
	scripted bool
	on       atomic.Bool
}

// asked returns the model while its scene runs.
func (m *sceneModel) asked(string, proxy.Sampler) llm.Model {
	if !m.on.Load() {
		return nil
	}
	return m.Model
}

// The call that no rule repairs: rules do not choose from a list for a write. It is rejected before it
// is sent.
const (
	misfitTool      = "append"
	misfitKey       = "write-3"
	misfitArguments = `{"key":["` + misfitKey + `"],"value":"hello"}`
	scriptedAnswer  = `{"arguments":{"key":"` + misfitKey + `","value":"hello"},"reason":"key must be a string"}`
)

// sceneModel returns the user's model, or a scripted one that is reached over HTTP as a real one is.
func (o Options) sceneModel() (m *sceneModel, close func(), err error) {
	if o.Model != nil {
		return &sceneModel{Model: o.Model}, func() {}, nil
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, fmt.Errorf("cannot start the scripted model: %w", err)
	}
	model, err := llm.OpenAI(llm.Options{URL: "http://" + listener.Addr().String() + "/v1", Model: "scripted"})
	if err != nil {
		listener.Close()
		return nil, nil, err
	}
	server := &http.Server{Handler: http.HandlerFunc(answerScripted)}
	go server.Serve(listener) // returns when the server is closed
	return &sceneModel{Model: model, scripted: true}, func() { server.Close() }, nil
}

// answerScripted answers every question with scriptedAnswer, in OpenAI's format.
func answerScripted(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"object":"chat.completion","model":"scripted-1","choices":[{"index":0,"finish_reason":"stop",`+
		`"message":{"role":"assistant","content":%q}}],"usage":{"prompt_tokens":100,"completion_tokens":20}}`, scriptedAnswer)
}

// wantCorrected makes a call that succeeds only if the model corrects it. The user's model may
// decline.
func (s *stage) wantCorrected(ctx context.Context, tool, arguments, key string) error {
	s.model.on.Store(true)
	defer s.model.on.Store(false)
	s.screen.client("calls " + tool + " " + arguments)
	pending, err := s.start(tool, arguments, key)
	if err != nil {
		return err
	}
	answer, err := s.finish(ctx, pending)
	if err != nil {
		return err
	}
	s.catchUp()
	if answer.model == "" {
		if s.model.scripted {
			s.tally.broke(fmt.Sprintf("%s was not corrected: %s", arguments, answer.text))
		}
		s.screen.message(answer.text)
		return nil
	}
	s.screen.changes(answer.changes)
	return s.screen.answer(answer, nil)
}
